"""How values become bytes and back: strict I-JSON, canonical JSON, digests, base64url,
identifiers and timestamps. No I/O, and no knowledge of what the values mean."""

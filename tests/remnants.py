"""Looks for what was erased in every file of a store, in every spelling."""

from __future__ import annotations

import base64
import json
from pathlib import Path


def spellings(secret: str) -> dict[str, bytes]:
    """A text as bytes, by the name of the encoding. All but base64 is searched for without
    regard to case, so one spelling of hexadecimal digits and of letters will do."""
    data = secret.encode()
    found = {
        "UTF-8": data,
        "JSON": json.dumps(secret)[1:-1].encode(),
        "JSON in JSON": json.dumps(json.dumps(secret)[1:-1])[1:-1].encode(),
        "hexadecimal": data.hex().encode(),
        "UTF-16, little-endian": secret.encode("utf-16-le"),
        "UTF-16, big-endian": secret.encode("utf-16-be"),
        "percent": "".join(f"%{byte:02x}" for byte in data).encode(),
    }
    for shift in range(3):
        # The first and the last characters of base64 depend on what stands around the text.
        padded = base64.b64encode(b"\x00" * shift + data)
        inner = padded[(0, 2, 3)[shift] : len(padded) // 4 * 4 - 4]
        found[f"base64, shifted by {shift}"] = inner
        found[f"base64url, shifted by {shift}"] = inner.translate(bytes.maketrans(b"+/", b"-_"))
    return found


def remnants(root: Path, *secrets: str) -> list[tuple[str, str]]:
    """The files below `root`, and the names of files, that hold one of these texts: where,
    and in which encoding."""
    found = []
    for path in sorted(root.rglob("*")):
        held = path.name.encode()
        if path.is_file():
            held += b"\n" + path.read_bytes()
        folded = held.lower()
        for secret in secrets:
            for name, spelt in spellings(secret).items():
                exact = name.startswith("base64")
                if (spelt in held) if exact else (spelt.lower() in folded):
                    found.append((str(path.relative_to(root)), name))
    return found

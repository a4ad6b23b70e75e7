"""Bytes on disk: layout, durable primitives, lock, versions, packs, ledger, commit and
recovery. `store-format/` specifies what these modules write."""

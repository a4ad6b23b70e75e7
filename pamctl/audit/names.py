"""Holds against each other what ledgers say of ids and keys, of packs and of descriptors, one part
of the facts at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamctl.audit.facts import NAME, Group, gathered
from pamctl.audit.findings import Findings


def compare_names(
    scratch: Path, part: int, findings: Findings, *, scopes: Mapping[str, str]
) -> None:
    """Ids and keys that may stand once, what idempotency records say, and packs."""
    for folder, key, group in gathered(scratch, NAME, part):
        where = {"scope_id": scopes[folder], "path": f"scopes/{folder}/ledger.jsonl"}
        what, _, subject = key.partition(" ")
        if what == "key":
            for again in sorted(group["key"])[1:]:
                findings.add(
                    "idempotency-key-reused",
                    "a second record has this key",
                    **where,
                    offset=again[1],
                    subject=subject,
                )
        elif what == "pack" and "pack" in group:
            place, count = group["pack"][0]
            for offset, announced in group.get("announced", []):
                if announced != count:
                    findings.add(
                        "pack-count-wrong",
                        f"the pack has {count} lines; the ledger says {announced}",
                        scope_id=scopes[folder],
                        path=place,
                        offset=offset,
                        subject=subject,
                    )
        elif what == "event":
            _compare_event(group, findings, subject, where)
        elif what in ("snapshot", "space"):
            _compare_descriptors(group, findings, subject, where)


def _compare_descriptors(
    group: Group, findings: Findings, subject: str, where: Mapping[str, str]
) -> None:
    """Snapshots and Embedding Spaces that are described, included and used by one id."""
    described = sorted(group.get("described", []))
    for again in described[1:]:
        message = "a second entry describes this id"
        findings.add("descriptor-invalid", message, **where, offset=again[1], subject=subject)
    for n, offset, snapshot_id in group.get("included", []):
        if not described or described[0][0] > n:
            message = f"a snapshot includes the space {subject}, which nothing before it describes"
            findings.add("descriptor-invalid", message, **where, offset=offset, subject=snapshot_id)
    for place, dimensions in group.get("stored", []):
        if not described or described[0][2] != dimensions:
            findings.add(
                "embedding-orphaned",
                "no entry describes their space with as many dimensions",
                scope_id=where["scope_id"],
                path=place,
                subject=subject,
            )


def _compare_event(
    group: Group, findings: Findings, event_id: str, where: Mapping[str, str]
) -> None:
    events = sorted(group.get("event", []))
    for again in events[1:]:
        findings.add(
            "event-id-reused",
            "a second event has this id",
            **where,
            offset=again[2],
            subject=event_id,
        )
    for tx, offset, ident, version_id, sequence, key in group.get("result", []):
        # The erasure of what was deleted before answers with the event of the deletion.
        ours = [
            event
            for event in events
            if event[1] == tx or (event[1] < tx and [tx] in group.get("erases", []))
        ]
        fits = any(
            _same(sequence, event[3]) and _same(ident, event[4]) and _same(version_id, event[5])
            for event in ours
        )
        if not fits:
            findings.add(
                "idempotency-mismatch",
                "the record's result is not what its transaction did",
                **where,
                offset=offset,
                subject=key,
            )


def _same(said: Any, is_: Any) -> bool:
    """Whether a member of a result agrees with the event, where both have it."""
    return said is None or is_ is None or bool(said == is_)

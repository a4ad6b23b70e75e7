"""The cause behind a finding, in one word or two that need no manual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_CAUSES: Mapping[str, str] = {
    "bundle-digest-wrong": "edited",
    "bundle-line-invalid": "edited",
    "bundle-line-misplaced": "reordered",
    "bundle-counts-wrong": "lines are gone or were put in",
    "bundle-head-wrong": "cut or forked",
    "bundle-root-wrong": "edited",
    "bundle-cut": "cut",
    "bundle-continued": "something was put in",
    "bundle-scope-absent": "a scope is gone",
    "ledger-chain-broken": "edited or cut",
    "ledger-line-not-json": "edited",
    "ledger-line-not-canonical": "edited",
    "ledger-line-mangled": "edited",
    "ledger-line-too-long": "edited",
    "ledger-member-repeated": "edited",
    "ledger-entry-invalid": "edited",
    "ledger-counters-wrong": "edited",
    "version-altered": "edited",
    "version-invalid": "edited",
    "version-not-canonical": "edited",
    "event-version-mismatch": "edited",
    "event-sequence-gap": "lines are gone",
    "event-sequence-reused": "replayed",
    "event-id-reused": "replayed",
    "version-committed-twice": "replayed",
    "idempotency-key-reused": "replayed",
    "ledger-tail-cut": "cut",
    "ledger-torn-tail": "cut",
    "ledger-transaction-incomplete": "cut",
    "version-missing": "content is gone without authority",
    "ledger-forked": "forked",
    "ledger-reordered": "reordered",
    "ledger-tail-unpinned": "unpinned tail",
    "ledger-wrong-scope": "another ledger",
    "erasure-without-authority": "erased without authority",
    "erasure-incomplete": "erased in part",
    "stub-mismatch": "erased, and the remains were changed",
    "transition-illegal": "a state changed against the rules",
    "tombstone-followed": "written to after deletion",
}


def named_cause(id_: str) -> str:
    """What was done, by the finding that shows it; the finding's own words where there is no
    shorter name."""
    return _CAUSES.get(id_, id_.replace("-", " ").replace("_", " "))


def causes_of(
    findings: Iterable[Mapping[str, Any]], verdicts: Iterable[Mapping[str, Any]]
) -> list[str]:
    """What was done, by all findings that count and all checkpoints and projections that do not
    hold. What only one of them can tell, the others need not leave open."""
    found = {named_cause(str(one["id"])) for one in findings if one["severity"] != "notice"}
    found |= {str(one["reason"]).replace("_", " ") for one in verdicts if not one["valid"]}
    if found & {"edited", "cut", "forked", "reordered"}:
        found.discard("edited or cut")
    return sorted(found)

"""The conformance profiles of PAMSPEC §18: what each demands, and which are met.

Requirements go by their ids in docs/conformance.md, where the tests stand that show them.
A test holds this table to that page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.model.vocabulary import SPEC_VERSION

SPECIFICATION = "draft-infantado-agent-memory-architecture-00"
PROFILE_VERSION = "00"
"""The draft does not number its profiles apart from itself."""

_LITE = (
    *("7.5-1", "7.5-2", "7.7-1", "7.7-2", "7.7-3", "8.1-1", "8.1-2", "8.1-3", "8.1-4"),
    *("8.2-2", "8.2-3", "8.4-1", "8.4-2", "8.4-3", "8.4-4", "11-1", "11-2", "11-3"),
    *("12-1", "12-2", "15.6-1", "18-1", "18.1-1", "18.1-2", "18.1-3"),
    *(f"18.1-{part}" for part in "abcdefghi"),
    *("18.12-1", "18.12-2"),
)

PROFILES: Mapping[str, tuple[str, ...]] = {
    "PAMSPEC-Lite": _LITE,
    "PAMSPEC-Delegation": (
        *_LITE,
        *("15.4-1", "15.4-2", "15.4-3", "18.2-1"),
        *(f"18.2-{part}" for part in "abcdefg"),
    ),
    "PAMSPEC-Subscribe": (
        *_LITE,
        *("10.8-1", "10.8-2", "10.8-3", "18.3-1", "18.3-2", "18.3-3", "18.3-4"),
        *("18.3-a", "18.3-b"),
    ),
    "PAMSPEC-Core": (
        *_LITE,
        *("7.5-3", "7.5-4", "7.5-5", "7.5-6", "7.5-7", "8.2-1", "8.5-2", "10.10-1"),
        *("15.2-1", "15.2-2", "15.8-1", "21.2-1"),
        *(f"18.4-{part}" for part in "abcdefgh"),
    ),
    "PAMSPEC-Versioning": (
        *("8.1-2", "8.1-3", "8.4-1", "8.4-2", "8.4-3", "8.4-4"),
        *(f"18.5-{part}" for part in "abcd"),
    ),
    "PAMSPEC-Ledger": (
        *("7.7-1", "7.7-2", "7.7-3", "8.4-2", "15.6-1"),
        *(f"18.6-{part}" for part in "abcdefg"),
    ),
    "PAMSPEC-Structured-Query": (
        *("7.5-2", "7.5-3", "7.5-6", "11-1", "11-2", "11-3", "15.2-2"),
        *(f"18.7-{part}" for part in "abcdef"),
    ),
    "PAMSPEC-Semantic-Query": (
        *("7.5-3", "7.5-6", "7.8-1", "7.8-2", "7.8-3", "7.8-4", "7.8-5"),
        *("15.2-2", "15.8-1", "21.2-2"),
        *(f"18.8-{part}" for part in "abcde"),
    ),
    "PAMSPEC-Relationship": (
        *("7.5-4", "7.5-5", "8.5-1"),
        *(f"18.9-{part}" for part in "abcd"),
    ),
    "PAMSPEC-Protocol-Binding": (
        *("10.10-1", "11-1", "11-2", "11-3", "12-1", "12-2"),
        *(f"18.10-{part}" for part in "abcdefghi"),
    ),
    "PAMSPEC-Evaluation": tuple(f"18.11-{number}" for number in range(1, 9)),
}
"""What each profile demands: ids of docs/conformance.md without the draft's name."""


OPEN: Mapping[str, str] = {}
"""What is not met, or not shown yet, with what is missing. Whatever demands it is not claimed."""


def missing(profile: str) -> list[str]:
    """The requirements of a profile that are open."""
    return [requirement for requirement in PROFILES[profile] if requirement in OPEN]


def supported() -> list[str]:
    """The profiles whose every requirement is met."""
    return [profile for profile in PROFILES if not missing(profile)]


def report() -> dict[str, Any]:
    """The implementation report of PAMSPEC §18.12."""
    return {
        "specification": SPECIFICATION,
        "object_model": SPEC_VERSION,
        "profiles": [
            {
                "name": profile,
                "version": PROFILE_VERSION,
                "supported": not missing(profile),
                "requirements": len(PROFILES[profile]),
                "open": missing(profile),
            }
            for profile in PROFILES
        ],
        "deviations": [
            {"requirement": requirement, "missing": reason} for requirement, reason in OPEN.items()
        ],
        **_CHOICES,
    }


_CHOICES = {
    "storage": "A directory of immutable version files named by their SHA-256, and one "
    "hash-chained ledger of canonical JSON lines for each scope, which is its commit point. "
    "store-format/ specifies every byte.",
    "authorization": "A policy document for each scope, kept in its ledger: rules by actor, "
    "operation, object type, dimension and target state, and delegations. A tool over files "
    "cannot hold back whoever may write them: docs/security-model.md.",
    "indexes": "One SQLite file for each scope, derived from its ledger and its versions, "
    "brought up to date before every answer, and made anew where it is lost. Text search is "
    "lexical; vectors are kept in files by Embedding Space and searched exactly, after filters.",
    "export": "A bundle is one file of JSON Lines with the ledger and the versions of scopes as "
    "they are stored: the same bytes for the same state. It is verified without a store, and "
    "taken over byte by byte or recorded anew in another scope, which the ledger then says.",
    "deletion": "A final tombstone takes the place of the object; earlier versions show "
    "tombstones. Content leaves the search at once. Erasing takes content and salts out of every "
    "file and leaves stubs; the ledger stays whole.",
    "test_vectors": "All candidate vectors of the draft's authors are placed and judged by "
    "tests/schemas/test_shared_vectors.py, or by the conformance test that names them.",
}

"""Makes the golden store of format version 1, the same bytes every time.

    python tests/golden/make_store_v1.py DIRECTORY

writes DIRECTORY/.pam, without what git would not keep. The store in `store-v1/` was made by
this and is never made again: readers to come must be able to read it as it is.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pamctl
from pamctl.errors import InvalidStateTransition
from pamctl.service.store import Store

FIRST_MOMENT_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z."""
SECOND_NS = 1_000_000_000

SCOPE = "workspace:default"
OTHER_SCOPE = "workspace:Default"
"""Differs from the first by case only."""

GARDENER = {"actor_id": "actor:local:gardener", "actor_kind": "human"}
ASSISTANT = {
    "actor_id": "actor:agent:notebook",
    "actor_kind": "agent",
    "on_behalf_of_actor_id": "actor:local:gardener",
}


class Clock:
    """A clock that advances one second a reading."""

    def __init__(self) -> None:
        self.now_ns = FIRST_MOMENT_NS - SECOND_NS

    def __call__(self) -> int:
        self.now_ns += SECOND_NS
        return self.now_ns


class Entropy:
    """Bytes that look random and are the same in every run."""

    def __init__(self) -> None:
        self.draws = 0

    def __call__(self, count: int) -> bytes:
        self.draws += 1
        return hashlib.shake_256(b"golden store v1, draw %d" % self.draws).digest(count)


def noted(what: str) -> dict[str, Any]:
    return {"activity": "noted", "source_ref": f"urn:example:notebook:{what}"}


def fill(store: Store) -> None:
    """One of everything that format version 1 can hold today."""
    change = _changes(store)
    tea = change(
        "create",
        object_id="mem:tea",
        object_type="claim",
        canonical_content={"text": "The lemon verbena survives mild winters outside."},
        actor=GARDENER,
        provenance={**noted("2025"), "source_confidence": 0.75},
        observed_at="2025-11-30T18:30:00+01:00",
    )
    keyed = {
        "object_type": "observation",
        "canonical_content": {
            "text": "naïve – e\u0301 is not é; \u2028 and \u0000 are text too",
            "numbers": [0, -1, 0.5, 1e-7, 1e21, 9007199254740991],
            "\U0001f331": "astral names sort by UTF-16",
            "\ue000": "so this one comes after",
            "nothing": None,
            "nested": {"deep": [[], {}, [True, False]]},
        },
        "actor": ASSISTANT,
        "provenance": noted("page-7"),
        "idempotency_key": "page 7",
    }
    observation = change("create", object_id="mem:page-7", **keyed)
    change("create", object_id="mem:page-7", **keyed)  # the same again changes nothing

    tea = change(
        "update",
        tea,
        canonical_content={"text": "The lemon verbena needs a fleece below -5 °C."},
        actor=GARDENER,
        provenance=noted("2026"),
        idempotency_key="fleece",
    )
    tea = change("update", tea, actor=GARDENER, provenance=noted("2026, read again"))

    # Each dimension, each kind of condition.
    tea = change("transition", tea, "validation", "corroborated")
    tea = change("transition", tea, "validation", "unverified", provenance=noted("misread"))
    tea = change("transition", tea, "lifecycle", "deprecated")
    tea = change("transition", tea, "lifecycle", "active", policy_basis="policy:spring-review")
    tea = change("transition", tea, "retention", "legal_hold")
    tea = change("transition", tea, "retention", "retained", idempotency_key="release")
    observation = change("transition", observation, "availability", "partially_redacted")
    observation = change("transition", observation, "availability", "redacted")

    gone = change(
        "create",
        object_id="mem:gone",
        object_type="decision",
        canonical_content="Sow peas on the first of February.",
        actor=GARDENER,
        provenance=noted("plan"),
        lifecycle_state="candidate",
    )
    change("delete", gone, actor=GARDENER, provenance={"activity": "withdrawn"})

    try:
        change("transition", tea, "lifecycle", "scratch", idempotency_key="impossible")
    except InvalidStateTransition:
        pass
    else:
        raise AssertionError("the draft forbids this transition")

    policy = store.scope_show(scope_id=SCOPE)["policy"]
    rule = {"rule_id": "rule:no-tools", "effect": "deny", "actors": ["actor:tool:*"]}
    change(
        "scope_policy",
        policy={**policy, "rules": [rule]},
        actor=GARDENER,
        idempotency_key="no tools",
    )

    with store.group() as group:
        for number, crop in enumerate(["peas", "beans", "chard"], 1):
            made = group.perform(
                "create",
                {
                    "scope_id": SCOPE,
                    "object_id": f"mem:bed-{number}",
                    "object_type": "org.example.garden.bed",
                    "schema_id": "urn:example:schema:bed",
                    "canonical_content": {"crop": crop, "bed": number},
                    "actor": GARDENER,
                    "provenance": noted("beds"),
                    "idempotency_key": f"bed {number}",
                },
            )
        group.perform(
            "update",
            {
                "scope_id": SCOPE,
                "object_id": made["object_id"],
                "expected_version_id": made["version_id"],
                "merge_patch": {"crop": "kale"},
                "actor": GARDENER,
                "provenance": noted("beds, corrected"),
            },
        )

    change(
        "create",
        scope_id=OTHER_SCOPE,
        object_id="mem:tea",
        object_type="artifact",
        canonical_content=[1, "two", None],
        actor=GARDENER,
        provenance=noted("other"),
    )


def _changes(store: Store) -> Any:
    """Performs one operation; a version that is given is the one it expects."""

    def change(operation: str, seen: Any = None, *transition: str, **arguments: Any) -> Any:
        request = {"scope_id": SCOPE, **arguments}
        if seen is not None:
            request["object_id"] = seen["object_id"]
            request["expected_version_id"] = seen["version_id"]
        if transition:
            request["dimension"], request["target_state"] = transition
            request.setdefault("actor", GARDENER)
        return store.perform(operation, request)

    return change


def kept_files(root: Path) -> dict[str, bytes]:
    """The files of a store that its .gitignore keeps, by path."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        machinery = name.startswith("index/") or path.name == "lock" or "/tmp/" in f"/{name}"
        if path.is_file() and not machinery:
            found[name] = path.read_bytes()
    return found


def make(folder: Path) -> Path:
    """Make the store in `folder` and return where it is."""
    root = folder / ".pam"
    store = pamctl.init_store(root, clock=Clock(), entropy=Entropy())
    try:
        fill(store)
    finally:
        store.close()
    return root


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = kept_files(make(Path(folder)))
    shutil.rmtree(target / ".pam", ignore_errors=True)
    for name, data in files.items():
        path = target / ".pam" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

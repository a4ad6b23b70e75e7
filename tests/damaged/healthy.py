"""A healthy store that holds something of everything, and the tools to damage a copy of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pamctl
from pamctl.crypto.keys import PrivateKey
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.store.keyring import Keyring
from pamctl.store.layout import ScopeLayout, StoreLayout
from tests.conftest import FixedClock, FixedEntropy

SCOPE = "workspace:default"
OTHER_SCOPE = "workspace:other"
ACTOR = {"actor_id": "actor:local:gardener", "actor_kind": "human"}
PROVENANCE = {"activity": "noted"}
ERASED_TEXT = "The code of the shed is 4711."


def make(root: Path) -> None:
    """Write a healthy store at `root`."""
    store = pamctl.init_store(root, clock=FixedClock(), entropy=FixedEntropy())

    def perform(operation: str, **arguments: Any) -> Any:
        return store.perform(operation, {"scope_id": SCOPE, "actor": ACTOR, **arguments})

    def create(name: str, **arguments: Any) -> Any:
        arguments.setdefault("canonical_content", {"text": name})
        return perform(
            "create",
            object_id=f"mem:{name}",
            object_type="claim",
            provenance=PROVENANCE,
            **arguments,
        )

    tea = create("tea", idempotency_key="tea")
    tea = perform(
        "update",
        object_id="mem:tea",
        expected_version_id=tea["version_id"],
        canonical_content={"text": "green tea"},
        provenance=PROVENANCE,
    )
    perform(
        "transition",
        object_id="mem:tea",
        expected_version_id=tea["version_id"],
        dimension="lifecycle",
        target_state="deprecated",
        idempotency_key="tea is out",
    )
    create("alone")
    gone = create("gone")
    perform(
        "delete",
        object_id="mem:gone",
        expected_version_id=gone["version_id"],
        provenance={"activity": "withdrawn"},
    )
    with store.group() as group:
        for number in range(4):
            group.perform(
                "create",
                {
                    "scope_id": SCOPE,
                    "object_id": f"mem:bed-{number}",
                    "object_type": "claim",
                    "canonical_content": {"bed": number},
                    "actor": ACTOR,
                    "provenance": PROVENANCE,
                    "idempotency_key": f"bed {number}",
                },
            )
    policy = store.scope_show(scope_id=SCOPE)["policy"]
    rule = {"rule_id": "rule:erase", "actors": ["*"], "may_erase": True}
    perform("scope_policy", policy={**policy, "retention": [rule]})
    secret = create("secret", canonical_content={"text": ERASED_TEXT})
    perform(
        "redact",
        object_id="mem:secret",
        expected_version_id=secret["version_id"],
        erase=True,
    )
    perform(
        "relate",
        source_object_id="mem:tea",
        target_object_id="mem:alone",
        relationship_type="related_to",
        directionality="directed",
        provenance=PROVENANCE,
    )
    create("other", scope_id=OTHER_SCOPE)
    Keyring(store.layout.keys).generate(
        "main", seed=bytes(range(32)), now="2026-01-01T00:00:00.000000Z"
    )
    store.close()


class Patient:
    """A store of one's own to damage. What it writes is right but for what it is told to do
    wrong: the chain holds, counters count, and versions are where their addresses say."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = StoreLayout(root)
        self.layout: ScopeLayout = self.store.scope(SCOPE)
        self._drawn = 0

    @property
    def ledger(self) -> Path:
        return self.layout.ledger

    def lines(self) -> list[bytes]:
        return self.ledger.read_bytes().splitlines(keepends=True)

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]

    def put_lines(self, lines: list[bytes]) -> None:
        self.ledger.write_bytes(b"".join(lines))

    def put(self, entries: list[dict[str, Any]]) -> None:
        """Write the ledger with a chain that fits whatever the entries say."""
        self.put_lines(chained(entries))

    def change(self, which: Callable[[dict[str, Any]], bool], edit: Callable[[Any], Any]) -> None:
        """Edit the last entry that is meant, and chain the ledger again."""
        entries = self.entries()
        edit(next(entry for entry in reversed(entries) if which(entry)))
        self.put(entries)

    def append(
        self, *bodies: tuple[str, Mapping[str, Any]], version: str | None = None, of: int = 0
    ) -> None:
        """Append one transaction. version: the address that its first entry commits. of: how
        many entries it says that it has, when it is not the truth."""
        entries = self.entries()
        tx = len(entries) + 1
        for i, (kind, body) in enumerate(bodies, 1):
            entry: dict[str, Any] = {
                "n": tx + i - 1,
                "tx": tx,
                "i": i,
                "of": of or len(bodies),
                "kind": kind,
                "prev": "",
                "body": dict(body),
            }
            if version is not None and i == 1:
                entry["version"] = version
            entries.append(entry)
        self.put(entries)

    def event(self, event_type: str = "access_denied", **members: Any) -> dict[str, Any]:
        """The body of the next event, later than all others."""
        self._drawn += 1
        events = [entry["body"] for entry in self.entries() if entry["kind"] == "event"]
        return {
            "event_id": f"evt:{self._drawn:032x}",
            "operation_id": f"op:{self._drawn:032x}",
            "scope_id": SCOPE,
            "event_type": event_type,
            "recorded_at": f"2027-01-01T00:00:{self._drawn:02}.000000Z",
            "sequence": events[-1]["sequence"] + 1,
            "actor": ACTOR,
            **members,
        }

    def current(self, object_id: str) -> dict[str, Any]:
        """The envelope that an object has now."""
        for entry in reversed(self.entries()):
            if "version" in entry and object_id in (
                entry["body"].get("object_id"),
                entry["body"].get("relationship_id"),
            ):
                data = self.path(entry["version"]).read_bytes()
                envelope: dict[str, Any] = json.loads(data)["envelope"]
                return envelope
        raise LookupError(object_id)

    def path(self, address: str) -> Path:
        return self.layout.version_file(address)

    def address(self, object_id: str) -> str:
        """The address of the current version of an object."""
        return next(
            str(entry["version"])
            for entry in reversed(self.entries())
            if "version" in entry and entry["body"].get("object_id") == object_id
        )

    def next_version(self, object_id: str, **members: Any) -> dict[str, Any]:
        """The envelope of an object's next version, changed as `members` say."""
        self._drawn += 1
        now = f"2027-01-01T00:00:{self._drawn:02}.000000Z"
        current = self.current(object_id)
        return {
            **current,
            "version_id": f"ver:{self._drawn:032x}",
            "sequence": current["sequence"] + 1,
            "committed_at": now,
            "recorded_at": now,
            "actor": ACTOR,
            **members,
        }

    def store_version(self, envelope: Mapping[str, Any]) -> str:
        """Write a version as a file; its address."""
        return self.store_bytes(canonical({"envelope": envelope, "salt": "A" * 22}))

    def store_bytes(self, data: bytes) -> str:
        """Write any bytes as a version file; their address."""
        address = sha256_digest(data)
        self.path(address).parent.mkdir(exist_ok=True)
        self.path(address).write_bytes(data)
        return address

    def commit(
        self, envelope: Mapping[str, Any], event_type: str = "object_updated", **members: Any
    ) -> str:
        """Write a version and the event that commits it, with `members` in the event."""
        address = self.store_version(envelope)
        member = "relationship_id" if "relationship_id" in envelope else "object_id"
        event = self.event(
            event_type,
            **{member: envelope[member]},
            version_id=envelope["version_id"],
            **{"recorded_at": envelope["recorded_at"], **members},
        )
        self.append(("event", event), version=address)
        return address

    def bind(self, actor_id: str, key: PrivateKey) -> None:
        """Bind an actor to a key, after all that it has written."""
        now = "2026-12-31T00:00:00.000000Z"
        Keyring(self.store.keys).add("bound", key, now=now, actor_id=actor_id)

    def pack(self) -> Path:
        return next(self.layout.packs.iterdir())

    def erased_address(self) -> str:
        """The address of the version that was erased."""
        (erasure,) = [entry for entry in self.entries() if entry["kind"] == "erasure"]
        return str(erasure["body"]["address"])


def chained(entries: list[dict[str, Any]]) -> list[bytes]:
    """The lines of entries, each with the digest of the one before."""
    prev, lines = "0" * 64, []
    for entry in entries:
        line = canonical({**entry, "prev": prev})
        prev = sha256_hex(line)
        lines.append(line + b"\n")
    return lines

"""Operations that change a store, each with the store that it begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.crash import acts, stores
from tests.crash.stores import ELSEWHERE, ERASE, HUMAN, SCOPE, SEEN, WRITING, claim, on_first

Prepare = Callable[[Path], None]


@dataclass(frozen=True)
class Scenario:
    """prepare: makes the store. act: the operation, which yields each answer as soon as it
    was given; what was yielded is acknowledged.

    keyed: whether doing it again is safe, however it ended the first time.
    in_parts: whether some of it may be committed without the rest.
    by_scope: whether each scope is done by itself, and may be done when another is refused.
    derived: whether what it does is derived, so that the event that tells of it may be missing.
    erases: whether SECRET has to be gone.
    moves: whether versions go from files to packs.
    mends: whether the store is damaged before it, and whole after it.
    idle: whether nothing is written when it is done again, so that nobody sets anything right.
    """

    prepare: Prepare
    act: acts.Act
    keyed: bool = True
    in_parts: bool = False
    by_scope: bool = False
    derived: bool = False
    erases: bool = False
    moves: bool = False
    mends: bool = False
    idle: bool = False


_ERASED = acts.once("redact", on_first("a", **ERASE))

SCENARIOS: Mapping[str, Scenario] = {
    "init": Scenario(stores.nothing, acts.make_store),
    "create": Scenario(
        stores.memories,
        acts.unkeyed("create", lambda _: claim("new", "tea", expect_absent=True)),
        keyed=False,
    ),
    "create-keyed": Scenario(stores.memories, acts.NEW),
    "create-signed": Scenario(stores.with_signing_actor, acts.NEW),
    "create-after-crash": Scenario(stores.torn, acts.NEW),
    "refused": Scenario(stores.memories, acts.refused),
    "first-write": Scenario(
        stores.memories,
        acts.once("create", lambda _: claim("first", "tea", scope_id="conversation:new")),
    ),
    "batch": Scenario(stores.memories, acts.group(atomic=False), in_parts=True),
    "batch-atomic": Scenario(stores.memories, acts.group(atomic=True)),
    "update": Scenario(
        stores.memories,
        acts.once("update", on_first("a", provenance=SEEN, canonical_content="later")),
    ),
    "transition": Scenario(
        stores.memories,
        acts.once("transition", on_first("a", dimension="validation", target_state="corroborated")),
    ),
    "delete": Scenario(
        stores.memories, acts.once("delete", on_first("a", policy_basis="policy:owner"))
    ),
    "relate": Scenario(stores.memories, acts.once("relate", acts.relation)),
    "promote": Scenario(stores.memories, acts.once("promote", acts.promotion)),
    "redact": Scenario(stores.memories, acts.once("redact", on_first("a", policy_basis="asked"))),
    "redact-embedded": Scenario(
        stores.with_vectors, acts.once("redact", on_first("a", policy_basis="asked"))
    ),
    "erase": Scenario(stores.memories, _ERASED, erases=True),
    "erase-packed": Scenario(stores.packed, _ERASED, erases=True),
    "erase-embedded": Scenario(stores.with_vectors, _ERASED, erases=True),
    "delete-erase": Scenario(
        stores.memories, acts.once("delete", on_first("a", **ERASE)), erases=True
    ),
    "expire": Scenario(stores.expiring, acts.expire, in_parts=True, idle=True),
    "pack": Scenario(stores.crowded, acts.pack, moves=True),
    "pack-by-itself": Scenario(stores.crowded, acts.pack_by_itself, moves=True),
    "import": Scenario(stores.with_bundle, acts.import_()),
    "import-two-scopes": Scenario(stores.with_two_scopes_to_come, acts.import_(), by_scope=True),
    "import-extending": Scenario(stores.with_longer_bundle, acts.import_()),
    "import-erasing": Scenario(stores.with_erasing_bundle, acts.import_(), erases=True, idle=True),
    "import-anew": Scenario(
        stores.with_bundle, acts.import_(map_scopes={ELSEWHERE: SCOPE}), in_parts=True
    ),
    "grant": Scenario(stores.memories, acts.once("grant_delegation", stores.grant)),
    "revoke": Scenario(stores.with_grant, acts.once("revoke_delegation", acts.revocation)),
    "subscribe": Scenario(stores.memories, acts.once("subscribe", lambda _: WRITING)),
    "acknowledge": Scenario(
        stores.subscribed,
        acts.unkeyed(
            "acknowledge_subscription", lambda store: {**acts.subscription(store), "sequence": 2}
        ),
    ),
    "unsubscribe": Scenario(
        stores.subscribed,
        acts.once("unsubscribe", lambda store: {"scope_id": SCOPE, **acts.subscription(store)}),
    ),
    "policy": Scenario(stores.memories, acts.once("scope_policy", acts.policy)),
    "scope-create": Scenario(
        stores.memories,
        acts.unkeyed("scope_create", lambda _: {"scope_id": "workspace:new", "actor": HUMAN}),
    ),
    "schema": Scenario(
        stores.memories,
        acts.once("schema_add", lambda _: {**WRITING, "schema_id": "urn:tea", "schema": True}),
    ),
    "space": Scenario(
        stores.memories, acts.once("space_add", lambda _: {**WRITING, "space": stores.SPACE})
    ),
    "snapshot": Scenario(
        stores.with_vectors,
        acts.once("snapshot_create", lambda _: {**WRITING, "snapshot_id": "snap:one"}),
    ),
    "embed": Scenario(stores.with_vectors, acts.embed),
    "unembed": Scenario(stores.with_vectors, acts.unembed),
    "checkpoint": Scenario(acts.with_checkpoint, acts.checkpoint),
    "config": Scenario(stores.memories, acts.set_default),
    "rebuild": Scenario(stores.memories, acts.rebuild, derived=True),
    "repair": Scenario(stores.damaged, acts.repair, mends=True),
    "project": Scenario(stores.with_key, acts.projected),
    "accept": Scenario(stores.empty, acts.accept),
    "key-generate": Scenario(stores.empty, acts.generate, keyed=False),
    "key-generate-keyed": Scenario(stores.empty, acts.command("key", "generate", "desk")),
    "config-keyed": Scenario(
        stores.memories, acts.command("config", "default_scope", "workspace:other")
    ),
    "pack-keyed": Scenario(stores.crowded, acts.command("pack"), moves=True, idle=True),
    "key-trust": Scenario(stores.with_key, acts.trust),
    "key-revoke": Scenario(stores.with_key, acts.revoke),
}

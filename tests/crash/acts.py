"""What is done to a store in the crash sweep. Each yields its answer as soon as it was given."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest import mock

import pamctl
from pamctl.cli.application import dispatch
from pamctl.cli.commands.repair import repaired
from pamctl.errors import InvalidRequest, InvalidStateTransition, ServiceUnavailable
from pamctl.exchange.checkpoints import LedgerCheckpoints
from pamctl.projection.project import project
from pamctl.projection.register import accepted
from pamctl.service.sources import Sources
from pamctl.service.store import Store
from pamctl.store import packing
from pamctl.store.configuration import configure
from pamctl.store.keyring import Keyring
from pamctl.store.layout import StoreLayout
from tests.crash import stores
from tests.crash.stores import (
    AGENT,
    GIVEN,
    HUMAN,
    KEY_MADE,
    SCOPE,
    WRITING,
    Fixed,
    Json,
    claim,
    first_version,
    on_first,
    opened,
)

Act = Callable[[Path, str], Iterator[Any]]


def once(operation: str, arguments: Callable[[Store], Json], key: str | None = "key:once") -> Act:
    """An operation by its name; keyed, unless `key` is None."""

    def act(path: Path, word: str) -> Iterator[Any]:
        store = opened(path, word)
        wanted = {**arguments(store)}
        if key is not None:
            wanted["idempotency_key"] = key
        yield store.perform(operation, wanted)
        store.close()

    return act


def unkeyed(operation: str, arguments: Callable[[Store], Json]) -> Act:
    """An operation that no key is needed for, since its second time changes nothing."""
    return once(operation, arguments, None)


def group(*, atomic: bool) -> Act:
    def act(path: Path, word: str) -> Iterator[Any]:
        store = opened(path, word)
        results = []
        with store.group(atomic=atomic) as group:
            for name in ("x", "y", "z"):
                key = {"idempotency_key": f"key:{name}"}
                results.append(group.perform("create", claim(name, f"tea {name}", **key)))
        yield from results
        store.close()

    return act


def relation(_: Store) -> Json:
    return {
        **GIVEN,
        "source_object_id": "mem:a",
        "target_object_id": "mem:b",
        "relationship_type": "supports",
    }


def promotion(store: Store) -> Json:
    source = first_version("plan")(store)
    return {
        "scope_id": SCOPE,
        "actor": AGENT,
        "source_object_id": source["object_id"],
        "expected_version_id": source["expected_version_id"],
        "target_object_id": "mem:task",
        "target_object_type": "task",
        "target_canonical_content": {"title": "Draft it."},
        "provenance": {"activity": "consolidated"},
    }


def revocation(store: Store) -> Json:
    (granted,) = store.delegations.list(scope_id=SCOPE, actor=HUMAN)["items"]
    return {
        **WRITING,
        "delegation_id": granted["delegation"]["delegation_id"],
        "policy_basis": "policy:owner",
    }


def policy(_: Store) -> Json:
    return {**WRITING, "policy": {"policy_version": 1, "default_effect": "allow", "rules": []}}


def subscription(store: Store) -> Json:
    (found,) = store.perform("list_subscriptions", {**WRITING, "closed": True})["items"]
    return {"subscription_id": found["subscription_id"], "actor": HUMAN}


def refused(path: Path, word: str) -> Iterator[Any]:
    """A request that breaks a rule; its refusal is kept under its key."""
    store = opened(path, word)
    wanted = on_first("a", dimension="lifecycle", target_state="scratch")(store)
    try:
        store.transition(**wanted, idempotency_key="key:refused")
    except InvalidStateTransition as refused:
        yield {"refused": refused.code}
    store.close()


def pack(path: Path, word: str) -> Iterator[Any]:
    """Packs a scope; it answers with what is then there, which repetition does not change."""
    store = opened(path, word)
    store.pack(scope_id=SCOPE)
    layout = store.directory.scope(SCOPE)
    store.close()
    yield {
        "loose": len([*layout.versions.glob("*/*.json")]),
        "packs": [file.name for file in layout.packs.iterdir()],
    }


def pack_by_itself(path: Path, word: str) -> Iterator[Any]:
    """A write that finds too many files."""
    with mock.patch.multiple(packing, LOOSE_VERSIONS_MAX=0, LOOK_EVERY=1):
        yield from NEW(path, word)


def import_(**how: Any) -> Act:
    def act(path: Path, word: str) -> Iterator[Any]:
        store = opened(path, word)
        with open(path / stores.BUNDLE, "rb") as bundle:
            answer = pamctl.import_bundle(store, bundle, actor=HUMAN, **how)
        yield {"digest": answer["digest"]}
        store.close()

    return act


def make_store(path: Path, word: str) -> Iterator[Any]:
    store = stores.made(path, word)
    yield {"store_id": store.store_id}
    store.close()


def expire(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    answer = store.expire(scope_id=SCOPE, actor=HUMAN)
    yield {"scope_id": answer["scope_id"], "refused": answer["refused"]}
    store.close()


def embed(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    named = [stores.vector(name) for name in ("a", "b")]
    yield {"put": len(store.perform("embedding_put", {**WRITING, "embeddings": named}))}
    store.close()


def unembed(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    wanted = {**WRITING, "object_id": "mem:a", "embedding_space_id": "emb:a"}
    yield {"deleted": "deleted" in store.perform("embedding_delete", wanted)}
    store.close()


def checkpoint(path: Path, word: str) -> Iterator[Any]:
    """Signs a ledger's head and puts that on record. Made again it is of the longer ledger,
    unless the first is known: so it is given as it was."""
    store = opened(path, word)
    layout = StoreLayout(path)
    kept = path / "signed.checkpoint"
    if kept.exists():
        text = kept.read_text()
    else:
        key = Keyring(path / "keys").private("laptop")
        _, note = LedgerCheckpoints(layout, layout.scope(SCOPE)).create(key)
        text = note.encoded().decode()
    if word == "prepared":
        kept.write_text(text)
    else:
        store.perform("checkpoint_record", {**WRITING, "checkpoint": text})
        yield {"checkpoint": text}
    store.close()


def with_checkpoint(path: Path) -> None:
    stores.with_key(path)
    assert not [*checkpoint(path, "prepared")]


def set_default(path: Path, word: str) -> Iterator[Any]:
    yield configure(StoreLayout(path), {"default_scope": "workspace:other"})


def rebuild(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    yield {"made anew": bool(store.rebuild_index(scope_id=SCOPE))}
    store.close()


def repair(path: Path, word: str) -> Iterator[Any]:
    # One process: calls are counted in each, and a pool gives its work to whoever is free.
    with mock.patch.object(os, "cpu_count", return_value=1):
        yield {"clean": repaired(path, other=path / stores.COPY, apply=True)["clean"]}


def projected(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    reading = {"scope_id": SCOPE, "actor": HUMAN}
    made = project(store, **reading, request=b"tea?", policy=b"{}", key="laptop")
    # Its id is another each time: whoever got none projects again.
    yield {"signed": "proof" in made.record}
    store.close()


def accept(path: Path, word: str) -> Iterator[Any]:
    record = {
        "projection_id": "projection:1",
        "created_at": "2026-01-01T00:00:00Z",
        "projection": {"digest": "sha256:" + "0" * 64},
    }
    yield {"first": accepted(path / "projections").register(record)}


def generate(path: Path, word: str) -> Iterator[Any]:
    """Makes a key. One whose making was interrupted is never taken up, since nobody can tell
    who knows it: then this does what the refusal says, and makes another."""
    ring, left = Keyring(path / "keys"), path / "keys" / "desk.pem"
    seed = Fixed(word).entropy(32)
    try:
        made = ring.generate("desk", seed=seed, now=KEY_MADE)
    except InvalidRequest as taken:
        if f"by {left}, which has no public record" not in taken.message:
            raise
        left.unlink()
        made = ring.generate("desk", seed=seed, now=KEY_MADE)
    yield dict(made)


def trust(path: Path, word: str) -> Iterator[Any]:
    ring = Keyring(path / "keys")
    public = ring.private("laptop").public
    yield dict(ring.trust(public, "author", now=KEY_MADE, actor_id="actor:local:friend"))


def revoke(path: Path, word: str) -> Iterator[Any]:
    ring = Keyring(path / "keys")
    ring.revoke("laptop", now="2026-01-02T00:00:00Z")
    yield {"status": ring.show("laptop")["status"]}


def command(*words: str) -> Act:
    """The command line under an idempotency key. Its state is beside the store."""

    def act(path: Path, word: str) -> Iterator[Any]:
        fixed, said = Fixed(word), [TextIOWrapper(BytesIO()) for _ in range(2)]
        environment = {"XDG_STATE_HOME": str(path.parent / "state"), "HOME": str(path.parent)}
        defaults = (fixed.clock, fixed.entropy)
        with (
            mock.patch.object(Sources.__new__, "__defaults__", defaults),
            mock.patch.object(os, "urandom", fixed.entropy),
            mock.patch.multiple(sys, stdout=said[0], stderr=said[1]),
        ):
            keyed = [*words, "--store", str(path), "--idempotency-key", "key:once"]
            status = dispatch(keyed, environment)
        answer, complaint = (stream.buffer.getvalue() for stream in said)  # type: ignore[attr-defined]
        if status == ServiceUnavailable.exit_status:
            raise ServiceUnavailable(complaint.decode())
        assert status == 0, complaint.decode()
        yield json.loads(answer)

    return act


NEW = once("create", lambda _: claim("new", "tea"))

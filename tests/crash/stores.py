"""The stores that the operations of the crash sweep begin with.

Clock and randomness are fixed by a word, so that the same word gives the same bytes in every
process: what a traced run is held against is another run of the same.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pamctl
from pamctl.service.store import Store
from pamctl.store.keyring import Keyring

Json = dict[str, Any]
SCOPE = "workspace:default"
ELSEWHERE = "workspace:garden"
FARTHER = "workspace:shed"
SECRET = "the-door-code-is-4711"
"""What the objects hold that are to be erased."""

HUMAN = {"actor_id": "actor:local:owner", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:planner", "actor_kind": "agent"}
SEEN = {"activity": "observed"}
WRITING: Json = {"scope_id": SCOPE, "actor": HUMAN}
ERASE: Json = {"policy_basis": "asked by its subject", "erase": True}
GIVEN: Json = {**WRITING, "provenance": SEEN}
SPACE = {
    "embedding_space_id": "emb:a",
    "provider": "local",
    "model": "small",
    "model_revision": "1",
    "dimensions": 2,
    "distance_metric": "cosine",
    "normalization": "l2",
    "preprocessing_profile": "none",
    "embedding_kind": "text",
    "canonicalization_rules": "UTF-8, as it is",
}
KEY_MADE = "2026-01-01T00:00:00Z"
SEED = b"\x01" * 32
BUNDLE = "incoming.pamb"
"""A file beside what the layout of a store names, which everybody passes over."""
COPY = "second-copy"

_FIRST_MOMENT_NS = 1_767_225_600_000_000_000
_HOUR_NS = 3_600_000_000_000
_WORDS = ("prepared", "filled", "torn", "subscribed", "act", "again")
"""What the clock begins at hours apart for, so that it never runs backwards."""


class Fixed:
    """A clock and a source of bytes that a word determines."""

    def __init__(self, word: str) -> None:
        self._word = word
        self._draws = 0
        self._now_ns = _FIRST_MOMENT_NS + _HOUR_NS * _WORDS.index(word)

    def clock(self) -> int:
        self._now_ns += 1_000_000_000
        return self._now_ns

    def entropy(self, count: int) -> bytes:
        self._draws += 1
        return hashlib.shake_256(f"{self._word} {self._draws}".encode()).digest(count)


def opened(path: Path, word: str) -> Store:
    fixed = Fixed(word)
    return pamctl.open_store(path, clock=fixed.clock, entropy=fixed.entropy)


def made(path: Path, word: str = "prepared", scope: str = SCOPE) -> Store:
    fixed = Fixed(word)
    return pamctl.init_store(path, default_scope=scope, clock=fixed.clock, entropy=fixed.entropy)


def claim(name: str, content: Any, **more: Any) -> Json:
    """A request for an object of that name."""
    given = {**GIVEN, "object_type": "claim", "object_id": f"mem:{name}"}
    return {**given, "canonical_content": content, **more}


def first_version(name: str) -> Callable[[Store], Json]:
    """Names an object and its first version, so that a repetition is the same request."""

    def arguments(store: Store) -> Json:
        history = store.history(scope_id=SCOPE, object_id=f"mem:{name}")
        version = history["items"][0]["version_id"]
        return {"object_id": f"mem:{name}", "expected_version_id": version}

    return arguments


def on_first(name: str, **more: Any) -> Callable[[Store], Json]:
    return lambda store: {**WRITING, **first_version(name)(store), **more}


def nothing(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)


def empty(path: Path) -> None:
    made(path).close()


def memories(path: Path) -> None:
    """Two claims in files of their own and a working memory."""
    made(path).close()
    _fill(path)


def _fill(path: Path) -> None:
    store = opened(path, "filled")
    for name in ("a", "b"):
        store.create(**claim(name, {"note": SECRET if name == "a" else "tea"}))
    store.create(
        **{**GIVEN, "actor": AGENT},
        object_type="working_memory",
        object_id="mem:plan",
        canonical_content={"task_ref": "task:plan:1", "content": ["gather", "draft"]},
    )
    store.close()


def packed(path: Path) -> None:
    """Memories in one pack."""
    store = made(path)
    with store.group() as group:
        for name in ("a", "b", "c"):
            group.perform("create", claim(name, SECRET if name == "a" else f"tea {name}"))
    store.close()


def crowded(path: Path) -> None:
    """Versions in files, a stub among them, and two small packs."""
    memories(path)
    store = opened(path, "torn")
    for pair in ("cd", "ef"):
        with store.group() as group:
            for name in pair:
                group.perform("create", claim(name, f"tea {name}"))
    store.redact(**on_first("a", **ERASE)(store))
    store.close()


def with_bundle(path: Path) -> None:
    """Memories, and beside them what another store exported of a scope."""
    other = _garden(path)
    exported = _exported(other)
    memories(path)
    _lay_down(path, other, exported)


def with_two_scopes_to_come(path: Path) -> None:
    """Memories, and beside them what another store exported of two scopes."""
    other = _garden(path)
    other.create(**claim("spade", "by the door", scope_id=FARTHER))
    exported = _exported(other)
    memories(path)
    _lay_down(path, other, exported)


def with_longer_bundle(path: Path) -> None:
    """What another store exported of a scope was imported; it went on, and exported more."""
    other = _garden(path)
    exported = _exported(other)
    memories(path)
    here = opened(path, "subscribed")
    pamctl.import_bundle(here, BytesIO(exported), actor=HUMAN)
    here.close()
    with other.group() as group:
        for name in ("v", "w"):
            group.perform("create", claim(name, f"tea {name}", scope_id=ELSEWHERE))
    other.update(
        scope_id=ELSEWHERE,
        object_id="mem:z",
        expected_version_id=other.read(scope_id=ELSEWHERE, object_id="mem:z")["version_id"],
        actor=HUMAN,
        provenance=SEEN,
        canonical_content="more tea",
    )
    _lay_down(path, other, _exported(other))


def with_erasing_bundle(path: Path) -> None:
    """What another store exported of a scope was imported, and stands in a pack here; then one
    version of it was erased there, and that was exported."""
    other = _garden(path)
    secret = other.create(**claim("s", SECRET, scope_id=ELSEWHERE))
    exported = _exported(other)
    made(path).close()
    here = opened(path, "subscribed")
    pamctl.import_bundle(here, BytesIO(exported), actor=HUMAN)
    here.close()
    other.redact(
        scope_id=ELSEWHERE,
        object_id="mem:s",
        expected_version_id=secret["version_id"],
        actor=HUMAN,
        **ERASE,
    )
    _lay_down(path, other, _exported(other))


def torn(path: Path) -> None:
    """Memories, and what a writer left that died: a torn tail and an unfinished file."""
    memories(path)
    store = opened(path, "torn")
    layout = store.directory.scope(SCOPE)
    tail = layout.ledger.read_bytes().splitlines()[-1][:-20]
    with open(layout.ledger, "ab") as ledger:
        ledger.write(tail)
    (layout.staging / ".left.1-0.new").write_bytes(b"half a vers")


def damaged(path: Path) -> None:
    """A second copy of a store, and the store: a version of it altered, another gone, a torn
    tail, and git's files missing."""
    packed(path)
    store = opened(path, "torn")
    for name in ("d", "e"):
        store.create(**claim(name, f"tea {name}"))
    layout = store.directory.scope(SCOPE)
    store.close()
    copy = path.parent / COPY
    shutil.copytree(path, copy, ignore=shutil.ignore_patterns("index"))
    altered, gone = sorted(layout.versions.glob("*/*.json"))
    altered.write_bytes(altered.read_bytes().replace(b"tea", b"mud"))
    gone.unlink()
    (path / ".gitattributes").unlink()
    with open(layout.ledger, "ab") as ledger:
        ledger.write(b'{"body":{')
    shutil.rmtree(path / "index")
    shutil.move(copy, path / COPY)


def subscribed(path: Path) -> None:
    memories(path)
    store = opened(path, "subscribed")
    made = store.subscribe(**WRITING, acknowledgement="explicit", idempotency_key="key:sub")
    named = {"subscription_id": made["subscription_id"]}
    store.perform("poll_subscription", {**named, "actor": HUMAN})
    store.close()


def with_key(path: Path) -> None:
    memories(path)
    Keyring(path / "keys").generate("laptop", seed=SEED, now=KEY_MADE)


def with_signing_actor(path: Path) -> None:
    """Memories, and a key that whatever their owner writes is signed with."""
    made(path).close()
    actor_id = HUMAN["actor_id"]
    Keyring(path / "keys").generate("laptop", seed=SEED, now=KEY_MADE, actor_id=actor_id)
    _fill(path)


def with_grant(path: Path) -> None:
    memories(path)
    store = opened(path, "torn")
    store.delegations.grant(**grant(store), idempotency_key="key:grant")
    store.close()


def grant(_: Store) -> Json:
    return {
        "scope_id": SCOPE,
        "granting_actor": HUMAN,
        "delegated_actor": AGENT,
        "granted_operations": ["read", "create"],
        "policy_basis": "policy:owner",
        "not_after": "2030-01-01T00:00:00Z",
    }


def with_vectors(path: Path) -> None:
    """Memories, one with a vector."""
    memories(path)
    store = opened(path, "torn")
    store.perform("space_add", {**WRITING, "space": SPACE})
    store.perform("embedding_put", {**WRITING, "embeddings": [vector("a")]})
    store.close()


def vector(name: str) -> Json:
    return {"object_id": f"mem:{name}", "vector": [0.6, 0.8], "embedding_space_id": "emb:a"}


def expiring(path: Path) -> None:
    """Memories that are all due."""
    memories(path)
    store = opened(path, "torn")
    policy = store.scope_show(scope_id=SCOPE)["policy"]
    rules = [{"rule_id": "rule:short", "expires_after_sec": 60}]
    store.scope_policy(**WRITING, policy={**policy, "retention": rules})
    store.close()


def _garden(path: Path) -> Store:
    """Another store, with a scope in which there are two versions in a pack and one in a file."""
    store = made(path.parent / "other" / ".pam", "torn", ELSEWHERE)
    with store.group() as group:
        for name in ("x", "y"):
            group.perform("create", claim(name, f"tea {name}", scope_id=ELSEWHERE))
    store.create(**claim("z", "tea z", scope_id=ELSEWHERE))
    return store


def _exported(store: Store) -> bytes:
    bundle = BytesIO()
    pamctl.export_bundle(store, bundle)
    return bundle.getvalue()


def _lay_down(path: Path, other: Store, exported: bytes) -> None:
    other.close()
    shutil.rmtree(other.path.parent)
    (path / BUNDLE).write_bytes(exported)

"""Operations that change a store, each with the store that it begins with.

Clock and randomness are fixed by a word, so that the same word gives the same bytes in every
process: what a traced run is held against is another run of the same.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pamctl
from pamctl.errors import InvalidStateTransition
from pamctl.projection.project import project
from pamctl.projection.register import accepted
from pamctl.service.store import Store
from pamctl.store import packing
from pamctl.store.keyring import Keyring

Json = dict[str, Any]
SCOPE = "workspace:default"
ELSEWHERE = "workspace:garden"
SECRET = "the-door-code-is-4711"
"""What the objects hold that are to be erased."""

_HUMAN = {"actor_id": "actor:local:owner", "actor_kind": "human"}
_AGENT = {"actor_id": "actor:agent:planner", "actor_kind": "agent"}
_SEEN = {"activity": "observed"}
_FIRST_MOMENT_NS = 1_767_225_600_000_000_000
_HOUR_NS = 3_600_000_000_000
_WORDS = ("prepared", "torn", "subscribed", "act", "again")
"""What the clock begins at hours apart for, so that it never runs backwards."""
_WRITING: Json = {"scope_id": SCOPE, "actor": _HUMAN}
_ERASE: Json = {"policy_basis": "asked by its subject", "erase": True}
_GIVEN: Json = {**_WRITING, "provenance": _SEEN}
_CLAIM: Json = {**_GIVEN, "object_type": "claim"}


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


Act = Callable[[Path, str], Iterator[Any]]
Prepare = Callable[[Path], None]


@dataclass(frozen=True)
class Scenario:
    """prepare: makes the store. act: the operation, which yields each answer as soon as it
    was given; what was yielded is acknowledged.

    keyed: whether doing it again is safe, however it ended the first time.
    in_parts: whether some of it may be committed without the rest.
    erases: whether SECRET has to be gone.
    moves: whether versions go from files to packs.
    """

    prepare: Prepare
    act: Act
    keyed: bool = True
    in_parts: bool = False
    erases: bool = False
    moves: bool = False


def _init(path: Path, word: str = "prepared") -> Store:
    fixed = Fixed(word)
    return pamctl.init_store(path, clock=fixed.clock, entropy=fixed.entropy)


def _nothing(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)


def _empty(path: Path) -> None:
    _init(path).close()


def _memories(path: Path) -> None:
    """Two claims in files of their own and a working memory."""
    store = _init(path)
    for name in ("a", "b"):
        store.create(**_claim(name, {"note": SECRET if name == "a" else "tea"}))
    store.create(
        **{**_GIVEN, "actor": _AGENT},
        object_type="working_memory",
        object_id="mem:plan",
        canonical_content={"task_ref": "task:plan:1", "content": ["gather", "draft"]},
    )
    store.close()


def _packed(path: Path) -> None:
    """Memories in one pack."""
    store = _init(path)
    with store.group() as group:
        for name in ("a", "b", "c"):
            group.perform("create", _claim(name, SECRET if name == "a" else f"tea {name}"))
    store.close()


def _crowded(path: Path) -> None:
    """Versions in files, a stub among them, and two small packs."""
    _memories(path)
    store = opened(path, "torn")
    for pair in ("cd", "ef"):
        with store.group() as group:
            for name in pair:
                group.perform("create", _claim(name, f"tea {name}"))
    store.redact(**_on_first("a", **_ERASE)(store))
    store.close()


def _with_bundle(path: Path) -> None:
    """Memories, and beside them what another store exported of a scope."""
    other = path.parent / "other" / ".pam"
    fixed = Fixed("torn")
    store = pamctl.init_store(
        other, default_scope=ELSEWHERE, clock=fixed.clock, entropy=fixed.entropy
    )
    with store.group() as group:
        for name in ("x", "y"):
            group.perform("create", _claim(name, f"tea {name}", scope_id=ELSEWHERE))
    store.create(**_claim("z", "tea z", scope_id=ELSEWHERE))
    exported = BytesIO()
    pamctl.export_bundle(store, exported)
    store.close()
    shutil.rmtree(other.parent)
    _memories(path)
    # What the layout does not name, everybody passes over.
    (path / "incoming.pamb").write_bytes(exported.getvalue())


def _torn(path: Path) -> None:
    """Memories, and what a writer left that died: a torn tail and an unfinished file."""
    _memories(path)
    store = opened(path, "torn")
    layout = store.directory.scope(SCOPE)
    tail = layout.ledger.read_bytes().splitlines()[-1][:-20]
    with open(layout.ledger, "ab") as ledger:
        ledger.write(tail)
    (layout.staging / ".left.1-0.new").write_bytes(b"half a vers")


def _subscribed(path: Path) -> None:
    _memories(path)
    store = opened(path, "subscribed")
    made = store.subscribe(**_WRITING, acknowledgement="explicit", idempotency_key="key:sub")
    named = {"subscription_id": made["subscription_id"]}
    store.perform("poll_subscription", {**named, "actor": _HUMAN})
    store.close()


def _with_key(path: Path) -> None:
    _memories(path)
    Keyring(path / "keys").generate("laptop", seed=b"\x01" * 32, now="2026-01-01T00:00:00Z")


def _claim(name: str, content: Any, **more: Any) -> Json:
    return {**_CLAIM, "object_id": f"mem:{name}", "canonical_content": content, **more}


def _once(operation: str, arguments: Callable[[Store], Json], key: str | None = "key:once") -> Act:
    """An operation by its name; keyed, unless `key` is None."""

    def act(path: Path, word: str) -> Iterator[Any]:
        store = opened(path, word)
        wanted = {**arguments(store)}
        if key is not None:
            wanted["idempotency_key"] = key
        yield store.perform(operation, wanted)
        store.close()

    return act


def _group(*, atomic: bool) -> Act:
    def act(path: Path, word: str) -> Iterator[Any]:
        store = opened(path, word)
        results = []
        with store.group(atomic=atomic) as group:
            for name in ("x", "y", "z"):
                key = {"idempotency_key": f"key:{name}"}
                results.append(group.perform("create", _claim(name, f"tea {name}", **key)))
        yield from results
        store.close()

    return act


def _first_version(name: str) -> Callable[[Store], Json]:
    """Names an object and its first version, so that a repetition is the same request."""

    def arguments(store: Store) -> Json:
        history = store.history(scope_id=SCOPE, object_id=f"mem:{name}")
        version = history["items"][0]["version_id"]
        return {"object_id": f"mem:{name}", "expected_version_id": version}

    return arguments


def _on_first(name: str, **more: Any) -> Callable[[Store], Json]:
    return lambda store: {**_WRITING, **_first_version(name)(store), **more}


def _promotion(store: Store) -> Json:
    source = _first_version("plan")(store)
    return {
        "scope_id": SCOPE,
        "actor": _AGENT,
        "source_object_id": source["object_id"],
        "expected_version_id": source["expected_version_id"],
        "target_object_id": "mem:task",
        "target_object_type": "task",
        "target_canonical_content": {"title": "Draft it."},
        "provenance": {"activity": "consolidated"},
    }


def _grant(store: Store) -> Json:
    return {
        "scope_id": SCOPE,
        "granting_actor": _HUMAN,
        "delegated_actor": _AGENT,
        "granted_operations": ["read", "create"],
        "policy_basis": "policy:owner",
        "not_after": "2030-01-01T00:00:00Z",
    }


def _acknowledge(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    (found,) = store.perform("list_subscriptions", _WRITING)["items"]
    named = {"subscription_id": found["subscription_id"], "actor": _HUMAN}
    yield store.perform("acknowledge_subscription", {**named, "sequence": 2})
    store.close()


def _refused(path: Path, word: str) -> Iterator[Any]:
    """A request that breaks a rule; its refusal is kept under its key."""
    store = opened(path, word)
    wanted = _on_first("a", dimension="lifecycle", target_state="scratch")(store)
    try:
        store.transition(**wanted, idempotency_key="key:refused")
    except InvalidStateTransition as refused:
        yield {"refused": refused.code}
    store.close()


def _pack(path: Path, word: str) -> Iterator[Any]:
    """Packs a scope; it answers with what is then there, which repetition does not change."""
    store = opened(path, word)
    store.pack(scope_id=SCOPE)
    layout = store.directory.scope(SCOPE)
    store.close()
    yield {
        "loose": len([*layout.versions.glob("*/*.json")]),
        "packs": [file.name for file in layout.packs.iterdir()],
    }


def _pack_by_itself(path: Path, word: str) -> Iterator[Any]:
    """A write that finds too many files."""
    packing.LOOSE_VERSIONS_MAX, packing.LOOK_EVERY = 0, 1
    yield from _once("create", lambda _: _claim("new", "tea"))(path, word)


def _import(**how: Any) -> Act:
    def act(path: Path, word: str) -> Iterator[Any]:
        store = opened(path, word)
        with open(path / "incoming.pamb", "rb") as bundle:
            answer = pamctl.import_bundle(store, bundle, actor=_HUMAN, **how)
        yield {"digest": answer["digest"]}
        store.close()

    return act


def _make_store(path: Path, word: str) -> Iterator[Any]:
    store = _init(path, word)
    yield {"store_id": store.store_id}
    store.close()


def _first_write(path: Path, word: str) -> Iterator[Any]:
    """The first write to a scope, which makes it."""
    store = opened(path, word)
    arguments = _claim("first", "tea", scope_id="conversation:new", idempotency_key="key:first")
    yield store.create(**arguments)
    store.close()


def _project(path: Path, word: str) -> Iterator[Any]:
    store = opened(path, word)
    reading = {"scope_id": SCOPE, "actor": _HUMAN}
    made = project(store, **reading, request=b"tea?", policy=b"{}", key="laptop")
    # Its id is another each time: whoever got none projects again.
    yield {"signed": "proof" in made.record}
    store.close()


def _accept(path: Path, word: str) -> Iterator[Any]:
    record = {
        "projection_id": "projection:1",
        "created_at": "2026-01-01T00:00:00Z",
        "projection": {"digest": "sha256:" + "0" * 64},
    }
    yield {"first": accepted(path / "projections").register(record)}


def _generate(path: Path, word: str) -> Iterator[Any]:
    now = "2026-01-01T00:00:00Z"
    seed = Fixed(word).entropy(32)
    yield dict(Keyring(path / "keys").generate("desk", seed=seed, now=now))


def _trust(path: Path, word: str) -> Iterator[Any]:
    ring = Keyring(path / "keys")
    ring.revoke("laptop", now="2026-01-02T00:00:00Z")
    yield {"status": ring.show("laptop")["status"]}


SCENARIOS: Mapping[str, Scenario] = {
    "init": Scenario(_nothing, _make_store),
    "create": Scenario(
        _memories,
        _once("create", lambda _: _claim("new", "tea", expect_absent=True), None),
        keyed=False,
    ),
    "create-keyed": Scenario(_memories, _once("create", lambda _: _claim("new", "tea"))),
    "refused": Scenario(_memories, _refused),
    "create-after-crash": Scenario(_torn, _once("create", lambda _: _claim("new", "tea"))),
    "first-write": Scenario(_memories, _first_write),
    "batch": Scenario(_memories, _group(atomic=False), in_parts=True),
    "batch-atomic": Scenario(_memories, _group(atomic=True)),
    "update": Scenario(
        _memories, _once("update", _on_first("a", provenance=_SEEN, canonical_content="later"))
    ),
    "transition": Scenario(
        _memories,
        _once("transition", _on_first("a", dimension="validation", target_state="corroborated")),
    ),
    "delete": Scenario(_memories, _once("delete", _on_first("a", policy_basis="policy:owner"))),
    "relate": Scenario(
        _memories,
        _once(
            "relate",
            lambda _: {
                **_GIVEN,
                "source_object_id": "mem:a",
                "target_object_id": "mem:b",
                "relationship_type": "supports",
            },
        ),
    ),
    "promote": Scenario(_memories, _once("promote", _promotion)),
    "redact": Scenario(_memories, _once("redact", _on_first("a", policy_basis="asked"))),
    "erase": Scenario(_memories, _once("redact", _on_first("a", **_ERASE)), erases=True),
    "erase-packed": Scenario(_packed, _once("redact", _on_first("a", **_ERASE)), erases=True),
    "delete-erase": Scenario(_memories, _once("delete", _on_first("a", **_ERASE)), erases=True),
    "pack": Scenario(_crowded, _pack, moves=True),
    "pack-by-itself": Scenario(_crowded, _pack_by_itself, moves=True),
    "import": Scenario(_with_bundle, _import()),
    "import-anew": Scenario(_with_bundle, _import(map_scopes={ELSEWHERE: SCOPE}), in_parts=True),
    "grant": Scenario(_memories, _once("grant_delegation", _grant)),
    "subscribe": Scenario(_memories, _once("subscribe", lambda _: _WRITING)),
    "acknowledge": Scenario(_subscribed, _acknowledge),
    "policy": Scenario(
        _memories,
        _once(
            "scope_policy",
            lambda _: {
                **_WRITING,
                "policy": {"policy_version": 1, "default_effect": "allow", "rules": []},
            },
        ),
    ),
    "scope-create": Scenario(
        _memories,
        _once("scope_create", lambda _: {"scope_id": "workspace:new", "actor": _HUMAN}, None),
    ),
    "project": Scenario(_with_key, _project),
    "accept": Scenario(_empty, _accept),
    "key-generate": Scenario(_empty, _generate, keyed=False),
    "key-revoke": Scenario(_with_key, _trust),
}


def perform(name: str, path: Path, word: str) -> Iterator[Any]:
    """Carry a scenario's operation out; yields what is acknowledged."""
    return SCENARIOS[name].act(path, word)

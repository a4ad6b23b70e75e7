"""What has to hold of a store after a crash, and after the same request was made again.

A run that nothing happened to says what each file looks like before and after. Ledgers are
read here by a few lines of their own, so that a mistake in the reader hides none in the
writer.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pamctl
from pamctl.cli.checking import checked
from pamctl.errors import ObjectDeleted, ObjectRedacted, PamError, StoreNotFound
from pamctl.service.store import Store
from pamctl.store import custody
from pamctl.store.embeddings import stored_spaces
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.stores import SECRET

Tree = Mapping[str, bytes]

# What recovery sets right, or what a crash may leave for good and does no harm.
_AFTER_A_CRASH = {
    *("ledger-torn-tail", "ledger-transaction-incomplete", "ledger-tail-unpinned"),
    *("leftover-file", "version-orphaned", "quarantine-occupied", "index-out-of-step"),
    *("erasure-incomplete", "custody-unfinished", "git-files-missing"),
}

# Of these nothing is left once somebody wrote.
_SET_RIGHT = {
    *("ledger-torn-tail", "ledger-transaction-incomplete", "erasure-incomplete"),
    *("custody-unfinished", "index-out-of-step"),
}

# What is derived may be made again and again; that it was is an event of its own.
_DERIVED = ("embedding_generated", "index_rebuilt")


@dataclass(frozen=True)
class Reference:
    """A scenario that went well: the trees before and after, how many events each scope's
    ledger had, what was answered, and what the store then said of itself."""

    name: str
    before: Tree
    after: Tree
    answers: list[bytes]
    told: Any = field(repr=False)

    @property
    def scenario(self) -> Scenario:
        return SCENARIOS[self.name]


def tree(store: Path) -> dict[str, bytes]:
    """Every file of a store by its path in it; indexes and locks are nobody's truth."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file() and "index" not in path.parts and path.name != "lock"
    }


def reference(name: str, prepared: Path, done: Path, answers: list[bytes]) -> Reference:
    return Reference(name, tree(prepared), tree(done), answers, summary(done))


def complete(ledger: bytes) -> tuple[bytes, list[dict[str, Any]]]:
    """A ledger up to its last complete transaction, and its entries up to there. Fails where
    they are not a chain."""
    entries: list[dict[str, Any]] = []
    size = sound = offset = 0
    head = "0" * 64
    for line in ledger.split(b"\n")[:-1]:
        try:
            entry = json.loads(line)
        except ValueError:
            break
        offset += len(line) + 1
        entries.append(entry)
        assert (entry["n"], entry["prev"]) == (len(entries), head)
        head = hashlib.sha256(line).hexdigest()
        if entry["i"] == entry["of"]:
            size, sound = offset, len(entries)
    events = [entry["body"]["sequence"] for entry in entries[:sound] if entry["kind"] == "event"]
    assert events == list(range(1, len(events) + 1))
    return ledger[:size], entries[:sound]


def judge(
    store: Path,
    known: Reference,
    answers: list[bytes],
    *,
    refused: bool = False,
    read: bool = True,
) -> None:
    """After a crash: what was acknowledged is there, and of the rest nothing in part.

    refused: whether the caller was told that the operation failed.
    read: whether to read the store too. Who reads first brings indexes up to date; without it
        the next writer finds everything as the crash left it.
    """
    acknowledged = len(answers)
    assert answers == known.answers[:acknowledged]
    found = tree(store)
    if known.scenario.mends:
        _require_nothing_lost(found, known)
        assert not acknowledged or _finished(known.after).items() <= _finished(found).items()
        return
    _require_whole_files(found, known)
    _require_whole_operations(found, known, acknowledged, refused=refused)
    if read:
        _require_readable(store, found)
        _require_checker_content(store, _AFTER_A_CRASH)


def judge_again(store: Path, known: Reference, answers: list[bytes]) -> None:
    """Makes the same request again: now it is done, and done once."""
    try:
        again = [*known.scenario.act(store, "again")]
    except PamError:
        if known.scenario.keyed:
            raise
        # Without a key its caller is not told that it was done; it is not done twice.
    else:
        for first, second in zip(answers, again, strict=False):
            assert _lasting(json.loads(first)) == _lasting(second)
    assert summary(store) == known.told
    found = tree(store)
    _require_readable(store, found)
    idle = known.scenario.idle
    for folder in () if idle else _scopes(found):
        assert not [name for name in found if name.startswith(f"{folder}/tmp/")]
        ledger = found[f"{folder}/ledger.jsonl"]
        assert complete(ledger)[0] == ledger
    if known.scenario.erases:
        for path in store.rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    _require_checker_content(store, _AFTER_A_CRASH if idle else _AFTER_A_CRASH - _SET_RIGHT)


def summary(path: Path) -> Any:
    """What a store says of itself, without identifiers and times."""
    try:
        store = pamctl.open_store(path)
    except StoreNotFound:
        return None
    scopes = {}
    for scope in store.scope_list()["items"]:
        scope_id = scope["scope_id"]
        objects = store.query(scope_id=scope_id, any_state=True, limit=1000)["items"]
        events = store.log(scope_id=scope_id, limit=1000)["items"]
        scopes[scope_id] = {
            "events": [e["event_type"] for e in events if e["event_type"] not in _DERIVED],
            "objects": sorted(json.dumps(_told(one), sort_keys=True) for one in objects),
            "subscriptions": _subscriptions(store, scope_id),
            "vectors": _embedded(store, scope_id),
            "brought": len(custody.records(store.directory.scope(scope_id))),
            "entries": _entries(store.directory.scope(scope_id).ledger.read_bytes()),
        }
    counts = [
        {name: scope[name] for name in ("scope_id", "objects", "versions")}
        for scope in store.status()["scopes"]
    ]
    store.close()
    return {"scopes": scopes, "counts": counts, **_kept(path)}


def _embedded(store: Store, scope_id: str) -> Any:
    """The objects that have a vector in each space, whether they may be seen or not."""
    held = stored_spaces(store.directory.scope(scope_id))
    return {space_id: sorted(space.versions()) for space_id, space in held}


def _entries(ledger: bytes) -> Mapping[str, int]:
    """How many entries of each kind a ledger has, of those that say what was asked for."""
    entries = complete(ledger)[1]
    return Counter(entry["kind"] for entry in entries if entry["kind"] not in ("event", "pack"))


def copied(store: Path, to: Path) -> Path:
    """A copy of a store, which need not be there."""
    shutil.rmtree(to.parent, ignore_errors=True)
    to.parent.mkdir(parents=True)
    if store.exists():
        shutil.copytree(store, to)
    return to


def _told(envelope: Mapping[str, Any]) -> dict[str, Any]:
    members = ("object_id", "object_type", "sequence", "canonical_content")
    states = [envelope[name] for name in sorted(envelope) if name.endswith("_state")]
    return {"states": states, **{name: envelope.get(name) for name in members}}


def _subscriptions(store: Store, scope_id: str) -> list[Any]:
    """A descriptor that no event speaks of is of a subscription that never was opened."""
    asked = {"scope_id": scope_id, "actor": {"actor_id": "actor:local:owner"}, "closed": True}
    found = store.perform("list_subscriptions", asked)["items"]
    return [{name: one.get(name) for name in ("acknowledged_sequence", "filter")} for one in found]


def _kept(path: Path) -> dict[str, Any]:
    """What lies beside the scopes, or how much of it there is."""
    return {
        "defaults": json.loads((path / "store.json").read_bytes()).get("default_scope"),
        "trusted": sorted(file.name for file in path.glob("keys/trusted/*.json")),
        "projections": len([*path.glob("projections/accepted/*.json")]),
        "keys": sorted(file.name for file in path.glob("keys/*.*") if file.name[0] != "."),
        "status": [json.loads(file.read_bytes())["status"] for file in path.glob("keys/*.json")],
    }


def _lasting(answer: Any) -> Any:
    """What an answer and its repetition have in common."""
    fleeting = ("replayed", "envelope", "first")
    return {name: member for name, member in answer.items() if name not in fleeting}


def _scopes(found: Tree) -> list[str]:
    return sorted(
        name.removesuffix("/scope.json")
        for name in found
        if name.startswith("scopes/")
        and name.endswith("/scope.json")
        and not name.startswith("scopes/.")
    )


def _require_whole_files(found: Tree, known: Reference) -> None:
    """A file has its name when all of it is there, and no sooner."""
    for name, data in found.items():
        # What is appended to counts line by line.
        appended = name.endswith(("/ledger.jsonl", "/custody.jsonl")) or "/embeddings/" in name
        if _is_unfinished(name) or appended:
            continue
        allowed = [known.before.get(name), known.after.get(name)]
        if name.startswith("quarantine/"):
            continue
        if known.scenario.erases and name.split("/")[2:3] in (["versions"], ["packs"]):
            continue  # what an erasure makes on its way is judged by the versions' addresses
        if known.scenario.moves and _is_named_by_digest(name, data):
            continue  # a file of which the pack has taken the place when all is done
        assert data in allowed, f"{name} is there with bytes that nobody wrote"
    for name in known.before:
        if not _is_unfinished(name) and name in known.after:
            assert name in found, f"{name} is gone"


def _finished(found: Tree) -> Tree:
    """The files that have got their names."""
    return {name: data for name, data in found.items() if not _is_unfinished(name)}


def _require_nothing_lost(found: Tree, known: Reference) -> None:
    """Every byte that a repair takes away is in quarantine, or still where it was."""
    kept = b"\n".join(found.values())
    for name, data in known.before.items():
        if not name.endswith("/ledger.jsonl"):
            assert data in kept, f"{name} is lost"
            continue
        sound = complete(data)[0]
        assert found[name].startswith(sound), f"{name} lost what was committed"
        assert data.removeprefix(sound) in kept, f"the tail of {name} is lost"


def _is_named_by_digest(name: str, data: bytes) -> bool:
    parts = name.removesuffix(".json").removesuffix(".jsonl").split("/")
    digits = "".join(parts[3:]) if parts[2:3] == ["versions"] else parts[-1]
    return hashlib.sha256(data).hexdigest() == digits


def _is_unfinished(name: str) -> bool:
    parts = name.split("/")
    return "tmp" in parts or any(part.startswith(".") and "-" in part for part in parts)


def _require_whole_operations(
    found: Tree, known: Reference, acknowledged: int, *, refused: bool
) -> None:
    """Each ledger ends with a transaction of the run that went well; and far enough for what
    was acknowledged, and not further for what was refused."""
    done = acknowledged == len(known.answers) and not known.scenario.derived
    for name, after in known.after.items():
        if not name.endswith("/ledger.jsonl"):
            continue
        before = complete(known.before.get(name, b""))[1]
        entries = complete(after)[1]
        now, have = complete(found.get(name, b""))
        assert after.startswith(now), f"{name} holds what the operation did not write"
        assert len(have) in {0, *_ends(entries)}
        if known.scenario.moves:
            # Where versions stand is nobody's request: it may have failed, or been done.
            before, have, entries = (
                [e for e in some if e["kind"] != "pack"] for some in (before, have, entries)
            )
        if not known.scenario.in_parts:
            events = [[e for e in some if e["kind"] != "pack"] for some in (before, have, entries)]
            born = [len(events[0])] if name in known.before else [0, _birth(entries)]
            assert len(events[1]) in {*born, len(events[2])}, f"{name} holds half an operation"
        if done:
            assert len(have) == len(entries), f"{name} lost what was acknowledged"
        if refused and not known.scenario.by_scope:
            unchanged = {len(before)} if name in known.before else {0, _birth(entries)}
            assert len(have) in unchanged, f"{name} holds what was refused"
    if done and not known.scenario.erases and not known.scenario.moves:
        missing = {name for name in known.after if not _may_be_missing(name)} - found.keys()
        assert not missing, f"acknowledged, and gone: {missing}"


def _may_be_missing(name: str) -> bool:
    """Temporary files, and pins of vectors: whoever has none answers as best he can."""
    return _is_unfinished(name) or "/pins/" in name


def _ends(entries: list[dict[str, Any]]) -> set[int]:
    return {entry["n"] for entry in entries if entry["i"] == entry["of"]}


def _birth(entries: list[dict[str, Any]]) -> int:
    """How long a ledger is when its scope appears."""
    return next((e["n"] - 1 for e in entries if e["kind"] in ("event", "pack")), len(entries))


def _require_readable(path: Path, found: Tree) -> None:
    """Everything that the ledgers speak of can be read, by whoever reads first."""
    if "store.json" not in found:
        return
    store = pamctl.open_store(path)
    for folder in _scopes(found):
        scope_id = json.loads(found[f"{folder}/scope.json"])["scope_id"]
        _, entries = complete(found[f"{folder}/ledger.jsonl"])
        _require_versions(found, folder, entries)
        _require_answers(store, scope_id, entries)
    store.close()


def _require_versions(found: Tree, folder: str, entries: list[dict[str, Any]]) -> None:
    packed = {
        f"sha256:{hashlib.sha256(line).hexdigest()}"
        for name, data in found.items()
        if name.startswith(f"{folder}/packs/")
        for line in data.split(b"\n")
    }
    erased = {entry["body"]["address"] for entry in entries if entry["kind"] == "erasure"}
    for entry in entries:
        address = entry.get("version")
        if address is None or address in packed or address in erased:
            continue
        digits = address.removeprefix("sha256:")
        data = found.get(f"{folder}/versions/{digits[:2]}/{digits[2:]}.json")
        assert data is not None, f"{address} is named and not there"
        assert hashlib.sha256(data).hexdigest() == digits


def _require_answers(store: Store, scope_id: str, entries: list[dict[str, Any]]) -> None:
    events = [entry["body"] for entry in entries if entry["kind"] == "event"]
    logged = store.log(scope_id=scope_id, limit=1000)["items"]
    assert [one["event_id"] for one in logged] == [one["event_id"] for one in events]
    identifiers = dict.fromkeys(event.get("object_id", "") for event in events)
    for object_id in (one for one in identifiers if one.startswith("mem:")):
        history = store.history(scope_id=scope_id, object_id=object_id)["items"]
        try:
            envelope = store.read(scope_id=scope_id, object_id=object_id)
        except (ObjectDeleted, ObjectRedacted):
            assert history[-1]["availability_state"] in ("deleted", "redacted")
        else:
            assert history[-1]["version_id"] == envelope["version_id"]
        assert [one["sequence"] for one in history] == list(range(1, len(history) + 1))
    for envelope in _all(store, scope_id):
        erased = any(entry["kind"] == "erasure" for entry in entries)
        assert not (erased and SECRET in json.dumps(envelope))


def _all(store: Store, scope_id: str) -> Iterator[Any]:
    yield from store.query(scope_id=scope_id, any_state=True, limit=1000)["items"]


def _require_checker_content(store: Path, allowed: set[str]) -> None:
    """The checker finds nothing but what recovery will set right."""
    if not (store / "store.json").exists():
        return
    findings = checked(store)["findings"]
    found = {finding["id"]: finding for finding in findings}
    assert found.keys() <= allowed, {name: found[name] for name in found.keys() - allowed}

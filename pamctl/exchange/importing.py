"""Takes over what stands in a bundle. PAMSPEC §7.5; `store-format/custody.md`.

1. The bundle is read once, to its footer, and everything in it is checked. Meanwhile what it
   will be is built beside the scopes; nothing in the store is changed.
2. Each scope is held against the one that is here: it is new, goes on from it, is the same,
   is behind it, or has become another. One that has become another refuses the whole bundle.
3. Scope by scope, under its lock, packs, custody and ledger are put in their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from pamctl.errors import InvalidRequest, PamError, ServiceUnavailable
from pamctl.exchange.arrival import ScopeReader
from pamctl.exchange.dumps import begins_bundle, read_dump, rejoined
from pamctl.exchange.foreign import carried
from pamctl.exchange.plans import Plan, adoption, carry_out, gone_on_from, require_kin
from pamctl.exchange.rerecording import Origin, Rerecording
from pamctl.model.bundles import Item, read_bundle
from pamctl.service.open_scope import OpenScope
from pamctl.service.open_store import OpenStore
from pamctl.service.scopes import OWNER, founded
from pamctl.store.adoption import StagedScope, place_to_build
from pamctl.store.carrying import first_line
from pamctl.store.layout import FOUNDING_ENTRIES, scope_folder
from pamctl.store.records import START, Position

Json = dict[str, Any]


def import_bundle(
    store: OpenStore,
    source: IO[bytes],
    *,
    map_scopes: Mapping[str, str] | None = None,
    dry_run: bool = False,
    actor: Mapping[str, Any] = OWNER,
    operation_id: str | None = None,
) -> Json:
    """Take over the scopes of a bundle, or record their objects anew.

    Arguments:
        source: read once, from the front to the end; a bundle, compressed or not, or a dump of
            plain envelopes and events (`exchange.dumps`).
        map_scopes: scopes whose objects and histories are recorded anew in the scope that they
            are mapped to. All of a selection have to be.
        dry_run: check and plan, and change nothing.

    Returns `digest` of the bundle, `dry_run` and `scopes`, each with `scope_id`, `action` and
    what it brought; of a dump `passed_over` too, where something was. Importing twice changes
    nothing the second time. Raises InvalidObject for a bundle in which something is wrong,
    AccessDenied, VersionConflict for a scope or objects that have become others here, and
    LegalHold; their details tell which objects. A scope comes whole or not at all: where one of
    several fails at the last moment, `imported` in the details names those that came before
    it, and importing again brings the rest.
    """
    mapped = dict(map_scopes or {})
    if len(set(mapped.values())) != len(mapped):
        raise InvalidRequest("two scopes are mapped to one", hint="import them one after the other")
    with _explained(store):
        return _imported(store, source, mapped, dry_run, dict(actor), operation_id)


@contextmanager
def _explained(store: OpenStore) -> Iterator[None]:
    """Turns what the operating system refuses into an answer for a person."""
    try:
        yield
    except OSError as cause:
        raise ServiceUnavailable(
            f"the import could not be read, or built in {store.path}: {cause.strerror or cause}",
            hint="nothing of the scope that it had come to was imported",
        ) from cause


def _imported(
    store: OpenStore,
    source: IO[bytes],
    mapped: dict[str, str],
    dry_run: bool,
    actor: Json,
    operation_id: str | None,
) -> Json:
    first, source = rejoined(source)
    with ExitStack() as stack:
        folder = stack.enter_context(place_to_build(store.path))
        arrivals = _Arrivals(store, folder, stack, actor, operation_id, mapped)
        if begins_bundle(first):
            plans, digest = arrivals.of_bundle(read_bundle(source))
        else:
            plans, digest = arrivals.of_dump(source)
        require_kin(plans)
        if not dry_run:
            _carry_out(store, plans, digest, actor)
        answer: Json = {
            "digest": digest,
            "dry_run": dry_run,
            "scopes": [plan.told() for plan in plans],
        }
        if arrivals.passed_over:
            answer["passed_over"] = arrivals.passed_over
        return answer


def _carry_out(store: OpenStore, plans: list[Plan], digest: str, actor: Json) -> None:
    """Each scope comes whole or not at all; an error tells which of them had come before it."""
    landed: list[str] = []
    for plan in plans:
        try:
            with _explained(store):
                carry_out(store, plan, digest, actor)
        except PamError as error:
            if landed:
                hint = error.details.get("hint", "run the same command again when that is mended")
                error.details["imported"] = landed
                error.details["hint"] = f"{', '.join(landed)} came whole before that; {hint}"
            raise
        if plan.brings:
            landed.append(plan.told()["scope_id"])


class _Arrivals:
    """Reads what comes in, scope by scope, and plans what is to be done with it."""

    def __init__(
        self,
        store: OpenStore,
        folder: Path,
        stack: ExitStack,
        actor: Json,
        operation_id: str | None,
        mapped: dict[str, str],
    ) -> None:
        self._store = store
        self._folder = folder
        self._stack = stack
        self._actor = actor
        self._operation_id = operation_id or store.sources.identifier("op")
        self._mapped = mapped
        self._what = "bundle"
        self.passed_over: dict[str, int] = {}

    def of_bundle(self, items: Iterator[Item]) -> tuple[list[Plan], str]:
        """Plans for the scopes of a bundle, which is read to its end, and its digest."""
        lines = _Lines(items)
        header = next(lines).value
        told = {scope["scope_id"]: scope for scope in header["scopes"]}
        self._require_mapped(set(told), header["kind"])
        found: list[Plan | _Recording] = []
        digest = ""
        for item in lines:
            if item.kind == "footer":
                digest = str(item.value["digest"])
                continue  # what stands behind it is refused by whoever reads the lines
            scope_id = item.value
            if scope_id in self._mapped:
                origin = Origin(scope_id, told[scope_id]["store_id"], told[scope_id]["head"])
                recording = _Recording(self, origin, self._mapped[scope_id])
                for transaction in carried(lines.of_scope()):
                    recording.rerecording.record(transaction)
                found.append(recording)
            else:
                found.append(self._adopted(told[scope_id], lines.of_scope()))
        return [one if isinstance(one, Plan) else one.plan(digest) for one in found], digest

    def of_dump(self, source: IO[bytes]) -> tuple[list[Plan], str]:
        """Plans for the scopes of a dump, and the digest of its bytes."""
        self._what = "file"
        dump = read_dump(source, self._store.sources)
        self._require_mapped(set(dump.scopes), "dump")
        self.passed_over = dump.passed_over
        plans = []
        for scope_id, transactions in dump.scopes.items():
            recording = _Recording(self, Origin(scope_id), self._mapped.get(scope_id, scope_id))
            for transaction in transactions:
                recording.rerecording.record(transaction)
            plans.append(recording.plan(dump.digest))
        return plans, dump.digest

    def reader(self, told: Json, here: Position) -> tuple[ScopeReader, StagedScope]:
        """A reader of what will be a scope's ledger, and where it builds what lies behind
        `here`."""
        staged = StagedScope(self._folder / scope_folder(told["scope_id"]))
        self._stack.callback(staged.close)
        reader = ScopeReader(told, here, staged, what=self._what)
        self._stack.callback(reader.close)
        return reader, staged

    def admitted(self, scope_id: str) -> OpenScope | None:
        """The scope that is here, where the actor may import into it."""
        request = {
            "scope_id": scope_id,
            "actor": self._actor,
            "operation_id": self._operation_id,
        }
        found: OpenScope | None = self._store.perform("import", request)
        return found

    def _adopted(self, told: Json, lines: Iterator[Item]) -> Plan:
        scope = self.admitted(told["scope_id"])
        base = START if scope is None else scope.refresh()
        reader, staged = self.reader(told, gone_on_from(base))
        for item in lines:
            reader.take(item)
        arrived = reader.end()
        staged.close()
        return adoption(arrived, staged, scope, base)

    def _require_mapped(self, scope_ids: set[str], kind: str) -> None:
        unknown = sorted(self._mapped.keys() - scope_ids)
        if unknown:
            raise InvalidRequest(
                f"--map-scope names {unknown[0]}, which is not in the file",
                hint=f"it has {', '.join(sorted(scope_ids)[:10])}",
            )
        if kind == "selection" and scope_ids - self._mapped.keys():
            (first, *_) = sorted(scope_ids - self._mapped.keys())
            raise InvalidRequest(
                "a selection is no ledger that could be taken over as it is",
                hint=f"record its objects anew: --map-scope {first}=NEW",
            )

    @property
    def store(self) -> OpenStore:
        return self._store

    def import_entry(self, origin: Origin) -> Json:
        """What the entry says that stands behind what was recorded anew."""
        return {
            "actor": self._actor,
            "imported_at": self._store.sources.now(),
            "operation_id": self._operation_id,
            "origin": origin.told(),
        }


class _Recording:
    """One scope whose objects are recorded anew."""

    def __init__(self, arrivals: _Arrivals, origin: Origin, scope_id: str) -> None:
        self._arrivals = arrivals
        self._origin = origin
        store = arrivals.store
        scope = self._scope = arrivals.admitted(scope_id)
        beginning = None
        if scope is None:
            request = {"scope_id": scope_id, "actor": arrivals.import_entry(origin)["actor"]}
            document, beginning = founded(store, request)
            told = {**document, "store_id": store.store_id}
        else:
            told = _first_entry(scope)
        self._told = told
        here = START if scope is None else scope.refresh()
        self._reader, self._staged = arrivals.reader(told, here)
        self.rerecording = Rerecording(store, scope, self._reader, scope_id=scope_id, origin=origin)
        self.rerecording.begin(beginning)

    def plan(self, digest: str) -> Plan:
        """What is to be done, once the digest of all that came is known."""
        entry = {**self._arrivals.import_entry(self._origin), "bundle": digest}
        recorded = self.rerecording.end(entry)
        place = self._reader.place
        self._told |= {"head": place.head, "entries": place.entries, "sequence": place.sequence}
        arrived = self._reader.end()
        self._staged.close()
        self.rerecording.require_ends(arrived.index)
        base = START if self._scope is None else arrived.here
        return Plan(
            arrived,
            self._staged,
            self._scope,
            base,
            "recorded" if recorded else "unchanged",
            self._origin,
            FOUNDING_ENTRIES if self._scope is None else base.entries,
        )


class _Lines:
    """The lines of a bundle, which can be given away a scope at a time."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._kept: list[Item] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> Item:
        return self._kept.pop() if self._kept else next(self._items)

    def of_scope(self) -> Iterator[Item]:
        """The lines up to the next scope, or the footer, which stays to be read."""
        for item in self._items:
            if item.kind in ("scope", "footer"):
                self._kept.append(item)
                return
            yield item


def _first_entry(scope: OpenScope) -> Json:
    """What the ledger of a scope that is here says of itself."""
    body: Json = orjson.loads(first_line(scope.layout))["body"]
    return {name: member for name, member in body.items() if name != "created_at"}

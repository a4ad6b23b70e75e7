"""What an import does with each scope, and how it becomes part of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pamctl.errors import InvalidRequest, ServiceUnavailable, VersionConflict
from pamctl.exchange.arrived import Arrived
from pamctl.exchange.divergence import diverged_objects
from pamctl.exchange.embeddings import arrive
from pamctl.exchange.rerecording import Origin
from pamctl.service.open_scope import OpenScope
from pamctl.service.open_store import OpenStore
from pamctl.service.sweep import sweep
from pamctl.store.adoption import StagedScope, stubs_in_packs
from pamctl.store.carrying import ledger_lines
from pamctl.store.commit import ScopeWriter
from pamctl.store.records import START, Position

Json = dict[str, Any]
Action = Literal["adopted", "extended", "recorded", "unchanged", "behind", "diverged"]
FOUNDING_ENTRIES = 2
"""Entries of a scope that nothing has happened in: what binds it to its store, and a policy."""

_BRINGING = ("adopted", "extended", "recorded")


class Plan(NamedTuple):
    """What is to be done with one scope.

    arrived, staged: what it will be, and where that was built.
    scope: the one that is here, None where there is none.
    base: where its ledger ended when it was looked at.
    own_entries: entries at its beginning that are this store's own.
    """

    arrived: Arrived
    staged: StagedScope
    scope: OpenScope | None
    base: Position
    action: Action
    origin: Origin
    own_entries: int = 0

    def told(self) -> Json:
        """For the answer."""
        arrived, brings = self.arrived, self.action in _BRINGING
        told: Json = {
            "scope_id": arrived.told["scope_id"],
            "action": self.action,
            "head": arrived.end.head if brings else self.base.head,
            "entries": arrived.end.entries - self.own_entries if brings else 0,
            "versions": sum(pack.versions for pack in arrived.packs) if brings else 0,
            "withheld": arrived.withheld if brings else 0,
            "signed": arrived.signed if brings else 0,
        }
        if self.origin.scope_id != told["scope_id"]:
            told["from_scope_id"] = self.origin.scope_id
        return told


def here_of(scope: OpenScope | None) -> Position:
    """How far the ledger goes that is here. One in which nothing has happened yet counts as
    none: it gives way to one that is taken over."""
    if scope is None:
        return START
    position = scope.refresh()
    return START if position.entries <= FOUNDING_ENTRIES and not position.sequence else position


def adoption(arrived: Arrived, staged: StagedScope, scope: OpenScope | None) -> Plan:
    """What is to be done with a ledger that comes as it is."""
    base = START if scope is None else scope.refresh()
    here, end = arrived.here, arrived.end
    action: Action = "diverged"
    if end.head == base.head:
        action = "unchanged"
    elif here == START:
        action = "adopted"
    elif arrived.meets:
        action = "extended"
    elif scope is not None and end.entries < here.entries and _line_at(scope, end) == end.head:
        action = "behind"
    told = arrived.told
    origin = Origin(told["scope_id"], told["store_id"], told["head"])
    return Plan(arrived, staged, scope, base, action, origin, here.entries)


def _line_at(scope: OpenScope, end: Position) -> str | None:
    """The digest of the line that stands where another ledger ends."""
    for n, (_, head) in enumerate(ledger_lines(scope.layout, scope.refresh().offset), 1):
        if n == end.entries:
            return head.decode()
    return None


def require_kin(plans: Iterable[Plan]) -> None:
    """Raises VersionConflict where a scope here and its namesake in the bundle have gone
    different ways, and tells which objects they did so in."""
    scopes = [
        {"scope_id": plan.scope.scope_id, **diverged_objects(plan.scope, plan.arrived)}
        for plan in plans
        if plan.action == "diverged" and plan.scope is not None
    ]
    if scopes:
        raise VersionConflict(
            "the bundle and this store have gone different ways in "
            + ", ".join(scope["scope_id"] for scope in scopes)
            + "; nothing was imported",
            hint="bring what is in the bundle in beside what is here, with "
            f"--map-scope {scopes[0]['scope_id']}=NEW",
            scopes=scopes,
        )


def carry_out(store: OpenStore, plan: Plan, digest: str, actor: Mapping[str, Any]) -> None:
    """Make what was planned part of the store. Durable when this returns, and then whole.

    Raises ServiceUnavailable where the scope was written to since it was looked at.
    """
    if plan.action not in _BRINGING:
        return
    arrived, scope_id = plan.arrived, plan.arrived.told["scope_id"]
    record = {
        "bundle": digest,
        "origin": plan.origin.told(),
        "imported_at": store.sources.now(),
        "actor": dict(actor),
        "from_entry": plan.own_entries + 1,
        "to_entry": arrived.end.entries,
        "withheld": arrived.withheld,
        "signed": arrived.signed,
        "packs": [pack.name for pack in arrived.packs],
    }
    if plan.scope is None:
        members = ("scope_id", "scope_kind", "parent_scope_id")
        document = {name: arrived.told[name] for name in members if name in arrived.told}
        plan.staged.adopt(store.directory, document, record)
    else:
        _add(store, plan, plan.scope, record)
    scope = store.open_scope(scope_id)
    if arrived.here == START:
        # It was made on the way, so that nobody has to read all of it again.
        scope.index.become(arrived.index)
    scope.refresh()
    arrive(scope, plan.staged.embeddings)


def _add(store: OpenStore, plan: Plan, scope: OpenScope, record: Json) -> None:
    arrived, quarantine = plan.arrived, store.layout.quarantine
    with ScopeWriter(scope.layout, quarantine) as writer:
        base = scope.refresh()
        store.notices.extend(writer.recover(base))
        if base != plan.base:
            raise ServiceUnavailable(
                f"{scope.scope_id} was written to while the import was read; it is as it was",
                hint="run the same command again",
            )
        _require_same_scope(store, arrived.told)
        if arrived.erased:
            replaced = stubs_in_packs(scope.layout, arrived.erased)
            if replaced:
                packs = [*record["packs"], *replaced.values()]
                record = {**record, "packs": packs, "replaces": replaced}
        plan.staged.add_to(scope.layout, record, at=arrived.here.offset)
        if arrived.here != START:
            scope.refresh()
            store.notices.extend(sweep(scope, quarantine))
            if scope.layout.embeddings.is_dir():
                from pamctl.service.embeddings import sweep_vectors

                sweep_vectors(scope)


def _require_same_scope(store: OpenStore, told: Mapping[str, Any]) -> None:
    """Raises InvalidRequest where the scope here is of another kind, or has another parent."""
    for document in store.directory.scopes():
        if document["scope_id"] != told["scope_id"]:
            continue
        for member in ("scope_kind", "parent_scope_id"):
            if document.get(member) != told.get(member):
                raise InvalidRequest(
                    f"{told['scope_id']} has the {member} {document.get(member)!r} here, and "
                    f"{told.get(member)!r} in the bundle",
                    hint="import it under another name, with --map-scope",
                )

"""What an import does with each scope, and how it becomes part of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pamctl.errors import InvalidRequest, ServiceUnavailable, VersionConflict
from pamctl.exchange.arrived import Arrived
from pamctl.exchange.divergence import diverged_objects
from pamctl.exchange.embeddings import arrive
from pamctl.exchange.rerecording import Origin
from pamctl.named_tuples import NamedTuple
from pamctl.service.open_scope import OpenScope
from pamctl.service.open_store import OpenStore
from pamctl.service.sweep import sweep
from pamctl.store.adoption import StagedScope, stubs_in_packs
from pamctl.store.carrying import beginning_of, ledger_lines
from pamctl.store.commit import ScopeWriter
from pamctl.store.layout import FOUNDING_ENTRIES
from pamctl.store.records import START, Position

Json = dict[str, Any]
Action = Literal["adopted", "extended", "recorded", "unchanged", "behind", "diverged"]

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

    @property
    def brings(self) -> bool:
        """Whether anything changes by it."""
        return self.action in _BRINGING

    def told(self) -> Json:
        """For the answer."""
        arrived, brings = self.arrived, self.brings
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


def gone_on_from(position: Position) -> Position:
    """From where on a ledger that is taken over is new here, where the one here ends at
    `position`. One in which nothing has happened yet gives way to it."""
    return START if position.entries <= FOUNDING_ENTRIES and not position.sequence else position


def adoption(
    arrived: Arrived, staged: StagedScope, scope: OpenScope | None, base: Position
) -> Plan:
    """What is to be done with a ledger that comes as it is; `base` is where the one here ended
    before the first line of it was read."""
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
    if not plan.brings:
        if plan.action == "unchanged" and plan.scope is not None:
            _settle(store, plan.scope)
            arrive(plan.scope, plan.staged.embeddings)
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
    try:
        _follow(scope, plan)
    except (ServiceUnavailable, OSError) as failure:
        # The scope is there, and so is the answer; what could not follow is derived.
        store.notices.append(f"{scope_id} was imported; its index or its vectors lag: {failure}")


def _follow(scope: OpenScope, plan: Plan) -> None:
    """Bring what is derived up to what came."""
    if plan.arrived.here == START:
        # It was made on the way, so that nobody has to read all of it again.
        scope.index.become(plan.arrived.index)
    scope.refresh()
    if scope.layout.embeddings.is_dir():
        from pamctl.service.embeddings import sweep_vectors

        sweep_vectors(scope)
    arrive(scope, plan.staged.embeddings)


def _settle(store: OpenStore, scope: OpenScope) -> None:
    """Remove what an import that died before it came to that had found erased: whoever makes it
    again is told that all is done."""
    scope.refresh()
    if scope.index.erasures.are_due():
        with ScopeWriter(scope.layout, store.layout.quarantine) as writer:
            store.notices.extend(writer.recover(scope.refresh()))
            store.notices.extend(sweep(scope, store.layout.quarantine))


def _add(store: OpenStore, plan: Plan, scope: OpenScope, record: Json) -> None:
    arrived, quarantine = plan.arrived, store.layout.quarantine
    if arrived.here != START:
        plan.staged.go_on_from(scope.layout, arrived.here.offset)
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
        if arrived.here == START:
            beginning = beginning_of(scope.layout, base.offset)
            plan.staged.take_over(scope.layout, record, beginning=beginning)
        else:
            plan.staged.take_over(scope.layout, record)
        if arrived.erased:
            scope.refresh()
            store.notices.extend(sweep(scope, quarantine))


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

"""A projection of memory that lives elsewhere: candidates from another format's place, signed
with a key of this store."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.errors import InternalError, InvalidRequest
from pamctl.projection import profiles, register
from pamctl.projection.candidates import Candidates
from pamctl.projection.choice import Candidate
from pamctl.projection.policy import SelectionPolicy, parse_policy
from pamctl.projection.produce import Projection, no_rule, produce
from pamctl.projection.project import adapter_of
from pamctl.projection.source import Collecting, Unlock
from pamctl.store.keyring import Keyring

if TYPE_CHECKING:
    from pamctl.service.store import Store

_OF_A_SCOPE = ("filters", "text", "order_by", "provenance", "quality")
"""Members of a policy that speak of what only a scope of a pamctl store has."""


def project_from(
    store: Store,
    *,
    source_profile: str,
    place: Path,
    unlock: Unlock,
    actor: Mapping[str, Any],
    request: bytes,
    policy: bytes,
    key: str,
    adapter_id: str | None = None,
    explain: bool = False,
) -> Projection:
    """Project what a policy selects of the objects at a place, signed, and register its id as
    issued.

    Arguments:
        source_profile: the name of a profile that can collect; see `profiles.named`.
        place: where the objects are.
        unlock: asked for the passphrase of what is encrypted there.
        The others as in `project`.

    Every object there is a candidate, in the profile's order. Raises InvalidRequest for a
    profile that collects nothing, a place that does not open, and a policy that selects by
    what such objects do not have; and what `project` raises.
    """
    store.signers.require(str(actor["actor_id"]), "project")
    adapter = adapter_of(store, Keyring(store.layout.keys), key, adapter_id)
    selection = parse_policy(policy)
    _require_applicable(selection, source_profile)
    profile = profiles.named(source_profile)
    if not isinstance(profile, Collecting):
        raise InvalidRequest(
            f"{profile.source_profile} collects nothing from a place of its own",
            hint="leave out --from, or name another --source",
        )
    evaluated_at = store.sources.now()
    collection = profile.collect(place, unlock)
    candidates = Candidates(
        source_profile=profile.source_profile,
        context_frame_profile=profile.context_frame_profile,
        trust_snapshot=collection.trust_snapshot,
        trust_evaluated_at=evaluated_at,
        items=[Candidate(one.name, one.source, one.result) for one in collection.objects],
    )
    projection = produce(
        candidates,
        request=request,
        policy=policy,
        select=lambda: [one.name for one in collection.objects],
        limits=selection.limits,
        adapter=adapter,
        clock=store.sources.clock,
        entropy=store.sources.entropy,
        unmet=partial(selection.unmet, candidates.facts),
        unfound=no_rule if explain else None,
    )
    if not register.issued(store.layout.projections).register(projection.members):
        raise InternalError("a projection with this id was issued before; nothing was delivered")
    return projection


def _require_applicable(selection: SelectionPolicy, source_profile: str) -> None:
    beyond = [name for name in _OF_A_SCOPE if name in selection.document]
    if beyond:
        raise InvalidRequest(
            f"the selection policy has {', '.join(beyond)}, and objects of {source_profile} are "
            "not selected by that",
            hint="select them by trust, limits and quotas",
            pointer=f"/{beyond[0]}",
        )

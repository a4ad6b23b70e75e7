"""A projection of a store's own memory: candidates, selection and key from one store."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pamctl.encoding.timestamps import instant
from pamctl.errors import InternalError, InvalidRequest, PolicyDenied
from pamctl.model.documents import check
from pamctl.projection import register
from pamctl.projection.candidates import open_candidates
from pamctl.projection.policy import parse_policy
from pamctl.projection.produce import Adapter, Projection, produce
from pamctl.projection.shape import is_uri
from pamctl.service.selection import selected_versions
from pamctl.store.keyring import Keyring

if TYPE_CHECKING:
    from pamctl.service.store import Store


def project(
    store: Store,
    *,
    scope_id: str,
    actor: Mapping[str, Any],
    request: bytes,
    policy: bytes,
    key: str,
    adapter_id: str | None = None,
    explain: bool = False,
) -> Projection:
    """Project what a policy selects of a scope, signed, and register its id as issued.

    Arguments:
        actor: who asks; what the actor may not read is no candidate.
        request: the recall request, exact bytes.
        policy: the selection policy document, exact bytes (see `policy`).
        key: the name of a key of the store's keyring.
        adapter_id: a URI; by default one made of the key's id.
        explain: whether `fates` say of every candidate why it is in or out.

    The candidates are all Memory Objects of the scope whose content can be read, in their
    current versions at the ledger's head when trust is evaluated. Raises InvalidRequest,
    PolicyDenied for a key that is not valid now, AccessDenied for an actor that is bound to a
    key which is not here, and what query raises.
    """
    store.signers.require(str(actor["actor_id"]), "project")
    keyring = Keyring(store.layout.keys)
    adapter = adapter_of(store, keyring, key, adapter_id)
    selection = parse_policy(policy)
    wanted = {"scope_id": scope_id, "actor": dict(actor), **selection.query(request)}
    check("requests/query", wanted)
    candidates, sequence = open_candidates(store, keyring, scope_id=scope_id, actor=actor)
    projection = produce(
        candidates,
        request=request,
        policy=policy,
        select=partial(selected_versions, store, {**wanted, "as_of": sequence}),
        limits=selection.limits,
        adapter=adapter,
        clock=store.sources.clock,
        entropy=store.sources.entropy,
        unmet=partial(selection.unmet, candidates.facts),
        unfound=(
            (lambda candidate, _: selection.unfound(candidates.facts, candidate))
            if explain
            else None
        ),
    )
    if not register.issued(store.layout.projections).register(projection.members):
        raise InternalError("a projection with this id was issued before; nothing was delivered")
    return projection


def adapter_of(store: Store, keyring: Keyring, name: str, adapter_id: str | None) -> Adapter:
    """Who signs, with a key of the store's that is valid now. Raises PolicyDenied for another."""
    now, record = store.sources.now(), keyring.show(name)
    if record["status"] != "active":
        raise PolicyDenied(
            f"the key {name} is {record['status']} and signs nothing any more",
            hint="make a new one with `pamctl key generate`",
        )
    early = record["valid_from"] is not None and instant(now) < instant(record["valid_from"])
    if early or (record["valid_to"] is not None and instant(now) > instant(record["valid_to"])):
        raise PolicyDenied(f"the key {name} is not valid at {now}")
    adapter_id = adapter_id or f"urn:pamctl:adapter:{record['key_id']}"
    if not is_uri(adapter_id):
        raise InvalidRequest(f"the adapter id {adapter_id[:80]!r} is not an absolute URI")
    return Adapter(adapter_id, record["key_id"], keyring.private(name, store.signers.unlock))

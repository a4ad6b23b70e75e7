"""A projection of a store's own memory: candidates, selection and key from one store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pamctl.encoding.timestamps import instant
from pamctl.errors import InternalError, InvalidRequest, PolicyDenied
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.model.documents import check
from pamctl.projection import register
from pamctl.projection.policy import parse_policy
from pamctl.projection.produce import Adapter, Candidate, Candidates, Projection, produce
from pamctl.projection.profiles import pam
from pamctl.projection.record import is_uri
from pamctl.projection.source import OpenedSource, SourceRefused
from pamctl.store.keyring import Keyring

if TYPE_CHECKING:
    from pamctl.service.store import Store

_READABLE = ["available", "partially_redacted"]


def project(
    store: Store,
    *,
    scope_id: str,
    actor: Mapping[str, Any],
    request: bytes,
    policy: bytes,
    key: str,
    adapter_id: str | None = None,
) -> Projection:
    """Project what a policy selects of a scope, signed, and register its id as issued.

    Arguments:
        actor: who asks; what the actor may not read is no candidate.
        request: the recall request, exact bytes.
        policy: the selection policy document, exact bytes (see `policy`).
        key: the name of a key of the store's keyring.
        adapter_id: a URI; by default one made of the key's id.

    The candidates are all Memory Objects of the scope whose content can be read, in their
    current versions at the ledger's head when trust is evaluated. Raises InvalidRequest,
    PolicyDenied for a key that is not valid now, and what query raises.
    """
    keyring = Keyring(store.layout.keys)
    adapter = _adapter(keyring, key, adapter_id, store.sources.now())
    selection = parse_policy(policy)
    reading = {"scope_id": scope_id, "actor": dict(actor)}
    wanted = {**reading, **selection.query(request)}
    check("requests/query", wanted)
    candidates, sequence = _open_candidates(store, keyring, reading)
    query = {**wanted, "as_of": sequence}
    projection = produce(
        candidates,
        request=request,
        policy=policy,
        select=lambda: [
            envelope["version_id"] for envelope in _pages(store, query) if _is_readable(envelope)
        ],
        limits=selection.limits,
        adapter=adapter,
        clock=store.sources.clock,
        entropy=store.sources.entropy,
    )
    if not register.issued(store.layout.projections).register(projection.record):
        raise InternalError("a projection with this id was issued before; nothing was delivered")
    return projection


def _adapter(keyring: Keyring, name: str, adapter_id: str | None, now: str) -> Adapter:
    record = keyring.show(name)
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
    return Adapter(adapter_id, record["key_id"], keyring.private(name))


def _open_candidates(
    store: Store, keyring: Keyring, reading: dict[str, Any]
) -> tuple[Candidates, int]:
    """Step 1 of MPR §7: every candidate opened by its profile, under a trust snapshot; and
    the ledger sequence that all of the selection reads at."""
    head = store.head(reading["scope_id"])
    evaluated_at = store.sources.now()
    profile = pam.PamProfile()
    items = []
    everything = {**reading, "any_state": True, "availability_state": _READABLE}
    for envelope in _pages(store, {**everything, "as_of": head["sequence"]}):
        version_id = envelope["version_id"]
        source = store.version_bytes(reading["scope_id"], version_id)
        items.append(Candidate(version_id, source, _open(profile, source)))
    accepted = (
        bytes.fromhex(key_id)
        for key_id, record in keyring.trusted("author").items()
        if record["status"] == "active"
    )
    candidates = Candidates(
        source_profile=profile.source_profile,
        context_frame_profile=profile.context_frame_profile,
        trust_snapshot=pam.trust_snapshot(None, accepted, head["head"], head["sequence"]),
        trust_evaluated_at=evaluated_at,
        items=items,
    )
    return candidates, head["sequence"]


def _open(profile: pam.PamProfile, source: bytes) -> OpenedSource | SourceRefused:
    try:
        return profile.open(source)
    except SourceRefused as refused:
        return refused


def _pages(store: Store, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The envelopes of all pages of a query."""
    cursor: dict[str, Any] = {}
    while True:
        page = store.perform("query", {**query, **cursor, "limit": PAGE_ITEMS_MAX})
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}


def _is_readable(envelope: Mapping[str, Any]) -> bool:
    return envelope["availability_state"] in _READABLE

"""What commits mean for vectors: those of hidden objects go, and snapshots pin the others.
PAMSPEC §15.8, §18.11."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pamctl.errors import ServiceUnavailable
from pamctl.store.commit import NewEntry
from pamctl.store.embeddings import lock, stored_spaces
from pamctl.store.layout import ScopeLayout
from pamctl.store.records import Entry, Transaction

_WITHDRAWING = frozenset(("object_redacted", "object_deleted"))


def withdraw(layout: ScopeLayout, entries: Iterable[NewEntry | Entry]) -> None:
    """Take away the vectors of objects that these entries redact or delete. Durable when this
    returns.

    Done before the entries are committed, so that a writer that dies has taken away too much,
    which can be made again, and never too little; and once more when they are committed, for
    vectors that somebody kept meanwhile. Raises ServiceUnavailable.
    """
    hidden = {name for entry in entries for name in _hidden_by(entry)}
    if not hidden:
        return
    try:
        with lock(layout):
            for _, space in stored_spaces(layout):
                space.take_away(hidden)
    except OSError as cause:
        raise ServiceUnavailable(
            f"vectors in {layout.embeddings} cannot be taken away: {cause.strerror or cause}"
        ) from cause


def follow(layout: ScopeLayout, committed: Iterable[Transaction]) -> None:
    """Bring the vectors of a scope up to what was just committed. Durable when this returns.

    The vectors of objects that were redacted or deleted go. A snapshot pins those that its
    spaces have; where that cannot be done it is without a pin, and answers through it say so.
    """
    transactions = list(committed)
    withdraw(layout, [entry for done in transactions for entry in done.entries])
    sealed = [snapshot for done in transactions for snapshot in _sealed_by(done)]
    if sealed:
        # It is committed by now, and a device that cannot be read does not undo that.
        with contextlib.suppress(ServiceUnavailable, OSError), lock(layout):
            for space_id, space in stored_spaces(layout):
                for snapshot_id, space_ids in sealed:
                    if space_id in space_ids:
                        space.pin(snapshot_id)


def _hidden_by(entry: NewEntry | Entry) -> Iterator[str]:
    event = entry.body
    if entry.kind != "event" or "object_id" not in event:
        return
    kind, payload = event["event_type"], event.get("payload", {})
    hides = kind == "availability_transitioned" and payload.get("to") != "available"
    if kind in _WITHDRAWING or hides:
        yield event["object_id"]


def _sealed_by(transaction: Transaction) -> Iterator[tuple[str, list[str]]]:
    for entry in transaction.entries:
        if entry.kind == "snapshot":
            snapshot = entry.body["snapshot"]
            yield snapshot["snapshot_id"], snapshot.get("included_embedding_space_ids", [])

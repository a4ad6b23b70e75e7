"""Checkpoints on record: what was signed of a ledger, kept in it. `store-format/checkpoints.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.crypto.checkpoints import Checkpoint, origin_of, parse_checkpoint
from pamctl.errors import InvalidRequest
from pamctl.service.authority import require
from pamctl.service.desk import Change, Desk
from pamctl.store.commit import NewEntry
from pamctl.store.layout import StoreLayout
from pamctl.store.ledger_tree import LedgerTree

if TYPE_CHECKING:
    from pamctl.service.family_arguments import CheckpointRecordArguments
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore


class Checkpoints:
    """What was signed of a store's ledgers: `store.checkpoints`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def record(self, **arguments: Unpack[CheckpointRecordArguments]) -> dict[str, Any]:
        """Put a checkpoint on record in its ledger. As `record_checkpoint`."""
        result: dict[str, Any] = self._store.perform("checkpoint_record", arguments)
        return result


def record_checkpoint(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage a checkpoint of this ledger as an entry of it; the same one again adds nothing.

    It must be of what the ledger holds. Whose signatures it has is for whoever relies on it:
    InvalidRequest for one of another ledger, or of this one as it never was.
    """
    require(desk.policy, request, "record_checkpoint", object_type=None)
    text = request["checkpoint"]
    checkpoint, _ = parse_checkpoint(text.encode(), what="/checkpoint")
    _require_ours(desk.scope, checkpoint)
    known = any(
        desk.scope.settled_entry(place)["body"]["checkpoint"] == text
        for place in desk.scope.index.boundaries.entries("checkpoint")
    )
    entries = []
    if not known:
        now = desk.sources.now()
        body = {"checkpoint": text, "actor": request["actor"], "recorded_at": now}
        entries = [NewEntry("checkpoint", body)]
    result = {
        "operation_id": request["operation_id"],
        "recorded": not known,
        "replayed": False,
        "scope_id": desk.scope_id,
        "size": checkpoint.size,
    }
    return Change(entries, result)


def _require_ours(scope: OpenScope, checkpoint: Checkpoint) -> None:
    first = next(
        iter(scope.settled_entry(place) for place in scope.index.boundaries.entries("scope"))
    )
    origin = origin_of(first["body"]["store_id"], scope.scope_id)
    if checkpoint.origin != origin:
        raise InvalidRequest(
            f"the checkpoint is of {checkpoint.origin}",
            hint=f"this ledger is {origin}",
            pointer="/checkpoint",
        )
    layout = StoreLayout(scope.layout.root.parents[1])
    with LedgerTree(layout, scope.layout) as tree:
        entries = tree.refresh().entries
        if checkpoint.size > entries or tree.root(checkpoint.size) != checkpoint.root:
            raise InvalidRequest(
                f"the checkpoint of {checkpoint.size} entries is not of this ledger as it is",
                hint="`pamctl checkpoint verify FILE --store DIR --trust KEY` says why",
                pointer="/checkpoint",
            )

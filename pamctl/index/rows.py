"""What the index answers with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pamctl.index.schema import (
    AVAILABILITY_STATES,
    FAMILIES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)
from pamctl.named_tuples import NamedTuple


class VersionRow(NamedTuple):
    """What the index knows of one version of an object, a relationship or a delegation.

    A named tuple, because a page makes a thousand of them.

    family: `object`, `relationship` or `delegation`; object_id is the identifier of either.
    object_type: of a relationship its relationship_type; of a delegation None.
    sequence: the version's number in the object's own history.
    since: the ledger sequence that committed it.
    until: the ledger sequence at which the next version replaced it; None while current.
    erased: its content is gone. Where not even an envelope was left to read, states, type
        and the rest are None unless the ledger's event tells them.
    address, pack, offset, length: where its bytes are, as in `StoredVersion`.
    """

    object_id: str
    version_id: str
    family: str
    object_type: str | None
    lifecycle_state: str | None
    availability_state: str | None
    retention_state: str | None
    validation_state: str | None
    sequence: int
    since: int
    until: int | None
    erased: bool
    schema_id: str | None
    actor_id: str | None
    address: str
    pack: str | None
    offset: int
    length: int


class EntryPlace(NamedTuple):
    """Where a ledger line stands: its `n`, its first byte and its length without newline.

    sequence: of the event that it records, None for other kinds.
    """

    n: int
    offset: int
    length: int
    sequence: int | None


ROW_SQL = ", ".join(
    f'version."{column}"'
    for column in (
        "object_id",
        "version_id",
        "family",
        "object_type",
        "lifecycle_state",
        "availability_state",
        "retention_state",
        "validation_state",
        "sequence",
        "since",
        "until",
        "erased",
        "schema_id",
        "actor_id",
        "address",
        "pack",
        "offset",
        "length",
    )
)
"""The columns of `version` that `version_row` reads, in its order."""

ROW_COLUMNS = len(VersionRow._fields)


def version_row(found: Sequence[Any]) -> VersionRow:
    """The row in the first columns of `found`, which were selected by ROW_SQL."""
    (
        object_id,
        version_id,
        family,
        object_type,
        lifecycle,
        availability,
        retention,
        validation,
        sequence,
        since,
        until,
        erased,
        schema_id,
        actor_id,
        address,
        pack,
        offset,
        length,
    ) = found[:ROW_COLUMNS]
    return VersionRow(
        object_id,
        version_id,
        FAMILIES[family],
        object_type,
        None if lifecycle is None else LIFECYCLE_STATES[lifecycle],
        None if availability is None else AVAILABILITY_STATES[availability],
        None if retention is None else RETENTION_STATES[retention],
        None if validation is None else VALIDATION_STATES[validation],
        sequence,
        since,
        until,
        erased == 1,
        schema_id,
        actor_id,
        "sha256:" + address.hex(),
        None if pack is None else pack.hex(),
        offset,
        length,
    )

"""What the index answers with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pamctl.index.schema import (
    AVAILABILITY_STATES,
    FAMILIES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)
from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from pamctl.store.reading import Place


class VersionRow(NamedTuple):
    """What the index knows of one version of an object, a relationship or a delegation.

    The columns of a row as SQLite gives them, because a page makes a thousand of these, and few
    of their members are asked for. What has a number or raw bytes in the index is told in words
    by the properties.

    object_id: the identifier of the object, of the relationship or of the delegation.
    object_type: of a relationship its relationship_type; of a delegation None.
    sequence: the version's number in the object's own history.
    since: the ledger sequence that committed it.
    until: the ledger sequence at which the next version replaced it; None while current.
    """

    object_id: str
    version_id: str
    family_number: int
    object_type: str | None
    lifecycle_number: int | None
    availability_number: int | None
    retention_number: int | None
    validation_number: int | None
    sequence: int
    since: int
    until: int | None
    is_erased: int
    digest: bytes
    pack_digest: bytes | None
    offset: int
    length: int

    @property
    def family(self) -> str:
        """`object`, `relationship` or `delegation`."""
        return FAMILIES[self.family_number]

    @property
    def lifecycle_state(self) -> str | None:
        """This and the other states, the type and the rest: None where the version is erased
        and not even an envelope was left to read, unless the ledger's event tells them."""
        return _word(LIFECYCLE_STATES, self.lifecycle_number)

    @property
    def availability_state(self) -> str | None:
        return _word(AVAILABILITY_STATES, self.availability_number)

    @property
    def retention_state(self) -> str | None:
        return _word(RETENTION_STATES, self.retention_number)

    @property
    def validation_state(self) -> str | None:
        return _word(VALIDATION_STATES, self.validation_number)

    @property
    def erased(self) -> bool:
        """Whether its content is gone."""
        return self.is_erased == 1

    @property
    def address(self) -> str:
        """The version's address, as in `StoredVersion`."""
        return f"sha256:{self.digest.hex()}"

    @property
    def pack(self) -> str | None:
        """The name of its pack, as in `StoredVersion`; None for a file of its own."""
        return None if self.pack_digest is None else self.pack_digest.hex()

    @property
    def place(self) -> Place:
        """Where its bytes are, as `store.reading` is told."""
        return self.digest, self.pack_digest, self.offset, self.length


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
    return VersionRow._make(found[:ROW_COLUMNS])


def _word(words: Sequence[str], number: int | None) -> str | None:
    return None if number is None else words[number]

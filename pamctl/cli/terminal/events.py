"""How events look: in a table, and one after another as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pamctl.cli.terminal import output
from pamctl.cli.terminal.presentation import Column, moment

if TYPE_CHECKING:
    from pamctl.cli.invocation import Invocation


def _concerned(event: Mapping[str, Any]) -> str:
    return str(event.get("object_id") or event.get("relationship_id") or "-")


EVENT_COLUMNS = (
    Column("SEQUENCE", lambda event: str(event["sequence"]), whole=True),
    Column("RECORDED", lambda event: moment(event["recorded_at"]), whole=True),
    Column("EVENT", lambda event: str(event["event_type"])),
    Column("OBJECT", _concerned),
    Column("ACTOR", lambda event: str(event["actor"]["actor_id"])),
)

_WIDTHS = (8, 20, 24)
"""Of the first columns of a line: what is still to come cannot be measured."""


def stream(call: Invocation, events: Sequence[Mapping[str, Any]]) -> None:
    """Prints events of which more may follow, one a line: JSON for programs, and for people
    the cells of the table."""
    if call.format != "table":
        output.write_lines(events)
        return
    for event in events:
        cells = [str(column.cell(event)) for column in EVENT_COLUMNS]
        padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
        line = "  ".join([*padded, *cells[len(_WIDTHS) :]])
        output.write_text(output.printable(line) + "\n")

"""How results look: JSON for programs, tables and sentences for people at a terminal.

Every table is plain columns without rules, so that it can be read, copied and grepped.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from pamctl.cli.terminal import output
from pamctl.encoding.canonical import canonical
from pamctl.named_tuples import NamedTuple

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from pamctl.cli.invocation import Invocation

EXCERPT_CHARS = 60
# Wide enough that a table in a pipe is never cut.
_PIPE_COLUMNS = 100_000
_FOLDED_CHARS_MIN = 16
"""Less than that is no width to fold text to."""


class Passage(NamedTuple):
    """A piece of text, and the places in it, from one character to another, that it is shown
    for."""

    text: str
    matches: Sequence[Sequence[int]]


class Column(NamedTuple):
    """A column of a table.

    cell: what it shows of an item; of a Passage, the places that it is shown for stand out.
    whole: whether it is never folded, as numbers and times are not.
    """

    heading: str
    cell: Callable[[Mapping[str, Any]], str | Passage]
    whole: bool = False


def show(call: Invocation, value: Any, card: Callable[[Any], Mapping[str, str]]) -> None:
    """Prints one thing: a JSON object, or for people the names and values of `card`."""
    if call.format == "table":
        rows = card(value)
        _draw(call, lambda _: _card(rows))
    else:
        output.write_json(value)


def show_items(call: Invocation, answer: Mapping[str, Any], columns: Sequence[Column]) -> None:
    """Prints many things: one JSON object with `items`, one item a line, or a table.

    A line or a table has no room for the cursor of the next page; standard error tells it.
    """
    if call.format == "json":
        output.write_json(answer)
        return
    if call.format == "jsonl":
        output.write_lines(answer["items"])
    else:
        _draw(call, lambda width: _table(answer["items"], columns, width))
    if answer["next_cursor"] is not None:
        call.note(f"there is more: --cursor {answer['next_cursor']}")


def show_done(call: Invocation, result: Any, sentence: Callable[[Any], str]) -> None:
    """Prints what a change did: its result as JSON, or a sentence for people."""
    if call.format != "table":
        output.write_json(result)
    elif not call.quiet:
        output.write_text(output.printable(sentence(result)) + "\n")


def committed(verb: str) -> Callable[[Mapping[str, Any]], str]:
    """The sentence after a change of a memory: `verb` is what happened to it."""

    def sentence(result: Mapping[str, Any]) -> str:
        # A promotion answers about the new object and names the relationship besides.
        name = result.get("object_id") or result["relationship_id"]
        what = f"{verb} {name}, version {result['version_id']}"
        if result["replayed"]:
            return f"{what} (done before under this idempotency key; nothing changed)"
        return f"{what}, event {result['ledger_sequence']} of {result['scope_id']}"

    return sentence


def envelope(value: Mapping[str, Any]) -> dict[str, str]:
    """A version as names and values. PAMSPEC §8.1."""
    if "relationship_id" in value:
        rows = {"relationship": value["relationship_id"], **_link(value)}
    else:
        rows = {"object": f"{value['object_id']} ({value['object_type']})"}
    rows["version"] = f"{value['version_id']}, number {value['sequence']}"
    rows["scope"] = value["scope_id"]
    rows["states"] = states(value)
    rows["committed"] = value["committed_at"]
    rows["actor"] = value["actor"]["actor_id"]
    rows["activity"] = value["provenance"]["activity"]
    for name in ("observed_at", "asserted_at", "valid_from", "valid_until", "schema_id"):
        if name in value:
            rows[name] = str(value[name])
    rows["content"] = text_of(value.get("canonical_content"))
    return rows


def _link(value: Mapping[str, Any]) -> dict[str, str]:
    """What a relationship joins, and how. PAMSPEC §8.5."""
    target = value["target_object_id"]
    if "target_scope_id" in value:
        target += f" in {value['target_scope_id']}, by {value['policy_basis']}"
    return {
        "source": value["source_object_id"],
        "type": f"{value['relationship_type']} ({value['directionality']})",
        "target": target,
    }


def states(value: Mapping[str, Any]) -> str:
    """The four states of an envelope in one phrase."""
    names = ("lifecycle_state", "availability_state", "retention_state", "validation_state")
    return ", ".join(str(value[name]) for name in names)


def moment(timestamp: str) -> str:
    """A timestamp of the service in whole seconds."""
    return timestamp[:19] + "Z"


def show_findings(
    call: Invocation, answer: Mapping[str, Any], summary: Callable[[Mapping[str, Any]], str]
) -> None:
    """The answer of a check: whole, a finding a line, or in `summary`'s words to a person."""
    if call.format == "json":
        output.write_json(answer)
    elif call.format == "jsonl":
        output.write_lines(answer["findings"])
    else:
        output.write_text(output.printable(summary(answer)))


def text_of(content: Any) -> str:
    """Canonical content for reading: a string as it is, anything else as JSON."""
    return content if isinstance(content, str) else canonical(content).decode()


def excerpt(content: Any) -> str:
    """The beginning of canonical content, in one line."""
    text = " ".join(text_of(content)[: EXCERPT_CHARS * 4].split())
    return text if len(text) <= EXCERPT_CHARS else text[: EXCERPT_CHARS - 3] + "..."


def _card(rows: Mapping[str, str]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(_cell(name), _cell(value))
    return table


def _table(
    items: Sequence[Mapping[str, Any]], columns: Sequence[Column], width: int
) -> RenderableType:
    """A table, or where it is too wide, what belongs to each item below its name: an
    identifier in pieces can be neither read nor copied."""
    from rich.table import Table

    rows = [[_cell(column.cell(item)) for column in columns] for item in items]
    if items and not _fits(rows, columns, width):
        return _stacked(rows, columns)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column.heading, overflow="fold", no_wrap=column.whole or place == 0)
    for row in rows:
        table.add_row(*row)
    return table


def _fits(rows: Sequence[Sequence[Text]], columns: Sequence[Column], width: int) -> bool:
    """Whether the names of items, and numbers and times, have room as they are, and the rest
    without being folded to rags."""
    needed = 0
    for place, column in enumerate(columns):
        wide = max(len(column.heading), *(row[place].cell_len for row in rows))
        whole = column.whole or place == 0
        needed += 2 + (wide if whole else min(wide, max(_FOLDED_CHARS_MIN, len(column.heading))))
    return needed <= width


def _stacked(rows: Sequence[Sequence[Text]], columns: Sequence[Column]) -> RenderableType:
    from rich.console import Group
    from rich.table import Table

    parts: list[RenderableType] = []
    for name, *others in rows:
        name.stylize("bold")
        below = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        below.add_column(no_wrap=True)
        below.add_column(overflow="fold")
        for column, cell in zip(columns[1:], others, strict=True):
            below.add_row(f"  {column.heading.lower()}", cell)
        parts += [name, below]
    return Group(*parts)


def _cell(shown: str | Passage) -> Text:
    from rich.text import Text

    if isinstance(shown, str):
        return Text(output.printable(shown))
    text, at = Text(), 0
    for start, end in shown.matches:
        text.append(output.printable(shown.text[at:start]))
        text.append(output.printable(shown.text[start:end]), style="bold")
        at = end
    return text.append(output.printable(shown.text[at:]))


def _draw(call: Invocation, what: Callable[[int], RenderableType]) -> None:
    """Prints what is made for a number of columns."""
    drawing = StringIO()
    console = _console(call, drawing)
    console.print(what(console.width))
    lines = (line.rstrip() for line in drawing.getvalue().splitlines())
    output.write_text("".join(f"{line}\n" for line in lines))


def _console(call: Invocation, drawing: StringIO) -> Console:
    from rich.console import Console

    coloured = output.wants_colour(sys.stdout, call.environment)
    terminal = output.is_terminal(sys.stdout)
    return Console(
        file=drawing,
        width=shutil.get_terminal_size().columns if terminal else _PIPE_COLUMNS,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )

"""The parts that the report is put together from: tables, lists, bars and badges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pamctl.audit.inventory import Entry, Log
from pamctl.audit.markup import Child, Markup, code, isolated, tag, together
from pamctl.named_tuples import NamedTuple

CHART_BUCKETS_MAX = 60
ROWS_MAX = 40
"""Rows of a table of counts; what is beyond is summed up in one."""


class Column(NamedTuple):
    """A column: its heading, and the class of its cells: n for numbers, t for times, id
    for identifiers, wide for sentences."""

    heading: str
    kind: str = ""


def table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]]) -> Markup:
    """A table that scrolls by itself where it is wider than the page, and can be reached and
    scrolled by keyboard. The first cell of a row is its header."""
    heads = [
        tag("th", column.heading, scope="col", class_=column.kind or None) for column in columns
    ]
    body = [tag("tr", *_cells(row, columns)) for row in rows]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
    )
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cells(row: Sequence[Child], columns: Sequence[Column]) -> list[Markup]:
    first, *others = row
    cells = [tag("th", first, scope="row", class_=columns[0].kind or None)]
    for cell, column in zip(others, columns[1:], strict=True):
        cells.append(tag("td", cell, class_=column.kind or None))
    return cells


def counted(caption: str, what: str, counts: Mapping[str, int]) -> Markup:
    """How many of each, the most frequent first, with a bar each."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [(isolated(name), number, bar(number, ordered[0][1])) for name, number in ordered]
    left_out = ordered[ROWS_MAX:]
    rows = rows[:ROWS_MAX]
    if left_out:
        total = sum(number for _, number in left_out)
        rows.append((Markup(f"{len(left_out):,} others"), total, bar(total, ordered[0][1])))
    columns = (Column(what), Column("Count", "n"), Column("Share", "bar"))
    return table(caption, columns, rows)


def bar(number: int, most: int) -> Markup:
    """A bar of a row; the number beside it says the same."""
    width = max(1, round(1000 * number / max(most, 1)))
    shape = tag("rect", x=0, y=0, width=str(min(width, 1000)), height=10, rx=2)
    return tag(
        "svg",
        shape,
        class_="row",
        viewBox="0 0 1000 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def chart(caption: str, counts: Counter[str]) -> Markup:
    """Entries over time: a bar a day, or a month or a year where days are too many."""
    unit, buckets = _buckets(counts)
    most = max(buckets.values(), default=1)
    left_out = len(buckets) - CHART_BUCKETS_MAX
    shown = list(buckets.items())[-CHART_BUCKETS_MAX:]
    width = 1000 / max(len(shown), 1)
    bars = []
    for place, (_, number) in enumerate(shown):
        bars.append(_column(place * width, width * 0.82, max(1.5, 140 * number / most)))
    words = f"{caption}: a bar a {unit}, {len(shown)} with entries, at most {most:,} in one."
    if left_out > 0:
        words += f" {left_out:,} earlier ones are left out."
    picture = tag(
        "svg",
        *bars,
        viewBox="0 0 1000 144",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )
    first, last = (shown[0][0], shown[-1][0]) if shown else ("-", "-")
    ends = tag("div", isolated(first), isolated(last), class_="ends")
    return tag("figure", picture, ends, tag("figcaption", words))


def _column(left: float, width: float, height: float) -> Markup:
    return tag(
        "rect",
        x=f"{left:.1f}",
        y=f"{144 - height:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
    )


def _buckets(counts: Counter[str]) -> tuple[str, dict[str, int]]:
    """The narrowest buckets of which there are not too many, in order of time."""
    for unit, length in (("day", 10), ("month", 7), ("year", 4)):
        buckets: Counter[str] = Counter()
        for day, number in counts.items():
            buckets[day[:length]] += number
        if len(buckets) <= CHART_BUCKETS_MAX or unit == "year":
            break
    return unit, dict(sorted(buckets.items()))


def log_table(caption: str, log: Log) -> Markup:
    """The last entries of a kind, the latest first."""
    if log.count > len(log.kept):
        caption += f"; the last {len(log.kept)} of {log.count:,}"
    columns = (
        Column("Entry", "n"),
        Column("Time", "t"),
        Column("What"),
        Column("About", "id"),
        Column("Who", "id"),
        Column("How", "wide"),
    )
    return table(caption, columns, [_row(entry) for entry in reversed(log.kept)])


def _row(entry: Entry) -> tuple[Child, ...]:
    return (
        entry.n,
        moment(entry.time),
        isolated(entry.kind.replace("_", " ")),
        code(entry.subject),
        code(entry.actor),
        isolated(entry.detail),
    )


def moment(time: str) -> Markup:
    """A time in whole seconds, as it stands in the entry."""
    shown = f"{time[:10]} {time[11:19]}" if len(time) > 19 and time[10:11] == "T" else time
    return isolated(shown)


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Names and values."""
    rows = [
        together(tag("dt", name), tag("dd", value)) for name, value in pairs if value is not None
    ]
    return tag("dl", *rows)


def badge(word: str, kind: str) -> Markup:
    """A word on a coloured ground; the word alone says what it means."""
    return tag("span", word, class_=f"badge {kind}")


def note(text: str) -> Markup:
    """A sentence beside the matter."""
    return tag("p", text, class_="note")

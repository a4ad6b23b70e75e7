"""Histories and logs for people: what happened, when and how long ago, by whom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Any

from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import differences, output, presentation
from pamctl.cli.terminal.ink import BOLD, DIM, YELLOW, Ink
from pamctl.rules.differences import changes, comparable

_UNITS = (
    (365 * 86_400, "year"),
    (7 * 86_400, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
)
_JUST_NOW_SEC = 10


def ago(timestamp: str, now_sec: float) -> str:
    """How long ago a timestamp of the service is, in its largest whole unit.

    now_sec: seconds since 1970, UTC.
    """
    then = datetime.fromisoformat(timestamp[:19]).replace(tzinfo=UTC).timestamp()
    passed = int(now_sec - then)
    if abs(passed) < _JUST_NOW_SEC:
        return "just now"
    size, name = next(unit for unit in _UNITS if abs(passed) >= unit[0])
    amount = abs(passed) // size
    spoken = f"{amount} {name}{'' if amount == 1 else 's'}"
    return f"{spoken} ago" if passed > 0 else f"in {spoken}"


def show_versions(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Prints versions, oldest first, each with what it changed, as far as that fits a line."""
    _show(call, answer, _versions)


def show_differences(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Prints what each version changed, in full."""
    _show(call, answer, lambda items, ink: chain(*(differences.whole(one, ink) for one in items)))


def show_events(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Prints events in ledger order, a heading a day."""
    _show(call, answer, _events)


Items = Sequence[Mapping[str, Any]]


def _show(
    call: Invocation, answer: Mapping[str, Any], lines: Callable[[Items, Ink], Iterable[str]]
) -> None:
    ink = Ink(call)
    ink.write(lines(answer["items"], ink))
    if answer["next_cursor"] is not None:
        call.note(f"there is more: --cursor {answer['next_cursor']}")


def _versions(envelopes: Items, ink: Ink) -> Iterator[str]:
    width = max((len(str(envelope["sequence"])) for envelope in envelopes), default=1)
    indent = " " * (width + 2)
    before: Mapping[str, Any] | None = None
    for envelope in envelopes:
        number = str(envelope["sequence"]).rjust(width)
        activity = envelope["provenance"]["activity"]
        said = f"{activity} by {envelope['actor']['actor_id']}"
        when = _when(envelope["committed_at"], ink)
        said = ink.fit(said, len(indent) + len(when) + 2)
        yield f"{ink.paint(number, BOLD, YELLOW)}  {ink.paint(when, DIM)}  {ink.paint(said, BOLD)}"
        yield indent + ink.paint(ink.fit(str(envelope["version_id"]), len(indent)), DIM)
        if before is None:
            yield indent + ink.fit(presentation.states(envelope), len(indent))
            text = presentation.text_of(envelope.get("canonical_content"))
            yield indent + ink.fit(text, len(indent))
        else:
            found = changes(comparable(before), comparable(envelope))
            found = [change for change in found if change["pointer"] != "/provenance/activity"]
            yield from differences.in_short(found, ink, indent)
        before = envelope


def _when(timestamp: str, ink: Ink) -> str:
    moment = presentation.moment(timestamp)
    # In a pipe the same state gives the same bytes, whenever it is asked for.
    return f"{moment}, {ago(timestamp, time.time())}" if ink.at_terminal else moment


def _events(events: Items, ink: Ink) -> Iterator[str]:
    rows = [_event_row(event, ink) for event in events]
    widths = [max((len(row[place]) for row in rows), default=0) for place in range(_COLUMNS)]
    numbered = zip(events, rows, strict=True)
    for day, of_day in groupby(numbered, key=lambda one: one[0]["recorded_at"][:10]):
        yield ink.paint(_day(day, ink), BOLD)
        for _, row in of_day:
            yield from _laid_out(row, widths, ink)


_COLUMNS = 6


def _event_row(event: Mapping[str, Any], ink: Ink) -> tuple[str, ...]:
    since = ago(event["recorded_at"], time.time()) if ink.at_terminal else ""
    concerned = event.get("object_id") or event.get("relationship_id") or "-"
    return (
        str(event["sequence"]),
        event["recorded_at"][11:19] + "Z",
        since,
        str(event["event_type"]),
        str(concerned),
        str(event["actor"]["actor_id"]),
    )


def _laid_out(row: tuple[str, ...], widths: Sequence[int], ink: Ink) -> Iterator[str]:
    """One event in columns. An identifier is there to be copied and is never cut: who it was
    goes to a line of its own where there is no room."""
    number, clock, since, kind, concerned, actor = (
        output.printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)
    )
    parts = [
        "  " + ink.paint(number.strip().rjust(widths[0]), YELLOW),
        ink.paint(clock, DIM),
        *([ink.paint(since, DIM)] if widths[2] else []),
        ink.paint(kind, BOLD),
    ]
    taken = 2 + sum(width + 2 for width in widths[:4] if width)
    said = f"by {actor.strip()}"
    for named in (concerned, concerned.strip()):
        if taken + len(named) + 2 + len(said) <= ink.columns:
            yield "  ".join([*parts, named, said])
            return
    yield "  ".join([*parts, concerned.strip()])
    yield " " * taken + said


def _day(day: str, ink: Ink) -> str:
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return f"{day}, today" if ink.at_terminal and day == today else day

"""How the changes between two versions look to a person: member by member, old above new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pamctl.cli.terminal import output, presentation
from pamctl.cli.terminal.ink import BOLD, GREEN, RED, Ink

_SIGNS = (("from", "-", RED), ("to", "+", GREEN))


def whole(answer: Mapping[str, Any], ink: Ink) -> Iterator[str]:
    """The lines of a difference: both versions, and what changed. Nothing where nothing did."""
    if not answer["changes"]:
        return
    yield ink.paint(f"--- {_end(answer, answer['from'])}", BOLD)
    yield ink.paint(f"+++ {_end(answer, answer['to'])}", BOLD)
    yield from in_full(answer["changes"], ink)


def _end(answer: Mapping[str, Any], end: Mapping[str, Any] | None) -> str:
    if end is None:
        return f"{answer['object_id']}, before it was"
    return output.printable(
        f"{answer['object_id']} {end['sequence']}, {presentation.moment(end['committed_at'])}, "
        f"{end['actor_id']}, {end['version_id']}"
    )


def in_full(changes: Sequence[Mapping[str, Any]], ink: Ink) -> Iterator[str]:
    """Each change as the member's pointer, and its whole value before and after."""
    for change in changes:
        yield ink.paint(output.printable(change["pointer"] or "/"), BOLD)
        for end, sign, colour in _SIGNS:
            if end in change:
                text = output.printable(presentation.text_of(change[end]))
                for line in text.split("\n"):
                    yield ink.paint(f"{sign} {line}", colour)


def in_short(changes: Sequence[Mapping[str, Any]], ink: Ink, indent: str) -> Iterator[str]:
    """Each change as a line or two that fit the terminal."""
    for change in changes:
        pointer = output.printable(change["pointer"].removeprefix("/canonical_content") or "/")
        values = [
            (sign, colour, presentation.text_of(change[end]))
            for end, sign, colour in _SIGNS
            if end in change
        ]
        for place, (sign, colour, text) in enumerate(values):
            name = pointer if place == 0 else " " * len(pointer)
            taken = len(indent) + len(name) + 3
            yield f"{indent}{name} {ink.paint(f'{sign} {ink.fit(text, taken)}', colour)}"

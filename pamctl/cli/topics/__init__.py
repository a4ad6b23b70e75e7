"""What concerns more than one command: the topics of `pamctl help`.

Each is a page in this folder, in a little of Markdown: a title, paragraphs, lists of `- `,
fenced examples, and `{{name}}` on a line of its own, which stands for facts that the program
itself goes by. Help, the manual and docs/reference are all written from these pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pamctl.named_tuples import NamedTuple

TOPICS = (
    "scopes",
    "memories",
    "versions",
    "states",
    "provenance",
    "events",
    "policies",
    "delegation",
    "query",
    "snapshots",
    "projections",
    "output",
    "retries",
    "environment",
    "exit-codes",
)
"""Their names, in the order in which one would read them."""

Rows = list[tuple[str, str]]


class Block(NamedTuple):
    """A piece of a page.

    kind: `text`, `item` (of a list), `example` or `facts`.
    text: of all but facts; examples keep their lines.
    rows: of facts, each a term and what is said of it; where nothing is, terms alone.
    """

    kind: str
    text: str = ""
    rows: Rows = []  # noqa: RUF012 - never changed


class Topic(NamedTuple):
    """A page, read."""

    name: str
    title: str
    blocks: list[Block]


def load(name: str) -> Topic:
    """The page of a topic in TOPICS."""
    page = (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8")
    title, _, rest = page.partition("\n")
    return Topic(name, title.removeprefix("# "), _blocks(rest))


def _blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    lines = iter(text.splitlines())
    pending: list[str] = []

    def end() -> None:
        if pending:
            said = " ".join(line.strip() for line in pending)
            item = said.startswith("- ")
            blocks.append(Block("item" if item else "text", said.removeprefix("- ")))
            pending.clear()

    for line in lines:
        if line.startswith("```"):
            end()
            taken = iter(lambda: next(lines), "```")
            blocks.append(Block("example", "\n".join(taken)))
        elif line.startswith("{{"):
            end()
            blocks.append(Block("facts", rows=_FACTS[line.strip("{}")]()))
        elif not line.strip():
            end()
        else:
            if line.startswith("- "):
                end()
            pending.append(line)
    end()
    return blocks


def _words(name: str) -> Callable[[], Rows]:
    def rows() -> Rows:
        from pamctl.model import vocabulary

        return [(word, "") for word in getattr(vocabulary, name)]

    return rows


def _transitions() -> Rows:
    from pamctl.rules.transitions import ALLOWED

    rows = []
    for dimension, machine in ALLOWED.items():
        for state, targets in machine.items():
            ways = [target + (f" ({asks})" if asks else "") for target, asks in targets.items()]
            rows.append((f"{dimension} {state}", ", ".join(ways) or "nothing: it is final"))
    return rows


def _exit_statuses() -> Rows:
    from pamctl.cli.exit_statuses import exit_rows

    return [(f"{status} {code}".rstrip(), meaning) for status, code, meaning in exit_rows()]


def _environment() -> Rows:
    from pamctl.cli.environment import VARIABLES

    return list(VARIABLES)


def _settings() -> Rows:
    from pamctl.cli.settings import SETTINGS

    return [(name, setting.meaning) for name, setting in SETTINGS.items()]


_FACTS: Mapping[str, Callable[[], Rows]] = {
    "object_types": _words("STANDARD_OBJECT_TYPES"),
    "operations": _words("GOVERNED_OPERATIONS"),
    "event_types": _words("EVENT_TYPES"),
    "order_fields": _words("ORDER_FIELDS"),
    "temporal_bases": _words("TEMPORAL_BASES"),
    "transitions": _transitions,
    "exit_statuses": _exit_statuses,
    "environment": _environment,
    "settings": _settings,
}

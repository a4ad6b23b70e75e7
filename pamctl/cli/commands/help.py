"""`pamctl help`: what concerns more than one command."""

from collections.abc import Iterator
from difflib import get_close_matches
from textwrap import wrap
from typing import Annotated

import typer

from pamctl.cli.command_table import COMMANDS
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output
from pamctl.cli.terminal.ink import BOLD, Ink
from pamctl.cli.topics import TOPICS, Block, Topic, load
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidRequest

app = application()

_LINE_CHARS = 80


@verb(app, (), example="pamctl help states\npamctl help exit-codes")
def help(  # noqa: A001 (a command's name is its function's)
    call: Invocation,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Leave it out to list the topics.")
    ] = None,
) -> None:
    """Explain a topic.

    A topic concerns more than one command.
    """
    if topic is None:
        lines = [f"{name:<14}{load(name).title}" for name in TOPICS]
    elif topic in TOPICS:
        lines = list(_page(load(topic), Ink(call)))
    else:
        raise InvalidRequest(f"there is no topic '{topic}'", hint=_advice(topic))
    output.write_text("".join(f"{line}\n" for line in lines))


def _advice(topic: str) -> str:
    if topic in COMMANDS:
        return f"it is a command: 'pamctl {topic} --help' explains it"
    nearest = get_close_matches(topic, TOPICS, n=1)
    return f"did you mean '{nearest[0]}'?" if nearest else "'pamctl help' lists them"


def _page(topic: Topic, ink: Ink) -> Iterator[str]:
    yield ink.paint(topic.title, BOLD)
    before = ""
    for block in topic.blocks:
        if block.kind != "item" or before != "item":
            yield ""
        yield from _lines(block, ink)
        before = block.kind


def _lines(block: Block, ink: Ink) -> Iterator[str]:
    if block.kind == "example":
        yield from (f"  {line}" for line in block.text.splitlines())
    elif block.kind == "item":
        yield from wrap(f"- {block.text}", _LINE_CHARS, subsequent_indent="  ")
    elif block.kind == "text":
        yield from wrap(block.text, _LINE_CHARS, break_on_hyphens=False, break_long_words=False)
    elif not any(said for _, said in block.rows):
        words = ", ".join(term for term, _ in block.rows)
        yield from wrap(words, _LINE_CHARS, initial_indent="  ", subsequent_indent="  ")
    else:
        # In a pipe a row is a line, so that it can be found by its first word.
        width = max(len(term) for term, _ in block.rows)
        for term, said in block.rows:
            first, *others = wrap(said, max(ink.columns - width - 5, 30)) or [""]
            yield f"  {term:<{width}}  {first}".rstrip()
            yield from (f"{'':<{width + 4}}{line}" for line in others)

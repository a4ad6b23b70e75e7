"""The pages of docs/reference/: commands and topics, written from the same source as help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

from typer._click import Context

from pamctl.cli.command_table import COMMANDS
from pamctl.cli.manual import options_of, rest_of, summary_of, verbs
from pamctl.cli.topics import TOPICS, Block, load
from pamctl.cli.verbs import COMMON_PANEL, Verb

_MARK = """\
<!-- Written by docs/generate.py from the commands themselves; `make docs` writes it again. -->

"""

_BEFORE = """\
# Reference

Every command with all that it takes, and the topics of `pamctl help`. The same is in
`pamctl COMMAND --help` and in the manual: `man pamctl-create`, `man 5 pam-store`,
`man 7 pamctl-states`. What all commands have in common is in [scripting](../scripting.md);
[errors](../errors.md) lists the exit statuses.

"""


def pages() -> dict[str, str]:
    """Every page: its file, as under docs/, and its text."""
    found: dict[str, list[tuple[list[str], Verb, Context]]] = {}
    for words, verb, context in verbs():
        found.setdefault(words[1], []).append((words, verb, context))
    commands = {
        f"reference/{name}.md": _MARK + "".join(_command(name, members))
        for name, members in found.items()
    }
    topics = {f"reference/topic-{name}.md": _MARK + "".join(_topic(name)) for name in TOPICS}
    return {"reference/README.md": _MARK + _BEFORE + "".join(_contents()), **commands, **topics}


def _contents() -> Iterator[str]:
    for section in dict.fromkeys(line.section for line in COMMANDS.values()):
        yield f"## {section}\n\n"
        rows = [
            (f"[`{name}`]({name}.md)", line.summary)
            for name, line in COMMANDS.items()
            if line.section == section
        ]
        yield _table(("command", "what it does"), rows) + "\n"
    yield "## Topics\n\n"
    rows = [(f"[`pamctl help {name}`](topic-{name}.md)", load(name).title) for name in TOPICS]
    yield _table(("topic", "about"), rows)


def _command(name: str, members: list[tuple[list[str], Verb, Context]]) -> Iterator[str]:
    yield f"# pamctl {name}\n\n"
    if len(members) > 1:
        yield f"{_escaped(COMMANDS[name].summary)}\n"
    for words, verb, context in members:
        if len(members) > 1:
            yield f"\n## {' '.join(words)}\n\n"
        yield from _verb(words, verb, context, depth="##" if len(members) == 1 else "###")


def _verb(words: list[str], verb: Verb, context: Context, *, depth: str) -> Iterator[str]:
    yield f"{_escaped(summary_of(verb))}\n\n"
    for paragraph in filter(None, rest_of(verb).split("\n\n")):
        if paragraph.startswith(" "):
            yield f"```text\n{inspect.cleandoc(paragraph)}\n```\n\n"
        else:
            yield f"{_escaped(paragraph)}\n\n"
    usage = " ".join((*words, *verb.collect_usage_pieces(context)))
    yield f"```text\n{usage}\n\n{verb.facts().example}\n```\n"
    for name, records in options_of(verb, context).items():
        rows = [(f"`{term}`".replace("|", r"\|"), _escaped(text)) for term, text in records]
        heading = "Everywhere" if name == COMMON_PANEL else name
        yield f"\n{depth} {heading}\n\n" + _table(("", ""), rows)
    yield f"\n{depth} Exit status\n\n"
    yield _table(
        ("status", "when"), [(str(n), _coded(text)) for n, text in verb.facts().statuses()]
    )


def _topic(name: str) -> Iterator[str]:
    topic = load(name)
    yield f"# {topic.title}\n"
    before = ""
    for block in topic.blocks:
        yield "" if block.kind == before == "item" else "\n"
        yield _block(block)
        before = block.kind


def _block(block: Block) -> str:
    if block.kind == "example":
        return f"```text\n{block.text}\n```\n"
    if block.kind == "item":
        return f"- {_escaped(block.text)}\n"
    if block.kind == "text":
        return f"{_escaped(block.text)}\n"
    if any(said for _, said in block.rows):
        return _table(("", ""), [(f"`{term}`", _escaped(said)) for term, said in block.rows])
    return ", ".join(f"`{term}`" for term, _ in block.rows) + "\n"


def _coded(text: str) -> str:
    """Error codes as code."""
    return re.sub(r"\b[a-z]+(_[a-z]+)+\b", r"`\g<0>`", text)


def _escaped(text: str) -> str:
    """Text in which Markdown sees nothing but text. Flags and names are code."""
    text = re.sub(r"'(pamctl [^']*)'", r"`\1`", text)
    text = re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)(?![\w`])", r"`\1`", text)
    return re.sub(r"(?<!`)([<>*|\[\]])(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"\\\1", text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

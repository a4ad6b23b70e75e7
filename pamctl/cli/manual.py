"""The manual pages, written from the same source as help.

    python -m pamctl.cli.manual [FOLDER]

writes a page for every command (section 1), for the store format (5) and for every topic of
`pamctl help` (7) into FOLDER, by default `man` of the checkout, and takes away pages of what is
no more. A test holds the pages in the project to what this writes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from typer._click import Command, Context
from typer.core import TyperGroup
from typer.main import get_command

from pamctl import __version__
from pamctl.cli import roff
from pamctl.cli.application import LazyGroup, app
from pamctl.cli.command_table import COMMANDS
from pamctl.cli.environment import VARIABLES
from pamctl.cli.exit_statuses import exit_rows
from pamctl.cli.topics import TOPICS, Block, load
from pamctl.cli.verbs import Verb, section_of

_CHECKOUT = Path(__file__).resolve().parents[2]
_DATE = "2026-11-30"
"""When the text of the pages last changed in meaning; a page must not differ by the day on
which it was written."""

_FORMAT_PAGES = ("README.md", "layout.md", "encoding.md", "versions.md", "ledger.md", "packs.md")
"""Of store-format/: what pam-store(5) holds."""

_FILES = (
    (".pam", "The store: the nearest one, here or above."),
    ("~/.config/pamctl/config.json", "The user's settings; see pamctl-config(1)."),
    ("~/.local/state/pamctl/", "Heads that were seen, and the secret of retry keys."),
)


def pages() -> dict[str, str]:
    """Every manual page: its file, such as `man1/pamctl.1`, and its text."""
    written: dict[str, str] = {}
    summaries: list[tuple[str, str]] = []
    for words, verb, context in verbs():
        title = "-".join(words)
        written[f"man1/{title}.1"] = _page(_verb_page(words, verb, context))
        summaries.append((title, summary_of(verb)))
    topics = {f"man7/pamctl-{name}.7": _page(_topic_page(name)) for name in TOPICS}
    store = {"man5/pam-store.5": _page(_store_page())}
    return {"man1/pamctl.1": _page(_program_page(summaries)), **written, **store, **topics}


def verbs() -> Iterator[tuple[list[str], Verb, Context]]:
    """Every command that does something: its words, itself, and the context of its help."""
    group = get_command(app)
    assert isinstance(group, LazyGroup)
    root = Context(group, info_name="pamctl", help_option_names=["-h", "--help"])
    for name in COMMANDS:
        command = group.get_command(root, name)
        assert command is not None
        yield from _verbs(command, Context(command, info_name=name, parent=root))


def _verbs(command: Command, context: Context) -> Iterator[tuple[list[str], Verb, Context]]:
    if isinstance(command, TyperGroup):
        for name, member in command.commands.items():
            yield from _verbs(member, Context(member, info_name=name, parent=context))
    else:
        assert isinstance(command, Verb)
        yield context.command_path.split(), command, context


def summary_of(verb: Verb) -> str:
    """The first paragraph of help."""
    return inspect.cleandoc(verb.help or "").partition("\n\n")[0]


def rest_of(verb: Verb) -> str:
    """What help says behind the first paragraph."""
    return inspect.cleandoc(verb.help or "").removeprefix(summary_of(verb)).strip("\n")


def options_of(verb: Verb, context: Context) -> dict[str, list[tuple[str, str]]]:
    """What a command takes, by the sections of its help."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in verb.get_params(context):
        record = param.get_help_record(context)
        if record is not None:
            sections.setdefault(section_of(param), []).append(record)
    return sections


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _head(title: str, section: int, summary: str) -> list[str]:
    return roff.head(title, section, summary, date=_DATE, program=f"pamctl {__version__}")


def _program_page(summaries: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from _head("pamctl", 1, "versioned, provable memory for AI agents")
    yield from [".SH SYNOPSIS", ".B pamctl", ".I COMMAND", "[argument ...]", ".SH DESCRIPTION"]
    yield from roff.filled(
        "pamctl keeps the memory of agents in plain files: every memory has versions, every"
        " version a provenance, and every change an event in a ledger that shows when it was"
        " tampered with."
    )
    yield ".SH COMMANDS"
    for title, summary in summaries:
        yield from [".TP", f".BR {roff.escaped(title)} (1)", *roff.filled(summary)]
    yield ".SH TOPICS"
    for name in TOPICS:
        yield from [".TP", f".BR {roff.escaped(f'pamctl-{name}')} (7)"]
        yield from roff.filled(load(name).title)
    yield from [".SH ENVIRONMENT", *roff.definitions(VARIABLES)]
    yield from [".SH FILES", *roff.definitions(_FILES), ".SH EXIT STATUS"]
    yield from roff.definitions(
        (status, f"{code}: {text}" if code else text) for status, code, text in exit_rows()
    )
    yield from [".SH SEE ALSO", r".BR pam\-store (5)"]


def _verb_page(words: list[str], verb: Verb, context: Context) -> Iterator[str]:
    summary = summary_of(verb)
    yield from _head("-".join(words), 1, summary.rstrip("."))
    yield from [".SH SYNOPSIS", f".B {roff.escaped(' '.join(words))}"]
    yield from roff.filled(" ".join(verb.collect_usage_pieces(context)))
    yield from [".SH DESCRIPTION", *roff.filled(summary), *roff.paragraphs(rest_of(verb))]
    for name, records in options_of(verb, context).items():
        yield from [f".SH {name.upper()}", *roff.definitions(records)]
    facts = verb.facts()
    yield ".SH EXIT STATUS"
    yield from roff.definitions((str(status), meaning) for status, meaning in facts.statuses())
    yield from [".SH EXAMPLES", *roff.literal(facts.example.splitlines())[1:]]
    yield from [".SH SEE ALSO", ".BR pamctl (1)"]


def _topic_page(name: str) -> Iterator[str]:
    topic = load(name)
    yield from [*_head(f"pamctl-{name}", 7, topic.title), ".SH DESCRIPTION"]
    for number, block in enumerate(topic.blocks):
        lines = _topic_block(block)
        yield from lines[1:] if number == 0 and lines[0] == ".PP" else lines
    yield from [".SH SEE ALSO", ".BR pamctl (1)"]


def _topic_block(block: Block) -> list[str]:
    if block.kind == "example":
        return roff.literal(block.text.splitlines())
    if block.kind == "item":
        return [r".IP \(bu 2", *roff.filled(block.text)]
    if block.kind == "text":
        return [".PP", *roff.filled(block.text)]
    if any(said for _, said in block.rows):
        return roff.definitions(block.rows)
    return [".PP", *roff.filled(", ".join(term for term, _ in block.rows))]


def _store_page() -> Iterator[str]:
    yield from _head("pam-store", 5, "versioned memory in plain files, format version 1")
    yield from [".SH DESCRIPTION"]
    for number, name in enumerate(_FORMAT_PAGES):
        text = (_CHECKOUT / "store-format" / name).read_text(encoding="utf-8")
        lines = roff.markdown(text)
        if number == 0:
            lines = lines[1:] if lines[0] == ".PP" else lines
        else:
            title = text.partition("\n")[0].lstrip("# ")
            lines = [f".SH {roff.escaped(roff.spans(title).upper())}", *_below(lines)]
        yield from lines
    yield from [".SH SEE ALSO", ".BR pamctl (1),", r".BR pamctl\-fsck (1)"]


def _below(lines: list[str]) -> list[str]:
    """The lines of a page that is a section of another."""
    below = [line.replace(".SH ", ".SS ", 1) if line.startswith(".SH ") else line for line in lines]
    return below[1:] if below[0] == ".PP" else below


def main(arguments: list[str]) -> int:
    """Writes the pages."""
    folder = Path(arguments[0]) if arguments else _CHECKOUT / "man"
    written = pages()
    for old in folder.glob("*/*.[157]"):
        if old.relative_to(folder).as_posix() not in written:
            old.unlink()
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

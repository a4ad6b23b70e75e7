"""The manual pages, written from the same source as help.

    python -m pamctl.cli.manual [FOLDER]

writes `pamctl.1` and a page for every command into FOLDER, by default `man` beside the
package. A test holds the pages in the project to what this writes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap

from typer._click import Command, Context
from typer.core import TyperGroup
from typer.main import get_command

from pamctl import __version__
from pamctl.cli.application import LazyGroup, app
from pamctl.cli.command_table import COMMANDS
from pamctl.cli.exit_statuses import exit_rows
from pamctl.cli.verbs import Verb, section_of

_DATE = "2026-11-30"
"""When the text of the pages last changed in meaning; a page must not differ by the day on
which it was written."""

# Escapes and requests lengthen a line; 80 bytes are the custom.
_LINE_CHARS = 70

_ENVIRONMENT = (
    ("PAM_STORE", "The store, as --store names it."),
    ("PAM_SCOPE", "The scope, as --scope names it."),
    ("PAM_ACTOR", "The actor, as --actor names it."),
    ("PAM_FORMAT", "How to print, as --format says it."),
    ("PAM_DEBUG", "Where it is 1, an unexpected failure shows where it happened."),
    ("NO_COLOR", "Where it is set, nothing is coloured."),
    ("FORCE_COLOR", "Where it is set, tables are coloured even outside a terminal."),
)


def pages() -> dict[str, str]:
    """Every manual page: file name and text."""
    group = get_command(app)
    assert isinstance(group, LazyGroup)
    root = Context(group, info_name="pamctl", help_option_names=["-h", "--help"])
    written: dict[str, str] = {}
    summaries: list[tuple[str, str]] = []
    for name in COMMANDS:
        command = group.get_command(root, name)
        assert command is not None
        context = Context(command, info_name=name, parent=root)
        for words, verb, verb_context in _verbs(command, context):
            title = "-".join(words)
            written[f"{title}.1"] = _verb_page(words, verb, verb_context)
            summaries.append((title, _summary(verb)))
    return {"pamctl.1": _program_page(summaries), **written}


def _verbs(command: Command, context: Context) -> Iterator[tuple[list[str], Verb, Context]]:
    """The commands that do something: `command` itself, or those of a group."""
    if isinstance(command, TyperGroup):
        for name, member in command.commands.items():
            yield from _verbs(member, Context(member, info_name=name, parent=context))
    else:
        assert isinstance(command, Verb)
        yield context.command_path.split(), command, context


def _summary(verb: Verb) -> str:
    """The first paragraph of help."""
    return inspect.cleandoc(verb.help or "").partition("\n\n")[0]


def _program_page(summaries: Iterable[tuple[str, str]]) -> str:
    lines = [*_head("pamctl", "versioned, provable memory for AI agents"), ".SH SYNOPSIS"]
    lines += [".B pamctl", ".I COMMAND", "[argument ...]", ".SH DESCRIPTION"]
    lines += _filled(
        "pamctl keeps the memory of agents in plain files: every memory has versions, every"
        " version a provenance, and every change an event in a ledger that shows when it was"
        " tampered with."
    )
    lines += [".SH COMMANDS"]
    for title, summary in summaries:
        lines += [".TP", f".BR {_roff(title)} (1)", *_filled(summary)]
    lines += [".SH ENVIRONMENT", *_definitions(_ENVIRONMENT)]
    lines += [".SH FILES", *_definitions([(".pam", "The store: the nearest one, here or above.")])]
    lines += [".SH EXIT STATUS"]
    lines += _definitions(
        (status, f"{code}: {text}" if code else text) for status, code, text in exit_rows()
    )
    return "\n".join(lines) + "\n"


def _verb_page(words: list[str], verb: Verb, context: Context) -> str:
    summary = _summary(verb)
    rest = inspect.cleandoc(verb.help or "").removeprefix(summary).strip("\n")
    lines = [*_head("-".join(words), summary.rstrip(".")), ".SH SYNOPSIS"]
    lines += [f".B {_roff(' '.join(words))}", _roff(" ".join(verb.collect_usage_pieces(context)))]
    lines += [".SH DESCRIPTION", *_filled(summary), *_paragraphs(rest)]
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in verb.get_params(context):
        record = param.get_help_record(context)
        if record is not None:
            sections.setdefault(section_of(param), []).append(record)
    for name, records in sections.items():
        lines += [f".SH {name.upper()}", *_definitions(records)]
    facts = verb.facts()
    lines += [".SH EXIT STATUS"]
    lines += _definitions((str(status), meaning) for status, meaning in facts.statuses())
    lines += [".SH EXAMPLES", ".nf", *(_roff(line) for line in facts.example.splitlines()), ".fi"]
    lines += [".SH SEE ALSO", ".BR pamctl (1)"]
    return "\n".join(lines) + "\n"


def _head(title: str, summary: str) -> list[str]:
    what = summary[:1].lower() + summary[1:]
    return [
        f'.TH {_roff(title.upper())} 1 "{_DATE}" "pamctl {__version__}" "pamctl manual"',
        ".SH NAME",
        rf"{_roff(title)} \- {_roff(what)}",
    ]


def _definitions(rows: Iterable[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for term, text in rows:
        lines += [".TP", f".B {_roff(term)}", *_filled(text)]
    return lines


def _paragraphs(text: str) -> list[str]:
    """Paragraphs, and blocks of literal lines where they are indented."""
    lines: list[str] = []
    for paragraph in filter(None, text.split("\n\n")):
        if paragraph.startswith(" "):
            literal = [_roff(line) for line in inspect.cleandoc(paragraph).splitlines()]
            lines += [".PP", ".nf", *literal, ".fi"]
        else:
            lines += [".PP", *_filled(paragraph)]
    return lines


def _filled(text: str) -> list[str]:
    return [_roff(line) for line in wrap(text, _LINE_CHARS, break_on_hyphens=False)]


def _roff(text: str) -> str:
    """Text that roff prints as it is: its own signs escaped, no line taken for a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return rf"\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped


def main(arguments: list[str]) -> int:
    """Writes the pages."""
    default = Path(__file__).resolve().parents[2] / "man"
    folder = Path(arguments[0]) if arguments else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

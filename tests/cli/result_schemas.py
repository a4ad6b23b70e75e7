"""What a command prints is a document that has a schema: which, and whether it is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from jsonschema_rs import Draft202012Validator, RegexOptions

from pamctl.encoding.timestamps import is_timestamp
from pamctl.model.documents import URN, schema
from tests.cli.catalogue import VERBS, Words
from tests.schemas.published import RESULTS

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome

NO_JSON: dict[Words, str] = {
    ("completion",): "prints a script for a shell",
    ("help",): "prints text",
    ("evaluate",): "prints what the command prints that it runs",
}
"""Commands whose answer is no JSON, and what it is."""

LINES: frozenset[Words] = frozenset({("batch",), ("stdio",), ("subscribe", "follow")})
"""Commands that print a line for each thing as it comes: the schema is of a line."""

_ANOTHER_THING = ("--help", "-h", "--print")
"""Flags with which something else is printed: help, one member."""

_REPORTS = ("sarif", "junit")
"""Formats that somebody else defines."""

_PLACES = ("--output", "--out", "--html")
"""Flags that name the file to make; with `-` it is printed in place of the answer."""


def schema_of(words: Words) -> str | None:
    """The name of the schema of what a command answers; None where it answers no JSON."""
    return None if words in NO_JSON else RESULTS + "_".join(words).replace("-", "_")


def command_of(call: Sequence[str]) -> Words | None:
    """The command that a call is of; None where it does not begin with one."""
    return next((words for n in (2, 1) if (words := tuple(call[:n])) in VERBS), None)


def require_result(call: Sequence[str], outcome: Outcome, env: Mapping[str, str]) -> None:
    """Hold the JSON that a call printed, when it succeeded, against the schema of its command."""
    words = command_of(call)
    if words is None or outcome.status not in (0, 11) or not outcome.stdout.startswith(b"{"):
        return
    name = schema_of(words)
    if name is None or _prints_another_thing(words, call):
        return
    answers = [json.loads(line) for line in outcome.stdout.splitlines() if line]
    one_a_line = len(answers) != 1 or "jsonl" in call or env.get("PAM_FORMAT") == "jsonl"
    for answer in answers:
        fault = fault_in(
            name, answer, line=words not in LINES and (one_a_line or "--follow" in call)
        )
        assert fault is None, f"pamctl {' '.join(call)}: {fault}"


def fault_in(name: str, value: Any, *, line: bool = False) -> str | None:
    """What keeps `value` from being what the schema says; None where nothing does.

    line: whether it was one of the lines of `--format jsonl`, which are the things that a
    listing lists.
    """
    if line and "line" in schema(name).get("$defs", {}):
        name += "#/$defs/line"
    error = next(_validator(name).iter_errors(value), None)
    return None if error is None else f"{name} {error.instance_path}: {error.message}"


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(
        {"$ref": URN + name},
        validate_formats=True,
        formats={"date-time": is_timestamp},
        retriever=lambda uri: schema(uri.removeprefix(URN)),
        pattern_options=RegexOptions(),
    )


def _prints_another_thing(words: Words, call: Sequence[str]) -> bool:
    if any(word.partition("=")[0] in _ANOTHER_THING for word in call):
        return True
    if any(word.removeprefix("--format=") in _REPORTS for word in call):
        return True
    if words == ("export",) and not any(word.startswith("--output") for word in call):
        return True
    return any(
        (word == flag and after == "-") or word == f"{flag}=-"
        for word, after in zip(call, [*call[1:], ""], strict=True)
        for flag in _PLACES
    )

"""The flags that commands share, each declared once.

`PRINTING`, `STORED` and `SCOPED` are given to `verbs.verb`, and their values reach a command
inside its Invocation. The other names are annotations for a command's own parameters.
"""

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import typer

from pamctl.cli.verbs import COMMON_PANEL
from pamctl.encoding.timestamps import instant
from pamctl.limits import INTEGER_MAX
from pamctl.model.vocabulary import (
    STANDARD_OBJECT_TYPES,
)


class Unsuitable(typer.BadParameter):
    """A value that an option does not take, and what to give in its place."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(message)
        self.advice = advice


class Words:
    """A parser of a value that is one of a few words; it suggests the nearest.

    what: one of them, for messages.
    words: what completion offers.
    marks: of a value with any of these characters nothing is known here, and it is let pass.
    choice: what to give, where no word is near; default: the words.
    """

    def __init__(
        self, what: str, words: Sequence[str], *, marks: str = "", choice: str = ""
    ) -> None:
        self.__name__ = what  # what typer calls a parser by
        self.words = words
        self._marks = marks
        self._choice = choice or ", ".join(words)

    def __call__(self, text: str) -> str:
        """The word. Raises Unsuitable for another."""
        if text in self.words or any(mark in text for mark in self._marks):
            return text
        nearest = get_close_matches(text, self.words, n=1)
        advice = f"did you mean '{nearest[0]}'?" if nearest else f"it is {self._choice}"
        raise Unsuitable(f"'{text}' is no {self.__name__}", advice)


def one_of(what: str, words: Sequence[str]) -> Words:
    """A parser of an option that takes one of a few words."""
    return Words(what, words)


object_type = Words(
    "object type",
    STANDARD_OBJECT_TYPES,
    marks=".:",
    choice=", ".join(STANDARD_OBJECT_TYPES) + ", or a type of your own such as com.example.note",
)
"""A standard type, or what may be the name of another: those have a dot or a colon.
PAMSPEC §8.2."""


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """A parser of an option that takes a whole number within bounds."""

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= len(str(most)):
            number = int(text)
            if least <= number <= most:
                return number
        raise typer.BadParameter(f"'{text}' is not a whole number from {least} to {most}")

    parse.__name__ = "integer"  # what typer calls its type
    return parse


def sequence_option(name: str, metavar: str, text: str) -> Any:
    """An option that takes a sequence: of a version in its history, or of a ledger."""
    return typer.Option(name, metavar=metavar, parser=whole_number(0, INTEGER_MAX), help=text)


def time(text: str) -> str:
    """A time with an offset. Raises typer.BadParameter."""
    try:
        instant(text)
    except ValueError as cause:
        raise typer.BadParameter(f"'{text}' is {cause}") from cause
    return text


def sequence_or_time(text: str) -> int | str:
    """A ledger sequence or a time. Raises typer.BadParameter."""
    return _sequence(text) if text.isdigit() else time(text)


_sequence = whole_number(0, INTEGER_MAX)


def flag(name: str, kind: Any, default: Any, *declarations: str, **settings: Any) -> Any:
    """A flag to give to `verbs.verb`: its name inside the Invocation, its type, its default,
    and what `typer.Option` takes."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer.Option(*declarations, **settings)],
    )


def _common(name: str, kind: Any, default: Any, *declarations: str, **settings: Any) -> Any:
    return flag(name, kind, default, *declarations, rich_help_panel=COMMON_PANEL, **settings)


_FORMAT = _common(
    "format",
    Literal["auto", "json", "jsonl", "table"] | None,
    None,
    "--format",
    metavar="FORMAT",
    help="auto, json, jsonl or table; auto is a table at a terminal and JSON in a pipe."
    " [PAM_FORMAT]",
)
_JSON = _common("json", bool, False, "--json", help="Print JSON: --format json.")
QUIET = _common("quiet", bool, False, "--quiet", "-q", help="Say nothing but data and errors.")
VERBOSE = _common("verbose", bool, False, "--verbose", "-v", help="Say what is being used.")
STORE = _common(
    "store",
    str | None,
    None,
    "--store",
    metavar="DIR",
    help="The .pam directory; default: the nearest here or above. [PAM_STORE]",
)
SCOPE = _common(
    "scope",
    str | None,
    None,
    "--scope",
    metavar="ID",
    help="The scope; default: the store's default scope. [PAM_SCOPE]",
)
_ACTOR = _common(
    "actor",
    str | None,
    None,
    "--actor",
    metavar="ID",
    help="Who asks; default: actor:local: and your user name. [PAM_ACTOR]",
)
_ACTOR_KIND = _common(
    "actor_kind",
    str | None,
    None,
    "--actor-kind",
    metavar="KIND",
    help="human, agent, service ...; default: human.",
)
_ACTOR_FILE = _common(
    "actor_file",
    str | None,
    None,
    "--actor-file",
    metavar="FILE",
    help="A whole actor object, with attestation; - is standard input.",
)
OPERATION_ID = _common(
    "operation_id",
    str | None,
    None,
    "--operation-id",
    metavar="ID",
    help="Name of this operation; default: a new op: identifier.",
)

_DELEGATION = _common(
    "delegation",
    str | None,
    None,
    "--delegation",
    metavar="ID",
    help="Act under that delegation, and within it.",
)

PRINTING = (_FORMAT, _JSON, QUIET, VERBOSE)
"""Of every command that prints data."""

STORED = (STORE, OPERATION_ID, *PRINTING)
"""Of commands on a store as a whole."""

ACTING = (STORE, _ACTOR, _ACTOR_KIND, _ACTOR_FILE, OPERATION_ID, *PRINTING)
"""Of commands that name their scope as an argument."""

SCOPED = (STORE, SCOPE, _ACTOR, _ACTOR_KIND, _ACTOR_FILE, _DELEGATION, OPERATION_ID, *PRINTING)
"""Of commands on what is in a scope."""

SERVING = (STORE, _ACTOR, _ACTOR_KIND, _ACTOR_FILE, _DELEGATION, QUIET, VERBOSE)
"""Of the coprocess, whose requests name their scopes."""

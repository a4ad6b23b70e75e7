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
from pamctl.limits import INTEGER_MAX, PAGE_ITEMS_MAX
from pamctl.model.vocabulary import (
    AVAILABILITY_STATES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)


def one_of(what: str, values: Sequence[str]) -> Callable[[str], str]:
    """A parser of an option that takes one of a few words; it suggests the nearest."""

    def parse(text: str) -> str:
        if text in values:
            return text
        nearest = get_close_matches(text, values, n=1)
        advice = f"did you mean '{nearest[0]}'?" if nearest else "it is " + ", ".join(values)
        raise typer.BadParameter(f"'{text}' is no {what}; {advice}")

    return parse


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """A parser of an option that takes a whole number within bounds."""

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= len(str(most)):
            number = int(text)
            if least <= number <= most:
                return number
        raise typer.BadParameter(f"'{text}' is not a whole number from {least} to {most}")

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


def _state(dimension: str, states: Sequence[str], default: str) -> Any:
    return typer.Option(
        f"--{dimension}",
        metavar="STATE",
        help=f"{', '.join(states)}; default: {default}.",
        parser=one_of(f"{dimension} state", states),
    )


def _common(name: str, kind: Any, default: Any, *declarations: str, **settings: Any) -> Any:
    option = typer.Option(*declarations, rich_help_panel=COMMON_PANEL, **settings)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


_FORMAT = _common(
    "format",
    Literal["auto", "json", "jsonl", "table"] | None,
    None,
    "--format",
    help="How to print; auto is a table at a terminal and JSON in a pipe. [PAM_FORMAT]",
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

ObjectArgument = Annotated[
    str, typer.Argument(metavar="OBJECT", help="Identifier of the memory.", show_default=False)
]
Expect = Annotated[
    str,
    typer.Option(
        "--expect",
        metavar="VERSION",
        help="The version that the change is made on.",
        show_default=False,
    ),
]
PolicyBasis = Annotated[
    str,
    typer.Option(
        "--policy-basis", metavar="TEXT", help="Why policy allows it.", show_default=False
    ),
]
IdempotencyKey = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="A second request with this key changes nothing and answers the same.",
    ),
]
Content = Annotated[
    str | None,
    typer.Option("--content", metavar="JSON", help="The content; - is standard input."),
]
ContentFile = Annotated[
    str | None,
    typer.Option("--content-file", metavar="FILE", help="The file that holds the content."),
]
SchemaId = Annotated[
    str | None, typer.Option("--schema-id", metavar="URI", help="The schema of the content.")
]
QualityFile = Annotated[
    str | None,
    typer.Option("--quality-file", metavar="FILE", help="Quality signals, a JSON object."),
]
ObservedAt = Annotated[
    str | None,
    typer.Option("--observed-at", metavar="TIME", help="When it was observed, RFC 3339."),
]
AssertedAt = Annotated[
    str | None, typer.Option("--asserted-at", metavar="TIME", help="When it was asserted.")
]
ValidFrom = Annotated[
    str | None, typer.Option("--valid-from", metavar="TIME", help="When it begins to hold.")
]
ValidUntil = Annotated[
    str | None, typer.Option("--valid-until", metavar="TIME", help="When it ceases to hold.")
]
Source = Annotated[
    str | None, typer.Option("--source", metavar="REF", help="Provenance: where it comes from.")
]
Activity = Annotated[
    str | None,
    typer.Option("--activity", metavar="TEXT", help="Provenance: what produced it."),
]
Evidence = Annotated[
    list[str] | None,
    typer.Option("--evidence", metavar="REF", help="Provenance: evidence; may be repeated."),
]
SourceConfidence = Annotated[
    float | None,
    typer.Option(
        "--source-confidence",
        metavar="N",
        help="Provenance: how sure the source was, 0 to 1.",
    ),
]
ProvenanceFile = Annotated[
    str | None,
    typer.Option(
        "--provenance-file",
        metavar="FILE",
        help="Provenance as a JSON object; the other flags add to it.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        parser=whole_number(1, PAGE_ITEMS_MAX),
        help=f"At most that many items, up to {PAGE_ITEMS_MAX}.",
    ),
]
Cursor = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="The page after that one.")
]
Snapshot = Annotated[
    str | None,
    typer.Option("--snapshot", metavar="ID", help="As that snapshot has it, for ever the same."),
]
EventClasses = Annotated[
    list[str] | None,
    typer.Option("--event-class", metavar="CLASS", help="Only such events; may be repeated."),
]

Lifecycle = Annotated[str | None, _state("lifecycle", LIFECYCLE_STATES, "active")]
Availability = Annotated[str | None, _state("availability", AVAILABILITY_STATES, "available")]
Retention = Annotated[str | None, _state("retention", RETENTION_STATES, "retained")]
Validation = Annotated[str | None, _state("validation", VALIDATION_STATES, "unverified")]

Lifecycles = Annotated[list[str] | None, _state("lifecycle", LIFECYCLE_STATES, "active")]
Availabilities = Annotated[
    list[str] | None, _state("availability", AVAILABILITY_STATES, "available")
]
Retentions = Annotated[list[str] | None, _state("retention", RETENTION_STATES, "retained")]
Validations = Annotated[list[str] | None, _state("validation", VALIDATION_STATES, "corroborated")]

"""Arguments and options of their own that commands share, each declared once. Apart from the
flags of `options`, because to declare these takes half a millisecond, and whoever only checks
a store uses none of them."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pamctl.cli.options import one_of, whole_number
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.model.vocabulary import (
    AVAILABILITY_STATES,
    EVENT_TYPES,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)


def _state(dimension: str, states: Sequence[str], default: str) -> Any:
    return typer.Option(
        f"--{dimension}",
        metavar="STATE",
        help=f"{', '.join(states)}; default: {default}.",
        parser=one_of(f"{dimension} state", states),
    )


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
    typer.Option(
        "--event-class",
        metavar="CLASS",
        help="Only such events; may be repeated.",
        parser=one_of("event class", EVENT_TYPES),
    ),
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

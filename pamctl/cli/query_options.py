"""The options of `pamctl query` that say what to select, and in which order. PAMSPEC §11."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from typer._click.types import Tuple

from pamctl.cli import options
from pamctl.limits import TRAVERSAL_DEPTH_MAX
from pamctl.model.vocabulary import DIRECTIONS, ORDER_FIELDS, TEMPORAL_BASES

_OPEN_END = "-"
_FIELDS = ", ".join(ORDER_FIELDS)
_ORDERS = (*ORDER_FIELDS, *(f"{field}:desc" for field in ORDER_FIELDS))

Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Of that type.", parser=options.object_type),
]
Text = Annotated[
    str | None,
    typer.Option("--text", metavar="WORDS", help="With any of these words, best first."),
]
Actors = Annotated[
    list[str] | None, typer.Option("--actor-is", metavar="ID", help="Written by that actor.")
]
Sources = Annotated[
    list[str] | None, typer.Option("--source", metavar="REF", help="From that source.")
]
Provenances = Annotated[
    list[str] | None,
    typer.Option("--provenance", metavar="ID", help="With that provenance."),
]
Schemas = Annotated[
    list[str] | None, typer.Option("--schema-id", metavar="URI", help="Of that schema.")
]
Activities = Annotated[
    list[str] | None,
    typer.Option("--activity", metavar="TEXT", help="That came of that activity."),
]
ActorKinds = Annotated[
    list[str] | None,
    typer.Option("--actor-kind-is", metavar="KIND", help="Written by an actor of that kind."),
]
Principals = Annotated[
    list[str] | None,
    typer.Option("--on-behalf-of", metavar="ID", help="Written for that principal."),
]
Evidence = Annotated[
    list[str] | None,
    typer.Option("--evidence", metavar="REF", help="With that among its evidence."),
]
Parents = Annotated[
    list[str] | None,
    typer.Option("--parent", metavar="REF", help="Made from that, as its provenance says."),
]
Confidence = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--confidence",
        metavar="FROM TO",
        help="With a source confidence from FROM to TO, of 0 to 1; - leaves an end open.",
    ),
]
Digests = Annotated[
    list[str] | None,
    typer.Option("--integrity", metavar="DIGEST", help="With that integrity digest."),
]
Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        "--integrity-algorithm", metavar="NAME", help="With integrity metadata of that algorithm."
    ),
]
IntegrityRefs = Annotated[
    list[str] | None,
    typer.Option(
        "--integrity-ref", metavar="REF", help="Whose provenance has that integrity reference."
    ),
]
RelationshipRefs = Annotated[
    list[str] | None,
    typer.Option(
        "--relationship-ref", metavar="ID", help="With that among its relationship references."
    ),
]
Objects = Annotated[
    list[str] | None, typer.Option("--object", metavar="ID", help="Of that identifier.")
]
VersionIds = Annotated[
    list[str] | None,
    typer.Option("--version-is", metavar="ID", help="Whose current version is that."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="EXPRESSION",
        help="That meet an expression over envelope and content, such as"
        " 'content.amount > 100'; all of them, where it is repeated. See pamctl help query.",
    ),
]
Snippets = Annotated[
    bool,
    typer.Option(
        "--snippets", help="Show where --text was found; a table at a terminal does so anyway."
    ),
]
AnyState = Annotated[
    bool, typer.Option("--any-state", help="In any state that is not asked for by name.")
]
Relationships = Annotated[
    bool, typer.Option("--relationships", help="The relationships, in place of memories.")
]
Count = Annotated[bool, typer.Option("--count", help="Count all that are selected.")]
Explain = Annotated[
    bool, typer.Option("--explain", help="Say how the answer was found, and why each is in it.")
]
RelatedTo = Annotated[
    str | None,
    typer.Option("--related-to", metavar="ID", help="That relationships join to this one."),
]
RelationTypes = Annotated[
    list[str] | None,
    typer.Option("--relation-type", metavar="TYPE", help="By relationships of that type."),
]
Direction = Annotated[
    str | None,
    typer.Option(
        "--direction",
        metavar="WAY",
        help="out from --related-to, along the direction of relationships; in; or both, which"
        " is the default.",
        parser=options.one_of("direction", DIRECTIONS),
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        metavar="N",
        help=f"Within N steps of --related-to, up to {TRAVERSAL_DEPTH_MAX}; default: 1.",
        parser=options.whole_number(1, TRAVERSAL_DEPTH_MAX),
    ),
]
Between = Annotated[
    list[Any] | None,
    typer.Option(
        "--between",
        metavar="BASIS FROM TO",
        help="In a time: BASIS is one of the times of a memory, valid_time or sequence;"
        " FROM and TO are included, and - leaves an end open. In all of them, where it is"
        " repeated.",
        click_type=Tuple([str, str, str]),
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="WHEN", help="As it was at a ledger sequence or a time."),
]
Orders = Annotated[
    list[str] | None,
    typer.Option(
        "--order-by",
        metavar="FIELD[:desc]",
        help=f"In that order: by {_FIELDS}.",
        parser=options.Words("field to order by", _ORDERS, choice=_FIELDS + ", or one with :desc"),
    ),
]
QueryFile = Annotated[
    str | None,
    typer.Option(
        "--query-file",
        metavar="FILE",
        help="A query document of PAMSPEC, in place of the flags; - is standard input.",
    ),
]

MEMBERS = {
    **{name: name for name in ("object_type", "any_state", "text", "schema_id", "activity")},
    **{name: name for name in ("integrity_algorithm", "integrity_ref", "relationship_ref")},
    **{name: name for name in ("object_id", "where", "relationships", "order_by", "limit")},
    **{name: name for name in ("cursor", "count", "explain", "snippets")},
    "lifecycle": "lifecycle_state",
    "validation": "validation_state",
    "availability": "availability_state",
    "retention": "retention_state",
    "actor_is": "actor_id",
    "actor_kind_is": "actor_kind",
    "on_behalf_of": "on_behalf_of_actor_id",
    "source": "source_ref",
    "provenance": "provenance_id",
    "evidence": "evidence_ref",
    "parent": "transformation_parent",
    "integrity": "integrity_digest",
    "version_is": "version_id",
    "snapshot": "snapshot_id",
}
"""The members of a request that flags say as they are, by the names that the flags have here."""


def members(given: Mapping[str, Any]) -> dict[str, Any]:
    """The members that flags say; None for those that were not given, False among them."""
    return {MEMBERS[name]: None if value is False else value for name, value in given.items()}


def ranges(between: Sequence[tuple[str, str, str]] | None) -> list[dict[str, Any]] | None:
    """All the ranges of a query; None for none."""
    return [temporal(*one) for one in between] if between else None


def temporal(basis: str, first: str, last: str) -> dict[str, Any]:
    """A range of time, or of ledger sequences."""
    options.one_of("time to query by", TEMPORAL_BASES)(basis)
    end = options.sequence_or_time if basis == "sequence" else options.time
    ends = {"from": first, "until": last}
    return {
        "basis": basis,
        **{name: end(text) for name, text in ends.items() if text != _OPEN_END},
    }


def confidence(given: tuple[str, str] | None) -> dict[str, float] | None:
    """A range of source confidence. Raises typer.BadParameter."""
    if given is None:
        return None
    ends = zip(("from", "until"), given, strict=True)
    said = {name: _fraction(text) for name, text in ends if text != _OPEN_END}
    if not said:
        raise typer.BadParameter("one end of a confidence has to be said")
    return said


def _fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise typer.BadParameter(f"'{text}' is no confidence: a number from 0 to 1")
    return number

"""`pamctl query`: the memories that filters, words and times select. PAMSPEC §11."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.presentation import Column, moment
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    EmbeddingSpaceMismatch,
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    SnapshotNotFound,
)
from pamctl.limits import TRAVERSAL_DEPTH_MAX
from pamctl.model.vocabulary import DIRECTIONS, ORDER_FIELDS, TEMPORAL_BASES

app = application()

_OPEN_END = "-"
_ORDERS = (*ORDER_FIELDS, *(f"{field}:desc" for field in ORDER_FIELDS))


Types = Annotated[list[str] | None, typer.Option("--type", metavar="TYPE", help="Of that type.")]
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
    tuple[str, str, str] | None,
    typer.Option(
        "--between",
        metavar="BASIS FROM TO",
        help="In a time: BASIS is one of the times of a memory, valid_time or sequence;"
        " FROM and TO are included, and - leaves an end open.",
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
        help="In that order: by " + ", ".join(ORDER_FIELDS) + ".",
        parser=options.one_of("field to order by", _ORDERS),
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


@verb(
    app,
    options.SCOPED,
    example="""pamctl query --text 'tea time' --validation unverified
pamctl query --type decision --order-by committed_at:desc --limit 10
pamctl query --related-to mem:tea --relation-type supports --depth 2 --any-state
pamctl query --between valid_time 2026-07-01T00:00:00Z 2026-08-01T00:00:00Z --any-state""",
    errors=(ScopeNotFound, ObjectNotFound, SnapshotNotFound, AccessDenied, EmbeddingSpaceMismatch),
)
def query(
    call: Invocation,
    object_type: Types = None,
    lifecycle: options.Lifecycles = None,
    validation: options.Validations = None,
    availability: options.Availabilities = None,
    retention: options.Retentions = None,
    any_state: Annotated[
        bool, typer.Option("--any-state", help="In any state that is not asked for by name.")
    ] = False,
    text: Text = None,
    actor_is: Actors = None,
    source: Sources = None,
    provenance: Provenances = None,
    schema_id: Schemas = None,
    related_to: RelatedTo = None,
    relation_type: RelationTypes = None,
    direction: Direction = None,
    depth: Depth = None,
    relationships: Annotated[
        bool, typer.Option("--relationships", help="The relationships, in place of memories.")
    ] = False,
    between: Between = None,
    as_of: AsOf = None,
    snapshot: options.Snapshot = None,
    order_by: Orders = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    count: Annotated[bool, typer.Option("--count", help="Count all that are selected.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False,
    query_file: QueryFile = None,
) -> None:
    """Find memories.

    Without flags it finds what is trusted: active, available, retained and corroborated.
    Flags of one name are alternatives; flags of different names must all hold.
    """
    flags = {
        "object_type": object_type,
        "lifecycle_state": lifecycle,
        "validation_state": validation,
        "availability_state": availability,
        "retention_state": retention,
        "any_state": any_state or None,
        "text": text,
        "actor_id": actor_is,
        "source_ref": source,
        "provenance_id": provenance,
        "schema_id": schema_id,
        **_related(related_to, relation_type, direction, depth),
        "relationships": relationships or None,
        "temporal": None if between is None else temporal(*between),
        "as_of": None if as_of is None else options.sequence_or_time(as_of),
        "snapshot_id": snapshot,
        "order_by": order_by,
        "limit": limit,
        "cursor": cursor,
        "count": count or None,
        "explain": explain or None,
    }
    if as_of is not None and snapshot is not None:
        raise InvalidRequest("--as-of and --snapshot exclude each other")
    if query_file is None:
        answer = call.perform("query", call.request(**flags))
    else:
        if any(flags.values()):
            raise InvalidRequest("--query-file is a whole query", hint="leave out the other flags")
        answer = _ask(call, given.json_object(given.Source(file=query_file), "--query-file"))
    presentation.show_items(call, answer, _LINKS if relationships else _COLUMNS)
    if count and call.format != "json":
        call.note(f"{answer['total']} in all")


def _ask(call: Invocation, document: dict[str, Any]) -> Any:
    """The answer to a query document; it may leave out what the other flags say."""
    from pamctl.bindings.query_document import query_arguments

    defaults = {"operation_id": call.operation_id, "actor": call.actor}
    if "scope_id" not in document:
        defaults["scope_id"] = call.scope_id
    return call.perform("query", query_arguments({**defaults, **document}))


def _related(
    start: str | None, types: list[str] | None, direction: str | None, depth: int | None
) -> dict[str, Any]:
    """The members of a query that walk along relationships, or select by their type."""
    if start is None:
        if direction is not None or depth is not None:
            raise InvalidRequest("--direction and --depth say how to go on from --related-to")
        return {"relationship_type": types}
    walk = {"relationship_types": types or None, "direction": direction, "depth": depth}
    said = {name: value for name, value in walk.items() if value is not None}
    return {"related_to": {"object_id": start, **said}}


def temporal(basis: str, first: str, last: str) -> dict[str, Any]:
    """A range of time, or of ledger sequences."""
    options.one_of("time to query by", TEMPORAL_BASES)(basis)
    end = options.sequence_or_time if basis == "sequence" else options.time
    ends = {"from": first, "until": last}
    return {
        "basis": basis,
        **{name: end(text) for name, text in ends.items() if text != _OPEN_END},
    }


def _content(envelope: Mapping[str, Any]) -> str:
    return presentation.excerpt(envelope.get("canonical_content"))


_COLUMNS = (
    Column("OBJECT", lambda envelope: str(envelope["object_id"])),
    Column("TYPE", lambda envelope: str(envelope["object_type"])),
    Column("VALIDATION", lambda envelope: str(envelope["validation_state"])),
    Column("COMMITTED", lambda envelope: moment(envelope["committed_at"]), whole=True),
    Column("CONTENT", _content),
)
_LINKS = (
    Column("RELATIONSHIP", lambda envelope: str(envelope["relationship_id"])),
    Column("SOURCE", lambda envelope: str(envelope["source_object_id"])),
    Column("TYPE", lambda envelope: str(envelope["relationship_type"])),
    Column("TARGET", lambda envelope: str(envelope["target_object_id"])),
    Column("VALIDATION", lambda envelope: str(envelope["validation_state"])),
    Column("CONTENT", _content),
)

"""`pamctl query`: the memories that filters, words and times select. PAMSPEC §11."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, similarity
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import explaining, presentation
from pamctl.cli.terminal.presentation import Column, moment
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
Digests = Annotated[
    list[str] | None,
    typer.Option("--integrity", metavar="DIGEST", help="With that integrity digest."),
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
pamctl query --where 'content.amount > 100 and content.tags contains "tea"'
pamctl query --hybrid --text 'when did we paint the sunrise?' --any-state
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
    any_state: AnyState = False,
    text: Text = None,
    space: similarity.Space = None,
    vector: similarity.Vector = None,
    like: similarity.Like = None,
    hybrid: similarity.Hybrid = False,
    actor_is: Actors = None,
    source: Sources = None,
    provenance: Provenances = None,
    schema_id: Schemas = None,
    activity: Activities = None,
    integrity: Digests = None,
    object_id: Objects = None,
    version_is: VersionIds = None,
    where: Where = None,
    related_to: RelatedTo = None,
    relation_type: RelationTypes = None,
    direction: Direction = None,
    depth: Depth = None,
    relationships: Relationships = False,
    between: Between = None,
    as_of: AsOf = None,
    snapshot: options.Snapshot = None,
    order_by: Orders = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    count: Count = False,
    explain: Explain = False,
    snippets: Snippets = False,
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
        **similarity.members(space, vector, like, hybrid),
        "actor_id": actor_is,
        "source_ref": source,
        "provenance_id": provenance,
        "schema_id": schema_id,
        "activity": activity,
        "integrity_digest": integrity,
        "object_id": object_id,
        "version_id": version_is,
        "where": where,
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
        "snippets": snippets or None,
    }
    if text is not None and call.format == "table":
        flags["snippets"] = True
    _show(call, _answer(call, flags, query_file), flags)


def _show(call: Invocation, answer: Mapping[str, Any], flags: Mapping[str, Any]) -> None:
    """Prints an answer, and beside it what lines and tables have no room for."""
    columns = _LINKS if flags["relationships"] else _COLUMNS
    presentation.show_items(call, answer, explaining.with_passages(columns, answer))
    similarity.disclose(call, answer)
    explaining.tell(call, answer)
    if not answer["items"] and call.format == "table" and not any(map(flags.get, _WIDENING)):
        call.note("nothing that is trusted was found; --any-state finds the rest too")
    if flags["count"] and call.format != "json":
        call.note(f"{answer['total']} in all")


_WIDENING = (
    "lifecycle_state",
    "validation_state",
    "availability_state",
    "retention_state",
    "any_state",
    "relationships",
    "cursor",
)
"""Flags with which an empty answer explains itself."""


def _answer(call: Invocation, flags: Mapping[str, Any], query_file: str | None) -> Any:
    """The answer to what the flags ask for, or to the document that takes their place."""
    if flags["as_of"] is not None and flags["snapshot_id"] is not None:
        raise InvalidRequest("--as-of and --snapshot exclude each other")
    if query_file is None:
        return call.perform("query", call.request(**flags))
    if any(flags.values()):
        raise InvalidRequest("--query-file is a whole query", hint="leave out the other flags")
    return _ask(call, given.json_object(given.Source(file=query_file), "--query-file"))


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

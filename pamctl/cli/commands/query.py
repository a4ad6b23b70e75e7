"""`pamctl query`: the memories that filters, words and times select. PAMSPEC §11."""

from collections.abc import Mapping
from typing import Any

from pamctl.cli import input as given
from pamctl.cli import options, parameters, similarity
from pamctl.cli import query_options as asked
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

app = application()


@verb(
    app,
    options.SCOPED,
    example="""pamctl query --text 'tea time' --validation unverified
pamctl query --type decision --order-by committed_at:desc --limit 10
pamctl query --where 'content.amount > 100 and content.tags contains "tea"'
pamctl query --hybrid --text 'when did we paint the sunrise?' --any-state
pamctl query --related-to mem:tea --relation-type supports --depth 2 --any-state
pamctl query --between valid_time 2026-07-01T00:00:00Z 2026-08-01T00:00:00Z --any-state
pamctl query --confidence 0.8 - --evidence urn:letter --any-state""",
    errors=(ScopeNotFound, ObjectNotFound, SnapshotNotFound, AccessDenied, EmbeddingSpaceMismatch),
)
def query(
    call: Invocation,
    object_type: asked.Types = None,
    lifecycle: parameters.Lifecycles = None,
    validation: parameters.Validations = None,
    availability: parameters.Availabilities = None,
    retention: parameters.Retentions = None,
    any_state: asked.AnyState = False,
    text: asked.Text = None,
    space: similarity.Space = None,
    vector: similarity.Vector = None,
    like: similarity.Like = None,
    hybrid: similarity.Hybrid = False,
    exact: similarity.Exact = False,
    approximate: similarity.Approximate = False,
    actor_is: asked.Actors = None,
    source: asked.Sources = None,
    provenance: asked.Provenances = None,
    schema_id: asked.Schemas = None,
    activity: asked.Activities = None,
    actor_kind_is: asked.ActorKinds = None,
    on_behalf_of: asked.Principals = None,
    evidence: asked.Evidence = None,
    parent: asked.Parents = None,
    confidence: asked.Confidence = None,
    integrity: asked.Digests = None,
    integrity_algorithm: asked.Algorithms = None,
    integrity_ref: asked.IntegrityRefs = None,
    relationship_ref: asked.RelationshipRefs = None,
    object_id: asked.Objects = None,
    version_is: asked.VersionIds = None,
    where: asked.Where = None,
    related_to: asked.RelatedTo = None,
    relation_type: asked.RelationTypes = None,
    direction: asked.Direction = None,
    depth: asked.Depth = None,
    relationships: asked.Relationships = False,
    between: asked.Between = None,
    as_of: asked.AsOf = None,
    snapshot: parameters.Snapshot = None,
    order_by: asked.Orders = None,
    limit: parameters.Limit = None,
    cursor: parameters.Cursor = None,
    count: asked.Count = False,
    explain: asked.Explain = False,
    snippets: asked.Snippets = False,
    query_file: asked.QueryFile = None,
) -> None:
    """Find memories.

    Without flags it finds what is trusted: active, available, retained and corroborated.
    Flags of one name are alternatives; flags of different names must all hold.
    """
    said = locals()
    flags = {
        **asked.members({name: said[name] for name in asked.MEMBERS}),
        **similarity.members(space, vector, like, hybrid, similarity.way(exact, approximate)),
        **_related(related_to, relation_type, direction, depth),
        "source_confidence": asked.confidence(confidence),
        "temporal": asked.ranges(between),
        "as_of": None if as_of is None else options.sequence_or_time(as_of),
    }
    if text is not None and call.format == "table":
        flags["snippets"] = True
    answer = _answer(call, flags, query_file)
    _show(call, answer, flags)
    if not answer["items"] and call.format == "table":
        _say_why(call, answer, flags, by_document=query_file is not None)
    if flags["count"] and call.format != "json":
        call.note(f"{answer['total']} in all")


def _show(call: Invocation, answer: Mapping[str, Any], flags: Mapping[str, Any]) -> None:
    """Prints an answer, and beside it what lines and tables have no room for."""
    columns = _LINKS if flags["relationships"] else _COLUMNS
    presentation.show_items(call, answer, explaining.with_passages(columns, answer))
    similarity.disclose(call, answer)
    explaining.tell(call, answer)


def _say_why(
    call: Invocation, answer: Mapping[str, Any], flags: Mapping[str, Any], *, by_document: bool
) -> None:
    """What to do where nothing was found."""
    if "index" not in answer:
        call.note(
            f"nothing was written to {answer['scope_id']} yet; `pamctl scope list` shows scopes"
        )
    elif not by_document and not any(map(flags.get, _WIDENING)):
        call.note("nothing that is trusted was found; --any-state finds the rest too")


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

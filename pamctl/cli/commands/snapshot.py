"""`pamctl snapshot`: sealed views of a scope. PAMSPEC §12, §18.11."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import options, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column, moment
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    AccessDenied,
    DuplicateOperation,
    EmbeddingSpaceMismatch,
    InvalidRequest,
    InvalidStateTransition,
    ObjectNotFound,
    ScopeNotFound,
    ServiceUnavailable,
    SnapshotNotFound,
)
from pamctl.limits import INTEGER_MAX

app = application(summary="Seal a view of a scope, and compare two.")

SnapshotArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Identifier of the snapshot.", show_default=False)
]


def _whole_number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = INTEGER_MAX + 1
    if abs(number) > INTEGER_MAX:
        raise typer.BadParameter(f"'{text}' is not a whole number within 2^53 - 1")
    return number


@verb(
    app,
    writing.KEYED,
    example="""pamctl snapshot create --id snap:monday
pamctl snapshot create --id snap:run-1 --clock 2026-07-17T00:00:00Z --tick-ms 1 \\
  --seed 1729 --run eval:run-1""",
    errors=(
        ScopeNotFound,
        ObjectNotFound,
        DuplicateOperation,
        InvalidStateTransition,
        AccessDenied,
        EmbeddingSpaceMismatch,
        ServiceUnavailable,
    ),
)
def create(
    call: Invocation,
    snapshot_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Its identifier; default: a new one."),
    ] = None,
    at: Annotated[
        int | None,
        options.sequence_option(
            "--at", "SEQUENCE", "What the scope held at that ledger sequence; default: now."
        ),
    ] = None,
    objects: Annotated[
        list[str] | None,
        typer.Option(
            "--object", metavar="ID", help="Only that memory; may be repeated. Default: all."
        ),
    ] = None,
    spaces: Annotated[
        list[str] | None,
        typer.Option("--space", metavar="ID", help="Only that Embedding Space; may be repeated."),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            "--clock",
            metavar="TIME",
            help="When an evaluation of it begins, by its own clock.",
            parser=options.time,
        ),
    ] = None,
    clock_ref: Annotated[
        str | None,
        typer.Option("--clock-ref", metavar="NAME", help="What that clock is called."),
    ] = None,
    tick_ms: Annotated[
        int | None,
        typer.Option(
            "--tick-ms",
            metavar="N",
            help="Milliseconds that the clock goes on with every event; default: it stands still.",
            parser=options.whole_number(1, INTEGER_MAX),
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="What stands for randomness in an evaluation of it.",
            parser=_whole_number,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="ID", help="Evaluation run that what an evaluation writes names."
        ),
    ] = None,
) -> None:
    """Seal what the scope holds.

    Reading through a snapshot gives the same bytes for ever, whatever is written later. What
    belongs to it never changes. It copies nothing and costs a line of the ledger.
    """
    if clock is None and (tick_ms is not None or clock_ref is not None):
        raise InvalidRequest("--tick-ms and --clock-ref say more of --clock")
    stated: dict[str, Any] | None = None
    if clock is not None:
        stated = {"clock_ref": clock_ref or f"clock:{clock}", "start_at": clock}
        if tick_ms is not None:
            stated["tick_ms"] = tick_ms
    request = call.request(
        snapshot_id=snapshot_id,
        at_sequence=at,
        included_object_ids=objects,
        included_embedding_space_ids=spaces,
        deterministic_clock=stated,
        deterministic_rng_seed=seed,
        evaluation_run_id=run,
    )
    presentation.show_done(call, call.perform("snapshot_create", request), _sealed)


@verb(
    app,
    options.SCOPED,
    example="pamctl snapshot list --json",
    errors=(ScopeNotFound, AccessDenied),
    name="list",
)
def list_snapshots(
    call: Invocation, limit: parameters.Limit = None, cursor: parameters.Cursor = None
) -> None:
    """List the snapshots of a scope.

    They are in the order in which they were sealed.
    """
    request = call.request(limit=limit, cursor=cursor)
    presentation.show_items(call, call.perform("snapshot_list", request), _COLUMNS)


@verb(
    app,
    options.SCOPED,
    example="pamctl snapshot show snap:monday",
    errors=(ScopeNotFound, SnapshotNotFound, AccessDenied),
)
def show(call: Invocation, snapshot_id: SnapshotArgument) -> None:
    """Show a snapshot.

    It says too whether the digest is still that of what the scope has.
    """
    shown = call.perform("snapshot_show", call.request(snapshot_id=snapshot_id))
    presentation.show(call, shown, _card)


@verb(
    app,
    options.SCOPED,
    example="pamctl snapshot diff snap:monday snap:tuesday",
    errors=(ScopeNotFound, SnapshotNotFound, AccessDenied),
    verdict=True,
)
def diff(
    call: Invocation,
    first: Annotated[
        str, typer.Argument(metavar="FROM", help="The one snapshot.", show_default=False)
    ],
    second: Annotated[
        str, typer.Argument(metavar="TO", help="The other snapshot.", show_default=False)
    ],
    to_scope: Annotated[
        str | None,
        typer.Option("--to-scope", metavar="ID", help="The scope of TO; default: --scope."),
    ] = None,
    object_id: Annotated[
        str | None, typer.Option("--object", metavar="ID", help="Only that memory.")
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with status 11 where they differ.")
    ] = False,
    limit: parameters.Limit = None,
    cursor: parameters.Cursor = None,
) -> None:
    """Show how two snapshots differ.

    Memories and relationships that were added, removed or changed are listed, with their
    versions and the states that moved.
    """
    request = call.request(
        from_snapshot_id=first,
        to_snapshot_id=second,
        to_scope_id=to_scope,
        object_id=object_id,
        limit=limit,
        cursor=cursor,
    )
    answer = call.perform("snapshot_diff", request)
    presentation.show_items(call, answer, _CHANGES)
    if exit_code and answer["items"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _sealed(result: Mapping[str, Any]) -> str:
    snapshot = result["snapshot"]
    sentence = (
        f"sealed {snapshot['snapshot_id']} of {result['scope_id']} "
        f"at sequence {snapshot['ledger_sequence_high_watermark']}"
    )
    if result["replayed"]:
        sentence += " (done before under this idempotency key; nothing changed)"
    return sentence


def _members(snapshot: Mapping[str, Any]) -> str:
    named = snapshot.get("included_object_ids")
    return "all" if named is None else str(len(named))


def _card(shown: Mapping[str, Any]) -> dict[str, str]:
    snapshot = shown["snapshot"]
    rows = {
        "snapshot": snapshot["snapshot_id"],
        "scope": snapshot["scope_id"],
        "sequence": str(snapshot["ledger_sequence_high_watermark"]),
        "sealed": f"{snapshot['created_at']} by {shown['actor']['actor_id']}",
        "members": str(shown["members"]),
        "digest": f"{snapshot.get('digest', 'none')}"
        + ("" if shown["digest_matches"] else ", which is not that of what the scope has"),
    }
    for name in ("deterministic_clock", "deterministic_rng_seed", "evaluation_run_id"):
        if name in snapshot:
            label = name.removeprefix("deterministic_").removesuffix("_id").replace("_", " ")
            rows[label] = presentation.text_of(snapshot[name])
    return rows


def _version(item: Mapping[str, Any], side: str) -> str:
    return str(item[side]["version_id"]) if side in item else "-"


def _states(item: Mapping[str, Any]) -> str:
    moves = item.get("states", {})
    return ", ".join(f"{name}: {move['from']} to {move['to']}" for name, move in moves.items())


_COLUMNS = (
    Column("SNAPSHOT", lambda snapshot: str(snapshot["snapshot_id"])),
    Column(
        "SEQUENCE", lambda snapshot: str(snapshot["ledger_sequence_high_watermark"]), whole=True
    ),
    Column("SEALED", lambda snapshot: moment(snapshot["created_at"]), whole=True),
    Column("MEMORIES", _members),
    Column("RUN", lambda snapshot: str(snapshot.get("evaluation_run_id", "-"))),
)
_CHANGES = (
    Column("OBJECT", lambda item: str(item["object_id"])),
    Column("CHANGE", lambda item: str(item["change"])),
    Column("FROM", lambda item: _version(item, "from"), whole=True),
    Column("TO", lambda item: _version(item, "to"), whole=True),
    Column("STATES", _states),
)

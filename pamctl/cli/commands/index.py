"""`pamctl index`: the derived index, which can always be made again. PAMSPEC §7.8."""

import os
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Annotated, Any

import typer

from pamctl.cli import options, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import DuplicateOperation, InternalError, ScopeNotFound, ServiceUnavailable
from pamctl.store.plain_files import plain_size

_JOBS_MAX = 64
_WORTH_IT = 8 * 1024 * 1024

app = application(summary="Inspect or rebuild the derived index.")

_SCOPED = (options.STORE, options.SCOPE, options.OPERATION_ID, *options.PRINTING)


@verb(app, _SCOPED, example="pamctl index status", errors=(ScopeNotFound,))
def status(call: Invocation) -> None:
    """Show how far the index of each scope has read.

    With --scope or PAM_SCOPE it is the index of that one.
    """
    presentation.show_items(call, {"items": _states(call), "next_cursor": None}, _COLUMNS)


@verb(
    app,
    writing.KEYED,
    example="pamctl index rebuild --scope workspace:default",
    errors=(ScopeNotFound, DuplicateOperation, InternalError, ServiceUnavailable),
)
def rebuild(
    call: Invocation,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            parser=options.whole_number(1, _JOBS_MAX),
            help="How many scopes are read at once; default: one more than there are processors.",
        ),
    ] = None,
) -> None:
    """Forget the index and read the ledgers again.

    It is done for every scope, or for the one that --scope or PAM_SCOPE names. Nothing is
    lost by it. The ledger records that it was done, where it can be written.
    """
    answer = once(call, lambda: _rebuild(call, jobs or _jobs()))
    presentation.show_items(call, answer, _COLUMNS)


def _jobs() -> int:
    """Each waits for the device when it has made an index; another goes on meanwhile."""
    return min((os.cpu_count() or 1) + 1, _JOBS_MAX)


def _rebuild(call: Invocation, jobs: int) -> dict[str, Any]:
    scopes = [scope["scope_id"] for scope in call.perform("scope_list", {})["items"]]
    named = call.named_scope
    if named is not None and named not in scopes:
        raise ScopeNotFound(f"there is no scope {named}")
    wanted = [scope_id for scope_id in scopes if named in (None, scope_id)]
    states = _rebuilt(call, wanted, jobs)
    items = [{"scope_id": scope_id, "index": states[scope_id]} for scope_id in wanted]
    return {"items": items, "next_cursor": None}


def _rebuilt(call: Invocation, scope_ids: list[str], jobs: int) -> dict[str, Any]:
    """The states of the indexes of these scopes, made anew, by scope id. Processes cost more
    to start than small ledgers take to read, and cannot share the clock of an evaluation."""
    layout = call.store.layout
    sizes = {scope_id: plain_size(layout.scope(scope_id).ledger) for scope_id in scope_ids}
    if min(jobs, len(scope_ids)) == 1 or call.store.evaluation or sum(sizes.values()) < _WORTH_IT:
        made = {}
        for scope_id in scope_ids:
            made[scope_id] = call.store.rebuild_index(scope_id=scope_id, actor=call.actor)
        return made
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    largest_first = sorted(scope_ids, key=lambda scope_id: -sizes[scope_id])
    rebuild_one = partial(_rebuilt_apart, str(call.store.path), call.actor)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return dict(zip(largest_first, pool.map(rebuild_one, largest_first), strict=True))


def _rebuilt_apart(path: str, actor: Mapping[str, Any], scope_id: str) -> dict[str, Any]:
    """Make one index anew, in a process of its own."""
    from pamctl.service.store import open_store

    with closing(open_store(path)) as store:
        return store.rebuild_index(scope_id=scope_id, actor=actor)


def _states(call: Invocation) -> list[dict[str, Any]]:
    """The scopes that are meant, each with the state of its index."""
    scopes = call.perform("status", {})["scopes"]
    named = call.named_scope
    if named is not None and all(scope["scope_id"] != named for scope in scopes):
        raise ScopeNotFound(f"there is no scope {named}")
    return [
        {"scope_id": scope["scope_id"], "index": scope["index"]}
        for scope in scopes
        if named in (None, scope["scope_id"])
    ]


def _index(name: str, scope: Mapping[str, Any]) -> str:
    return presentation.text_of(scope["index"][name])


_COLUMNS = (
    Column("SCOPE", lambda scope: str(scope["scope_id"])),
    Column("INDEX", lambda scope: _index("index_id", scope)),
    Column("SEQUENCE", lambda scope: _index("ledger_sequence", scope)),
    Column("FRESH", lambda scope: _index("fresh", scope)),
)

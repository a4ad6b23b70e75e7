"""`pamctl fsck`: check everything in a store, and change nothing. `store-format/invariants.md`."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import options
from pamctl.cli.auditing import PINNING, TRUST
from pamctl.cli.invocation import Invocation
from pamctl.cli.pinning import EXPECT_COUNT, EXPECT_HEAD, pins_for, remembered_heads
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    InvalidRequest,
    PamError,
    ScopeNotFound,
    StoreNotFound,
)

if TYPE_CHECKING:
    from pamctl.cli.remembered_heads import RememberedHeads

app = application()

_JOBS_MAX = 256


@verb(
    app,
    (options.STORE, options.SCOPE, *options.PRINTING),
    example="""pamctl fsck
pamctl fsck --scope workspace:default --expect-head HEAD
pamctl fsck --checkpoint today.checkpoint --trust owner.pem""",
    errors=(ScopeNotFound, StoreNotFound),
    verdict=True,
)
def fsck(
    call: Invocation,
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="An export to check instead, as verify-export does; - is standard input.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            parser=options.whole_number(1, _JOBS_MAX),
            help="How many processes share the work; default: one for each processor.",
        ),
    ] = None,
    expect_head: EXPECT_HEAD = None,
    expect_count: EXPECT_COUNT = None,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget", help="Forget the heads that you saw before: what is there now is right."
        ),
    ] = False,
    checkpoint: PINNING = None,
    trust: TRUST = None,
) -> None:
    """Check the whole store, or an export.

    Nothing in it is changed. Every scope is checked, or the one that --scope or PAM_SCOPE
    names. The heads that it finds are remembered for you, outside the store, and the next
    check holds the ledgers against them.
    """
    if bundle is not None:
        _require_none(
            store=call.flags.get("store"),
            scope=call.flags.get("scope"),
            jobs=jobs,
            expect_count=expect_count,
            forget=forget,
        )
        from pamctl.cli.commands.verify_export import check_export

        heads = [] if expect_head is None else [expect_head]
        check_export(call, bundle, heads, checkpoint, trust)
        return
    from pamctl.audit.check import identity
    from pamctl.cli.checking import checked

    root = call.store_path
    store_id, scope_ids = identity(root)
    remembered = remembered_heads(call, store_id)
    pins = pins_for(
        call,
        scope_ids,
        remembered={} if remembered is None or forget else remembered.load(),
        expect_head=expect_head,
        expect_count=expect_count,
        checkpoint=checkpoint,
        trust=trust,
    )
    answer = checked(root, scope_id=call.named_scope, jobs=jobs or os.cpu_count() or 1, pins=pins)
    if remembered is not None:
        _remember(call, remembered, answer, forget)
    presentation.show_findings(call, answer, _summary)
    if not answer["clean"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _require_none(**of_a_store: object) -> None:
    """Raises InvalidRequest for what says nothing about an export."""
    for name, value in of_a_store.items():
        if value:
            flag = f"--{name.replace('_', '-')}"
            raise InvalidRequest(f"an export and {flag} are both given", hint="give one of them")


def _remember(
    call: Invocation, remembered: "RememberedHeads", answer: Mapping[str, Any], forget: bool
) -> None:
    """Remember the heads of ledgers in which nothing is wrong. Those of other scopes stay,
    unless what is there now is to be right and all of it was checked."""
    from pamctl.cli.checking import is_damaged
    from pamctl.cli.remembered_heads import RememberedHead
    from pamctl.store.layout import FOUNDING_ENTRIES

    before = remembered.load()
    heads = {} if forget and call.named_scope is None else dict(before)
    for scope in answer["scopes"]:
        if not forget and is_damaged(answer, scope["scope_id"]):
            continue
        heads.pop(scope["scope_id"], None)
        # One in which nothing has happened yet gives way to a ledger that is imported.
        if scope["events"] or scope["entries"] > FOUNDING_ENTRIES:
            heads[scope["scope_id"]] = RememberedHead(scope["head"], scope["entries"])
    if heads == before:
        return
    try:
        remembered.save(heads)
    except (OSError, PamError) as cause:
        call.note(f"the heads could not be remembered in {remembered.path}: {cause}")


def _summary(answer: Mapping[str, Any]) -> str:
    """What was found, for a person."""
    lines = []
    for finding in answer["findings"]:
        if finding["severity"] == "notice" and finding["id"] == "ledger-tail-unpinned":
            continue  # each scope says it of itself below
        place = finding.get("path", "")
        if "offset" in finding:
            place += f" at byte {finding['offset']}"
        lines.append(f"{finding['severity']}: {finding['id']}: {place}: {finding['message']}")
        if "subject" in finding:
            lines.append(f"    {finding['subject']}")
        lines.append(f"    {finding['remedy']}")
    left_out = sum(answer["counts"].values()) - len(answer["findings"])
    if left_out:
        lines.append(f"and {left_out} more of the same kinds")
    unpinned = {f["scope_id"] for f in answer["findings"] if f["id"] == "ledger-tail-unpinned"}
    for scope in answer["scopes"]:
        tail = _PINNED if scope["tail"] == "pinned" else _NOT_WHAT_WAS_PINNED
        lines.append(
            f"{scope['scope_id']}: {scope['entries']} entries, {scope['versions']} versions, "
            f"head {scope['head']}, {_UNPINNED if scope['scope_id'] in unpinned else tail}"
        )
    if answer["clean"]:
        lines.append("the store is clean")
    else:
        ids = {f["id"] for f in answer["findings"] if f["severity"] != "notice"}
        count = sum(answer["counts"][id_] for id_ in ids)
        plural = "" if count == 1 else "s"
        lines.append(f"the store is NOT clean: {count} finding{plural}; docs/fsck.md explains them")
    return "".join(f"{line}\n" for line in lines)


_PINNED = "which is the one that was pinned"
_UNPINNED = "which nothing pins: a tail that was cut off could not be seen"
_NOT_WHAT_WAS_PINNED = "which is not what was pinned"

"""`pamctl fsck`: check everything in a store, and change nothing. `store-format/invariants.md`."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import options
from pamctl.cli.auditing import PINNING, TRUST, pins_of
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    InvalidRequest,
    PamError,
    ScopeNotFound,
    StoreNotFound,
)
from pamctl.limits import INTEGER_MAX

if TYPE_CHECKING:
    from pamctl.audit.check import Pins
    from pamctl.audit.pins import Pin
    from pamctl.cli.remembered_heads import RememberedHeads

app = application()

_HEAD = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")
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
    expect_head: Annotated[
        str | None,
        typer.Option(
            "--expect-head",
            metavar="DIGEST",
            help="A head that the ledger ends in or goes on from.",
        ),
    ] = None,
    expect_count: Annotated[
        int | None,
        typer.Option(
            "--expect-count",
            metavar="N",
            parser=options.whole_number(1, INTEGER_MAX),
            help="Entries that the ledger has at least; with --expect-head, when it had that head.",
        ),
    ] = None,
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

    root = call.store_path
    store_id, scope_ids = identity(root)
    remembered = _remembered(call, store_id)
    checked_ids = scope_ids if call.named_scope is None else [call.named_scope]
    signed = _signed(checked_ids, checkpoint, trust)
    pins = _pins(call, remembered, scope_ids, expect_head, expect_count, forget, signed)
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


def checked(
    root: Path, *, scope_id: str | None = None, jobs: int = 1, pins: "Pins | None" = None
) -> dict[str, Any]:
    """The answer of the check, with what the indexes say of themselves held against it."""
    import tempfile

    from pamctl.audit.check import check_store
    from pamctl.audit.derived import IndexPosition, add_index
    from pamctl.index.position import position_in_file
    from pamctl.store.layout import StoreLayout

    with tempfile.TemporaryDirectory(prefix="pamctl-fsck-") as scratch:
        answer = check_store(root, Path(scratch), scope_id=scope_id, jobs=jobs, pins=pins)
    layout = StoreLayout(root)
    for scope in answer["scopes"]:
        path = layout.index_file(layout.scope(scope["scope_id"]))
        damaged = _is_damaged(answer, scope["scope_id"])
        if path.is_file() and not path.is_symlink() and not damaged:
            found = position_in_file(path)
            index = None
            if found is not None:
                index = IndexPosition(found.entries, found.offset, found.head, found.head_bytes)
            add_index(answer, root, scope["scope_id"], f"index/{path.name}", index)
    return answer


def _remembered(call: Invocation, store_id: str | None) -> "RememberedHeads | None":
    from pamctl.cli.remembered_heads import RememberedHeads

    return None if store_id is None else RememberedHeads(call.environment, store_id)


def _signed(
    scope_ids: list[str], checkpoints: list[str] | None, trust: list[str] | None
) -> "Mapping[str, Pin]":
    """What checkpoints pin. Raises InvalidRequest for one of a scope that is not checked: its
    absence is damage, or the store is another."""
    pins = pins_of(checkpoints, trust)
    for scope_id in pins.keys() - set(scope_ids):
        raise InvalidRequest(f"a checkpoint is of {scope_id}, which is no scope that is checked")
    return pins


def _pins(
    call: Invocation,
    remembered: "RememberedHeads | None",
    scope_ids: list[str],
    expect_head: str | None,
    expect_count: int | None,
    forget: bool,
    signed: "Mapping[str, Pin]",
) -> "Pins":
    from pamctl.audit.check import Pins
    from pamctl.audit.pins import Pin

    pins: dict[str, tuple[Pin, ...]] = {}
    if remembered is not None and not forget:
        pins = {
            scope_id: (Pin(one.head, one.entries, "you saw when you checked it last"),)
            for scope_id, one in remembered.load().items()
        }
    for named, pin in signed.items():
        pins[named] = (*pins.get(named, ()), pin)
    if expect_head is not None or expect_count is not None:
        head = None
        if expect_head is not None:
            match = _HEAD.match(expect_head)
            if match is None:
                raise InvalidRequest("--expect-head is 64 lower-case hexadecimal digits")
            head = match[1]
        scope_id = call.named_scope
        if scope_id is None and len(scope_ids) == 1:
            (scope_id,) = scope_ids
        if scope_id is None:
            raise InvalidRequest(
                "a head or a count is of one ledger", hint="name its scope with --scope ID"
            )
        pins[scope_id] = (*pins.get(scope_id, ()), Pin(head, expect_count, "was to be expected"))
    return Pins(pins)


def _remember(
    call: Invocation, remembered: "RememberedHeads", answer: Mapping[str, Any], forget: bool
) -> None:
    """Remember the heads of ledgers in which nothing is wrong. Those of other scopes stay."""
    from pamctl.cli.remembered_heads import RememberedHead

    before = remembered.load()
    heads = dict(before)
    for scope in answer["scopes"]:
        trusted = forget or not _is_damaged(answer, scope["scope_id"])
        if trusted and scope["entries"]:
            heads[scope["scope_id"]] = RememberedHead(scope["head"], scope["entries"])
    if heads == before:
        return
    try:
        remembered.save(heads)
    except (OSError, PamError) as cause:
        call.note(f"the heads could not be remembered in {remembered.path}: {cause}")


def _is_damaged(answer: Mapping[str, Any], scope_id: str) -> bool:
    return any(
        finding["severity"] == "must" and finding.get("scope_id") == scope_id
        for finding in answer["findings"]
    )


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
    lines += [
        f"{scope['scope_id']}: {scope['entries']} entries, {scope['versions']} versions, "
        f"head {scope['head']}, {_TAILS[scope['tail']]}"
        for scope in answer["scopes"]
    ]
    if answer["clean"]:
        lines.append("the store is clean")
    else:
        ids = {f["id"] for f in answer["findings"] if f["severity"] != "notice"}
        count = sum(answer["counts"][id_] for id_ in ids)
        plural = "" if count == 1 else "s"
        lines.append(f"the store is NOT clean: {count} finding{plural}; docs/fsck.md explains them")
    return "".join(f"{line}\n" for line in lines)


_TAILS = {
    "pinned": "which is the one that was pinned",
    "unpinned": "which nothing pins: a tail that was cut off could not be seen",
}

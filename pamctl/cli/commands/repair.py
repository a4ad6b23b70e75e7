"""`pamctl repair`: put right what a check found, from what is there. A plan first, always."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import options, writing
from pamctl.cli.auditing import PINNING, TRUST
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once, refuse_key
from pamctl.cli.paths import as_path, path_text
from pamctl.cli.pinning import EXPECT_COUNT, EXPECT_HEAD, pins_for, remembered_heads
from pamctl.cli.scratch import scratch_folder
from pamctl.cli.terminal import output
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    DuplicateOperation,
    InvalidObject,
    InvalidRequest,
    ScopeNotFound,
    ServiceUnavailable,
    StoreNotFound,
)

if TYPE_CHECKING:
    from pamctl.audit.pins import Pins
    from pamctl.audit.repair import Action

app = application()

_ROUNDS_MAX = 20


@verb(
    app,
    (*writing.RETRYING, options.STORE, options.SCOPE, *options.PRINTING),
    example="""pamctl repair
pamctl repair --from ../backup/.pam --apply
pamctl repair --from monday.pamb --apply""",
    errors=(ScopeNotFound, StoreNotFound, DuplicateOperation, InvalidObject, ServiceUnavailable),
    verdict=True,
)
def repair(
    call: Invocation,
    apply: Annotated[
        bool, typer.Option("--apply", help="Carry the plan out; without it nothing is changed.")
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="PATH", help="A second copy of the store, or an export of it."
        ),
    ] = None,
    expect_head: EXPECT_HEAD = None,
    expect_count: EXPECT_COUNT = None,
    checkpoint: PINNING = None,
    trust: TRUST = None,
) -> None:
    """Repair the store, or say how.

    It only adds files and sets files aside: every byte that it replaces is kept in the
    store's quarantine. Bytes come from packs, from quarantine and from --from, and are used
    only where their digest is the one that the ledger asks for. Ledgers are held against the
    heads that you saw last, as fsck does, and against those that are given here.
    """
    if not apply:
        refuse_key(call, "without --apply nothing is changed")

    def act() -> dict[str, Any]:
        from pamctl.audit.check import identity

        store_id, scope_ids = identity(call.store_path)
        remembered = remembered_heads(call, store_id)
        pins = pins_for(
            call,
            scope_ids,
            remembered={} if remembered is None else remembered.load(),
            expect_head=expect_head,
            expect_count=expect_count,
            checkpoint=checkpoint,
            trust=trust,
        )
        return _answer(call, from_, apply, pins)

    answer = once(call, act, reads=("from_", "checkpoint", "trust"))
    _show(call, answer)
    if not answer["clean"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _answer(call: Invocation, from_: str | None, apply: bool, pins: "Pins") -> dict[str, Any]:
    root = call.store_path
    with _second_copy(from_, root) as other:
        answer = repaired(root, other=other, scope_id=call.named_scope, apply=apply, pins=pins)
    for action in answer["actions"]:
        # An export was laid out in a folder that is gone by now.
        if from_ is not None and other is not None and as_path(from_).is_file():
            laid_out = action.get("from", "").startswith(path_text(other))
            action.update({"from": from_} if laid_out else {})
    return answer


def repaired(
    root: Path,
    *,
    other: Path | None = None,
    scope_id: str | None = None,
    apply: bool = False,
    pins: "Pins | None" = None,
) -> dict[str, Any]:
    """The plan of a repair, carried out where `apply` says so, and what is found after it.

    pins: heads that were kept elsewhere; both the store and `other` are held against them.
    """
    from pamctl.audit.repair import plan_repair

    other_answer = None if other is None else _check_copy(other, pins)
    answer, done = _check(root, scope_id, pins), []
    for _ in range(_ROUNDS_MAX):
        actions = plan_repair(root, answer, other=other, other_answer=other_answer)
        done += [_document(root, action) for action in actions]
        if not apply or not actions:
            break
        _apply(root, actions)
        # What was put right can bring to light what it hid.
        answer = _check(root, scope_id, pins)
    left = [f for f in answer["findings"] if f["severity"] != "notice"]
    return {"applied": apply, "actions": done, "findings": left, "clean": answer["clean"]}


def _check(root: Path, scope_id: str | None, pins: "Pins | None") -> dict[str, Any]:
    from pamctl.audit.check import check_store

    with scratch_folder("repair") as scratch:
        jobs = os.cpu_count() or 1
        return check_store(root, scratch, scope_id=scope_id, jobs=jobs, pins=pins)


def _check_copy(other: Path, pins: "Pins | None") -> dict[str, Any]:
    try:
        return _check(other, None, pins)
    except StoreNotFound as cause:
        hint = "--from takes a .pam directory, the folder that holds one, or an export"
        raise StoreNotFound(cause.message, hint=hint) from cause


@contextmanager
def _second_copy(name: str | None, root: Path) -> Iterator[Path | None]:
    """The copy that --from names, an export laid out as one for as long as it is needed."""
    path = None if name is None else as_path(name)
    if path is None or not path.is_file():
        yield None if path is None else _copy(path, root)
        return
    from pamctl.audit.check import identity
    from pamctl.audit.unpacking import unpack

    with scratch_folder("repair") as scratch, open(path, "rb") as file:
        copy = scratch / ".pam"
        copy.mkdir()
        unpack(file, copy, store_id=identity(root)[0])
        yield copy


def _copy(path: Path, root: Path) -> Path:
    if (path / ".pam").is_dir():
        path = path / ".pam"
    if path.resolve() == root.resolve():
        raise InvalidRequest("--from names the store itself", hint="name another copy of it")
    return path


def _apply(root: Path, actions: Sequence["Action"]) -> None:
    from pamctl.store.layout import StoreLayout
    from pamctl.store.mending import mending, read_bytes
    from pamctl.store.records import Position

    for action in actions:
        data = action.data
        if action.copy is not None:
            data = read_bytes(*action.copy)
        with mending(StoreLayout(root), action.folder) as mender:
            if action.kind == "cut" and action.at is not None:
                at = action.at
                end = Position(at["bytes"], at["entries"], at["events"], at["head"], 0)
                mender.cut(action.path, end)
            elif action.kind == "set-aside":
                mender.set_aside(action.path)
            elif data is not None and action.kind == "add":
                mender.add(action.path, data)
            elif data is not None:
                mender.replace(action.path, data)


def _document(root: Path, action: "Action") -> dict[str, Any]:
    document = {
        "action": action.kind,
        "path": path_text(action.path.relative_to(root)),
        "finding": action.finding,
    }
    if action.copy is not None:
        document["from"] = path_text(action.copy.path)
    return document


def _show(call: Invocation, answer: Mapping[str, Any]) -> None:
    if call.format != "table":
        if call.format == "jsonl":
            output.write_lines(answer["actions"])
        else:
            output.write_json(answer)
        return
    lines = []
    for action in answer["actions"]:
        source = f" from {action['from']}" if "from" in action else ""
        lines.append(f"{action['action']}: {action['path']}{source} ({action['finding']})")
    if answer["clean"] and not answer["actions"]:
        lines.append("the store is clean")
    elif answer["applied"]:
        lines += [f"left: {f['id']}: {f['message']}" for f in answer["findings"]]
        lines.append("the store is clean" if answer["clean"] else "the store is NOT clean")
    elif answer["actions"]:
        lines.append("nothing was changed; --apply carries this out")
    else:
        lines.append("there is nothing that repair could do")
        lines += [f"left: {f['id']}: {f['remedy']}" for f in answer["findings"]]
    output.write_text(output.printable("".join(f"{line}\n" for line in lines)))

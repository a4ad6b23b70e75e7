"""The heads that a command holds a store's ledgers against: those that the user saw last, those
that were signed, and the one that is given. `store-format/heads-and-pins.md`."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pamctl.cli import options
from pamctl.cli.auditing import pins_of
from pamctl.cli.invocation import Invocation
from pamctl.errors import InvalidRequest
from pamctl.limits import INTEGER_MAX

if TYPE_CHECKING:
    from pamctl.audit.pins import Pin, Pins
    from pamctl.cli.remembered_heads import RememberedHead, RememberedHeads

EXPECT_HEAD = Annotated[
    str | None,
    typer.Option(
        "--expect-head",
        metavar="DIGEST",
        help="A head that the ledger ends in or goes on from.",
    ),
]
EXPECT_COUNT = Annotated[
    int | None,
    typer.Option(
        "--expect-count",
        metavar="N",
        parser=options.whole_number(1, INTEGER_MAX),
        help="Entries that the ledger has at least; with --expect-head, when it had that head.",
    ),
]

_HEAD = r"(?:sha256:)?([0-9a-f]{64})\Z"


def remembered_heads(call: Invocation, store_id: str | None) -> "RememberedHeads | None":
    """Where the heads of that store are remembered; None for one that does not say who it is."""
    from pamctl.cli.remembered_heads import RememberedHeads

    return None if store_id is None else RememberedHeads(call.environment, store_id)


def pins_for(
    call: Invocation,
    scope_ids: Sequence[str],
    *,
    remembered: "Mapping[str, RememberedHead]",
    expect_head: str | None,
    expect_count: int | None,
    checkpoint: list[str] | None,
    trust: list[str] | None,
) -> "Pins":
    """All that is known of the ledgers of a store from elsewhere.

    scope_ids: the scopes that the store has.

    Raises InvalidRequest for a head that is none or that no scope is named for, and for a
    checkpoint that pins nothing here.
    """
    from pamctl.audit.pins import Pin, Pins

    pins: dict[str, tuple[Pin, ...]] = {
        scope_id: (Pin(one.head, one.entries, "you saw when you checked it last"),)
        for scope_id, one in remembered.items()
    }
    checked = scope_ids if call.named_scope is None else [call.named_scope]
    for named, pin in _signed(checked, checkpoint, trust).items():
        pins[named] = (*pins.get(named, ()), pin)
    if expect_head is not None or expect_count is not None:
        scope_id = _one_ledger(call, scope_ids)
        pin = Pin(_head(expect_head), expect_count, "was to be expected")
        pins[scope_id] = (*pins.get(scope_id, ()), pin)
    return Pins(pins)


def _signed(
    scope_ids: Collection[str], checkpoints: list[str] | None, trust: list[str] | None
) -> "Mapping[str, Pin]":
    """What checkpoints pin. Raises InvalidRequest for one of a scope that is not checked: its
    absence is damage, or the store is another."""
    pins = pins_of(checkpoints, trust)
    for scope_id in pins.keys() - set(scope_ids):
        raise InvalidRequest(f"a checkpoint is of {scope_id}, which is no scope that is checked")
    return pins


def _head(given: str | None) -> str | None:
    if given is None:
        return None
    match = re.match(_HEAD, given)
    if match is None:
        raise InvalidRequest("--expect-head is 64 lower-case hexadecimal digits")
    return match[1]


def _one_ledger(call: Invocation, scope_ids: Sequence[str]) -> str:
    """The scope that a single head or count is of."""
    if call.named_scope is not None:
        return call.named_scope
    if len(scope_ids) != 1:
        raise InvalidRequest(
            "a head or a count is of one ledger", hint="name its scope with --scope ID"
        )
    return scope_ids[0]

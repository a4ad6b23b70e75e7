"""What commands of an auditor share: the keys that are believed, and the ledgers to check."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Annotated

import typer

from pamctl.cli import input as given
from pamctl.cli.paths import as_path
from pamctl.errors import InvalidRequest
from pamctl.limits import CHECKPOINT_BYTES_MAX

if TYPE_CHECKING:
    from pamctl.audit.checkpoints import CheckpointVerdict, Trust
    from pamctl.audit.pinned_ledger import Ledger
    from pamctl.audit.pins import Pin
    from pamctl.crypto.signed_notes import TrustedKey

CHECKPOINT = Annotated[
    str,
    typer.Argument(metavar="FILE", help="The checkpoint; - is standard input.", show_default=False),
]
TRUST = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="FILE",
        help="A public key of a ledger's owner, in any form that 'key trust' takes, or a"
        " verifier key; may be repeated.",
    ),
]
WITNESS = Annotated[
    list[str] | None,
    typer.Option(
        "--witness", metavar="FILE", help="A witness that must have cosigned; may be repeated."
    ),
]

PINNING = Annotated[
    list[str] | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="A signed head to hold its ledger against, with --trust; may be repeated.",
    ),
]

_KEY_BYTES_MAX = 65536


def trust_of(owners: Sequence[str] | None, witnesses: Sequence[str] | None) -> "Trust":
    """Whom the caller believes. Raises InvalidRequest for a file that holds no key."""
    from pamctl.audit.checkpoints import Trust

    return Trust(_keys(owners, "--trust"), _keys(witnesses, "--witness"))


def pins_of(names: Sequence[str] | None, trust: Sequence[str] | None) -> "dict[str, Pin]":
    """What checkpoints pin, by scope id. Raises InvalidRequest for one that no trusted key has
    signed, and for one without a head: whoever relies on a pin must not be left without it."""
    if not names:
        if trust:
            raise InvalidRequest("--trust is about a --checkpoint", hint="name one")
        return {}
    from pamctl.audit.checkpoints import require_signed
    from pamctl.audit.pins import Pin
    from pamctl.audit.refusals import Refused
    from pamctl.crypto.checkpoints import parse_checkpoint, scope_of

    believed, pins = trust_of(trust, None), {}
    for name in names:
        data = given.read_bytes(name, "--checkpoint", CHECKPOINT_BYTES_MAX)
        checkpoint, note = parse_checkpoint(data, what=name)
        try:
            require_signed(checkpoint, note, believed)
        except Refused as refused:
            raise InvalidRequest(f"{name} pins nothing: {refused}") from refused
        scope_id = scope_of(checkpoint.origin)
        if scope_id is None:
            raise InvalidRequest(f"{name} is not of a ledger of pamctl: {checkpoint.origin}")
        if checkpoint.head is None:
            raise InvalidRequest(
                f"{name} has no line with a head, which is what a ledger is held against here",
                hint="`pamctl checkpoint verify` holds a store or an export against its root",
            )
        if scope_id in pins:
            raise InvalidRequest(f"there are two checkpoints of {scope_id}")
        source = f"{name} was signed for"
        pins[scope_id] = Pin(checkpoint.head, checkpoint.size, source, checkpoint.root.hex())
    return pins


def judged(
    data: bytes,
    name: str,
    trust: "Trust",
    ledgers: "Iterable[Ledger] | None",
    proof: tuple[str, bytes] | None,
) -> "CheckpointVerdict":
    """The verdict on a checkpoint."""
    from pamctl.audit.checkpoints import judge

    return judge(data, name, trust, ledgers=ledgers, proof=proof)


@contextmanager
def opened_bundle(file: str) -> "Iterator[Callable[[], IO[bytes]]]":
    """Opens the file from its beginning, as often as it is wanted; standard input, which has
    no beginning any more, from a copy. Raises InvalidRequest for one that cannot be opened."""
    if file != given.STANDARD_INPUT and not as_path(file).is_fifo():
        given.open_bytes(file, "FILE").close()
        yield lambda: given.open_bytes(file, "FILE")
        return
    import shutil

    from pamctl.cli.scratch import scratch_folder

    with scratch_folder("verify") as folder:
        copy = folder / "bundle"
        with given.open_bytes(file, "FILE") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield lambda: copy.open("rb")


def _keys(names: Sequence[str] | None, flag: str) -> "list[TrustedKey]":
    from pamctl.crypto.signed_notes import read_key

    keys = []
    for name in names or ():
        data = given.read_bytes(name, flag, _KEY_BYTES_MAX)
        try:
            keys.append(read_key(data))
        except InvalidRequest as cause:
            raise InvalidRequest(
                f"{flag} {name}: {cause.message}", hint=cause.details.get("hint")
            ) from cause
    return keys

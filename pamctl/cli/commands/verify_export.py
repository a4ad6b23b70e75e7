"""`pamctl verify-export`: check a bundle, without a store. `store-format/bundle.md`."""

import re
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import options
from pamctl.cli.auditing import PINNING, TRUST, opened_bundle, pins_of
from pamctl.cli.invocation import Invocation
from pamctl.cli.scratch import scratch_folder
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.progress import Waiting
from pamctl.cli.verbs import application, verb
from pamctl.errors import EXIT_CHECK_FAILED, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pamctl.audit.pins import Pin, Pins

app = application()

_HEAD = r"(?:(?P<scope>.+)=)?(?:sha256:)?(?P<head>[0-9a-f]{64})\Z"


@verb(
    app,
    options.PRINTING,
    example="""pamctl verify-export memory.jsonl
pamctl verify-export memory.jsonl --expect-head workspace:default=HEAD
pamctl verify-export memory.jsonl --checkpoint today.checkpoint --trust owner.pem""",
    verdict=True,
    name="verify-export",
)
def verify_export(
    call: Invocation,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The bundle; - is standard input.", show_default=False),
    ],
    expect_head: Annotated[
        list[str] | None,
        typer.Option(
            "--expect-head",
            metavar="[SCOPE=]DIGEST",
            help="A head that the scope's ledger ends in or goes on from; may be repeated.",
        ),
    ] = None,
    checkpoint: PINNING = None,
    trust: TRUST = None,
) -> None:
    """Check an exported file, without a store.

    No store is needed, and nothing in the file is believed. Every line, digest, chain,
    version and transition is checked. That a ledger was cut off at its end, or written anew,
    only a head shows that you kept yourself: give it with --expect-head, or a signed one with
    --checkpoint and --trust.
    """
    check_export(call, file, expect_head or [], checkpoint, trust)


def check_export(
    call: Invocation,
    file: str,
    heads: list[str],
    checkpoint: list[str] | None,
    trust: list[str] | None,
) -> None:
    """Check an export and show the verdict; ends the command with its status where it is bad."""
    from pamctl.audit.bundle import verify_bundle

    with (
        scratch_folder("verify") as scratch,
        opened_bundle(file) as opener,
    ):
        pins = _pins(opener, heads, pins_of(checkpoint, trust))
        with Waiting(f"checking {file}", quiet=call.quiet):
            answer = verify_bundle(opener, scratch, name=file, pins=pins)
    presentation.show_findings(call, answer, _summary)
    if not answer["valid"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _pins(
    opener: "Callable[[], IO[bytes]]", heads: list[str], signed: "Mapping[str, Pin]"
) -> "Pins":
    from pamctl.audit.pins import Pin, Pins
    from pamctl.model.bundles import Fault, scan_bundle

    pins: dict[str, tuple[Pin, ...]] = {scope_id: (pin,) for scope_id, pin in signed.items()}
    for text in heads:
        match = re.match(_HEAD, text)
        if match is None:
            raise InvalidRequest(
                f"'{text}' is no head", hint="it is 64 lower-case hexadecimal digits"
            )
        scope_id = match["scope"]
        if scope_id is None:
            with opener() as source:
                first = next(scan_bundle(source), None)
            scopes = [] if first is None or isinstance(first, Fault) else first.value["scopes"]
            if len(scopes) > 1:
                raise InvalidRequest(
                    "a head is of one ledger, and the bundle has several",
                    hint="name its scope: --expect-head SCOPE=DIGEST",
                )
            if not scopes:
                continue  # what is no bundle is found to be none
            scope_id = scopes[0]["scope_id"]
        pin = Pin(match["head"], None, "was to be expected")
        pins[scope_id] = (*pins.get(scope_id, ()), pin)
    return Pins(pins)


def _summary(answer: Mapping[str, Any]) -> str:
    """What was found, for a person."""
    lines = []
    for finding in answer["findings"]:
        if finding["id"] == "ledger-tail-unpinned":
            continue  # each scope says it of itself below
        place = f" at byte {finding['offset']}" if "offset" in finding else ""
        lines.append(f"{finding['severity']}: {finding['id']}{place}: {finding['message']}")
        if "subject" in finding:
            lines.append(f"    {finding['subject']}")
        lines.append(f"    {finding['remedy']}")
    left_out = sum(answer["counts"].values()) - len(answer["findings"])
    if left_out:
        lines.append(f"and {left_out} more of the same kinds")
    for scope in answer["scopes"]:
        tail = "as pinned" if scope["tail"] == "pinned" else "which nothing pins"
        lines.append(
            f"{scope['scope_id']} of {scope['store_id']}: {scope['entries']} entries, "
            f"{scope['versions']} versions, head {scope['head']}, {tail}"
        )
    if answer["withheld"]:
        lines.append("something was withheld from it")
    lines.append("the bundle is valid" if answer["valid"] else "the bundle is NOT valid")
    return "".join(f"{line}\n" for line in lines)

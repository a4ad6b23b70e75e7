"""`pamctl verify-projection`: the verdict on projection records. MPR §8."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import as_path
from pamctl.cli.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.encoding.timestamps import from_nanoseconds
from pamctl.errors import EXIT_CHECK_FAILED, InvalidRequest, ServiceUnavailable, StoreNotFound
from pamctl.limits import PROJECTION_RECORD_BYTES_MAX

if TYPE_CHECKING:
    from pamctl.projection.materials import Materials
    from pamctl.projection.reasons import Verdict
    from pamctl.projection.register import Register
    from pamctl.projection.trust import TrustPolicy
    from pamctl.service.store import Store

app = application()


@verb(
    app,
    (options.STORE, *options.PRINTING),
    example="""pamctl verify-projection answer/record.json
pamctl verify-projection --envelope-only --trust trust.json records/*.json""",
    errors=(ServiceUnavailable,),
    verdict=True,
    name="verify-projection",
)
def verify_projection(
    call: Invocation,
    records: Annotated[
        list[str],
        typer.Argument(
            metavar="RECORD...",
            help="Records, or folders that hold a record.json; - is standard input.",
            show_default=False,
        ),
    ],
    bundle: Annotated[
        str | None,
        typer.Option(
            "--bundle", metavar="DIR", help="What the record commits to; default: its folder."
        ),
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option(
            "--trust",
            metavar="FILE",
            help="Your policy: pinned keys and ages; default: the store's own keys.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", parser=options.time, help="As of that time; default: now."
        ),
    ] = None,
    single_use: Annotated[
        bool,
        typer.Option("--single-use", help="Accept a projection id once, and remember it."),
    ] = False,
    register: Annotated[
        str | None,
        typer.Option(
            "--register", metavar="DIR", help="Where ids are remembered; default: the store."
        ),
    ] = None,
    envelope_only: Annotated[
        bool,
        typer.Option("--envelope-only", help="Verify the signed record alone, no material."),
    ] = False,
    native_results: Annotated[
        str | None,
        typer.Option(
            "--native-results",
            metavar="FILE",
            help="What your own verification of the sources found, for sources that pamctl"
            " cannot open.",
        ),
    ] = None,
) -> None:
    """Verify projection records.

    Checked are their signature, and all that they commit to.
    The first failed check is the reason that the verdict gives. Nothing beside or inside a
    record is ever believed about keys, and the network is never asked.
    """
    from pamctl.projection.verify import Verifier

    _check_flags(records, bundle, envelope_only, native_results)
    policy = _policy(call, trust)
    if single_use:
        policy = dataclasses.replace(policy, single_use=True)
    verifier = Verifier(
        policy,
        at=at or _now(),
        register=_register(call, register) if policy.single_use else None,
    )
    verdicts = []
    for name in records:
        data, beside = _read(name)
        folder = beside if bundle is None else as_path(bundle)
        materials = None if envelope_only else _materials(folder, native_results)
        verdicts.append(verifier.verify(data, materials, name=name))
    _show(call, verdicts)
    if not all(verdict["valid"] for verdict in verdicts):
        raise typer.Exit(EXIT_CHECK_FAILED)


def _check_flags(
    records: list[str], bundle: str | None, envelope_only: bool, native_results: str | None
) -> None:
    """Refuses what makes no sense, and records that cannot be read, before any is judged."""
    for flag, value in (("--bundle", bundle), ("--native-results", native_results)):
        if value is not None and envelope_only:
            raise InvalidRequest(f"--envelope-only looks at no material; leave out {flag}")
        if value is not None and len(records) > 1:
            raise InvalidRequest(f"{flag} belongs to one record", hint="give one record at a time")
    if bundle is not None and not as_path(bundle).is_dir():
        raise InvalidRequest(f"there is no folder {bundle}")
    if given.STANDARD_INPUT in records and bundle is None and not envelope_only:
        raise InvalidRequest("a record on standard input needs --bundle or --envelope-only")
    for name in records:
        if name != given.STANDARD_INPUT:
            given.open_bytes(str(_file(name)), "RECORD").close()


def _file(name: str) -> Path:
    path = as_path(name)
    return path / "record.json" if path.is_dir() else path


def _read(name: str) -> tuple[bytes, Path]:
    """A record's bytes, and the folder that it lies in."""
    if name == given.STANDARD_INPUT:
        return given.read_bytes(name, "RECORD", PROJECTION_RECORD_BYTES_MAX), Path()
    file = _file(name)
    return given.read_bytes(str(file), "RECORD", PROJECTION_RECORD_BYTES_MAX), file.parent


def _materials(folder: Path, native_results: str | None) -> "Materials":
    from pamctl.projection import bundle
    from pamctl.projection.materials import parse_native_results

    materials = bundle.load(folder)
    if native_results is None:
        return materials
    results = parse_native_results(given.read_bytes(native_results, "--native-results"))
    return dataclasses.replace(materials, native_results=results)


def _policy(call: Invocation, trust: str | None) -> "TrustPolicy":
    from pamctl.projection.trust import TrustPolicy, parse_trust_policy, store_policy

    if trust is not None:
        return parse_trust_policy(given.read_bytes(trust, "--trust"), what=f"the file {trust}")
    store = _store(call)
    if store is None:
        return TrustPolicy(adapter_keys={}, max_projection_age_sec=0, max_trust_age_sec=0)
    from pamctl.store.keyring import Keyring

    return store_policy(Keyring(store.layout.keys), store.config)


def _store(call: Invocation) -> "Store | None":
    """The store that is named or near; None where there is none near and none is named."""
    try:
        return call.store
    except StoreNotFound:
        if call.named_store_path is not None:
            raise
        return None


def _register(call: Invocation, folder: str | None) -> "Register":
    from pamctl.projection.register import Register, accepted

    if folder is not None:
        return Register(as_path(folder))
    store = _store(call)
    if store is None:
        raise InvalidRequest(
            "single use needs a place to remember projection ids",
            hint="name a folder with --register DIR, or a store with --store DIR",
        )
    return accepted(store.layout.projections)


def _now() -> str:
    import time

    return from_nanoseconds(time.time_ns())


def _show(call: Invocation, verdicts: "list[Verdict]") -> None:
    if len(verdicts) == 1 and call.format != "jsonl":
        presentation.show(call, verdicts[0], _card)
    else:
        presentation.show_items(call, {"items": verdicts, "next_cursor": None}, _VERDICTS)


def _card(verdict: Mapping[str, Any]) -> dict[str, str]:
    rows = {"record": verdict["record"], "verdict": _word(verdict)}
    rows["scope"] = verdict["verification_scope"]
    if verdict["reason"] is not None:
        rows["reason"] = verdict["reason"]
    rows |= {name.replace("_", " "): str(fact) for name, fact in verdict["details"].items()}
    return rows


def _word(verdict: Mapping[str, Any]) -> str:
    return "valid" if verdict["valid"] else "REFUSED"


_VERDICTS = (
    Column("RECORD", lambda verdict: str(verdict["record"])),
    Column("VERDICT", _word),
    Column("REASON", lambda verdict: str(verdict["reason"] or "-")),
    Column("SCOPE", lambda verdict: str(verdict["verification_scope"])),
)

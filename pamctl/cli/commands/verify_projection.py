"""`pamctl verify-projection`: the verdict on projection records. MPR §8."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pamctl.cli import input as given
from pamctl.cli import options, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once, refuse_key
from pamctl.cli.paths import as_path
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.encoding.timestamps import from_nanoseconds
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    DuplicateOperation,
    InvalidRequest,
    ServiceUnavailable,
    StoreNotFound,
)

if TYPE_CHECKING:
    from pamctl.projection.many import Demand, Trust
    from pamctl.projection.reasons import Verdict
    from pamctl.projection.register import Register
    from pamctl.store.directory import StoreDirectory

app = application()

_JOBS_MAX = 256
_REPORTS = ("sarif", "junit")

_Records = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RECORD...",
        help="Records, folders or patterns; - is a record on standard input.",
        show_default=False,
    ),
]
_FilesFrom = Annotated[
    str | None,
    typer.Option(
        "--files-from",
        metavar="FILE",
        help="A list of them, each ended by a newline, or by NUL; - is standard input.",
    ),
]
_Changed = Annotated[
    bool,
    typer.Option(
        "--changed",
        help="The names are changed files: verify each record that one belongs to, and pass over"
        " the others.",
    ),
]
_Bundle = Annotated[
    str | None,
    typer.Option("--bundle", metavar="DIR", help="What the record commits to; default: beside it."),
]
_Trust = Annotated[
    str | None,
    typer.Option(
        "--trust",
        metavar="FILE",
        help="Your policy: pinned keys and ages; default: the store's own keys.",
    ),
]
_At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", parser=options.time, help="As of then; default: now."),
]
_SingleUse = Annotated[
    bool, typer.Option("--single-use", help="Accept a projection id once, and remember it.")
]
_RegisterFolder = Annotated[
    str | None,
    typer.Option("--register", metavar="DIR", help="Where ids are remembered; default: the store."),
]
_Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Verify nothing; forget the ids of records that are too old to pass."
    ),
]
_EnvelopeOnly = Annotated[
    bool, typer.Option("--envelope-only", help="Verify the signed record alone, no material.")
]
_NativeResults = Annotated[
    str | None,
    typer.Option(
        "--native-results",
        metavar="FILE",
        help="What your own verification of the sources found, for sources that pamctl"
        " cannot open.",
    ),
]
_AllReasons = Annotated[
    bool, typer.Option("--all-reasons", help="List every fault, and not the first alone.")
]
_Explain = Annotated[
    bool, typer.Option("--explain", help="Say what each refusal means and what to do about it.")
]
_Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        parser=options.whole_number(1, _JOBS_MAX),
        help="How many processes share the work; default: as many as are worth it.",
    ),
]
_Format = Annotated[
    Literal["auto", "json", "jsonl", "table", "sarif", "junit"] | None,
    typer.Option("--format", help="How to print; sarif and junit are for CI. [PAM_FORMAT]"),
]


@verb(
    app,
    (*writing.RETRYING, options.STORE, *options.PRINTING[1:]),
    example="""pamctl verify-projection answer/record.json
pamctl verify-projection --envelope-only --trust trust.json 'answers/**/*.record.json'
git ls-files -z '*record.json' | pamctl verify-projection --files-from - --format sarif""",
    errors=(DuplicateOperation, ServiceUnavailable),
    verdict=True,
    name="verify-projection",
)
def verify_projection(
    call: Invocation,
    records: _Records = None,
    files_from: _FilesFrom = None,
    changed: _Changed = False,
    bundle: _Bundle = None,
    trust: _Trust = None,
    at: _At = None,
    single_use: _SingleUse = False,
    register: _RegisterFolder = None,
    prune: _Prune = False,
    envelope_only: _EnvelopeOnly = False,
    native_results: _NativeResults = None,
    all_reasons: _AllReasons = False,
    explain: _Explain = False,
    jobs: _Jobs = None,
    format: _Format = None,  # noqa: A002 - the name of the flag
) -> None:
    """Verify projection records.

    Checked are their signature, and all that they commit to. The first failed check is the
    reason that the verdict gives. A folder stands for the records in it. Nothing beside or
    inside a record is ever believed about keys, and the network is never asked.
    """
    from pamctl.cli.record_files import listed

    report = _report(call, format)
    trusted = _trust(call, trust)
    names = _names(records, files_from)
    if prune:
        _forget_old(call, names, trusted, at or _now(), register)
        return
    _check_flags(names, files_from, bundle, envelope_only, native_results)
    demand = _demand(trusted, at, all_reasons, explain, native_results)
    policy = demand.trust.policy()
    registers = single_use or policy.single_use
    if not registers:
        refuse_key(call, "without --single-use nothing is remembered")

    def judged() -> "Iterable[Verdict]":
        return _verdicts(
            demand,
            listed(files_from) if files_from is not None else names,
            None if bundle is None else as_path(bundle),
            envelope_only,
            changed,
            jobs,
            _register(call, register) if registers else None,
        )

    verdicts = judged()
    if call.asks_for_once:
        # A second look at a record would find it used, by the first.
        reads = ("records", "files_from", "trust", "native_results")
        done = once(call, lambda: {"verdicts": list(judged())}, reads=reads, paths=("register",))
        again: list[Any] = [{**one, "replayed": done["replayed"]} for one in done["verdicts"]]
        verdicts = again
    if not _show(call, verdicts, report, not changed and _is_single(names)):
        raise typer.Exit(EXIT_CHECK_FAILED)


def _report(call: Invocation, wanted: str | None) -> str | None:
    """The report that --format asks for, besides what every command can print."""
    if wanted in _REPORTS:
        if call.flags["json"]:
            raise InvalidRequest(f"--json and --format {wanted} are both given")
        return wanted
    call.accept({**call.flags, "format": wanted})
    return None


def _names(records: list[str] | None, files_from: str | None) -> list[str]:
    if records and files_from is not None:
        raise InvalidRequest("--files-from is the whole list", hint="leave out the others")
    return records or []


def _check_flags(
    names: list[str],
    files_from: str | None,
    bundle: str | None,
    envelope_only: bool,
    native_results: str | None,
) -> None:
    """Refuses what makes no sense, before any record is judged."""
    if not names and files_from is None:
        raise InvalidRequest("which records?", hint="name them, or a list by --files-from FILE")
    for flag, value in (("--bundle", bundle), ("--native-results", native_results)):
        if value is not None and envelope_only:
            raise InvalidRequest(f"--envelope-only looks at no material; leave out {flag}")
        if value is not None and not _is_single(names):
            raise InvalidRequest(f"{flag} belongs to one record", hint="give one record at a time")
    if bundle is not None and not as_path(bundle).is_dir():
        raise InvalidRequest(f"there is no folder {bundle}")
    if given.STANDARD_INPUT in names and bundle is None and not envelope_only:
        raise InvalidRequest("a record on standard input needs --bundle or --envelope-only")


def _is_single(names: list[str]) -> bool:
    from pamctl.cli.record_files import is_one

    return len(names) == 1 and is_one(names[0])


def _demand(
    trust: "Trust", at: str | None, all_reasons: bool, explain: bool, native_results: str | None
) -> "Demand":
    from pamctl.projection.many import Demand
    from pamctl.projection.materials import parse_native_results

    results = None
    if native_results is not None:
        results = parse_native_results(given.read_bytes(native_results, "--native-results"))
    return Demand(trust, at or _now(), all_reasons, explain, results)


def _trust(call: Invocation, trust: str | None) -> "Trust":
    from pamctl.projection.many import Trust

    if trust is not None:
        return Trust(given.read_bytes(trust, "--trust"), f"the file {trust}")
    store = _store(call)
    if store is None:
        return Trust()
    return Trust(keys=store.layout.keys, config=dict(store.config))


def _store(call: Invocation) -> "StoreDirectory | None":
    """The store that is named or near; None where there is none near and none is named."""
    from pamctl.store.directory import StoreDirectory

    try:
        return StoreDirectory.open(call.store_path)
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


def _forget_old(
    call: Invocation, names: list[str], trust: "Trust", at: str, folder: str | None
) -> None:
    """Takes out of the register what the policy refuses for its age before it looks there."""
    from pamctl.projection.verify import oldest_accepted

    if names:
        raise InvalidRequest("--prune verifies no record", hint="leave out the records, or --prune")
    if trust.document is None and trust.keys is None:
        raise InvalidRequest("how old a record may be is not known", hint="name a --trust FILE")

    def prune() -> dict[str, Any]:
        pruned = _register(call, folder).prune(oldest_accepted(trust.policy(), at))
        return {"removed": pruned.removed, "kept": pruned.kept}

    done = once(call, prune, reads=("trust",), paths=("register",))
    presentation.show_done(call, done, lambda one: f"{one['removed']} removed, {one['kept']} kept")


def _verdicts(
    demand: "Demand",
    names: Iterable[str],
    bundle: Path | None,
    envelope_only: bool,
    changed: bool,
    jobs: int | None,
    register: "Register | None",
) -> "Iterable[Verdict]":
    import os

    from pamctl.cli.record_files import changed_records, record_files
    from pamctl.projection.many import verdicts

    meant = changed_records if changed else record_files
    files = meant(names, bundle, envelope_only=envelope_only)
    return verdicts(demand, files, jobs=jobs, processors=os.cpu_count() or 1, register=register)


def _now() -> str:
    import time

    return from_nanoseconds(time.time_ns())


def _show(
    call: Invocation, verdicts: "Iterable[Verdict]", report: str | None, single: bool
) -> bool:
    """Prints the verdicts, and says whether all are good."""
    form = report or call.format
    if form == "table" or (single and form == "json"):
        known = list(verdicts)
        if single:
            presentation.show(call, known[0], _card)
        else:
            presentation.show_items(call, {"items": known, "next_cursor": None}, _VERDICTS)
        return all(verdict["valid"] for verdict in known)
    from pamctl.cli.verdict_reports import write_report

    return write_report(verdicts, form).refused == 0


def _card(verdict: Mapping[str, Any]) -> dict[str, str]:
    rows = {"record": verdict["record"], "verdict": _word(verdict)}
    rows["scope"] = verdict["verification_scope"]
    if verdict["reason"] is not None:
        rows["reason"] = verdict["reason"]
    facts = {n: fact for n, fact in verdict["details"].items() if n != "failures"}
    rows |= {name.replace("_", " "): str(fact) for name, fact in facts.items()}
    for number, failure in enumerate(verdict["details"].get("failures", ()), start=1):
        rows[f"fault {number}"] = f"{failure['reason']}: {failure['problem']}"
    return rows


def _word(verdict: Mapping[str, Any]) -> str:
    return "valid" if verdict["valid"] else "REFUSED"


def _reason(verdict: Mapping[str, Any]) -> str:
    shown = str(verdict["reason"] or "-")
    explanation = verdict["details"].get("explanation")
    return shown if explanation is None else f"{shown}: {explanation}"


_VERDICTS = (
    Column("RECORD", lambda verdict: str(verdict["record"])),
    Column("VERDICT", _word),
    Column("REASON", _reason),
    Column("SCOPE", lambda verdict: str(verdict["verification_scope"])),
)

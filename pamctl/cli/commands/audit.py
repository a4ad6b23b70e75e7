"""`pamctl audit`: a verdict on an export or a store, and a report of it. `docs/audit.md`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options
from pamctl.cli.auditing import TRUST, WITNESS, judged, opened_bundle, trust_of
from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import as_path, path_text
from pamctl.cli.terminal import output, presentation
from pamctl.cli.terminal.progress import Waiting
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    InvalidRequest,
    ScopeNotFound,
    ServiceUnavailable,
    StoreNotFound,
)
from pamctl.limits import CHECKPOINT_BYTES_MAX, PROJECTION_RECORD_BYTES_MAX

if TYPE_CHECKING:
    from pamctl.audit.audited import Audit
    from pamctl.audit.inventory import Inventory
    from pamctl.audit.pinned_ledger import Ledger
    from pamctl.cli.results import Place
    from pamctl.projection.many import Trust

    Signed = Callable[[Callable[[], Iterable[Ledger]]], list[Mapping[str, Any]]]

app = application()

_RECORDS_MAX = 10_000
_FINDINGS_SHOWN_MAX = 20
# What a report begins with.
_PAGE = b"<!doctype html"


@verb(
    app,
    (options.STORE, *options.PRINTING),
    example="""pamctl audit memory.jsonl --html report.html
pamctl audit memory.jsonl --checkpoint today.checkpoint --trust owner.pem --html report.html
pamctl audit --store .pam --projections answers --html report.html""",
    errors=(ScopeNotFound, StoreNotFound, ServiceUnavailable),
    verdict=True,
)
def audit(
    call: Invocation,
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="An export to audit; - is standard input; default: the store.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write the report there, one page of HTML, in place of an earlier one.",
        ),
    ] = None,
    checkpoint: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="A signed head to hold the ledgers against; may be repeated.",
        ),
    ] = None,
    trust: TRUST = None,
    witness: WITNESS = None,
    projections: Annotated[
        str | None,
        typer.Option(
            "--projections", metavar="DIR", help="Verify all projection records in there too."
        ),
    ] = None,
    projection_trust: Annotated[
        str | None,
        typer.Option(
            "--projection-trust",
            metavar="FILE",
            help="The policy for those, as in verify-projection --trust; default: the keys of"
            " the store, and none for an export.",
        ),
    ] = None,
) -> None:
    """Say what an export or a store holds, and whether it is sound.

    Everything is checked, nothing is changed, and no store is needed for an export. The report
    is one page that needs no network: what there is, a timeline, who did what, under which
    policies, what was withdrawn, and each finding with its remedy.
    """
    if bundle is not None and call.flags.get("store") is not None:
        raise InvalidRequest("an export and --store are both given", hint="give one of them")
    if projections is None and projection_trust is not None:
        raise InvalidRequest("--projection-trust is about --projections", hint="name a folder")
    place = None if html is None else _place(call, html, bundle)
    signed = _signed(checkpoint, trust, witness)
    with Waiting(f"checking {bundle or 'the store'}", quiet=call.quiet):
        found = _of_store(call, signed) if bundle is None else _of_bundle(bundle, signed)
        if projections is not None:
            trusted = _projection_trust(call, projection_trust, of_store=bundle is None)
            found = found._replace(projections=_projections(projections, trusted))
    found = _pinned(found)
    answer = _answer(found)
    if place is not None:
        from pamctl.audit.report import render
        from pamctl.cli.results import write_file

        page = render(found)
        if place.plain:
            output.write(page)
        else:
            write_file(place, page)
            answer["html"] = str(html)
    if place is None or not place.plain:
        _show(call, answer)
    if not found.is_sound:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _place(call: Invocation, html: str, bundle: str | None) -> "Place":
    """Where the report goes. Raises InvalidRequest for a file that is something else: a report
    takes the place of no export and of no key, whatever was typed."""
    from pamctl.cli.results import place_for, require_outside

    place = place_for(html, replaces=True)
    if place.path is not None and place.path.exists():
        with place.path.open("rb") as there:
            begins = there.read(len(_PAGE))
        if begins not in (b"", _PAGE):
            raise InvalidRequest(
                f"{html} is there already, and is no report", hint="name another file, or remove it"
            )
    if bundle is None:
        require_outside(place, call.store_path, html)
    return place


def _of_store(call: Invocation, signed: "Signed") -> "Audit":
    from pamctl.audit.audited import Audit
    from pamctl.audit.holdings import holdings_of_store
    from pamctl.cli.checking import checked

    root = call.store_path
    answer = checked(root)
    holdings = holdings_of_store(root)
    return Audit(
        name=path_text(root),
        kind="store",
        clean=answer["clean"],
        findings=answer["findings"],
        counts=answer["counts"],
        heads=answer["scopes"],
        holdings=sorted(holdings, key=lambda scope: scope.scope_id),
        checkpoints=signed(lambda: _store_ledgers(root)),
    )


def _of_bundle(name: str, signed: "Signed") -> "Audit":
    from pamctl.audit.audited import Audit
    from pamctl.audit.bundle import verify_bundle
    from pamctl.audit.holdings import holdings_of_bundle
    from pamctl.cli.scratch import scratch_folder

    with (
        opened_bundle(name) as opener,
        scratch_folder("audit") as scratch,
    ):
        answer = verify_bundle(opener, scratch, name=name)
        holdings = holdings_of_bundle(opener)
        checkpoints = signed(lambda: _bundle_ledgers(opener)) if _has_header(answer) else []
    facts = {"Digest of the file's lines": str(answer["digest"] or "it has none")}
    if answer["withheld"] is not None:
        facts["Withheld"] = "something was" if answer["withheld"] else "nothing"
    if answer["kind"] == "selection":
        facts["Selection"] = "it shows some lines, and the digests of the others"
    return Audit(
        name=name,
        kind="export",
        clean=answer["valid"],
        findings=answer["findings"],
        counts=answer["counts"],
        heads=answer["scopes"],
        holdings=holdings,
        checkpoints=checkpoints,
        facts=facts,
    )


def _store_ledgers(root: Path) -> "Iterable[Ledger]":
    # Imported here: most audits hold nothing against checkpoints.
    from pamctl.audit.ledger_sources import store_ledgers

    return store_ledgers(root)


def _bundle_ledgers(opener: "Callable[[], IO[bytes]]") -> "Iterable[Ledger]":
    from pamctl.audit.ledger_sources import bundle_ledgers

    return bundle_ledgers(opener)


def _has_header(answer: Mapping[str, Any]) -> bool:
    return answer["kind"] is not None


def _signed(
    names: list[str] | None, trust: list[str] | None, witness: list[str] | None
) -> "Signed":
    """What gives the verdict on each checkpoint, held against ledgers that it is handed. All
    files are read at once, so that one that cannot be is refused before the work."""
    if not names and (trust or witness):
        raise InvalidRequest("--trust and --witness are about a --checkpoint", hint="name one")
    if not names:
        return lambda _: []
    believed = trust_of(trust, witness)
    files = [(name, given.read_bytes(name, "--checkpoint", CHECKPOINT_BYTES_MAX)) for name in names]

    def verdicts(ledgers: "Callable[[], Iterable[Ledger]]") -> list[Mapping[str, Any]]:
        return [dict(judged(data, name, believed, ledgers(), None)) for name, data in files]

    return verdicts


def _pinned(found: "Audit") -> "Audit":
    """The audit with the ends that a checkpoint pins, and without the notices that nothing
    does."""
    pinned = {
        (verdict["size"], verdict["head"])
        for verdict in found.checkpoints
        if verdict["valid"] and verdict["facts"].get("tail") == "pinned"
    }
    heads = [
        {**head, "tail": "pinned"} if (head["entries"], head["head"]) in pinned else head
        for head in found.heads
    ]
    ends = {head["scope_id"] for head in heads if head["tail"] == "pinned"}
    findings = [
        finding
        for finding in found.findings
        if finding["id"] != "ledger-tail-unpinned" or finding.get("scope_id") not in ends
    ]
    counts = dict(found.counts)
    dropped = len(found.findings) - len(findings)
    if dropped:
        counts["ledger-tail-unpinned"] = counts["ledger-tail-unpinned"] - dropped
        counts = {id_: count for id_, count in counts.items() if count}
    return found._replace(heads=heads, findings=findings, counts=counts)


def _projection_trust(call: Invocation, trust: str | None, *, of_store: bool) -> "Trust":
    from pamctl.projection.many import Trust

    if trust is not None:
        return Trust(given.read_bytes(trust, "--projection-trust"), f"the file {trust}")
    if not of_store:
        return Trust()
    from pamctl.store.directory import StoreDirectory

    store = StoreDirectory.open(call.store_path)
    return Trust(keys=store.layout.keys, config=dict(store.config))


def _projections(folder: str, trust: "Trust") -> list[Mapping[str, Any]]:
    """The verdict on every record in a folder and the folders in it, in order of their names."""
    from pamctl.projection import bundle
    from pamctl.projection.many import Demand

    root = as_path(folder)
    if not root.is_dir():
        raise InvalidRequest(f"there is no folder {folder}")
    verifier = Demand(trust, _now()).verifier()
    verdicts = []
    for record in _records(root):
        name = path_text(record.relative_to(root))
        data = given.read_bytes(path_text(record), "--projections", PROJECTION_RECORD_BYTES_MAX)
        verdicts.append(verifier.verify(data, bundle.load(record.parent), name=name))
    return [dict(verdict) for verdict in verdicts]


def _records(root: Path) -> list[Path]:
    found = sorted(path for path in root.rglob("record.json") if path.is_file())
    if len(found) > _RECORDS_MAX:
        raise InvalidRequest(
            f"there are {len(found)} records in {path_text(root)}, more than {_RECORDS_MAX}",
            hint="audit them folder by folder",
        )
    return found


def _now() -> str:
    import time

    from pamctl.encoding.timestamps import from_nanoseconds

    return from_nanoseconds(time.time_ns())


def _answer(found: "Audit") -> dict[str, Any]:
    """The audit as JSON, without what only the report lists one by one."""
    from pamctl.audit.verdict_words import causes_of

    return {
        "name": found.name,
        "kind": found.kind,
        "sound": found.is_sound,
        "causes": causes_of(found.findings, found.verdicts),
        "counts": dict(found.counts),
        "findings": list(found.findings),
        "checkpoints": list(found.checkpoints),
        "projections": list(found.projections),
        "scopes": [{**_holding(scope), **_head(found, scope.scope_id)} for scope in found.holdings],
    }


def _head(found: "Audit", scope_id: str) -> dict[str, Any]:
    head = next((one for one in found.heads if one["scope_id"] == scope_id), None)
    return {} if head is None else {"head": head["head"], "tail": head["tail"]}


def _holding(scope: "Inventory") -> dict[str, Any]:
    return {
        "scope_id": scope.scope_id,
        "entries": scope.entries,
        "events": dict(scope.events),
        "memories": dict(scope.by_type("memory")),
        "relationships": dict(scope.by_type("relationship")),
        "delegations": scope.by_type("delegation").total(),
        "actors": len(scope.actors),
        "undisclosed": scope.undisclosed,
        "withheld": scope.withheld,
        "legal_holds": sorted(scope.holds),
        "withdrawn": scope.withdrawn.count,
        "erased": scope.erasures.count,
        "erasures": [
            {
                "version_id": one.subject,
                "erased_at": one.time,
                "authority": one.detail,
                "actor_id": one.actor,
            }
            for one in scope.erasures.kept
        ],
    }


def _show(call: Invocation, answer: dict[str, Any]) -> None:
    if call.format == "jsonl":
        output.write_lines(answer["findings"])
    else:
        presentation.show(call, answer, _card)


def _card(answer: Mapping[str, Any]) -> dict[str, str]:
    rows = {
        answer["kind"]: answer["name"],
        "verdict": "sound" if answer["sound"] else f"NOT sound: {', '.join(answer['causes'])}",
    }
    rows |= _finding_rows(answer["findings"])
    for one in answer["checkpoints"]:
        rows[f"checkpoint {one['checkpoint']}"] = one["explanation"] or "holds"
    refused = [one for one in answer["projections"] if not one["valid"]]
    if answer["projections"]:
        rows["projections"] = f"{len(answer['projections'])}, {len(refused)} refused"
    for scope in answer["scopes"]:
        rows[scope["scope_id"]] = (
            f"{scope['entries']} entries, {sum(scope['memories'].values())} memories, "
            f"{scope['withdrawn']} withdrawn, {scope['erased']} erased, "
            f"end {scope.get('tail', 'unpinned')}"
        )
    if "html" in answer:
        rows["report"] = answer["html"]
    return rows


def _finding_rows(findings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A row a finding; those of one kind are numbered."""
    rows: dict[str, str] = {}
    for finding in findings[:_FINDINGS_SHOWN_MAX]:
        kind = f"{finding['severity']} {finding['id']}"
        before = sum(name == kind or name.startswith(f"{kind} ") for name in rows)
        name = f"{kind} {before + 1}" if before else kind
        rows[name] = f"{finding['message']}; {finding['remedy']}"
    if len(findings) > _FINDINGS_SHOWN_MAX:
        rows["and"] = f"{len(findings) - _FINDINGS_SHOWN_MAX} more: --json and --html have all"
    return rows

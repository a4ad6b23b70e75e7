"""`pamctl checkpoint`: signed heads of ledgers, and proofs about them. `docs/audit.md`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, writing
from pamctl.cli.auditing import CHECKPOINT, TRUST, WITNESS, judged, opened_bundle, trust_of
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.results import STANDARD_OUTPUT, Output, place_for, placed, put, tell
from pamctl.cli.terminal import output, presentation
from pamctl.cli.terminal.progress import Waiting
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    EXIT_CHECK_FAILED,
    AccessDenied,
    DuplicateOperation,
    InvalidRequest,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
    StoreNotFound,
)
from pamctl.limits import CHECKPOINT_BYTES_MAX, INTEGER_MAX, PROOF_BYTES_MAX

if TYPE_CHECKING:
    from pamctl.audit.checkpoints import CheckpointVerdict
    from pamctl.crypto.keys import PrivateKey
    from pamctl.crypto.ledger_proofs import Proof
    from pamctl.exchange.checkpoints import Given, LedgerCheckpoints

app = application(summary="Sign the head of a ledger, and prove what is in it.")

_ON_A_LEDGER = (options.STORE, options.SCOPE, options.OPERATION_ID, *options.PRINTING)

Key = Annotated[
    str,
    typer.Option("--key", metavar="KEY", help="Name of the key to sign with.", show_default=False),
]


@verb(
    app,
    writing.KEYED,
    example="""pamctl checkpoint create --output today.checkpoint
pamctl checkpoint create --key laptop --output - | git hash-object -w --stdin""",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        PolicyDenied,
        ServiceUnavailable,
    ),
)
def create(
    call: Invocation,
    key: Annotated[
        str,
        typer.Option("--key", metavar="KEY", help="Name of the key to sign with."),
    ] = "owner",
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Put it on record in the ledger, which then has one entry more."
        ),
    ] = False,
    to: Output = None,
) -> None:
    """Sign the head of a scope's ledger.

    What comes out is a few lines of text: how many entries the ledger has, and a digest that
    stands for every byte of them. Kept where the store's writers cannot change it, it shows
    any later change to what was signed. The whole ledger is read first.
    """
    facts = once(call, lambda: _created(call, key, record, to), paths=("to",))
    sentence = f"signed the head of {facts['size']} entries"
    tell(call, facts, facts["checkpoint"].encode(), sentence, plain=to == STANDARD_OUTPUT)


def _created(call: Invocation, key: str, record: bool, to: str | None) -> dict[str, Any]:
    from pamctl.crypto.signed_notes import ED25519, verifier_key

    place = place_for(to)
    ledger = _ledger(call)
    private = _private(call, key)
    with Waiting("reading the ledger", quiet=call.quiet):
        checkpoint, note = ledger.create(private)
    if record:
        request = call.request(checkpoint=note.encoded().decode())
        call.perform("checkpoint_record", request)
    facts = {
        "checkpoint": note.encoded().decode(),
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
        "head": checkpoint.head,
        "key_id": private.public.key_id,
        "verifier_key": verifier_key(checkpoint.origin, ED25519, private.public),
    }
    return placed(place, note.encoded(), facts)


@verb(
    app,
    (*writing.RETRYING, options.STORE, options.OPERATION_ID, *options.PRINTING),
    example="""pamctl checkpoint cosign today.checkpoint --key witness --trust owner.pem
pamctl checkpoint cosign new.checkpoint --key witness --trust owner.pem \\
    --from old.checkpoint --proof old-to-new.proof""",
    errors=(ObjectNotFound, ScopeNotFound, DuplicateOperation, ServiceUnavailable),
)
def cosign(
    call: Invocation,
    checkpoint: CHECKPOINT,
    key: Key,
    trust: TRUST = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name to sign as; default: the key's."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="The checkpoint that you cosigned last; needs --proof."
        ),
    ] = None,
    proof: Annotated[
        str | None,
        typer.Option("--proof", metavar="FILE", help="Proof that this one goes on from that one."),
    ] = None,
    to: Output = None,
) -> None:
    """Add a witness's signature to a checkpoint.

    It is a timestamped cosignature: this checkpoint was seen then. The owner's signature is
    verified first, and with --from also that nothing was changed since that checkpoint.
    Without --output the file gets the signature.
    """
    if to is None and checkpoint == given.STANDARD_INPUT:
        raise InvalidRequest(
            "a checkpoint on standard input has no file", hint="say where it goes with --output"
        )

    def sign() -> dict[str, Any]:
        data = given.read_bytes(checkpoint, "FILE", CHECKPOINT_BYTES_MAX)
        _require_seen(data, checkpoint, trust, since, proof)
        return _cosigned(call, data, checkpoint, key, name, to)

    # A file that gets the signature is not what it was when the request is made again.
    reads = ("since", "proof") if to is None else ("checkpoint", "since", "proof")
    facts = once(call, sign, reads=reads, paths=("checkpoint", "to"))
    sentence = f"cosigned as {name or key}"
    tell(call, facts, facts["checkpoint"].encode(), sentence, plain=to == STANDARD_OUTPUT)


def _cosigned(
    call: Invocation, data: bytes, checkpoint: str, key: str, name: str | None, to: str | None
) -> dict[str, Any]:
    from pamctl.exchange.checkpoints import read_checkpoint, witness

    place = place_for(checkpoint if to is None else to, replaces=to is None)
    private = _private(call, key)
    seconds = call.store.sources.clock() // 1_000_000_000
    note = witness(read_checkpoint(data, checkpoint), name or key, private, seconds)
    facts = {
        "checkpoint": note.encoded().decode(),
        "key_id": private.public.key_id,
        "signatures": len(note.signatures),
    }
    return placed(place, note.encoded(), facts)


@verb(
    app,
    _ON_A_LEDGER,
    example="""pamctl checkpoint prove --event 17 --checkpoint today.checkpoint --output 17.proof
pamctl checkpoint prove --from old.checkpoint --checkpoint today.checkpoint""",
    errors=(ObjectNotFound, ScopeNotFound, ServiceUnavailable),
)
def prove(
    call: Invocation,
    event: Annotated[
        int | None,
        typer.Option(
            "--event",
            metavar="N",
            parser=options.whole_number(1, INTEGER_MAX),
            help="That the event of this ledger sequence is in the ledger.",
        ),
    ] = None,
    entry: Annotated[
        int | None,
        typer.Option(
            "--entry",
            metavar="N",
            parser=options.whole_number(1, INTEGER_MAX),
            help="That this entry is in the ledger; counted from 1, those that are no events too.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="That the ledger goes on from what this checkpoint saw."
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="The checkpoint to prove it against; default: the ledger as it is, unsigned.",
        ),
    ] = None,
    to: Output = None,
) -> None:
    """Prove that something is in a ledger, or that a ledger only grew.

    The proof is a small file. It discloses the one ledger line that it is about, or none, and
    its size grows with the logarithm of the ledger.
    """
    asked = [one for one in (event, entry, since) if one is not None]
    if len(asked) != 1:
        raise InvalidRequest("give one of --event, --entry and --from")
    place = place_for(to)
    ledger = _ledger(call)
    head = None if checkpoint is None else _given(checkpoint, "--checkpoint")
    if since is not None:
        grown = ledger.prove_growth(_given(since, "--from"), head)
        sentence = f"proved that {grown.checkpoint.size} entries go on from {grown.old_size}"
        put(call, place, grown.encoded(), _facts("consistency", grown), sentence)
        return
    if event is not None:
        found = ledger.prove_event(event, head)
    else:
        found = ledger.prove_entry(int(entry or 0), head)
    sentence = f"proved entry {found.n} of {found.checkpoint.size}"
    put(call, place, found.encoded(), _facts("inclusion", found), sentence)


def _facts(kind: str, proof: "Proof") -> dict[str, Any]:
    """A proof as it is answered."""
    return {
        "kind": kind,
        "entry" if kind == "inclusion" else "from": proof[0],
        "size": proof.checkpoint.size,
        "hashes": len(proof.path),
        "proof": proof.encoded().decode(),
    }


@verb(
    app,
    (options.STORE, *options.PRINTING),
    example="""pamctl checkpoint verify today.checkpoint --trust owner.pem --bundle memory.jsonl
pamctl checkpoint verify today.checkpoint --trust owner.pem --proof 17.proof
pamctl checkpoint verify today.checkpoint --trust owner.pem --store copy/.pam""",
    errors=(StoreNotFound,),
    verdict=True,
)
def verify(
    call: Invocation,
    checkpoint: CHECKPOINT,
    trust: TRUST = None,
    witness: WITNESS = None,
    bundle: Annotated[
        str | None,
        typer.Option("--bundle", metavar="FILE", help="An export to hold it against."),
    ] = None,
    proof: Annotated[
        str | None,
        typer.Option("--proof", metavar="FILE", help="A proof to hold against it."),
    ] = None,
) -> None:
    """Verify a checkpoint: who signed it, and what it is of.

    With --store, --bundle or --proof also whether those are what was signed. Nothing in any
    of these files is believed about keys, the network is never asked, and no store is looked
    for unless --store names one.
    """
    from pamctl.audit.ledger_sources import bundle_ledgers, store_ledgers

    named_store = call.flags.get("store")
    if sum(one is not None for one in (bundle, proof, named_store)) > 1:
        raise InvalidRequest("give one of --store, --bundle and --proof")
    data = given.read_bytes(checkpoint, "FILE", CHECKPOINT_BYTES_MAX)
    material = None
    if proof is not None:
        material = (proof, given.read_bytes(proof, "--proof", PROOF_BYTES_MAX))
    believed = trust_of(trust, witness)
    if bundle is not None:
        with opened_bundle(bundle) as opener:
            verdict = judged(data, checkpoint, believed, bundle_ledgers(opener), None)
    else:
        ledgers = None if named_store is None else store_ledgers(call.store_path)
        verdict = judged(data, checkpoint, believed, ledgers, material)
    _show(call, verdict)


def _show(call: Invocation, verdict: "CheckpointVerdict") -> None:
    if call.format == "jsonl":
        output.write_lines([verdict])
    else:
        presentation.show(call, verdict, _card)
    if not verdict["valid"]:
        raise typer.Exit(EXIT_CHECK_FAILED)


def _card(verdict: Mapping[str, Any]) -> dict[str, str]:
    rows = {
        "checkpoint": verdict["checkpoint"],
        "verdict": "valid" if verdict["valid"] else f"REFUSED: {verdict['reason']}",
    }
    if verdict["explanation"]:
        rows["why"] = verdict["explanation"]
    if verdict["origin"] is not None:
        rows["of"] = f"{verdict['size']} entries of {verdict['origin']}"
    for number, one in enumerate(verdict["signatures"], 1):
        when = f" at {one['time']}" if one["time"] else ""
        who = "the log" if one["role"] == "log" else f"witness {one['name']}"
        rows[f"signature {number}"] = f"{who}, {one['status']}{when}"
    rows |= {
        name.replace("_", " "): presentation.text_of(fact)
        for name, fact in verdict["facts"].items()
    }
    return rows


def _require_seen(
    data: bytes, name: str, trust: Sequence[str] | None, since: str | None, proof: str | None
) -> None:
    """Raises InvalidRequest for a checkpoint that no witness should put its name to."""
    if not trust:
        raise InvalidRequest(
            "a witness has to know whose checkpoint it cosigns",
            hint="name the owner's public key with --trust FILE",
        )
    if (since is None) != (proof is None):
        raise InvalidRequest("--from and --proof belong together")
    believed = trust_of(trust, None)
    verdicts = [judged(data, name, believed, None, None)]
    if since is not None and proof is not None:
        before = given.read_bytes(since, "--from", CHECKPOINT_BYTES_MAX)
        material = (proof, given.read_bytes(proof, "--proof", PROOF_BYTES_MAX))
        verdicts.append(judged(before, since, believed, None, material))
        reached = verdicts[-1]["facts"].get("to"), verdicts[-1]["facts"].get("root")
        if verdicts[-1]["valid"] and reached != (verdicts[0]["size"], verdicts[0]["root"]):
            raise InvalidRequest(f"{proof} does not lead from {since} to {name}")
    for verdict in verdicts:
        if not verdict["valid"]:
            raise InvalidRequest(
                f"{verdict['checkpoint']} was not cosigned: {verdict['explanation']}",
                reason=verdict["reason"],
            )


def _ledger(call: Invocation) -> "LedgerCheckpoints":
    from pamctl.exchange.checkpoints import LedgerCheckpoints

    layout = call.store.layout
    return LedgerCheckpoints(layout, call.store.directory.scope(call.scope_id))


def _given(name: str, flag: str) -> "Given":
    from pamctl.exchange.checkpoints import read_checkpoint

    return read_checkpoint(given.read_bytes(name, flag, CHECKPOINT_BYTES_MAX), name)


def _private(call: Invocation, name: str) -> "PrivateKey":
    """A key of the store's that may still sign."""
    from pamctl.store.keyring import Keyring

    keyring = Keyring(call.store.layout.keys)
    record = keyring.show(name)
    if record["status"] != "active":
        raise InvalidRequest(
            f"the key {name} is {record['status']}; nobody accepts what it signs",
            hint="make another with `pamctl key generate`",
        )
    return keyring.private(name, call.store.signers.unlock)

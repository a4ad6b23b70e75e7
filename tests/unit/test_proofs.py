"""Proof files: what they say comes back, and nothing in them can be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pamctl.audit.checkpoints import Trust, judge
from pamctl.audit.ledger_sources import store_ledgers
from pamctl.audit.refusals import REASONS
from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.ledger_proofs import ConsistencyProof, InclusionProof, parse_proof
from pamctl.crypto.signed_notes import TrustedKey
from pamctl.errors import InvalidRequest, ObjectNotFound, StoreDamaged
from pamctl.exchange.checkpoints import Given, LedgerCheckpoints, read_checkpoint, witness
from pamctl.store.layout import StoreLayout
from tests.scope_ledgers import commit, creation, new_scope

OWNER = PrivateKey.from_seed(bytes(range(32)))
STRANGER = PrivateKey.from_seed(bytes(range(2, 34)))
TRUST = Trust([TrustedKey(OWNER.public)])


class Ledger:
    """A scope with its checkpoints."""

    def __init__(self, folder: Path, events: int) -> None:
        self.scope = new_scope(folder / ".pam")
        self.layout = StoreLayout(folder / ".pam")
        self.checkpoints = LedgerCheckpoints(self.layout, self.scope)
        self.events = 0
        self.grow(events)

    def grow(self, events: int) -> None:
        for _ in range(events):
            self.events += 1
            commit(self.scope, creation(self.events))

    def sign(self, key: PrivateKey = OWNER) -> Given:
        _, note = self.checkpoints.create(key)
        return read_checkpoint(note.encoded(), "x.checkpoint")

    def lines(self) -> list[bytes]:
        return self.scope.ledger.read_bytes().split(b"\n")[:-1]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger of 13 entries."""
    return Ledger(tmp_path, 6)


def reason(given: Given, proof: bytes) -> str | None:
    verdict = judge(given.note.encoded(), "x", TRUST, proof=("p", proof))
    return verdict["reason"]


def test_every_entry_can_be_proved_and_nothing_else_is_disclosed(ledger: Ledger) -> None:
    given = ledger.sign()
    there = ledger.lines()
    for n in range(1, 14):
        data = ledger.checkpoints.prove_entry(n, given).encoded()
        proof = parse_proof(data)
        assert isinstance(proof, InclusionProof)
        assert (proof.n, proof.line) == (n, there[n - 1])
        assert proof.encoded() == data
        assert not [line for line in there if line in data and line != there[n - 1]]
        assert reason(given, data) is None


def test_an_event_is_found_by_its_sequence(ledger: Ledger) -> None:
    proof = ledger.checkpoints.prove_event(3, ledger.sign())
    assert b'"sequence":3}' in proof.line
    with pytest.raises(ObjectNotFound, match="the ledger has 6"):
        ledger.checkpoints.prove_event(7, None)
    with pytest.raises(ObjectNotFound, match="the ledger has 13"):
        ledger.checkpoints.prove_entry(14, None)


def test_growth_can_be_proved_from_every_size(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, 0)
    seen = [ledger.sign()]
    for _ in range(6):
        ledger.grow(1)
        seen.append(ledger.sign())
    for old in seen:
        for new in seen:
            if old.checkpoint.size > new.checkpoint.size:
                with pytest.raises(InvalidRequest, match="more than"):
                    ledger.checkpoints.prove_growth(old, new)
                continue
            data = ledger.checkpoints.prove_growth(old, new).encoded()
            assert isinstance(parse_proof(data), ConsistencyProof)
            assert reason(old, data) is None
            if old.checkpoint.size < new.checkpoint.size:
                assert reason(new, data) == "proof_of_another_checkpoint"


def test_every_byte_of_a_proof_matters(ledger: Ledger) -> None:
    """Wherever one bit is changed, the proof does not hold any more, or says the same."""
    old = ledger.sign()
    ledger.grow(3)
    new = ledger.sign()
    for given, proof in (
        (new, ledger.checkpoints.prove_entry(5, new)),
        (old, ledger.checkpoints.prove_growth(old, new)),
    ):
        data = proof.encoded()
        for at in range(0, len(data), 5):
            changed = bytearray(data)
            changed[at] ^= 1 << at % 7
            if bytes(changed) != data:
                assert reason(given, bytes(changed)) is not None, (at, bytes(changed))
        for end in range(0, len(data), 17):
            assert reason(given, data[:end]) in (
                "proof_invalid",
                "not_included",
                "proof_of_another_checkpoint",
            )


def test_a_proof_without_a_checkpoint_leads_to_one_that_is_kept(ledger: Ledger) -> None:
    given = ledger.sign()
    unsigned = ledger.checkpoints.prove_entry(4, None).encoded()
    assert OWNER.public.raw not in unsigned
    assert "\u2014".encode() not in unsigned
    assert reason(given, unsigned) is None
    ledger.grow(1)
    assert reason(ledger.sign(), unsigned) == "proof_of_another_checkpoint"


def test_the_later_checkpoint_of_a_growth_must_be_the_owners(ledger: Ledger) -> None:
    old = ledger.sign()
    ledger.grow(1)
    data = ledger.checkpoints.prove_growth(old, ledger.sign(STRANGER)).encoded()
    assert reason(old, data) == "unknown_signer"


def test_an_entry_that_is_younger_than_the_checkpoint(ledger: Ledger) -> None:
    given = ledger.sign()
    ledger.grow(1)
    with pytest.raises(InvalidRequest, match="younger"):
        ledger.checkpoints.prove_entry(14, given)
    assert ledger.checkpoints.prove_entry(13, given).holds()


def test_a_checkpoint_of_another_ledger(ledger: Ledger, tmp_path: Path) -> None:
    given = ledger.sign()
    other = given._replace(checkpoint=given.checkpoint._replace(origin="pam/store:x/team:y"))
    cut = given._replace(checkpoint=given.checkpoint._replace(size=99))
    forged = given._replace(checkpoint=given.checkpoint._replace(root=bytes(32)))
    for one, says in ((other, "another ledger"), (cut, "cut off"), (forged, "not of this ledger")):
        with pytest.raises(InvalidRequest, match=says):
            ledger.checkpoints.prove_entry(1, one)


def test_a_damaged_tree_costs_time_and_no_truth(ledger: Ledger) -> None:
    given = ledger.sign()
    expected = ledger.checkpoints.prove_entry(2, given).encoded()
    (file,) = ledger.layout.index.glob("*.tree")
    data = bytearray(file.read_bytes())
    for at in range(32, len(data) - 60, 40):
        data[at] ^= 0xFF
    file.write_bytes(data)
    assert ledger.checkpoints.prove_entry(2, given).encoded() == expected
    file.write_bytes(data)
    assert ledger.checkpoints.prove_entry(2, None).encoded() in expected


def test_a_damaged_ledger_is_not_signed(ledger: Ledger) -> None:
    data = ledger.scope.ledger.read_bytes()
    ledger.scope.ledger.write_bytes(data.replace(b"key 3", b"key 4"))
    with pytest.raises(StoreDamaged):
        ledger.sign()


def _edited(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"key 3", b"key x") for line in lines]


def _cut(lines: list[bytes]) -> list[bytes]:
    return lines[:-2]


def _gap(lines: list[bytes]) -> list[bytes]:
    return lines[:5] + lines[7:]


def _reordered(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], lines[6], lines[5], *lines[7:]]


def _twice(lines: list[bytes]) -> list[bytes]:
    return [*lines[:6], lines[5].replace(b"key 3", b"key y"), *lines[6:]]


def _no_json(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], b"what?", *lines[6:]]


@pytest.mark.parametrize(
    ("tamper", "expected"),
    [
        (_edited, "edited"),
        (_cut, "cut"),
        (_gap, "cut"),
        (_reordered, "reordered"),
        (_twice, "forked"),
        (_no_json, "edited"),
    ],
)
def test_a_verdict_names_what_was_done_to_the_ledger(
    ledger: Ledger, tamper: object, expected: str
) -> None:
    given = ledger.sign()
    assert callable(tamper)
    changed = tamper(ledger.lines())
    ledger.scope.ledger.write_bytes(b"".join(line + b"\n" for line in changed))
    verdict = judge(given.note.encoded(), "x", TRUST, ledgers=store_ledgers(ledger.layout.root))
    assert (verdict["valid"], verdict["reason"]) == (False, expected), verdict["explanation"]


def test_a_ledger_that_was_written_anew_is_a_fork(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, other = Ledger(tmp_path, 6), Ledger(tmp_path / "other", 5)
    commit(other.scope, creation(60))
    given = one.sign()
    verdict = judge(given.note.encoded(), "x", TRUST, ledgers=store_ledgers(other.layout.root))
    assert verdict["reason"] == "forked"


def test_what_grew_since_is_unpinned(ledger: Ledger) -> None:
    given = ledger.sign()
    root = ledger.layout.root
    verdict = judge(given.note.encoded(), "x", TRUST, ledgers=store_ledgers(root))
    assert verdict["facts"] == {"entries": 13, "tail": "pinned", "unpinned_entries": 0}
    ledger.grow(2)
    verdict = judge(given.note.encoded(), "x", TRUST, ledgers=store_ledgers(root))
    assert verdict["valid"]
    assert verdict["facts"] == {"entries": 17, "tail": "unpinned", "unpinned_entries": 4}


def test_signatures(ledger: Ledger) -> None:
    given = ledger.sign()
    data = given.note.encoded()
    friend = Trust([TrustedKey(OWNER.public)], [TrustedKey(STRANGER.public)])
    assert judge(data, "x", friend)["reason"] == "witness_missing"
    cosigned = witness(given, "witness.example", STRANGER, 1_700_000_000).encoded()
    verdict = judge(cosigned, "x", friend)
    assert verdict["valid"]
    assert [(one["role"], one["status"], one["time"]) for one in verdict["signatures"]] == [
        ("log", "verified", None),
        ("witness", "verified", "2023-11-14T22:13:20Z"),
    ]
    again = witness(read_checkpoint(cosigned, "x"), "witness.example", STRANGER, 1_700_000_001)
    assert len(again.signatures) == 2, "the later one takes the place of the first"
    assert judge(data, "x", Trust([]))["reason"] == "unknown_signer"
    assert judge(data, "x", Trust([TrustedKey(STRANGER.public)]))["reason"] == "unknown_signer"
    changed = data.replace(b"\n13\n", b"\n12\n")
    assert judge(changed, "x", TRUST)["reason"] == "signature_invalid"
    assert judge(b"x", "x", TRUST)["reason"] == "checkpoint_invalid"


def test_a_witness_is_no_owner(ledger: Ledger) -> None:
    """A cosignature under the log's own name does not make a checkpoint the owner's."""
    given = ledger.sign(STRANGER)
    posing = witness(given, given.checkpoint.origin, OWNER, 1_700_000_000)
    assert judge(posing.encoded(), "x", TRUST)["reason"] == "unknown_signer"


def test_every_reason_is_explained() -> None:
    assert all(meaning.endswith(".") for meaning in REASONS.values())

"""Signed notes and checkpoints: against a published note, and against what is malformed."""

from __future__ import annotations

import pytest

from pamctl.crypto import signed_notes
from pamctl.crypto.checkpoints import Checkpoint, origin_of, parse_checkpoint
from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.signed_notes import COSIGNATURE, ED25519, Note, TrustedKey
from pamctl.errors import InvalidRequest

# The example in the documentation of Go's golang.org/x/mod/sumdb/note.
PUBLISHED_KEY = b"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PUBLISHED_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqf"
    "qdngotpRZb6KE6RyyBwJnAM=\n"
).encode()

OWNER = PrivateKey.from_seed(bytes(range(32)))
WITNESS = PrivateKey.from_seed(bytes(range(1, 33)))
STATED = Checkpoint("pam/store:1/workspace:default", 7, bytes(32), "ab" * 32)


def signed(*signatures: signed_notes.Signature) -> bytes:
    """The checkpoint with the owner's signature, or others."""
    text = STATED.text()
    return Note(text, signatures or (signed_notes.sign(text, STATED.origin, OWNER),)).encoded()


def test_the_published_note_verifies() -> None:
    note = signed_notes.parse_note(PUBLISHED_NOTE, what="the note")
    key = signed_notes.read_key(PUBLISHED_KEY)
    assert (key.name, key.algorithm) == ("PeterNeumann", ED25519)
    (checked,) = signed_notes.check_signatures(note, [key])
    assert (checked.name, checked.status) == ("PeterNeumann", "verified")
    assert note.encoded() == PUBLISHED_NOTE
    assert signed_notes.verifier_key("PeterNeumann", ED25519, key.public) == PUBLISHED_KEY.decode()


def test_a_changed_text_is_told_from_an_unknown_key() -> None:
    note = signed_notes.parse_note(PUBLISHED_NOTE.replace(b"answer", b"Answer"), what="the note")
    key = signed_notes.read_key(PUBLISHED_KEY)
    assert [one.status for one in signed_notes.check_signatures(note, [key])] == ["invalid"]
    stranger = TrustedKey(OWNER.public)
    assert [one.status for one in signed_notes.check_signatures(note, [stranger])] == ["unknown"]
    assert [one.status for one in signed_notes.check_signatures(note, [])] == ["unknown"]


def test_a_checkpoint_comes_back_as_it_was_signed() -> None:
    data = signed()
    checkpoint, note = parse_checkpoint(data)
    assert checkpoint == STATED
    assert note.encoded() == data
    assert data == signed(), "the same key and the same text give the same bytes"


def test_a_cosignature_carries_its_time() -> None:
    text = STATED.text()
    owner = signed_notes.sign(text, STATED.origin, OWNER)
    witness = signed_notes.cosign(text, "witness.example", WITNESS, 1_700_000_000)
    _, note = parse_checkpoint(signed(owner, witness))
    keys = [TrustedKey(OWNER.public), TrustedKey(WITNESS.public)]
    checked = signed_notes.check_signatures(note, keys)
    assert [(one.status, one.algorithm, one.time_sec) for one in checked] == [
        ("verified", ED25519, None),
        ("verified", COSIGNATURE, 1_700_000_000),
    ]


def test_a_cosignature_does_not_hold_at_another_time() -> None:
    text = STATED.text()
    made = signed_notes.cosign(text, "witness.example", WITNESS, 1_700_000_000)
    later = made._replace(data=(1_700_000_001).to_bytes(8) + made.data[8:])
    checked = signed_notes.check_signatures(Note(text, (later,)), [TrustedKey(WITNESS.public)])
    assert [one.status for one in checked] == ["invalid"]


def test_a_signature_is_bound_to_its_name_and_kind() -> None:
    """The same bytes under another name, or as the other kind, point to no key."""
    text = STATED.text()
    made = signed_notes.sign(text, STATED.origin, OWNER)
    renamed = made._replace(name="pam/store:2/workspace:default")
    rehashed = signed_notes.key_hash(made.name, COSIGNATURE, OWNER.public)
    as_other = made._replace(key_hash=rehashed, data=bytes(8) + made.data)
    trusted = [TrustedKey(OWNER.public)]
    statuses = [
        signed_notes.check_signatures(Note(text, (one,)), trusted)[0].status
        for one in (renamed, as_other)
    ]
    assert statuses == ["unknown", "invalid"]
    named = [TrustedKey(OWNER.public, "somebody.else", ED25519)]
    assert signed_notes.check_signatures(Note(text, (made,)), named)[0].status == "unknown"


def test_origins() -> None:
    assert origin_of("store:ab", "team:a/b") == "pam/store:ab/team:a/b"
    assert origin_of("store:ab", "team:a+b") == "pam/store:ab/team:a%2Bb"


GOOD = signed()
LINE = GOOD.splitlines(keepends=True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"pam\n",
        GOOD[:-1],
        GOOD + b"\n",
        GOOD + b"more\n",
        GOOD.replace("\u2014".encode(), b"-"),
        GOOD.replace(b"\n\n", b"\n"),
        GOOD.replace(b"\n7\n", b"\n07\n"),
        GOOD.replace(b"\n7\n", b"\n-7\n"),
        GOOD.replace(b"\n7\n", b"\n0\n"),
        GOOD.replace(b"\n7\n", b"\n99999999999999999\n"),
        GOOD.replace(b"\n7\n", b"\n7 \n"),
        GOOD.replace(b"AAA=\n", b"AAA\n"),
        GOOD.replace(b"AAA=\n", b"AAB=\n"),
        GOOD.replace(b"AAA=\n", "A\u0410A=\n".encode()),
        GOOD + "\u2014 a \u0410AAAAAAA\n".encode(),
        GOOD.replace(b"AAAA", b"AA", 1),
        GOOD.replace(b"pam/", b"pam+", 1),
        GOOD.replace(b"pam/", b"pam ", 1),
        GOOD.replace(b"pam/", b"pam\r/", 1),
        GOOD.replace(b"pam/", b"\xff/", 1),
        GOOD.replace(b"head", b"head " + b"cd" * 32 + b"\nhead", 1),
        b"".join(LINE[:1] + LINE[4:]),
        b"".join(LINE[:2] + LINE[4:]),
        GOOD + LINE[-1] * 64,
        GOOD + LINE[-1][:20] + b"\n",
        GOOD + "\u2014 a b AAAAAAAA\n".encode(),
        GOOD + "\u2014 a AAAA\n".encode(),
        b"x" * 70_000,
    ],
)
def test_what_is_no_checkpoint_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_checkpoint(data, what="the file x")
    assert "the file x" in refused.value.message


def test_another_tool_may_leave_out_the_head_and_add_lines() -> None:
    text = f"{STATED.origin}\n7\n{'A' * 43}=\nanything else\n"
    note = Note(text, (signed_notes.sign(text, STATED.origin, OWNER),))
    checkpoint, _ = parse_checkpoint(note.encoded())
    assert checkpoint == STATED._replace(head=None)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (PUBLISHED_KEY.replace(b"c74f20a3", b"c74f20a4"), "mistyped"),
        (PUBLISHED_KEY.replace(b"+AR", b"+BR"), "kind"),
        (b"{}", "public_key_spki_b64u"),
        (b'{"public_key_spki_b64u":"x","status":"revoked"}', "revoked"),
        (b"", "no Ed25519 public key"),
        (b"x+y+z", "public key"),
    ],
)
def test_keys_that_are_none(data: bytes, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        signed_notes.read_key(data)


@pytest.mark.parametrize("name", ["", "two words", "plus+plus", "tab\tname"])
def test_names_that_cannot_sign(name: str) -> None:
    with pytest.raises(InvalidRequest):
        signed_notes.sign(STATED.text(), name, OWNER)

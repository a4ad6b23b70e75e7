"""Lines that no writer, alive or dead, can have left: each is refused, with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_hex
from pamctl.errors import StoreDamaged
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import START, Transaction
from tests.scope_ledgers import commit, creation, event, new_scope, version

Lines = list[bytes]


@pytest.fixture
def layout(tmp_path: Path) -> ScopeLayout:
    layout = new_scope(tmp_path / ".pam")
    commit(layout, creation(1))
    commit(layout, [event(2, version(2))], [event(3, version(3)), event(4)])
    commit(layout, [event(5)])
    return layout


def lines_of(layout: ScopeLayout) -> Lines:
    return layout.ledger.read_bytes().splitlines()


def read_all(layout: ScopeLayout) -> tuple[list[Transaction], StoreDamaged]:
    """What a reader yields before it meets the damage, and the damage."""
    found: list[Transaction] = []
    with pytest.raises(StoreDamaged) as damage:
        found.extend(Ledger(layout).transactions(START))
    return found, damage.value


def write(layout: ScopeLayout, lines: Lines) -> None:
    layout.ledger.write_bytes(b"".join(line + b"\n" for line in lines))


def put(lines: Lines, place: int, line: bytes) -> Lines:
    return [*lines[:place], line, *lines[place + 1 :]]


def without(line: bytes, name: str) -> bytes:
    return canonical({kept: member for kept, member in json.loads(line).items() if kept != name})


def unordered(line: bytes) -> bytes:
    """The line with its first member put last."""
    entry = json.loads(line)
    entry["body"] = entry.pop("body")
    return json.dumps(entry, separators=(",", ":")).encode()


def rechained(lines: Lines) -> Lines:
    """The lines with every `prev` made to fit, as someone who edits with care would."""
    fitted: Lines = []
    for line in lines:
        entry = json.loads(line)
        if fitted:
            entry["prev"] = sha256_hex(fitted[-1])
        fitted.append(canonical(entry))
    return fitted


def changed(line: bytes, **members: Any) -> bytes:
    return canonical({**json.loads(line), **members})


# n:   1      2, 3             4      5      6, 7              8
# is:  scope  event, its key   pack   event  two events        event
DAMAGE: dict[str, tuple[int, Callable[[Lines], Lines]]] = {
    "edited": (3, lambda a: put(a, 2, changed(a[2], body={"key": "other"}))),
    "edited in place": (4, lambda a: put(a, 3, a[3].replace(b'"versions":2', b'"versions":3'))),
    "cut out": (3, lambda a: [*a[:3], *a[4:]]),
    "first line cut out": (0, lambda a: a[1:]),
    "put in twice": (3, lambda a: [*a[:3], a[2], *a[3:]]),
    "last line put in twice": (8, lambda a: [*a, a[-1]]),
    "first line put in twice": (1, lambda a: [a[0], *a]),
    "reordered": (4, lambda a: [*a[:4], a[7], *a[5:7], a[4]]),
    "two neighbours reordered": (5, lambda a: [*a[:5], a[6], a[5], a[7]]),
    "whole ledger twice": (8, lambda a: [*a, *a]),
    "ledger of another store behind": (8, lambda a: [*a, changed(a[0], body={"store_id": "x"})]),
    "wrong prev": (2, lambda a: put(a, 2, changed(a[2], prev="0" * 64))),
    "prev in capitals": (2, lambda a: put(a, 2, changed(a[2], prev=sha256_hex(a[1]).upper()))),
    "first prev not zeros": (0, lambda a: [changed(a[0], prev="1" * 64), *a[1:]]),
    "blank line": (4, lambda a: [*a[:4], b"", *a[4:]]),
    "blank line at the end": (8, lambda a: [*a, b""]),
    "carriage return": (0, lambda a: [line + b"\r" for line in a]),
    "one carriage return": (3, lambda a: put(a, 3, a[3] + b"\r")),
    "merge marker": (4, lambda a: [*a[:4], b"<<<<<<< HEAD", *a[4:]]),
    "white space": (1, lambda a: put(a, 1, a[1].replace(b":", b": ", 1))),
    "members out of order": (1, lambda a: put(a, 1, unordered(a[1]))),
    "duplicate member": (1, lambda a: put(a, 1, a[1][:-1] + b',"tx":2}')),
    "duplicate member inside": (2, lambda a: put(a, 2, a[2].replace(b'"key":', b'"key":1,"key":'))),
    "needless escape": (2, lambda a: put(a, 2, a[2].replace(b"key 1", b"\\u006bey 1", 1))),
    "byte order mark": (0, lambda a: [b"\xef\xbb\xbf" + a[0], *a[1:]]),
    "not UTF-8": (2, lambda a: put(a, 2, a[2].replace(b"key 1", b"key \xff", 1))),
    "no JSON": (3, lambda a: put(a, 3, b"{")),
    "two values in a line": (3, lambda a: [*a[:3], a[3] + a[4], *a[5:]]),
    "a list": (2, lambda a: put(a, 2, b"[]")),
    "null": (2, lambda a: put(a, 2, b"null")),
    "an empty object": (2, lambda a: put(a, 2, b"{}")),
    "second half of a transaction cut out": (2, lambda a: [*a[:2], *a[3:]]),
}  # fmt: skip


@pytest.mark.parametrize(("line", "damage"), DAMAGE.values(), ids=DAMAGE.keys())
def test_it_is_refused_at_its_offset(
    layout: ScopeLayout, line: int, damage: Callable[[Lines], Lines]
) -> None:
    whole = list(Ledger(layout).transactions(START))
    lines = damage(lines_of(layout))
    write(layout, lines)
    found, refusal = read_all(layout)
    assert refusal.details["offset"] == sum(len(one) + 1 for one in lines[:line])
    assert refusal.details["path"] == str(layout.ledger)
    assert "fsck" in refusal.details["hint"]
    assert len(found) == len([one for one in whole if one.after.entries <= line])


def with_member(place: int, **members: Any) -> Callable[[Lines], Lines]:
    return lambda a: rechained(put(a, place, changed(a[place], **members)))


# The chain fits, but what stands in the lines does not.
FITTED: dict[str, tuple[int, Callable[[Lines], Lines]]] = {
    "entry left out": (3, lambda a: rechained([*a[:3], *a[4:]])),
    "n skips": (4, with_member(4, n=6)),
    "n repeats": (4, with_member(4, n=4)),
    "n is true": (0, with_member(0, n=True)),
    "n is text": (4, with_member(4, n="5")),
    "n is null": (4, with_member(4, n=None)),
    "tx of another transaction": (2, with_member(2, tx=1)),
    "i skips": (1, with_member(1, i=2)),
    "i repeats": (2, with_member(2, i=1)),
    "i is true": (0, with_member(0, i=True)),
    "i is past of": (5, with_member(5, of=0)),
    "of changes within a transaction": (2, with_member(2, of=3)),
    "of shrinks within a transaction": (6, with_member(6, of=1)),
    "of is true": (0, with_member(0, of=True)),
    "of is negative": (0, with_member(0, of=-1)),
    "of is a fraction": (0, with_member(0, of=1.5)),
    "transaction that never ends": (4, lambda a: rechained(put(a, 3, changed(a[3], of=2)))),
    "transaction in a transaction": (2, lambda a: rechained([*a[:2], changed(a[3], n=3, tx=3)])),
    "sequence skips": (4, with_member(4, body={"sequence": 3})),
    "sequence repeats": (4, with_member(4, body={"sequence": 1})),
    "event without a sequence": (4, with_member(4, body={})),
    "sequence is text": (4, with_member(4, body={"sequence": "2"})),
    "body is text": (2, with_member(2, body="key")),
    "body is null": (2, with_member(2, body=None)),
    "kind is a number": (2, with_member(2, kind=7)),
    "version is no address": (4, with_member(4, version="sha256:../../../secret")),
    "version is null": (4, with_member(4, version=None)),
    "version is a number": (4, with_member(4, version=5)),
    "version is a list": (4, with_member(4, version=["x"])),
    "version in capitals": (4, with_member(4, version="sha256:" + "A" * 64)),
    "pack leads out of the scope": (3, with_member(3, body={"name": "../../key", "versions": 1})),
    "pack without a name": (3, with_member(3, body={"versions": 1})),
    "pack with a number for a name": (3, with_member(3, body={"name": 1, "versions": 1})),
    "member missing": (2, lambda a: rechained(put(a, 2, without(a[2], "kind")))),
}  # fmt: skip


@pytest.mark.parametrize(("line", "damage"), FITTED.values(), ids=FITTED.keys())
def test_a_fitting_chain_does_not_make_it_good(
    layout: ScopeLayout, line: int, damage: Callable[[Lines], Lines]
) -> None:
    lines = damage(lines_of(layout))
    write(layout, lines)
    found, refusal = read_all(layout)
    offset = sum(len(one) + 1 for one in lines[:line])
    assert refusal.details["offset"] == offset
    assert all(one.after.offset <= offset for one in found)


def test_a_number_in_two_spellings_is_not_canonical(layout: ScopeLayout) -> None:
    lines = lines_of(layout)
    write(layout, [lines[0].replace(b'"n":1,', b'"n":1.0,'), *lines[1:]])
    _, refusal = read_all(layout)
    assert "canonical" in refusal.message


def test_what_cannot_be_canonical_is_refused_as_such(layout: ScopeLayout) -> None:
    lines = lines_of(layout)
    deep = b'{"body":{"a":' + b"[" * 200 + b"]" * 200 + b"}"
    for body in (deep, b'{"body":{"a":12345678901234567890}'):
        write(layout, [body + lines[0][lines[0].index(b',"i":') :], *lines[1:]])
        _, refusal = read_all(layout)
        assert "canonical" in refusal.message


def test_a_tail_that_was_cut_off_whole_cannot_be_seen_in_the_chain(layout: ScopeLayout) -> None:
    # Why heads are pinned: nothing in what is left says that there was more.
    lines = lines_of(layout)
    write(layout, lines[:-1])
    assert len(list(Ledger(layout).transactions(START))) == 5

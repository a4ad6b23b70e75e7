"""The verifier that writes entries anew says yes where the careful one does, and nowhere else."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.projection.delivered import NotDelivered, delivered_text, plain_count
from pamctl.projection.materials import Materials
from pamctl.projection.reasons import Refusal
from pamctl.projection.record import NativeResult, parse, parse_around
from pamctl.projection.verify import Verifier
from tests.projections import (
    NOW,
    UNVERIFIED,
    Case,
    candidate,
    changed,
    example,
    made,
    materials_of,
    native,
    policy,
    sign,
)

CASE = example()
TEXT = CASE.projection.record_text
MATERIALS = materials_of(CASE.projection)
VALUES: tuple[Any, ...] = (
    0,
    1,
    2,
    True,
    False,
    1.0,
    None,
    "",
    "AAA",
    "self",
    "sha256:" + "0" * 64,
    [],
    {},
)


ENTRIES = TEXT.partition(b'"delivered":[')[2].partition(b'],"exclusions"')[0]
ENTRY = ENTRIES.partition(b"},{")[0] + b"}"
SPELLINGS = st.sampled_from(
    [b",", b" ", b"\n", b"x", b"{}", b"],", b"[]", ENTRY, ENTRY + b",", b"," + ENTRY, b"\x00", b"0"]
)


class Careful(Verifier):
    """Reads every entry of every record."""

    def _proven(self, data: bytes, materials: Materials | None) -> None:
        return None


QUICK, CAREFUL = Verifier(policy(), at=NOW), Careful(policy(), at=NOW)


def agree(data: bytes, materials: Materials | None) -> bool:
    """Both say the same, in every word, of the envelope alone as well; whether that is yes."""
    if materials is not None:
        agree(data, None)
    verdicts = [
        verifier.verify(data, materials, all_reasons=all_reasons)
        for verifier in (QUICK, CAREFUL)
        for all_reasons in (False, True)
    ]
    assert verdicts[:2] == verdicts[2:]
    return verdicts[0]["valid"]


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 130])
def test_good_records_are_proven(count: int) -> None:
    items = [candidate(str(n), f"Body {n}.", **(UNVERIFIED if n % 3 else {})) for n in range(count)]
    case = Case(made(*items))
    text, materials = case.projection.record_text, materials_of(case.projection)
    for spelling in (text, text.removesuffix(b"\n")):
        proven = QUICK._proven(spelling, materials)
        assert proven is not None
        assert proven[1] == count
        assert QUICK._proven(spelling, None) == proven
        assert agree(spelling, materials)
    if count:
        more = materials_of(case.projection, sources=(*case.projection.sources, b"one more"))
        assert not agree(text, more)
        fewer = materials_of(case.projection, fragments=case.projection.fragments[:-1])
        assert not agree(text, fewer)


def test_every_byte_of_a_record() -> None:
    for place in range(len(TEXT)):
        flipped = bytearray(TEXT)
        flipped[place] ^= 1
        assert not agree(bytes(flipped), MATERIALS)
    for place in range(0, len(TEXT) - 1, 5):
        assert not agree(TEXT[:place] + TEXT[place + 1 :], MATERIALS)


@given(st.lists(st.tuples(st.integers(0, len(ENTRIES)), SPELLINGS), min_size=1, max_size=2))
def test_whatever_stands_where_the_entries_should(insertions: list[tuple[int, bytes]]) -> None:
    """Signed or not: text in, before and behind entries is seen."""
    entries = ENTRIES
    for place, spelling in insertions:
        entries = entries[:place] + spelling + entries[place:]
    text = TEXT.replace(ENTRIES, entries)
    around = parse_around(text)
    assert around is not None
    assert around.text[around.start : around.end] == entries
    count = plain_count(around.text, around.start, around.end)
    try:
        read: Any = parse(text).members["delivered"]
    except Refusal:
        read = None
    if count is not None:
        assert [entry["position"] for entry in read] == list(range(count))
        assert canonical(read) == b"[" + entries + b"]"
    agree(text, MATERIALS)


def pointers(value: Any, pointer: str = "") -> Iterator[str]:
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, member in members:
        yield f"{pointer}/{name}"
        yield from pointers(member, f"{pointer}/{name}")


@pytest.mark.parametrize("pointer", [one for one in pointers(CASE.record) if "proof" not in one])
def test_every_member_of_a_record_that_is_signed_so(pointer: str) -> None:
    for value in VALUES:
        agree(canonical(sign(changed(CASE.record, pointer, value))), MATERIALS)


@pytest.mark.parametrize("member", list(NativeResult.__annotations__))
def test_every_native_result(member: str) -> None:
    given: Sequence[Any] = MATERIALS.native_results or ()
    for position in range(3):
        for value in VALUES:
            results = [*given]
            results[position] = {**given[position], member: value}
            right = given[position][member]
            same = type(value) is type(right) and value == right
            assert agree(TEXT, materials_of(CASE.projection, native_results=results)) is same
        refused = [*given[:position], None, *given[position + 1 :]]
        assert not agree(TEXT, materials_of(CASE.projection, native_results=refused))


@pytest.mark.parametrize("wrong", [None, {}, [], "x", 1])
def test_what_is_no_native_result_is_in_no_entry(wrong: Any) -> None:
    with pytest.raises(NotDelivered):
        delivered_text([wrong], ["sha256:" + "0" * 64], ["sha256:" + "0" * 64])


@pytest.mark.parametrize("kind", ["sources", "fragments", "native_results"])
def test_every_piece(kind: str) -> None:
    pieces = list(getattr(MATERIALS, kind))
    for position in range(3):
        others = [pieces[:position] + pieces[position + 1 :], [*pieces, pieces[position]]]
        others += [[*pieces[:position], None, *pieces[position + 1 :]], pieces[::-1], []]
        if kind != "native_results":
            others += [
                [*pieces[:position], other, *pieces[position + 1 :]] for other in (b"", b"x")
            ]
        for other in others:
            assert not agree(TEXT, materials_of(CASE.projection, **{kind: other}))
    for name in ("request", "policy", "trust_snapshot", "projection"):
        for data in (None, b"", b"x" + getattr(MATERIALS, name)):
            assert not agree(TEXT, materials_of(CASE.projection, **{name: data}))


natives = st.builds(
    lambda source, **labels: (source, native(source, **labels)),
    st.binary(max_size=8),
    format_version=st.integers(1, 2**53 - 1),
    derived_trust=st.sampled_from(["self", "trusted"]),
    authorship=st.sampled_from(["signed", "attested", "unknown"]),
    author_key_id_b64u=st.none() | st.binary(min_size=1, max_size=40).map(base64url.encode),
    custody_present=st.just(True),
) | st.builds(lambda source: (source, native(source, **UNVERIFIED)), st.binary(max_size=8))


@given(st.lists(natives, max_size=5), st.integers(0, 70000))
def test_what_is_written_is_canonical(
    results: list[tuple[bytes, NativeResult]], first: int
) -> None:
    fragments = [sha256_digest(b"fragment of " + source) for source, _ in results]
    entries: list[Any] = [
        {
            "position": position,
            "object": {
                "format_version": found["format_version"],
                "sealed_object_digest": found["sealed_object_digest"],
            },
            "context_fragment_digest": fragment,
            "derived_trust": found["derived_trust"],
            "authorship": found["authorship"],
            "author_key_id_b64u": found["author_key_id_b64u"],
            "custody_present": found["custody_present"],
        }
        for position, ((_, found), fragment) in enumerate(
            zip(results, fragments, strict=True), first
        )
    ]
    sources = [sha256_digest(source) for source, _ in results]
    written = delivered_text([found for _, found in results], sources, fragments, first=first)
    assert b"[" + written + b"]" == rfc8785.dumps(entries)

"""Whatever is changed in a record or in its material, the verdict is a no with a reason."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.timestamps import instant
from pamctl.projection.reasons import REASONS
from pamctl.projection.trust import AdapterPin
from tests.projections import KEY, NOW, Case, example, policy

CASE = example()
TEXT = CASE.projection.record_text.removesuffix(b"\n")


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()))
def test_any_bytes_get_a_verdict(data: bytes) -> None:
    assert CASE.verdict(data)["reason"] == "record_invalid"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def places(value: Any, steps: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [steps]
    if isinstance(value, dict):
        for name, member in value.items():
            found += places(member, (*steps, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            found += places(member, (*steps, index))
    return found


@given(st.sampled_from(places(CASE.record)), json_values)
def test_any_value_in_any_place_gets_a_verdict(place: tuple[Any, ...], value: Any) -> None:
    whole = {"record": json.loads(TEXT)}
    parent: Any = whole
    *steps, last = ("record", *place)
    for step in steps:
        parent = parent[step]
    parent[last] = value
    record = whole["record"]
    verdict = CASE.verdict(json.dumps(record).encode())
    if not verdict["valid"]:
        assert verdict["reason"] in REASONS
    else:
        assert canonical(record) == TEXT


@given(st.text(alphabet=" \t\r\n", max_size=3), st.integers(0, 3))
def test_white_space_between_tokens_is_harmless(space: str, indent: int) -> None:
    text = space + json.dumps(CASE.record, indent=indent, ensure_ascii=False) + space
    assert CASE.verdict(text.encode())["valid"]


def test_duplicate_members_are_refused_wherever_they_stand() -> None:
    for member in (b'"position":0', b'"total":1', b'"alg":"Ed25519"', b'"encoding":"utf-8"'):
        assert TEXT.count(member) == 1
        verdict = CASE.verdict(TEXT.replace(member, member + b"," + member))
        assert verdict["reason"] == "record_invalid"
        assert "twice" in verdict["details"]["problem"]


def test_numbers_are_spelled_as_integers() -> None:
    for spelling in (b"0.0", b"0e0", b"-0", b"-0.0", b"0E-1", b"false", b'"0"', b"null"):
        text = TEXT.replace(b'"position":0', b'"position":' + spelling)
        assert CASE.reason(text) == "record_invalid"
    for spelling in (b"9007199254740992", b"18446744073709551617", b"1e400", b"NaN", b"Infinity"):
        text = TEXT.replace(b'"byte_length":', b'"byte_length":' + spelling + b',"x":')
        assert CASE.reason(text) == "record_invalid"


def test_a_byte_order_mark_is_refused() -> None:
    assert CASE.reason(b"\xef\xbb\xbf" + TEXT) == "record_invalid"


@given(st.binary(min_size=64, max_size=64))
def test_no_other_signature_verifies(signature: bytes) -> None:
    record = json.loads(TEXT)
    if base64url.encode(signature) == record["proof"]["signature_b64u"]:
        return
    record["proof"]["signature_b64u"] = base64url.encode(signature)
    assert CASE.reason(record) == "signature_invalid"


def test_a_signature_that_was_shifted_by_the_group_order_is_refused() -> None:
    """S and S + L would both satisfy the equation; RFC 8032 §5.1.7 accepts only S < L."""
    order = 2**252 + 27742317777372353535851937790883648493
    record = json.loads(TEXT)
    signature = base64url.decode(record["proof"]["signature_b64u"])
    shifted = int.from_bytes(signature[32:], "little") + order
    record["proof"]["signature_b64u"] = base64url.encode(
        signature[:32] + shifted.to_bytes(32, "little")
    )
    assert CASE.reason(record) == "signature_invalid"


@given(st.datetimes(), st.datetimes(), st.datetimes())
def test_validity_is_an_interval(created: Any, start: Any, end: Any) -> None:
    spelled = {
        name: moment.isoformat() + "Z"
        for name, moment in (("created", created), ("start", start), ("end", end))
    }
    pin = AdapterPin(KEY.public, valid_from=spelled["start"], valid_to=spelled["end"])
    key = instant(spelled["created"])
    assert pin.is_early(key) is (created < start)
    assert pin.is_late(key) is (created > end)


def test_the_verdict_is_the_same_every_time() -> None:
    for record in (TEXT, TEXT.replace(b'"total":1', b'"total":2')):
        assert CASE.verdict(record) == CASE.verdict(record)
    assert Case(CASE.projection).verdict(at=NOW, policy=policy()) == CASE.verdict()


ENTRY_VALUES = st.one_of(
    json_values,
    st.sampled_from(
        [True, False, 0, 1, 1.0, -1, 2**53, "self", "unverified", "signed", "AAA", "AB"]
    ),
    st.just("sha256:" + "0" * 64),
    st.just("0sha256:" + "0" * 63),
    st.just("sha256:" + "0" * 63 + "A"),
    st.just("sha256:" + "\u0660" * 64),
)
ENTRY_PLACES = [place for place in places(CASE.record["delivered"]) if place]


@given(st.lists(st.tuples(st.sampled_from(ENTRY_PLACES), ENTRY_VALUES), max_size=3))
def test_entries_are_judged_alike_by_column_and_one_by_one(changes: Any) -> None:
    """The quick look at whole columns accepts nothing that the look at each entry refuses."""
    from pamctl.projection import entries
    from pamctl.projection.shape import Fault

    delivered: Any = json.loads(TEXT)["delivered"]
    for place, value in changes:
        parent: Any = delivered
        *steps, last = place
        try:
            for step in steps:
                parent = parent[step]
            parent[last] = value
        except (KeyError, TypeError, IndexError):
            continue  # an earlier change took the place away

    def one_by_one() -> bool:
        try:
            for entry in delivered:
                entries._check_entry(entry)
        except Fault:
            return False
        return True

    def by_column() -> bool:
        try:
            return entries._are_good(entries._split(delivered))
        except (KeyError, TypeError):
            return False

    assert by_column() == one_by_one()

"""What holds of every value: one canonical spelling, read back as it was, and times in order."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.encoding.timestamps import from_nanoseconds, instant, is_timestamp, to_utc
from pamctl.errors import InvalidRequest
from pamctl.limits import INTEGER_MAX

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Names around the place where UTF-16 and code points order differently.
names = text | st.text('ab\x00"\\\ud7ff\ue000\uffff\U00010000\U0010ffff', max_size=3)
integers = st.integers(-INTEGER_MAX, INTEGER_MAX)
powers = st.integers(-330, 308).map(lambda exponent: float(f"1e{exponent}"))
near_powers = st.tuples(powers, st.floats(0.999999, 1.000001)).map(lambda pair: pair[0] * pair[1])
any_floats = st.floats(allow_nan=False, allow_infinity=False) | powers | near_powers
floats = any_floats.filter(lambda number: not INTEGER_MAX < abs(number) < 1e21)
scalars = st.none() | st.booleans() | integers | floats | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
)


@given(values)
def test_canonical_is_rfc_8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(values)
def test_what_was_written_reads_back(value: Any) -> None:
    written = canonical(value)
    found = parse(written)
    assert found == value
    assert canonical(found) == written
    assert b"\n" not in written


@given(values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_spelling_of_a_value_reads_as_it(value: Any, indent: Any, ascii_only: bool) -> None:
    spelled = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert canonical(parse(spelled)) == canonical(value)
    assert canonical(parse(spelled.encode())) == canonical(value)


@given(st.binary(max_size=40) | values.map(canonical).flatmap(
    lambda data: st.tuples(st.integers(0, len(data)), st.binary(max_size=3)).map(
        lambda change: data[: change[0]] + change[1] + data[change[0] + 1 :]
    )
))  # fmt: skip
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = parse(data)
    except InvalidRequest:
        return
    # Whatever is accepted is JSON for everyone, and has no member twice.
    assert json.loads(data, object_pairs_hook=distinct) == value


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    assert len(members) == len(pairs)
    return members


@given(st.dictionaries(text, integers, min_size=1, max_size=4), st.data())
def test_a_member_that_stands_twice_is_always_refused(members: dict[str, int], data: Any) -> None:
    pairs = list(members.items())
    again = data.draw(st.sampled_from(pairs))
    pairs.insert(data.draw(st.integers(0, len(pairs))), again)
    spelled = ",".join(f"{json.dumps(name)}:{number}" for name, number in pairs)
    with pytest.raises(InvalidRequest, match="twice"):
        parse("{" + spelled + "}")


@given(st.binary(max_size=70))
def test_base64url_has_one_text_for_each_byte_string(data: bytes) -> None:
    assert base64url.decode(base64url.encode(data)) == data


@given(st.text("ABab01-_=+/ \n", max_size=9))
def test_base64url_accepts_only_what_it_writes(spelled: str) -> None:
    try:
        data = base64url.decode(spelled)
    except ValueError:
        return
    assert base64url.encode(data) == spelled


moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC))
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)
zeros = st.text("0", max_size=3)


def spell(moment: datetime, offset: timezone, more_digits: str) -> str:
    """`moment` in RFC 3339, on the clock of `offset`."""
    spelled = moment.astimezone(offset).isoformat(timespec="microseconds")
    return spelled[:26] + more_digits + spelled[26:]


@given(moments, offsets, zeros, moments, offsets, zeros)
def test_keys_compare_as_instants(
    one: datetime, at: timezone, digits: str, two: datetime, there: timezone, more: str
) -> None:
    first, second = instant(spell(one, at, digits)), instant(spell(two, there, more))
    assert (first < second, first == second) == (one < two, one == two)


@given(moments, offsets, zeros)
def test_utc_names_the_same_instant(moment: datetime, offset: timezone, digits: str) -> None:
    spelled = spell(moment, offset, digits)
    assert is_timestamp(spelled)
    assert datetime.fromisoformat(to_utc(spelled)) == moment


@given(st.integers(0, 4_000_000_000_000_000_000), st.integers(0, 4_000_000_000_000_000_000))
def test_the_clock_orders_as_text(one: int, two: int) -> None:
    first, second = from_nanoseconds(one), from_nanoseconds(two)
    assert len(first) == len(second) == 27
    assert (first < second) == (one // 1000 < two // 1000)


@given(text)
def test_any_text_is_a_timestamp_or_not(spelled: str) -> None:
    if is_timestamp(spelled):
        datetime.fromisoformat(to_utc(spelled)[:19])

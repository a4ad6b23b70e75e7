"""Timestamps are compared as the instants that they name, however they are spelled."""

from __future__ import annotations

import pytest

from pamctl.encoding.timestamps import (
    from_nanoseconds,
    instant,
    is_timestamp,
    seconds_between,
    to_utc,
)

ONE_INSTANT = {
    "2026-07-29T17:00:00": [
        "2026-07-29T17:00:00Z", "2026-07-29t17:00:00z", "2026-07-29T17:00:00+00:00",
        "2026-07-29T17:00:00-00:00", "2026-07-29T17:00:00.0Z", "2026-07-29T17:00:00.000000000Z",
        "2026-07-29T19:00:00+02:00", "2026-07-29T12:30:00-04:30", "2026-07-30T16:59:00+23:59",
        "2026-07-28T17:01:00-23:59", "2026-07-29T19:00:00.00+02:00",
    ],
    "2026-01-01T00:00:00.12": [
        "2026-01-01T00:00:00.12Z", "2026-01-01T00:00:00.120Z", "2026-01-01T00:00:00.1200000000000Z",
        "2026-01-01T01:00:00.12+01:00", "2025-12-31T23:00:00.12-01:00",
    ],
    "2016-12-31T23:59:60": [
        "2016-12-31T23:59:60Z", "2016-12-31T23:59:60.00Z", "2017-01-01T00:59:60+01:00",
    ],
    "2024-02-29T23:59:59": ["2024-02-29T23:59:59Z", "2024-03-01T00:59:59+01:00"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "text"), [(key, text) for key, texts in ONE_INSTANT.items() for text in texts]
)
def test_many_spellings_of_one_instant(key: str, text: str) -> None:
    assert instant(text) == key
    assert is_timestamp(text)
    assert instant(to_utc(text)) == key
    assert to_utc(text).endswith("Z")


REFUSED = [
    "", "now", "2026-07-29", "17:00:00Z", "2026-07-29T17:00:00", "2026-07-29 17:00:00Z",
    "2026-07-29T17:00Z", "2026-7-29T17:00:00Z", "2026-07-29T17:00:00.Z", "2026-07-29T17:00:00,5Z",
    "2026-07-29T17:00:00+02", "2026-07-29T17:00:00+0200", "2026-07-29T17:00:00+2:00",
    "2026-07-29T17:00:00+24:00", "2026-07-29T17:00:00+00:60", "2026-07-29T24:00:00Z",
    "2026-07-29T17:60:00Z", "2026-07-29T17:00:61Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
    "2026-02-29T00:00:00Z", "2026-02-29T00:00:00+01:00", "2026-04-31T00:00:00.5Z",
    "2026-07-29T17:00:60Z", "2017-01-01T00:00:60Z", "2026-07-29T17:00:00Z\n",
    " 2026-07-29T17:00:00Z", "2026-07-29T17:00:00ZZ", "٢٠٢٦-07-29T17:00:00Z",
    "12026-07-29T17:00:00Z",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-07-29T17:00:00.٥Z",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_timestamp(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(not an RFC|no time that there is: )"):
        instant(text)
    assert not is_timestamp(text)
    with pytest.raises(ValueError, match=r"\w"):
        to_utc(text)


@pytest.mark.parametrize("value", [None, 0, 1.5, True, b"2026-07-29T17:00:00Z", ["x"]])
def test_what_is_no_text_is_no_timestamp(value: object) -> None:
    assert not is_timestamp(value)


def test_an_offset_is_converted_and_utc_is_left_alone() -> None:
    assert to_utc("2026-07-29T19:00:00.120+02:00") == "2026-07-29T17:00:00.12Z"
    assert to_utc("2026-07-29T17:00:00.120Z") == "2026-07-29T17:00:00.120Z"


def test_keys_order_as_instants_do() -> None:
    in_order = [
        "0999-12-31T23:59:59Z",
        "2016-12-31T23:59:59.9Z",
        "2016-12-31T23:59:60Z",
        "2016-12-31T23:59:60.5Z",
        "2017-01-01T00:00:00Z",
        "2017-01-01T00:00:00.000000000001Z",
        "2017-01-01T00:00:00.1Z",
        "2017-01-01T02:00:00.12+02:00",
        "2017-01-01T00:00:00.2Z",
        "2017-01-01T00:00:01Z",
    ]
    keys = [instant(text) for text in in_order]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_the_clock_is_written_in_equal_width() -> None:
    assert from_nanoseconds(0) == "1970-01-01T00:00:00.000000Z"
    assert from_nanoseconds(1_767_225_600_123_456_789) == "2026-01-01T00:00:00.123456Z"
    assert from_nanoseconds(1_767_225_600_000_000_000) == "2026-01-01T00:00:00.000000Z"
    assert from_nanoseconds(-1) == "1969-12-31T23:59:59.999999Z"


def test_seconds_between() -> None:
    assert seconds_between("2026-01-01T00:00:00Z", "2026-01-01T01:00:01.5+01:00") == 1.5
    assert seconds_between("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z") == -1
    # A leap second counts as the second that follows it: the system clock has no other.
    assert seconds_between("2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z") == 1

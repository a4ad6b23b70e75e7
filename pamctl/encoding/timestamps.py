"""RFC 3339 timestamps, as exact instants.

`Z`, `+00:00`, `.12Z` and `.120Z` spell the same instant in different bytes. Instants are
compared; bytes that somebody signed are kept as they came.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache

# What services write, this one among them; `instant` is on the path of every version.
# Its group is a day that not every month has, or a year that is none.
_PLAIN_UTC = re.compile(
    r"(?:(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(\d{4}-\d{2}-\d{2}))"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z\Z",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1)


@lru_cache(maxsize=1024)
def instant(text: str) -> str:
    """The instant that `text` names, as a key: UTC, no trailing zeros, no `Z`.

    Keys order as the instants do, with any number of fractional digits, leap seconds
    included: `instant("…00.12+02:00") < instant("…01Z")` compares what happened first.
    Raises ValueError for anything but an RFC 3339 timestamp with an offset; its message goes
    behind "… is".
    """
    plain = _PLAIN_UTC.match(text)
    if plain is not None:
        if plain[1] is not None:
            try:
                datetime.fromisoformat(plain[1])
            except ValueError as cause:
                raise _no_time(cause) from cause
        return text[:19] if len(text) == 20 else text[:-1].rstrip("0").rstrip(".")
    match = _rfc3339().match(text)
    if match is None:
        raise ValueError("not an RFC 3339 timestamp with an offset, such as 2026-07-29T17:00:00Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, zulu, sign, offset_hours, offset_minutes = match.groups()[6:]
    if second > 60:
        raise _no_time("seconds run from 00 to 59, or 60 for a leap second")
    try:
        moment = datetime(year, month, day, hour, minute)
        if zulu is None:
            hours, minutes = int(offset_hours), int(offset_minutes)
            if hours > 23 or minutes > 59:
                raise ValueError("the offset is too large")
            shift = timedelta(hours=hours, minutes=minutes)
            moment = moment + shift if sign == "-" else moment - shift
    except (OverflowError, ValueError) as cause:
        raise _no_time(cause) from cause
    if second == 60 and (moment.hour, moment.minute) != (23, 59):
        raise _no_time("a leap second ends a day in UTC")
    digits = (fraction or "").rstrip("0")
    key = f"{moment.year:04}-{moment:%m-%dT%H:%M}:{second:02}"
    return f"{key}.{digits}" if digits else key


@cache
def _rfc3339() -> re.Pattern[str]:
    """Compiled when it is first needed, and it seldom is."""
    return re.compile(
        r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?"
        r"(?:([Zz])|([+-])(\d{2}):(\d{2}))\Z",
        re.ASCII,
    )


def _no_time(why: object) -> ValueError:
    return ValueError(f"no time that there is: {why}")


def is_timestamp(text: object) -> bool:
    """Whether `text` is an RFC 3339 timestamp with an offset."""
    if not isinstance(text, str):
        return False
    try:
        instant(text)
    except ValueError:
        return False
    return True


def to_utc(text: str) -> str:
    """`text` in UTC with a `Z`, the same instant; unchanged when it is that already.

    An offset is converted, never relabelled. Raises ValueError as `instant` does.
    """
    key = instant(text)
    return text if text.endswith("Z") else key + "Z"


def from_nanoseconds(nanoseconds: int) -> str:
    """A point on the system clock, nanoseconds since 1970 in UTC, as a timestamp in
    microseconds: always 27 characters, so that equal widths compare as text."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    """Remembered, because what happens within a second is written many times."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from `earlier` to `later`, negative when they are the other way round."""
    return (_moment(later) - _moment(earlier)).total_seconds()


def _moment(text: str) -> datetime:
    key = instant(text)
    whole, _, digits = key.partition(".")
    leap = whole.endswith(":60")
    moment = datetime.fromisoformat(whole[:-2] + "59" if leap else whole)
    microseconds = int((digits + "000000")[:6])
    return moment.replace(tzinfo=UTC) + timedelta(seconds=leap, microseconds=microseconds)

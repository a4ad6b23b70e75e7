"""Cursors are opaque, belong to one query, and cannot be altered unseen."""

from __future__ import annotations

import pytest

from pamctl.encoding import base64url
from pamctl.errors import InvalidRequest
from pamctl.index.cursors import decode, encode

KEY = (1500, None, "2026-01-01T00:00:00", "mem:ü", -3)


def test_a_cursor_gives_back_what_it_was_made_of() -> None:
    assert decode(encode(KEY, "sha256:aa", 42), "sha256:aa") == (KEY, 42)
    assert decode(encode((), "q", 0), "q") == ((), 0)


def test_a_cursor_is_for_one_query() -> None:
    with pytest.raises(InvalidRequest, match="another query"):
        decode(encode(KEY, "sha256:aa", 42), "sha256:ab")


def test_every_altered_character_is_seen() -> None:
    cursor = encode(KEY, "sha256:aa", 42)
    for place, character in enumerate(cursor):
        other = "A" if character != "A" else "B"
        with pytest.raises(InvalidRequest):
            decode(cursor[:place] + other + cursor[place + 1 :], "sha256:aa")


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "A", "not base64!", "ünïcode", "AAAA"),
        encode(KEY, "q", 1)[:-4],
        encode(KEY, "q", 1) + "AAAA",
        base64url.encode(bytes(16) + b"[1,[]]"),
        base64url.encode(b"[1,[]]"),
    ],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        decode(cursor, "q")

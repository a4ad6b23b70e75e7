"""Who asks, when nobody says: the name of a user as an identifier."""

from __future__ import annotations

import pytest

from pamctl.cli import invocation
from pamctl.encoding.identifiers import is_identifier


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("ada", "ada"),
        ("ada.l-b_2", "ada.l-b_2"),
        ("Ada Lovelace", "Ada+20Lovelace"),
        ("müller", "m+C3+BCller"),
        ("CORP\\ada", "CORP+5Cada"),
        ("a+b", "a+2Bb"),
        ("a:b/c", "a+3Ab+2Fc"),
    ],
)
def test_a_user_name_becomes_part_of_an_identifier(
    monkeypatch: pytest.MonkeyPatch, user: str, name: str
) -> None:
    monkeypatch.setattr(invocation, "_user", lambda: user)
    assert invocation.local_name() == name
    assert is_identifier(f"actor:local:{invocation.local_name()}")


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invocation.os, "getuid", lambda: 2**31 - 3)
    assert invocation.local_name() == str(2**31 - 3)

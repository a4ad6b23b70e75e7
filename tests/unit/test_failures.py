"""What a caller is told when something other than a PamError ends a command."""

from __future__ import annotations

import errno

import pytest

from pamctl.cli.failures import as_error
from pamctl.cli.terminal.output import printable
from pamctl.errors import InternalError, InvalidRequest, ServiceUnavailable


def test_an_error_of_ours_is_told_as_it_is() -> None:
    error = InvalidRequest("no")
    assert as_error(error) is error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_refusal_of_the_system_may_pass_later(number: int) -> None:
    error = as_error(OSError(number, "reason", "/some/file"))
    assert isinstance(error, ServiceUnavailable)
    assert error.retryable
    assert "reason" in error.message
    assert "/some/file" in error.message


def test_anything_else_is_a_defect() -> None:
    error = as_error(ZeroDivisionError("boom"))
    assert isinstance(error, InternalError)
    assert "ZeroDivisionError" in error.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ☕ text", "plain ☕ text"),
        ("two\nlines\t", "two\nlines\t"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell\x07 del\x7f csi\x9b", "bell\\x07 del\\x7f csi\\x9b"),
        ("\u202eturned", "\\u202eturned"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_is_shown_has_no_power_over_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown

"""Exit statuses, as the error classes have them."""

from __future__ import annotations

from pamctl.cli.terminal.output import STATUS_READER_GONE
from pamctl.errors import CODES, EXIT_CHECK_FAILED, EXIT_INTERRUPTED


def exit_rows() -> list[tuple[str, str, str]]:
    """Every exit status: the number, the error code or nothing, what it means."""
    rows = [("0", "", "Success; a replayed idempotent request too.")]
    rows += [(str(kind.exit_status), kind.code, kind.meaning) for kind in CODES]
    rows += [
        (str(EXIT_CHECK_FAILED), "", "A check ran and its verdict is no."),
        (str(EXIT_INTERRUPTED), "", "Interrupted by Ctrl-C."),
        (str(STATUS_READER_GONE), "", "Whoever read the output closed it (SIGPIPE)."),
    ]
    return sorted(rows, key=lambda row: int(row[0]))

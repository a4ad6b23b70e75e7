"""Writes the generated pages of docs/: `make docs`. A test fails when one is not current."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pamctl import errors
from pamctl.cli.output import STATUS_READER_GONE
from pamctl.errors import CODES, EXIT_CHECK_FAILED, EXIT_INTERRUPTED, PamError

PAGES = Path(__file__).parent

_ERRORS_BEFORE = """\
<!-- Written by docs/generate.py from pamctl/errors.py: change it there, then `make docs`. -->

# Errors and exit statuses

A command that fails prints nothing on standard output. On standard error it prints a sentence
and, where there is one, what to do; in a pipe, the error envelope of PAMSPEC §14 as one line of
JSON:

```console
$ pamctl init --quiet
$ pamctl read mem:tea 2>&1 | cat
{"code":"object_not_found",...,"operation_id":"op:...","retryable":false}
```

| member | what it says |
|---|---|
| `code` | which of the errors below; scripts decide by it, or by the exit status |
| `message` | one sentence for a person; its wording may change |
| `retryable` | whether the same request may succeed later |
| `operation_id` | the operation that failed, as in the ledger and in logs |
| `details` | facts about it, `hint` among them; never anything the actor may not see |
| `policy_rule_id` | the rule of the scope's policy that decided, where one did |

The exit status says which kind of error it was; codes that a script treats alike share one.
`pamctl help exit-codes` prints this table.

"""

_ERRORS_BETWEEN = """
## Errors with a more exact name

Python raises these; on the command line they look like the error that they are a kind of.

"""


def errors_page() -> str:
    """The page of errors: every code with its status, and every class that has none of its own."""
    rows = [(0, "", "", "Success. A replayed idempotent request too.")]
    rows += [
        (error.exit_status, f"`{error.code}`", _yes(error.retryable), error.meaning)
        for error in CODES
    ]
    rows += [
        (EXIT_CHECK_FAILED, "", "", "A check ran and its verdict is no."),
        (EXIT_INTERRUPTED, "", "", "Interrupted by Ctrl-C."),
        (STATUS_READER_GONE, "", "", "Whoever read the output closed it, as `head -1` does."),
    ]
    rows.sort(key=lambda row: row[0])
    kinds = sorted(_kinds(), key=lambda kind: kind.__name__)
    return (
        _ERRORS_BEFORE
        + _table(("status", "code", "try again", "meaning"), rows)
        + _ERRORS_BETWEEN
        + _table(
            ("class", "is a", "meaning"),
            [(f"`{kind.__name__}`", f"`{kind.code}`", _one_line(kind.__doc__)) for kind in kinds],
        )
    )


def _kinds() -> list[type[PamError]]:
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, PamError)
        and value not in CODES
        and value is not PamError
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


GENERATED = {"errors.md": errors_page}
"""The generated pages: the file's name in docs/, and what writes its text."""


if __name__ == "__main__":
    for name, page in GENERATED.items():
        (PAGES / name).write_text(page(), encoding="utf-8")

"""How a command that failed says so: the error envelope, or a sentence, and a status.

In a pipe it is the envelope of PAMSPEC §14, one line of JSON. At a terminal it is a
sentence and, where there is one, a line that says what to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from typer._click.exceptions import (
    ClickException,
    MissingParameter,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)

from pamctl.cli.terminal import output
from pamctl.encoding.canonical import canonical
from pamctl.errors import InternalError, InvalidRequest, PamError, ServiceUnavailable


class MissingCommand(InvalidRequest):
    """A group was called without a command; its help says which there are."""

    def __init__(self, group: str, help_text: str) -> None:
        super().__init__(f"'{group}' needs a command", hint=f"'{group} --help' lists them")
        self.help_text = help_text


def as_error(cause: Exception) -> PamError:
    """The error that a caller is told when `cause` ends a command."""
    if isinstance(cause, PamError):
        return cause
    if isinstance(cause, NoArgsIsHelpError):
        return MissingCommand(cause.ctx.command_path, cause.message)
    if isinstance(cause, NoSuchOption):
        return InvalidRequest(f"there is no flag '{cause.option_name}'", hint=_flag_meant(cause))
    if isinstance(cause, MissingParameter):
        return InvalidRequest(_sentence(cause), hint=_missing(cause))
    if isinstance(cause, UsageError):
        return InvalidRequest(_sentence(cause), hint=getattr(cause, "advice", _usage(cause)))
    if isinstance(cause, ClickException):
        return InvalidRequest(_sentence(cause))
    if isinstance(cause, OSError):
        return _from_system(cause)
    return InternalError(
        f"unexpected {type(cause).__name__}: {cause}",
        hint="this is a defect of pamctl; PAM_DEBUG=1 shows where it happened",
    )


def _usage(cause: UsageError) -> str | None:
    return None if cause.ctx is None else f"'{cause.ctx.command_path} --help' shows how it is used"


def _missing(cause: MissingParameter) -> str | None:
    """What the parameter that is missing says, and where it is explained."""
    record = None
    if cause.param is not None and cause.ctx is not None:
        record = cause.param.get_help_record(cause.ctx)
    if record is None:
        return _usage(cause)
    term, text = record
    said = text.partition("  [")[0]
    said = said if said.endswith("...") else said.removesuffix(".")
    return f"{term}: {said[:1].lower()}{said[1:]}; {_usage(cause)}"


def _flag_meant(cause: NoSuchOption) -> str | None:
    """The flag of the command that is most like the one that it has not, or where to give it."""
    from difflib import get_close_matches

    from typer.core import TyperGroup

    if cause.ctx is None:
        return None
    command = cause.ctx.command
    if isinstance(command, TyperGroup) and _is_everywhere(cause.option_name):
        return f"it goes behind the command: '{cause.ctx.command_path} COMMAND {cause.option_name}'"
    names = [name for param in command.get_params(cause.ctx) for name in param.opts]
    flags = {name.lstrip("-"): name for name in names if name.startswith("-")}
    nearest = get_close_matches(cause.option_name.lstrip("-"), flags, n=1)
    return f"did you mean '{flags[nearest[0]]}'?" if nearest else _usage(cause)


def _is_everywhere(flag: str) -> bool:
    """Whether most commands have that flag."""
    from pamctl.cli import options

    return flag in {f"--{one.name.replace('_', '-')}" for one in options.SCOPED}


def _sentence(cause: ClickException) -> str:
    """The message in our manner: one line that starts low and ends without a full stop. The
    words to choose from are in the hint."""
    message = cause.format_message().partition(" Choose from:")[0].rstrip(".")
    return message[:1].lower() + message[1:]


def _from_system(cause: OSError) -> PamError:
    """A failure of the system below (no room, no permission, a read-only medium): the
    operation could not be carried out now, and was not."""
    reason = cause.strerror or str(cause)
    place = f": {cause.filename}" if cause.filename else ""
    hint = None
    if isinstance(cause, PermissionError):
        hint = (
            "you may not look there: run this as the user whose store it is; an export can be "
            "checked by anybody"
        )
    return ServiceUnavailable(f"the system refused: {reason}{place}", hint=hint)


def report(error: PamError, *, operation_id: str) -> int:
    """Writes `error` to standard error, and answers the exit status.

    operation_id: of the operation that failed; a new one where none was begun.
    """
    if output.is_terminal(sys.stderr):
        _write(_for_a_person(error, os.environ))
    else:
        from pamctl.cli.invocation import new_operation_id

        _write(_line(error, operation_id or new_operation_id()))
    return error.exit_status


def _line(error: PamError, operation_id: str) -> str:
    envelope: dict[str, Any] = error.envelope(operation_id)
    try:
        return canonical(envelope).decode() + "\n"
    except PamError:
        # Something in the details is no JSON value; the error matters more than they do.
        return canonical({**envelope, "details": {}}).decode() + "\n"


def _for_a_person(error: PamError, environment: Mapping[str, str]) -> str:
    if isinstance(error, MissingCommand):
        return error.help_text + "\n"
    mark = "pamctl:"
    if output.wants_colour(sys.stderr, environment):
        mark = f"\x1b[1;31m{mark}\x1b[0m"
    hint = error.details.get("hint")
    advice = f"  {output.printable(str(hint))}\n" if hint else ""
    return f"{mark} {output.printable(error.message)}\n{advice}"


def _write(text: str) -> None:
    """Standard error may be closed or full; there is nobody left to tell."""
    if sys.stderr is None:
        return
    try:
        if output.is_terminal(sys.stderr):
            sys.stderr.write(text)
        else:
            sys.stderr.buffer.write(text.encode())
        sys.stderr.flush()
    except OSError:
        return

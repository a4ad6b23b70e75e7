"""The command group: finds a command by its name, imports it, runs it, reports failure."""

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated

import typer
from typer._click import Command, Context, HelpFormatter
from typer._click.shell_completion import CompletionItem
from typer.main import get_command, get_command_name, get_group
from typer.models import CommandInfo

from pamctl.cli import failures
from pamctl.cli.command_table import COMMANDS
from pamctl.cli.invocation import EVALUATION_VARIABLE, Invocation
from pamctl.cli.terminal import output
from pamctl.cli.verbs import Group, application
from pamctl.cli.versions import VERSION
from pamctl.errors import InvalidRequest

COMPLETION_VARIABLE = "_PAMCTL_COMPLETE"

_OF_THE_STORE = ("init", "config", "key", "project", "repair", "pack")
"""Commands that change a store and not a scope of it."""


class LazyGroup(Group):
    """The commands of `COMMANDS`, each imported when it is called and not before."""

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return _built(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        name = args[0]
        if name in _OF_THE_STORE and ctx.obj.environment.get(EVALUATION_VARIABLE):
            from pamctl.errors import PolicyDenied

            raise PolicyDenied(
                f"'{name}' cannot be part of an evaluation: it changes what is in no scope",
                hint="call it before the evaluation or after it",
                policy_rule_id="evaluation_scope_only",
            )
        if name in COMMANDS:
            return name, _built(name, *args[1:2]), args[1:]
        nearest = get_close_matches(name, COMMANDS)
        guess = f"did you mean '{nearest[0]}'?" if nearest else "'pamctl --help' lists them"
        raise InvalidRequest(f"there is no command '{name}'", hint=guess)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for section in dict.fromkeys(line.section for line in COMMANDS.values()):
            rows = [(name, c.summary) for name, c in COMMANDS.items() if c.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        return [
            CompletionItem(name, help=line.summary)
            for name, line in COMMANDS.items()
            if name.startswith(incomplete)
        ] + Command.shell_complete(self, ctx, incomplete)


def _built(name: str, member: str | None = None) -> Command:
    """The command of that name. Of a group with that member, only the member is built: to
    build the others takes as long as to carry it out."""
    module = import_module(f"pamctl.cli.commands.{COMMANDS[name].module}")
    members = module.app.registered_commands
    called = [one for one in members if _name_of(one) == member]
    if len(members) > 1 and called:
        module.app.registered_commands = called
        command: Command = get_group(module.app)
        module.app.registered_commands = members
    else:
        command = get_command(module.app)
    command.name = name
    return command


def _name_of(member: CommandInfo) -> str:
    assert member.callback is not None
    return member.name or get_command_name(member.callback.__name__)


app = application(cls=LazyGroup)


def _print_version(asked: bool) -> None:
    if asked:
        output.write(VERSION.encode())
        raise typer.Exit


@app.callback(epilog="'pamctl COMMAND --help' explains a command, 'pamctl help' a topic.")
def pamctl(
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="With --version: also what a report of a defect needs.",
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Versioned, provable memory for AI agents, in plain files."""


def dispatch(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs one command line and answers its exit status. Reports every failure but those
    of standard output and Ctrl-C, which end the program above.

    arguments: the command line without the program, as the interpreter decoded it.
    """
    group = get_command(app)
    if COMPLETION_VARIABLE in environment:
        from pamctl.cli.completing import complete

        assert isinstance(group, LazyGroup)
        complete(group, environment[COMPLETION_VARIABLE], arguments, environment)
        return 0
    invocation = Invocation(environment)
    try:
        words = [_as_utf8(word, place) for place, word in enumerate(arguments, start=1)]
        with group.make_context("pamctl", words, obj=invocation) as context:
            group.invoke(context)
        return 0
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, output.ReaderGone, output.Unwritable):
        raise
    except Exception as cause:
        if environment.get("PAM_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        error = failures.as_error(cause)
        return failures.report(error, operation_id=invocation.operation_id)


def _as_utf8(word: str, place: int) -> str:
    """An argument as UTF-8 text, whatever encoding the locale claims."""
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeDecodeError as cause:
        raise InvalidRequest(
            f"argument {place} is not UTF-8", hint="give other bytes through a file"
        ) from cause

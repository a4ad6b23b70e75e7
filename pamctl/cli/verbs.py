"""How a command is declared: a function, an example, and the errors it may end with.

    app = application()

    @verb(app, options.SCOPED, example="pamctl read mem:tea", errors=(ObjectNotFound,))
    def read(call: Invocation, object_id: ObjectArgument) -> None:
        ...

The function states its own arguments; the common flags are added here and reach it inside
`call`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

import typer
from typer._click import Command, Context, HelpFormatter
from typer.core import TyperCommand, TyperGroup, TyperOption

from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output
from pamctl.errors import EXIT_CHECK_FAILED, InternalError, InvalidRequest, PamError
from pamctl.named_tuples import NamedTuple

P = ParamSpec("P")

COMMON_PANEL = "Options everywhere"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Facts(NamedTuple):
    """What help and manual say of a command beyond its options.

    example: command lines, one a line.
    errors: what it may end with besides invalid_request and internal_error.
    verdict: whether it can answer that a check said no.
    """

    example: str
    errors: tuple[type[PamError], ...]
    verdict: bool

    def statuses(self) -> list[tuple[int, str]]:
        """Exit statuses and what they mean, in order."""
        meanings: dict[int, list[str]] = {}
        errors: tuple[type[PamError], ...] = (InternalError, InvalidRequest, *self.errors)
        for error in errors:
            meanings.setdefault(error.exit_status, []).append(error.code)
        rows = [(0, "success")]
        rows += [(status, ", ".join(dict.fromkeys(codes))) for status, codes in meanings.items()]
        if self.verdict:
            rows.append((EXIT_CHECK_FAILED, "the check ran and its verdict is no"))
        return sorted(rows)


class _Helpful(Command):
    """Prints its help as every other answer is printed: whole, or with an error."""

    def get_help_option(self, ctx: Context) -> TyperOption | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option


def _show_help(ctx: Context, param: object, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        output.write_text(ctx.get_help() + "\n")
        ctx.exit()


class Group(_Helpful, TyperGroup):
    """Commands under one name."""


class Verb(_Helpful, TyperCommand):
    """A command whose help ends in an example and its exit statuses."""

    def facts(self) -> Facts:
        """What was declared with `verb`."""
        facts: Facts = self.callback.facts  # type: ignore[union-attr]
        return facts

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(section_of(param), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        facts = self.facts()
        with formatter.section("Example"):
            for line in facts.example.splitlines():
                formatter.write(f"  {line}\n")
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status), meaning) for status, meaning in facts.statuses()])


def section_of(param: Any) -> str:
    """The heading under which help lists a parameter."""
    if not isinstance(param, TyperOption):
        return "Arguments"
    common = param.rich_help_panel == COMMON_PANEL or param.name == "help"
    return COMMON_PANEL if common else "Options"


def application(*, cls: type[Group] = Group, summary: str | None = None) -> typer.Typer:
    """A typer application in the manner of this program: quick to start, plain in print."""
    return typer.Typer(
        cls=cls,
        help=summary,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def verb(
    app: typer.Typer,
    common: Sequence[inspect.Parameter],
    *,
    example: str,
    errors: tuple[type[PamError], ...] = (),
    verdict: bool = False,
    name: str | None = None,
) -> Callable[
    [Callable[Concatenate[Invocation, P], None]], Callable[Concatenate[Invocation, P], None]
]:
    """Makes a function a command of `app`.

    common: the flags of `options` that make sense for it.
    example, errors, verdict: see Facts.
    name: where it is not the function's.

    The function's first parameter is the Invocation; its docstring is the help.
    """

    def declare(
        function: Callable[Concatenate[Invocation, P], None],
    ) -> Callable[Concatenate[Invocation, P], None]:
        own = list(inspect.signature(function).parameters.values())[1:]

        def command(ctx: typer.Context, **values: Any) -> None:
            call: Invocation = ctx.obj
            call.accept({flag.name: values.pop(flag.name) for flag in common})
            call.command, call.arguments = ctx.command_path.partition(" ")[2], values
            try:
                function(call, **values)  # type: ignore[call-arg]
            finally:
                call.end()

        context = inspect.Parameter("ctx", _KEYWORD, annotation=typer.Context)
        parameters = [context, *(p.replace(kind=_KEYWORD) for p in own), *common]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        # The signature says all there is to say; typer would resolve every one of these again.
        command.__annotations__ = {}
        command.__name__ = function.__name__
        command.__doc__ = function.__doc__
        command.facts = Facts(example, errors, verdict)  # type: ignore[attr-defined]
        app.command(name, cls=Verb)(command)
        return function

    return declare

"""Every command of the program, by its words, from the same table that help is written from."""

from __future__ import annotations

from functools import cache

from typer._click import Command, Context, Parameter
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from pamctl.cli.application import LazyGroup, app
from pamctl.cli.command_table import COMMANDS
from pamctl.cli.verbs import Verb

Words = tuple[str, ...]


def _collect() -> dict[Words, tuple[Verb, Context]]:
    group = get_command(app)
    assert isinstance(group, LazyGroup)
    root = Context(group, info_name="pamctl", help_option_names=["-h", "--help"])
    found: dict[Words, tuple[Verb, Context]] = {}

    def add(words: Words, command: Command, parent: Context) -> None:
        context = Context(command, info_name=words[-1], parent=parent)
        if isinstance(command, TyperGroup):
            for name, member in command.commands.items():
                add((*words, name), member, context)
        else:
            assert isinstance(command, Verb)
            found[words] = (command, context)

    for name in COMMANDS:
        command = group.get_command(root, name)
        assert command is not None
        add((name,), command, root)
    return found


VERBS = _collect()
"""The commands that do something: `("scope", "list")` and so on."""


@cache
def flags_of(words: Words) -> frozenset[str]:
    """The flags of a command, long and short."""
    verb, context = VERBS[words]
    return frozenset(
        name
        for param in verb.get_params(context)
        for name in (*param.opts, *param.secondary_opts)
        if name.startswith("-")
    )


FIRST_OF_ITS_KIND = {
    "int": "1",
    "integer": "1",
    "float": "0.5",
    "time": "2026-01-01T00:00:00Z",
}


def plausible(param: Parameter) -> str:
    """A value that a parameter takes, as far as its type tells."""
    words = getattr(getattr(param.type, "func", None), "words", None) or getattr(
        param.type, "choices", None
    )
    if words:
        return str(words[0])
    named = FIRST_OF_ITS_KIND.get(param.type.name)
    if named is not None:
        return named
    metavar = str(param.metavar or "")
    if "JSON" in metavar or param.name == "content":
        return "{}"
    return {"TIME": FIRST_OF_ITS_KIND["time"], "N": "1", "URI": "urn:nothing"}.get(
        metavar, "mem:nothing"
    )


def call_of(words: tuple[str, ...]) -> list[str]:
    """The command with everything that it must be given, and nothing else."""
    verb, context = VERBS[words]
    call = list(words)
    for param in verb.get_params(context):
        if param.required:
            name = [param.opts[0]] if isinstance(param, TyperOption) else []
            call += [*name, plausible(param)]
    return call

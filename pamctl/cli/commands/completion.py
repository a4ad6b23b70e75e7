"""`pamctl completion`: what a shell needs to complete pamctl's words."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output
from pamctl.cli.verbs import application, verb

app = application()

_SCRIPTS = Path(__file__).parents[1] / "completions"
SCRIPTS = {"bash": "pamctl.bash", "zsh": "_pamctl", "fish": "pamctl.fish"}
"""By shell, the file in completions/; installed with the package where the shell looks."""


@verb(
    app,
    (),
    example="""eval "$(pamctl completion bash)"
pamctl completion fish > ~/.config/fish/completions/pamctl.fish""",
)
def completion(
    call: Invocation,
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")
    ],
) -> None:
    """Print a shell's completion.

    It is a script that makes the shell complete commands, flags, states and types, and from
    the store identifiers, versions, scopes, snapshots and keys, as far as you may see them.
    """
    output.write((_SCRIPTS / SCRIPTS[shell]).read_bytes())

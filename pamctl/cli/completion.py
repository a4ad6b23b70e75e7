"""`pamctl completion`: what a shell needs to complete pamctl's words."""

from typing import Annotated, Literal

import typer
from typer._completion_shared import get_completion_script

from pamctl.cli import output
from pamctl.cli.application import COMPLETION_VARIABLE
from pamctl.cli.invocation import Invocation
from pamctl.cli.verbs import application, verb

app = application()


@verb(app, (), example='eval "$(pamctl completion bash)"')
def completion(
    call: Invocation,
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")
    ],
) -> None:
    """Print a shell's completion.

    It is a script that makes the shell complete pamctl's commands and options.
    """
    script = get_completion_script(
        prog_name="pamctl", complete_var=COMPLETION_VARIABLE, shell=shell
    )
    output.write(f"{script.strip()}\n".encode())

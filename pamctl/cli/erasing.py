"""What the commands share that can erase: their flags, and the question before it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output, presentation
from pamctl.errors import EXIT_INTERRUPTED

Erase = Annotated[
    bool,
    typer.Option(
        "--erase", help="Remove the content of every version concerned from the store, for good."
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Erase without asking; only a terminal is asked.")
]


def confirm(call: Invocation, what: str, *, yes: bool) -> None:
    """Asks a person at a terminal before something is erased; ends the program unless the
    answer is yes. Programs are not asked."""
    if yes or not (output.is_terminal(sys.stdin) and output.is_terminal(sys.stderr)):
        return
    question = f"Erase {what} for good? It cannot be undone. [y/N] "
    print(output.printable(question), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        call.note("nothing was changed")
        raise typer.Exit(EXIT_INTERRUPTED)


def done(verb: str) -> Callable[[Mapping[str, Any]], str]:
    """The sentence after a redaction or a deletion, with what was erased by it."""
    sentence = presentation.committed(verb)

    def spoken(result: Mapping[str, Any]) -> str:
        erased = result.get("erased_versions")
        if erased is None:
            return sentence(result)
        return f"{sentence(result)}; erased {erased} versions"

    return spoken


def warn(call: Invocation, result: Mapping[str, Any]) -> None:
    """Tells where text that was erased still stands in other members."""
    places = result.get("also_found_in")
    if places:
        call.note(
            "the erased text also stands in members that were not named, of "
            f"{', '.join(places)}; redact those too, if it has to go"
        )

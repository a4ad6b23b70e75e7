"""`pamctl help`: what concerns more than one command."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Annotated

import typer

from pamctl.cli import output
from pamctl.cli.command_table import COMMANDS
from pamctl.cli.exit_statuses import exit_statuses
from pamctl.cli.invocation import Invocation
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidRequest

app = application()

TOPICS: dict[str, tuple[str, Callable[[], str]]] = {
    "exit-codes": ("What each exit status means.", exit_statuses),
}


@verb(app, (), example="pamctl help exit-codes")
def help(  # noqa: A001 (a command's name is its function's)
    call: Invocation,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Leave it out to list the topics.")
    ] = None,
) -> None:
    """Explain a topic.

    A topic concerns more than one command.
    """
    if topic is None:
        text = "".join(f"{name:<14}{summary}\n" for name, (summary, _) in TOPICS.items())
    elif topic in TOPICS:
        text = TOPICS[topic][1]()
    else:
        raise InvalidRequest(f"there is no topic '{topic}'", hint=_advice(topic))
    output.write(text.encode())


def _advice(topic: str) -> str:
    if topic in COMMANDS:
        return f"it is a command: 'pamctl {topic} --help' explains it"
    nearest = get_close_matches(topic, TOPICS, n=1)
    return f"did you mean '{nearest[0]}'?" if nearest else "'pamctl help' lists them"

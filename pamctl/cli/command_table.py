"""Every command in one table. Adding one is adding a line.

Help and completion are written from here, so that neither imports a command.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandLine(NamedTuple):
    """A command before its module is imported.

    module: the module whose `app` it is.
    summary: what it does, in a line of help.
    section: the heading under which help lists it.
    """

    module: str
    summary: str
    section: str


COMMANDS: dict[str, CommandLine] = {
    "init": CommandLine("pamctl.cli.init", "Make a store.", "Store"),
    "status": CommandLine("pamctl.cli.status", "Show the store, its scopes and heads.", "Store"),
    "scope": CommandLine("pamctl.cli.scope", "Create, list and govern scopes.", "Store"),
    "index": CommandLine("pamctl.cli.index", "Inspect or rebuild the derived index.", "Store"),
    "fsck": CommandLine("pamctl.cli.fsck", "Check the whole store.", "Store"),
    "repair": CommandLine("pamctl.cli.repair", "Repair the store, or say how.", "Store"),
    "create": CommandLine("pamctl.cli.create", "Write a new memory.", "Memories"),
    "read": CommandLine("pamctl.cli.read", "Read a memory, now or as it was.", "Memories"),
    "update": CommandLine("pamctl.cli.update", "Write a new version of a memory.", "Memories"),
    "transition": CommandLine("pamctl.cli.transition", "Change a state of a memory.", "Memories"),
    "relate": CommandLine("pamctl.cli.relate", "Relate a memory to another.", "Memories"),
    "promote": CommandLine(
        "pamctl.cli.promote", "Make a lasting memory of working memory.", "Memories"
    ),
    "redact": CommandLine("pamctl.cli.redact", "Hide or erase content of a memory.", "Memories"),
    "expire": CommandLine(
        "pamctl.cli.expire", "Expire what retention rules say is due.", "Memories"
    ),
    "delete": CommandLine("pamctl.cli.delete", "Delete a memory, leaving a tombstone.", "Memories"),
    "query": CommandLine("pamctl.cli.query", "Find memories.", "Finding out"),
    "history": CommandLine("pamctl.cli.history", "Show what became of a memory.", "Finding out"),
    "log": CommandLine("pamctl.cli.log", "Show the events of a scope.", "Finding out"),
    "subscribe": CommandLine(
        "pamctl.cli.subscribe", "Be told of what happens in a scope.", "Finding out"
    ),
    "snapshot": CommandLine(
        "pamctl.cli.snapshot", "Seal a view of a scope, and compare two.", "Evaluation"
    ),
    "evaluate": CommandLine(
        "pamctl.cli.evaluate", "Run a command so that it can be repeated.", "Evaluation"
    ),
    "space": CommandLine("pamctl.cli.space", "Describe what vectors mean.", "Vectors"),
    "embed": CommandLine("pamctl.cli.embed", "Keep vectors of memories.", "Vectors"),
    "key": CommandLine("pamctl.cli.key", "Make, list and trust signing keys.", "Projections"),
    "project": CommandLine(
        "pamctl.cli.project", "Turn memories into signed context bytes.", "Projections"
    ),
    "verify-projection": CommandLine(
        "pamctl.cli.verify_projection", "Verify projection records.", "Projections"
    ),
    "delegate": CommandLine("pamctl.cli.delegate", "Let others act, within bounds.", "Authority"),
    "batch": CommandLine("pamctl.cli.batch", "Carry out many operations, one a line.", "Programs"),
    "stdio": CommandLine("pamctl.cli.stdio", "Serve operations as a coprocess.", "Programs"),
    "completion": CommandLine("pamctl.cli.completion", "Print a shell's completion.", "Programs"),
    "help": CommandLine("pamctl.cli.help", "Explain a topic.", "Programs"),
}

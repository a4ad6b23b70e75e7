"""Every command in one table. Adding one is adding a line.

Help and completion are written from here, so that neither imports a command.
"""

from __future__ import annotations

from pamctl.named_tuples import NamedTuple


class CommandLine(NamedTuple):
    """A command before its module is imported.

    module: in `pamctl.cli.commands`, whose `app` it is.
    summary: what it does, in a line of help.
    section: the heading under which help lists it.
    """

    module: str
    summary: str
    section: str


COMMANDS: dict[str, CommandLine] = {
    "init": CommandLine("init", "Make a store.", "Store"),
    "status": CommandLine("status", "Show the store, its scopes and heads.", "Store"),
    "scope": CommandLine("scope", "Create, list and govern scopes.", "Store"),
    "index": CommandLine("index", "Inspect or rebuild the derived index.", "Store"),
    "fsck": CommandLine("fsck", "Check the whole store.", "Store"),
    "repair": CommandLine("repair", "Repair the store, or say how.", "Store"),
    "pack": CommandLine("pack", "Move version files into packs.", "Store"),
    "config": CommandLine("config", "Show or set what holds by default.", "Store"),
    "create": CommandLine("create", "Write a new memory.", "Memories"),
    "read": CommandLine("read", "Read a memory, now or as it was.", "Memories"),
    "update": CommandLine("update", "Write a new version of a memory.", "Memories"),
    "transition": CommandLine("transition", "Change a state of a memory.", "Memories"),
    "relate": CommandLine("relate", "Relate a memory to another.", "Memories"),
    "promote": CommandLine("promote", "Make a lasting memory of working memory.", "Memories"),
    "redact": CommandLine("redact", "Hide or erase content of a memory.", "Memories"),
    "expire": CommandLine("expire", "Expire what retention rules say is due.", "Memories"),
    "delete": CommandLine("delete", "Delete a memory, leaving a tombstone.", "Memories"),
    "query": CommandLine("query", "Find memories.", "Finding out"),
    "history": CommandLine("history", "Show what became of a memory.", "Finding out"),
    "diff": CommandLine("diff", "Show what changed between two versions.", "Finding out"),
    "log": CommandLine("log", "Show the events of a scope.", "Finding out"),
    "subscribe": CommandLine("subscribe", "Be told of what happens in a scope.", "Finding out"),
    "snapshot": CommandLine("snapshot", "Seal a view of a scope, and compare two.", "Evaluation"),
    "evaluate": CommandLine("evaluate", "Run a command so that it can be repeated.", "Evaluation"),
    "schema": CommandLine("schema", "Register what content has to look like.", "Authority"),
    "space": CommandLine("space", "Describe what vectors mean.", "Vectors"),
    "embed": CommandLine("embed", "Keep vectors of memories.", "Vectors"),
    "key": CommandLine("key", "Make, list and trust signing keys.", "Projections"),
    "project": CommandLine("project", "Turn memories into signed context bytes.", "Projections"),
    "verify-projection": CommandLine(
        "verify_projection", "Verify projection records.", "Projections"
    ),
    "export": CommandLine("export", "Carry memory away in a file.", "Carrying away"),
    "import": CommandLine("import_", "Take over memory from a file.", "Carrying away"),
    "verify-export": CommandLine(
        "verify_export",
        "Check an exported file, without a store.",
        "Carrying away",
    ),
    "audit": CommandLine(
        "audit",
        "Say what an export or a store holds, and whether it is sound.",
        "Audit",
    ),
    "checkpoint": CommandLine(
        "checkpoint",
        "Sign the head of a ledger, and prove what is in it.",
        "Audit",
    ),
    "delegate": CommandLine("delegate", "Let others act, within bounds.", "Authority"),
    "batch": CommandLine("batch", "Carry out many operations, one a line.", "Programs"),
    "stdio": CommandLine("stdio", "Serve operations as a coprocess.", "Programs"),
    "completion": CommandLine("completion", "Print a shell's completion.", "Programs"),
    "help": CommandLine("help", "Explain a topic.", "Programs"),
}

"""`pamctl expire`: the expiries that a scope's retention rules say are due."""

from typing import Annotated

import typer

from pamctl.cli import parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once, refuse_key
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import AccessDenied, DuplicateOperation, ScopeNotFound, ServiceUnavailable

app = application()


@verb(
    app,
    writing.KEYED,
    example="""pamctl expire --dry-run
pamctl expire --scope workspace:meetings""",
    errors=(ScopeNotFound, DuplicateOperation, AccessDenied, ServiceUnavailable),
)
def expire(
    call: Invocation,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is due, and change nothing.")
    ] = False,
    limit: parameters.Limit = None,
) -> None:
    """Expire what retention rules say is due.

    The rules are in the policy of the scope. Each memory that is due gets a new version whose
    retention is 'expired', on the basis of its rule. Nothing expires unless this is called,
    nothing is hidden or removed by it, and a memory under legal hold is never due.
    """
    if dry_run:
        refuse_key(call, "--dry-run changes nothing")
    request = call.request(dry_run=dry_run or None, limit=limit)
    answer = once(call, lambda: call.perform("expire", request))
    if answer["held"]:
        call.note(f"{answer['held']} more would be due, were it not for a legal hold")
    for refused in answer["refused"]:
        call.note(f"{refused['object_id']} stays as it is: {refused['code']}")
    if answer["more"]:
        call.note("others are due too; call it again")
    presentation.show_items(
        call,
        answer,
        [
            presentation.Column("OBJECT", lambda item: str(item["object_id"]), whole=True),
            presentation.Column("TYPE", lambda item: str(item["object_type"])),
            presentation.Column("RULE", lambda item: str(item["policy_rule_id"])),
            presentation.Column("VERSION", lambda item: str(item["version_id"]), whole=True),
        ],
    )

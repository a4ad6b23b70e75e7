"""`pamctl redact`: hide the content of a memory, or erase it."""

from typing import Annotated

import typer

from pamctl.cli import erasing, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidStateTransition, LegalHold

app = application()


@verb(
    app,
    writing.CHANGE,
    example="""pamctl redact mem:tea --expect ver:1 --policy-basis 'asked by its subject'
pamctl redact mem:tea --expect ver:1 --policy-basis 'not needed' --path /guest/phone --erase""",
    errors=(*writing.ERRORS, InvalidStateTransition, LegalHold),
)
def redact(
    call: Invocation,
    object_id: parameters.ObjectArgument,
    expect: parameters.Expect,
    policy_basis: parameters.PolicyBasis,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            metavar="JSON-POINTER",
            help="Only this member of the content; may be repeated.",
        ),
    ] = None,
    erase: erasing.Erase = False,
    yes: erasing.Yes = False,
) -> None:
    """Hide or erase content of a memory.

    All of it, or the members that --path names. What is hidden comes back with 'pamctl
    transition OBJECT availability available'. With --erase it does not: it is gone from all
    versions, and what is left of them says that they were there, when, and by whom.
    Provenance stays what it was, unless flags state it.
    """
    request = call.request(
        object_id=object_id,
        expected_version_id=expect,
        policy_basis=policy_basis,
        paths=path,
        erase=erase or None,
    )
    if writing.states_provenance(call):
        request["provenance"] = writing.provenance(call, "redacted")
    if erase:
        what = f"{len(path)} members" if path else "all content"
        erasing.confirm(call, f"{what} of {object_id} from all its versions", yes=yes)
    result = call.perform("redact", request)
    erasing.warn(call, result)
    presentation.show_done(call, result, erasing.done("redacted"))

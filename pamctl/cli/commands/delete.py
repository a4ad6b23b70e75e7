"""`pamctl delete`: the last version of a memory, a tombstone."""

from pamctl.cli import erasing, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidStateTransition, LegalHold

app = application()


@verb(
    app,
    writing.CHANGE,
    example="""pamctl delete mem:tea --expect ver:1 --policy-basis 'asked by its subject'
pamctl delete mem:tea --expect ver:2 --policy-basis 'asked by its subject' --erase""",
    errors=(*writing.ERRORS, InvalidStateTransition, LegalHold),
)
def delete(
    call: Invocation,
    object_id: parameters.ObjectArgument,
    expect: parameters.Expect,
    policy_basis: parameters.PolicyBasis,
    erase: erasing.Erase = False,
    yes: erasing.Yes = False,
) -> None:
    """Delete a memory, leaving a tombstone.

    It is no longer found or read. The content of its versions stays in the store's files;
    with --erase it goes from there too, also when the memory was deleted before.
    """
    request = call.request(
        object_id=object_id,
        expected_version_id=expect,
        policy_basis=policy_basis,
        erase=erase or None,
        provenance=writing.provenance(call, "deleted"),
    )
    if erase:
        erasing.confirm(call, f"all content of {object_id} from all its versions", yes=yes)
    presentation.show_done(call, call.perform("delete", request), erasing.done("deleted"))

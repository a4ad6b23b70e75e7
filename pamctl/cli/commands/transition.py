"""`pamctl transition`: another state of a memory, in one of four dimensions."""

from typing import Annotated

import typer

from pamctl.cli import options, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import InvalidStateTransition, LegalHold
from pamctl.model.vocabulary import (
    AVAILABILITY_STATES,
    DIMENSIONS,
    LIFECYCLE_STATES,
    RETENTION_STATES,
    VALIDATION_STATES,
)

STATES_OF = {
    "lifecycle": LIFECYCLE_STATES,
    "validation": VALIDATION_STATES,
    "availability": AVAILABILITY_STATES,
    "retention": RETENTION_STATES,
}
# A state of another dimension is refused as a transition, by the service.
_STATES = frozenset(state for states in STATES_OF.values() for state in states)

app = application()


@verb(
    app,
    writing.CHANGE,
    example="pamctl transition mem:tea validation corroborated --expect ver:1 "
    "--policy-basis 'two sources agree'",
    errors=(*writing.ERRORS, InvalidStateTransition, LegalHold),
)
def transition(
    call: Invocation,
    object_id: parameters.ObjectArgument,
    dimension: Annotated[
        str,
        typer.Argument(
            metavar="DIMENSION",
            help=", ".join(DIMENSIONS) + ".",
            parser=options.one_of("dimension", DIMENSIONS),
        ),
    ],
    state: Annotated[str, typer.Argument(metavar="STATE", help="The state to change to.")],
    expect: parameters.Expect,
    policy_basis: parameters.PolicyBasis,
    override: Annotated[
        str | None,
        typer.Option("--override", metavar="RULE", help="The policy's rule that permits it."),
    ] = None,
) -> None:
    """Change a state of a memory.

    The memory gets a new version. Which changes are allowed is in the policy of the scope
    and in the tables of PAMSPEC; a refusal names them.
    """
    if state not in _STATES:
        options.one_of(f"{dimension} state", STATES_OF[dimension])(state)
    request = call.request(
        object_id=object_id,
        expected_version_id=expect,
        dimension=dimension,
        target_state=state,
        policy_basis=policy_basis,
        override=override,
        provenance=writing.provenance(call, "transitioned"),
    )
    result = call.perform("transition", request)
    presentation.show_done(call, result, presentation.committed(f"changed {dimension} of"))

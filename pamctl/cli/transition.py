"""`pamctl transition`: another state of a memory, in one of four dimensions."""

from typing import Annotated

import typer

from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.provenance import provenance
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidStateTransition,
    LegalHold,
    ObjectDeleted,
    ObjectNotFound,
    PolicyDenied,
    RetentionRestriction,
    ServiceUnavailable,
    VersionConflict,
)
from pamctl.model.vocabulary import DIMENSIONS

app = application()


@verb(
    app,
    options.SCOPED,
    example="pamctl transition mem:tea validation corroborated --expect ver:1 "
    "--policy-basis 'two sources agree'",
    errors=(
        ObjectNotFound,
        VersionConflict,
        DuplicateOperation,
        InvalidStateTransition,
        AccessDenied,
        PolicyDenied,
        RetentionRestriction,
        LegalHold,
        ObjectDeleted,
        ServiceUnavailable,
    ),
)
def transition(
    call: Invocation,
    object_id: options.ObjectArgument,
    dimension: Annotated[
        str,
        typer.Argument(
            metavar="DIMENSION",
            help=", ".join(DIMENSIONS) + ".",
            parser=options.one_of("dimension", DIMENSIONS),
        ),
    ],
    state: Annotated[str, typer.Argument(metavar="STATE", help="The state to change to.")],
    expect: options.Expect,
    policy_basis: options.PolicyBasis,
    override: Annotated[
        str | None,
        typer.Option("--override", metavar="RULE", help="The policy's rule that permits it."),
    ] = None,
    idempotency_key: options.IdempotencyKey = None,
    source: options.Source = None,
    activity: options.Activity = None,
    evidence: options.Evidence = None,
    provenance_file: options.ProvenanceFile = None,
) -> None:
    """Change a state of a memory.

    The memory gets a new version. Which changes are allowed is in the policy of the scope
    and in the tables of PAMSPEC; a refusal names them.
    """
    request = call.request(
        object_id=object_id,
        expected_version_id=expect,
        dimension=dimension,
        target_state=state,
        policy_basis=policy_basis,
        override=override,
        idempotency_key=idempotency_key,
        provenance=provenance(
            "transitioned",
            file=provenance_file,
            activity=activity,
            source=source,
            evidence=evidence,
            source_confidence=None,
        ),
    )
    result = call.perform("transition", request)
    presentation.show_done(call, result, presentation.committed(f"changed {dimension} of"))

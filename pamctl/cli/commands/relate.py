"""`pamctl relate`: a link between two memories, or a new version of one."""

from typing import Annotated

import typer

from pamctl.cli import input as given
from pamctl.cli import options, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    InvalidObject,
    InvalidRequest,
    ObjectRedacted,
    RelationshipConflict,
    ScopeNotFound,
)
from pamctl.model.vocabulary import DIRECTIONALITIES

app = application()


@verb(
    app,
    writing.ASSERTION,
    example="""pamctl relate mem:tea supports mem:schedule
pamctl relate mem:tea about mem:ada --content '{"weight": 0.7}' --id rel:tea-ada
pamctl relate --relationship rel:tea-ada --expect ver:1 --content '{"weight": 0.9}'""",
    errors=(*writing.ERRORS, ScopeNotFound, RelationshipConflict, ObjectRedacted, InvalidObject),
)
def relate(
    call: Invocation,
    source_object_id: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="The memory that it starts from.")
    ] = None,
    relationship_type: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE",
            help="supports, contradicts, derived_from, part_of ... or a name of your own.",
        ),
    ] = None,
    target_object_id: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="The memory that it leads to.")
    ] = None,
    directionality: Annotated[
        str | None,
        typer.Option(
            "--directionality",
            metavar="D",
            help=", ".join(DIRECTIONALITIES) + "; default: directed.",
            parser=options.one_of("directionality", DIRECTIONALITIES),
        ),
    ] = None,
    target_scope: Annotated[
        str | None,
        typer.Option(
            "--target-scope",
            metavar="SCOPE",
            help="The scope of TARGET, where it is another; both policies have to grant it.",
        ),
    ] = None,
    new_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Its identifier; default: a new rel: identifier."),
    ] = None,
    relationship: Annotated[
        str | None,
        typer.Option(
            "--relationship", metavar="ID", help="Update that relationship, in place of a new one."
        ),
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="VERSION", help="The version that it is updated on."),
    ] = None,
    content: Annotated[
        str | None,
        typer.Option("--content", metavar="JSON", help="Its attributes; - is standard input."),
    ] = None,
    content_file: parameters.ContentFile = None,
    policy_basis: Annotated[
        str | None,
        typer.Option(
            "--policy-basis", metavar="TEXT", help="Why policy allows it, with --target-scope."
        ),
    ] = None,
    lifecycle: parameters.Lifecycle = None,
    availability: parameters.Availability = None,
    retention: parameters.Retention = None,
    validation: parameters.Validation = None,
) -> None:
    """Relate a memory to another.

    The relationship is a thing of its own, with versions and states; neither memory gets a
    version by it. read, history, transition and delete take its identifier like a memory's.
    """
    if (relationship is None) != (expect is None):
        raise InvalidRequest(
            "an update needs --relationship and --expect",
            hint="a new relationship takes --id, if it is to have an identifier of your choice",
        )
    if relationship is not None and new_id is not None:
        raise InvalidRequest("--relationship updates, --id names a new one", hint="give one")
    if relationship is None and target_object_id is None:
        raise InvalidRequest("a new relationship needs SOURCE, TYPE and TARGET")
    request = call.request(
        relationship_id=relationship or new_id,
        expected_version_id=expect,
        source_object_id=source_object_id,
        relationship_type=relationship_type,
        target_object_id=target_object_id,
        directionality=directionality,
        target_scope_id=target_scope,
        policy_basis=policy_basis,
        lifecycle_state=lifecycle,
        availability_state=availability,
        retention_state=retention,
        validation_state=validation,
        provenance=writing.provenance(call, "related"),
        **writing.times(call),
    )
    attributes = given.Source(content, content_file)
    if attributes.is_given:
        request["canonical_content"] = given.json_value(attributes, "--content")
    done = "related by" if relationship is None else "updated"
    presentation.show_done(call, call.perform("relate", request), presentation.committed(done))

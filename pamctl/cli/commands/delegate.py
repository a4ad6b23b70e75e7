"""`pamctl delegate`: authority that one actor gives another. PAMSPEC §15.4, §18.2."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import options, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidObject,
    InvalidStateTransition,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
    VersionConflict,
)
from pamctl.limits import INTEGER_MAX
from pamctl.model.vocabulary import OPERATIONS

app = application(summary="Let others act, within bounds.")

DelegationArgument = Annotated[
    str,
    typer.Argument(metavar="DELEGATION", help="Identifier of the delegation.", show_default=False),
]
_operation = options.one_of("operation", OPERATIONS)


@verb(
    app,
    writing.KEYED,
    example="""pamctl delegate grant actor:agent:helper --operation read --operation query \\
  --not-after 2026-12-31T00:00:00Z --policy-basis 'helps with the garden' --usage-limit 100""",
    errors=(
        ScopeNotFound,
        AccessDenied,
        PolicyDenied,
        InvalidObject,
        DuplicateOperation,
        ServiceUnavailable,
    ),
)
def grant(
    call: Invocation,
    delegate: Annotated[
        str,
        typer.Argument(metavar="ACTOR", help="The actor who may then act.", show_default=False),
    ],
    operations: Annotated[
        list[str],
        typer.Option(
            "--operation",
            metavar="OPERATION",
            help="What the actor may do; may be repeated: " + ", ".join(OPERATIONS) + ".",
            parser=_operation,
            show_default=False,
        ),
    ],
    not_after: Annotated[
        str,
        typer.Option(
            "--not-after",
            metavar="TIME",
            help="When it ends, RFC 3339.",
            parser=options.time,
            show_default=False,
        ),
    ],
    policy_basis: parameters.PolicyBasis,
    not_before: Annotated[
        str | None,
        typer.Option(
            "--not-before",
            metavar="TIME",
            help="When it begins; default: now.",
            parser=options.time,
        ),
    ] = None,
    object_types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="On objects of that type only.",
            parser=options.object_type,
        ),
    ] = None,
    object_ids: Annotated[
        list[str] | None,
        typer.Option("--object", metavar="OBJECT", help="On that object only; may be repeated."),
    ] = None,
    usage_limit: Annotated[
        int | None,
        typer.Option(
            "--usage-limit",
            metavar="N",
            help="How often it may be used; checks count.",
            parser=options.whole_number(1, INTEGER_MAX),
        ),
    ] = None,
    target_scope: Annotated[
        str | None,
        typer.Option("--target-scope", metavar="ID", help="In that scope instead of this one."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="What the actor is: agent, human ...")
    ] = "agent",
    irrevocable: Annotated[
        bool, typer.Option("--not-revocable", help="Nobody can end it before its time.")
    ] = False,
) -> None:
    """Let another actor do what you may do.

    What is granted has to be held: by the policy of the scope or, with --delegation, under
    that delegation. It is asked again at every use, so what you lose, nobody has through you.
    """
    request = call.request(
        granting_actor=call.actor,
        delegated_actor={"actor_id": delegate, "actor_kind": kind},
        granted_operations=operations,
        granted_object_types=object_types,
        granted_object_ids=object_ids,
        target_scope_id=target_scope,
        policy_basis=policy_basis,
        not_before=not_before,
        not_after=not_after,
        revocable=False if irrevocable else None,
        usage_limit=usage_limit,
    )
    result = call.perform("grant_delegation", request)
    presentation.show_done(call, result, _granted)


@verb(
    app,
    writing.KEYED,
    example="pamctl delegate check del:1 read --object mem:tea --actor actor:agent:helper",
    errors=(ScopeNotFound, AccessDenied, DuplicateOperation, ServiceUnavailable),
)
def check(
    call: Invocation,
    delegation_id: DelegationArgument,
    operation: Annotated[
        str,
        typer.Argument(
            metavar="OPERATION", help="What is to be done.", parser=_operation, show_default=False
        ),
    ],
    object_id: Annotated[
        str | None, typer.Option("--object", metavar="OBJECT", help="To that object.")
    ] = None,
    object_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="To an object of that type.")
    ] = None,
    delegate: Annotated[
        str | None,
        typer.Option("--delegate", metavar="ID", help="By that actor; default: --actor."),
    ] = None,
) -> None:
    """Say whether a delegation allows something.

    A check that succeeds counts as a use. Whatever is wrong, the answer is the same denial;
    'pamctl delegate list' tells its grantor and its holder more, and counts nothing.
    """
    request = call.request(
        delegation_id=delegation_id,
        delegated_actor_id=delegate or call.actor["actor_id"],
        operation=operation,
        object_id=object_id,
        object_type=object_type,
    )
    granted = call.perform("check_delegation", request)["envelope"]
    presentation.show(call, granted, _card)


@verb(
    app,
    writing.KEYED,
    example="pamctl delegate revoke del:1 --policy-basis 'the work is done'",
    errors=(
        ObjectNotFound,
        AccessDenied,
        PolicyDenied,
        InvalidStateTransition,
        VersionConflict,
        DuplicateOperation,
        ServiceUnavailable,
    ),
)
def revoke(
    call: Invocation,
    delegation_id: DelegationArgument,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="VERSION", help="Only if that is its version."),
    ] = None,
    policy_basis: Annotated[
        str | None, typer.Option("--policy-basis", metavar="TEXT", help="Why.")
    ] = None,
) -> None:
    """End a delegation at once.

    What was granted under it ends with it. Its grantor may, and whom the policy of the scope
    lets revoke_delegation.
    """
    request = call.request(
        delegation_id=delegation_id,
        expected_version_id=expect,
        policy_basis=policy_basis,
    )
    result = call.perform("revoke_delegation", request)
    presentation.show_done(
        call, result, lambda done: f"revoked {done['delegation_id']}, version {done['version_id']}"
    )


@verb(
    app,
    options.SCOPED,
    example="pamctl delegate list --to actor:agent:helper --effective",
    errors=(ScopeNotFound, AccessDenied),
    name="list",
)
def list_delegations(
    call: Invocation,
    delegate: Annotated[
        str | None, typer.Option("--to", metavar="ID", help="Granted to that actor.")
    ] = None,
    grantor: Annotated[
        str | None, typer.Option("--by", metavar="ID", help="Granted by that actor.")
    ] = None,
    effective: Annotated[
        bool, typer.Option("--effective", help="In force at this moment.")
    ] = False,
    limit: parameters.Limit = None,
    cursor: parameters.Cursor = None,
) -> None:
    """List delegations, and what became of them.

    You see what you granted and what you were granted; all of them, if the policy of the
    scope lets you list_delegations. Looking counts as no use.
    """
    request = call.request(
        delegated_actor_id=delegate,
        granting_actor_id=grantor,
        effective=effective or None,
        limit=limit,
        cursor=cursor,
    )
    presentation.show_items(call, call.perform("list_delegations", request), _COLUMNS)


def _granted(result: Mapping[str, Any]) -> str:
    envelope = result["envelope"]
    what = ", ".join(envelope["granted_operations"])
    return (
        f"granted {result['delegation_id']}: {envelope['delegated_actor']['actor_id']} may "
        f"{what} until {envelope['not_after']}"
    )


def _card(delegation: Mapping[str, Any]) -> dict[str, str]:
    rows = {
        "delegation": delegation["delegation_id"],
        "version": f"{delegation['version_id']}, number {delegation['sequence']}",
        "from": delegation["granting_actor"]["actor_id"],
        "to": delegation["delegated_actor"]["actor_id"],
        "operations": ", ".join(delegation["granted_operations"]),
    }
    for name in ("granted_object_types", "granted_object_ids"):
        if name in delegation:
            rows[name.removeprefix("granted_").replace("_", " ")] = ", ".join(delegation[name])
    for name in ("target_scope_id", "not_before", "not_after", "usage_limit", "policy_basis"):
        if name in delegation:
            rows[name.replace("_", " ")] = str(delegation[name])
    return rows


def _state(item: Mapping[str, Any]) -> str:
    return "in force" if item["effective"] else str(item["reason"]).replace("_", " ")


def _uses(item: Mapping[str, Any]) -> str:
    limit = item["delegation"].get("usage_limit")
    return str(item["used"]) if limit is None else f"{item['used']} of {limit}"


_COLUMNS = (
    Column("DELEGATION", lambda item: str(item["delegation"]["delegation_id"])),
    Column("TO", lambda item: str(item["delegation"]["delegated_actor"]["actor_id"])),
    Column("OPERATIONS", lambda item: ", ".join(item["delegation"]["granted_operations"])),
    Column("UNTIL", lambda item: str(item["delegation"]["not_after"])),
    Column("USED", _uses),
    Column("STATE", _state),
)

"""`pamctl project`: memories as signed context bytes. MPR §7."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, output, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import as_path
from pamctl.cli.query import temporal
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.limits import DOCUMENT_BYTES_MAX, PROJECTION_BYTES_MAX, PROJECTION_ENTRIES_MAX

if TYPE_CHECKING:
    from pamctl.projection.produce import Projection

app = application()

STANDARD_OUTPUT = "-"
_SOURCES = ("pam", "urn:pamctl:source-profile:v1")


@verb(
    app,
    options.SCOPED,
    example="""pamctl project --request 'when is tea?' --key laptop --out answer
pamctl project --request-file q --key agent --text request --out - --record r.json | model""",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        AccessDenied,
        PolicyDenied,
        ServiceUnavailable,
    ),
)
def project(
    call: Invocation,
    key: Annotated[
        str,
        typer.Option(
            "--key", metavar="KEY", help="Name of the key to sign with.", show_default=False
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder to make; - prints the projection alone.",
            show_default=False,
        ),
    ],
    request: Annotated[
        str | None, typer.Option("--request", metavar="TEXT", help="The recall request.")
    ] = None,
    request_file: Annotated[
        str | None,
        typer.Option("--request-file", metavar="FILE", help="The file that holds it, any bytes."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="FILE", help="The selection policy: a file, -, or the JSON itself."
        ),
    ] = "{}",
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="FILE", help="Where the record goes with --out -."),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="PROFILE",
            parser=options.one_of("source profile", _SOURCES),
            help="The source profile: pam.",
        ),
    ] = "pam",
    adapter_id: Annotated[
        str | None,
        typer.Option("--adapter-id", metavar="URI", help="Default: one made of the key's id."),
    ] = None,
    object_type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Of that type.")
    ] = None,
    lifecycle: options.Lifecycles = None,
    validation: options.Validations = None,
    availability: options.Availabilities = None,
    retention: options.Retentions = None,
    any_state: Annotated[
        bool, typer.Option("--any-state", help="In any state that is not asked for by name.")
    ] = False,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="WORDS",
            help="With any of these words, best first; 'request' stands for the request's own.",
        ),
    ] = None,
    actor_is: Annotated[
        list[str] | None, typer.Option("--actor-is", metavar="ID", help="Written by that actor.")
    ] = None,
    source_ref: Annotated[
        list[str] | None,
        typer.Option("--source-ref", metavar="REF", help="With that source in its provenance."),
    ] = None,
    provenance: Annotated[
        list[str] | None,
        typer.Option("--provenance", metavar="ID", help="With that provenance."),
    ] = None,
    schema_id: Annotated[
        list[str] | None, typer.Option("--schema-id", metavar="URI", help="Of that schema.")
    ] = None,
    between: Annotated[
        tuple[str, str, str] | None,
        typer.Option("--between", metavar="BASIS FROM TO", help="In a time, as in query."),
    ] = None,
    order_by: Annotated[
        list[str] | None,
        typer.Option("--order-by", metavar="FIELD[:desc]", help="In that order, as in query."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            parser=options.whole_number(0, PROJECTION_ENTRIES_MAX),
            help="At most that many memories.",
        ),
    ] = None,
    limit_bytes: Annotated[
        int | None,
        typer.Option(
            "--limit-bytes",
            metavar="N",
            parser=options.whole_number(0, PROJECTION_BYTES_MAX),
            help="At most that many bytes of projection.",
        ),
    ] = None,
) -> None:
    """Turn memories into signed context bytes.

    A policy selects them; filters given here are laid over it, and the result is what the
    record commits to. DIR is written whole or not at all.
    """
    from pamctl.projection import project as produced
    from pamctl.projection.policy import merge_policy

    filters = {
        "object_type": object_type,
        "lifecycle_state": lifecycle,
        "validation_state": validation,
        "availability_state": availability,
        "retention_state": retention,
        "any_state": any_state or None,
        "actor_id": actor_is,
        "source_ref": source_ref,
        "provenance_id": provenance,
        "schema_id": schema_id,
        "temporal": None if between is None else temporal(*between),
    }
    additions = {
        "filters": _given(filters),
        "text": text,
        "order_by": order_by,
        "limits": _given({"objects": limit, "bytes": limit_bytes}),
    }
    place = _place(out, record)
    projection = produced(
        call.store,
        scope_id=call.scope_id,
        actor=call.actor,
        request=_request(request, request_file),
        policy=merge_policy(_policy(policy), _given(additions)),
        key=key,
        adapter_id=adapter_id,
    )
    if out == STANDARD_OUTPUT:
        _print(place, projection)
    else:
        _publish(call, place, projection)


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, [], {})}


def _request(text: str | None, file: str | None) -> bytes:
    if (text is None) == (file is None):
        raise InvalidRequest("give the recall request by --request or by --request-file")
    return text.encode() if text is not None else _bytes(str(file), "--request-file")


def _policy(text: str) -> bytes:
    return text.encode() if text.lstrip().startswith("{") else _bytes(text, "--policy")


def _bytes(name: str, flag: str) -> bytes:
    data = given.read_bytes(name, flag)
    if len(data) > DOCUMENT_BYTES_MAX:
        raise InvalidRequest(f"{flag} is longer than {DOCUMENT_BYTES_MAX} bytes")
    return data


def _place(out: str, record: str | None) -> Path:
    """The folder to make, or the record's file with `--out -`. What cannot be written to is
    refused before anything is signed."""
    if out != STANDARD_OUTPUT:
        if record is not None:
            raise InvalidRequest(
                "--record goes with --out -", hint="a folder holds its record as record.json"
            )
        folder = as_path(out)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidRequest(f"{out} is there already", hint="name a folder that is not")
        return _within_a_folder(folder)
    if record is None:
        raise InvalidRequest("--out - needs --record FILE", hint="the record has to go somewhere")
    file = as_path(record)
    if file.exists() and not file.is_file():
        raise InvalidRequest(f"{record} is no plain file")
    return _within_a_folder(file)


def _within_a_folder(path: Path) -> Path:
    if not path.absolute().parent.is_dir():
        raise InvalidRequest(f"there is no folder {path.absolute().parent}")
    return path.absolute()


def _print(record: Path, projection: "Projection") -> None:
    """The record is durable before the first byte of the projection leaves."""
    from pamctl.store.files import replace_whole

    replace_whole(record, projection.record_text)
    output.write(projection.text)


def _publish(call: Invocation, folder: Path, projection: "Projection") -> None:
    from pamctl.projection import bundle

    try:
        bundle.publish(folder, projection)
    except FileExistsError:
        raise InvalidRequest(f"{folder} is there already", hint="name another folder") from None
    record = projection.record
    summary = {
        "projection_id": record["projection_id"],
        "adapter_id": record["adapter"]["id"],
        "key_id": record["adapter"]["key_id"],
        "created_at": record["created_at"],
        "out": str(folder),
        "record": str(folder / bundle.RECORD),
        "delivered_count": len(record["delivered"]),
        "exclusions": record["exclusions"],
        "projection": record["projection"],
    }
    presentation.show_done(call, summary, _sentence)


def _sentence(done: Mapping[str, Any]) -> str:
    return (
        f"delivered {done['delivered_count']} memories and left out {done['exclusions']['total']};"
        f" {done['projection']['byte_length']} bytes in {done['out']}"
    )

"""`pamctl project`: memories as signed context bytes. MPR §7."""

import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.cli import input as given
from pamctl.cli import parameters, passphrases, writing
from pamctl.cli import project_options as asked
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once, refuse_key
from pamctl.cli.paths import as_path
from pamctl.cli.query_options import temporal
from pamctl.cli.terminal import output, presentation
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    InvalidRequest,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.limits import DOCUMENT_BYTES_MAX

if TYPE_CHECKING:
    from pamctl.projection.produce import Projection

app = application()

STANDARD_OUTPUT = "-"
_LINES_TOGETHER = 1000


@verb(
    app,
    writing.KEYED,
    example="""pamctl project --request 'when is tea?' --key laptop --out answer
pamctl project --request-file q --key agent --text request --out - --record r.json | model""",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        PolicyDenied,
        ServiceUnavailable,
    ),
)
def project(
    call: Invocation,
    key: asked.Key,
    out: asked.Out,
    request: asked.Request = None,
    request_file: asked.RequestFile = None,
    policy: asked.Policy = "{}",
    record: asked.Record = None,
    source: asked.Source = "pam",
    place_of_source: asked.From = None,
    adapter_id: asked.AdapterId = None,
    explain: asked.Explain = False,
    object_type: asked.ObjectTypes = None,
    lifecycle: parameters.Lifecycles = None,
    validation: parameters.Validations = None,
    availability: parameters.Availabilities = None,
    retention: parameters.Retentions = None,
    any_state: asked.AnyState = False,
    text: asked.Text = None,
    actor_is: asked.WrittenBy = None,
    source_ref: asked.SourceRefs = None,
    provenance: asked.ProvenanceIds = None,
    schema_id: asked.SchemaIds = None,
    where: asked.Where = None,
    between: asked.Between = None,
    order_by: asked.OrderBy = None,
    trust_level: asked.TrustLevels = None,
    limit: asked.Limit = None,
    limit_bytes: asked.LimitBytes = None,
    limit_tokens: asked.LimitTokens = None,
    tokenizer: asked.Tokenizer = None,
) -> None:
    """Turn memories into signed context bytes.

    A policy selects them; what is given here is laid over it, and the result is what the
    record commits to. DIR is written whole or not at all.
    """
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
        "where": where,
        "temporal": None if between is None else temporal(*between),
    }
    additions = {
        "filters": _given(filters),
        "text": text,
        "order_by": order_by,
        "trust": _given({"derived_trust": trust_level}),
        "limits": _given({"objects": limit, "bytes": limit_bytes, "tokens": limit_tokens}),
        "tokenizer": tokenizer,
    }

    def make() -> "Projection":
        foreign = asked.foreign(source, place_of_source)
        asking, selecting = _request(request, request_file), _policy(policy)
        projection = _made(
            call, asking, selecting, _given(additions), key, adapter_id, foreign, explain=explain
        )
        if explain:
            _explain(projection)
        return projection

    _deliver(call, out, record, make)


def _deliver(
    call: Invocation, out: str, record: str | None, make: Callable[[], "Projection"]
) -> None:
    """Prints what is made, or makes the folder, once under a key. Where it goes is decided
    before anything is signed."""
    if out == STANDARD_OUTPUT:
        refuse_key(call, "what is printed once cannot be printed again")
        place = _place(out, record)
        _print(place, make())
        return

    def publish() -> dict[str, Any]:
        place = _place(out, record)
        return _published(place, make())

    done = once(
        call,
        publish,
        reads=("request_file", "policy"),
        paths=("out", "place_of_source"),
        made=lambda: _found(as_path(out).absolute()),
    )
    presentation.show_done(call, done, _sentence)


def _made(
    call: Invocation,
    request: bytes,
    policy: bytes,
    additions: Mapping[str, Any],
    key: str,
    adapter_id: str | None,
    foreign: asked.Foreign | None,
    *,
    explain: bool,
) -> "Projection":
    from pamctl.projection.policy import merge_policy

    common: dict[str, Any] = {
        "actor": call.actor,
        "request": request,
        "policy": merge_policy(policy, additions),
        "key": key,
        "adapter_id": adapter_id,
        "explain": explain,
    }
    if foreign is None:
        from pamctl.projection import project as produced

        return produced(call.store, scope_id=call.scope_id, **common)
    from pamctl.projection.foreign import project_from

    unlock = passphrases.unlocking(call.environment, passphrases.SOURCE)
    return project_from(
        call.store,
        source_profile=foreign.source_profile,
        place=as_path(foreign.place),
        unlock=unlock,
        **common,
    )


def _explain(projection: "Projection") -> None:
    """Tells why each candidate is in or out: a person, on standard error. The record says
    how many are out, and must not say which."""
    lines = (
        f"{fate.place}\t{fate.object_id or fate.name}\t{fate.why}\n" for fate in projection.fates
    )
    while sys.stderr is not None and (some := list(islice(lines, _LINES_TOGETHER))):
        sys.stderr.write("".join(map(output.printable, some)))


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


def _published(folder: Path, projection: "Projection") -> dict[str, Any]:
    """Makes the folder, and says what is in it."""
    from pamctl.projection import bundle

    try:
        bundle.publish(folder, projection)
    except FileExistsError:
        raise InvalidRequest(f"{folder} is there already", hint="name another folder") from None
    return _summary(folder, projection.record)


def _found(folder: Path) -> dict[str, Any] | None:
    """What a folder holds that this request made before it came to its answer."""
    from pamctl.encoding.strict_json import parse
    from pamctl.projection import bundle

    try:
        return _summary(folder, parse((folder / bundle.RECORD).read_bytes(), what=str(folder)))
    except (OSError, InvalidRequest, LookupError, TypeError):
        return None


def _summary(folder: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    from pamctl.projection import bundle

    return {
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


def _sentence(done: Mapping[str, Any]) -> str:
    count = done["delivered_count"]
    return (
        f"delivered {count} {'memory' if count == 1 else 'memories'}"
        f" and left out {done['exclusions']['total']};"
        f" {done['projection']['byte_length']} bytes in {done['out']}"
    )

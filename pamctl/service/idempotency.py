"""Durable idempotency: a request with a key happens once. PAMSPEC §12.

The record of a request commits in the same transaction as its events. It holds a digest of
the request, salted with the salt of the version that the request made: whoever erases the
version erases the means to guess its content from the digest. A refusal that would be the
same again is recorded too; one that may pass later leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pamctl.encoding.canonical import canonical, canonical_plain
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import (
    CODES,
    AccessDenied,
    DuplicateOperation,
    InternalError,
    InvalidObject,
    InvalidRequest,
    PamError,
    UnsupportedObjectType,
)

_NOT_CONTENT = ("operation_id", "idempotency_key")
_JUDGING_SHAPE = (InvalidRequest, InvalidObject, UnsupportedObjectType)
_CONTENT_ARGUMENTS = frozenset(
    ("canonical_content", "target_canonical_content", "json_patch", "merge_patch", "paths")
)
_CLASSES = {kind.code: kind for kind in CODES}


def request_digest(
    operation: str, request: Mapping[str, Any], salt: str, *, plain: bool = False
) -> str:
    """Salted digest of what a request asks for. Its operation id and key are not part of it.

    plain: whether the request is known to be plain, as `encoding.canonical` has it.
    """
    asked = dict(request)
    for name in _NOT_CONTENT:
        asked.pop(name, None)
    write = canonical_plain if plain else canonical
    return sha256_digest(salt.encode() + write([operation, asked]))


def success_record(
    operation: str,
    request: Mapping[str, Any],
    result: Mapping[str, Any],
    *,
    salt: str,
    keep_salt: bool,
    plain: bool,
) -> dict[str, Any]:
    """The body of an idempotency entry: what was answered, without envelopes, so that it can
    outlive an erasure.

    keep_salt: for a request that made no version which could keep it.
    """
    kept = dict(result)
    for name in _DERIVED:
        kept.pop(name, None)
    record = {
        "key": request["idempotency_key"],
        "operation": operation,
        "request_digest": request_digest(operation, request, salt, plain=plain),
        "result": kept,
    }
    if keep_salt:
        record["salt"] = salt
    return record


_DERIVED = ("envelope", "replayed", "scope_id")


def error_record(
    operation: str, request: Mapping[str, Any], salt: str, error: PamError
) -> dict[str, Any]:
    """The body of an idempotency entry for a refusal that would be the same again."""
    return {
        "key": request["idempotency_key"],
        "operation": operation,
        "request_digest": request_digest(operation, request, salt),
        "salt": salt,
        "error": _discreet(error.envelope(request.get("operation_id", "")), error),
    }


def _discreet(envelope: dict[str, Any], error: PamError) -> dict[str, Any]:
    """An error envelope that may stay in the ledger for good.

    What is said of a content's fault names members, and may quote: that is content, and could
    not be erased. So is what is said of a request's shape, where no pointer tells which part
    of it is meant. On record is then what kind of fault it was, and in which argument.
    """
    if not isinstance(error, _JUDGING_SHAPE):
        return envelope
    argument = str(error.details.get("pointer", "/")).split("/")[1:2]
    if argument and argument[0] and argument[0] not in _CONTENT_ARGUMENTS:
        return envelope
    details = {"pointer": f"/{argument[0]}"} if argument and argument[0] else {}
    return {**envelope, "message": error.meaning, "details": details}


def is_stable(error: PamError) -> bool:
    """Whether the same request would be refused again, whatever happens meanwhile.

    A denial is not: authority may be given. And one who has none must not be able to use up
    the key of somebody who has.
    """
    unstable = InternalError | DuplicateOperation | AccessDenied
    return not error.retryable and not isinstance(error, unstable)


def is_same_request(
    record: Mapping[str, Any], operation: str, request: Mapping[str, Any], salt: str
) -> bool:
    """Whether a record is of this very request. salt: of the version that the first request
    made, or the record's own."""
    return bool(record["operation"] == operation) and (
        record["request_digest"] == request_digest(operation, request, salt)
    )


def reused(record: Mapping[str, Any]) -> DuplicateOperation:
    """The refusal of a key that comes back with another request."""
    return DuplicateOperation(
        f"the idempotency key {record['key']!r} was used before with another request",
        hint="use a new key for a new request",
        idempotency_key=record["key"],
    )


def recorded_error(envelope: Mapping[str, Any]) -> PamError:
    """The refusal that was recorded, to be raised again."""
    kind = _CLASSES[envelope["code"]]
    error = kind(envelope["message"], policy_rule_id=envelope.get("policy_rule_id"))
    error.details = {**envelope["details"], "replayed": True}
    return error

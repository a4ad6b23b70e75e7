"""The operations that a program may ask for by name, and what each answers.

Names and arguments are PAMSPEC's (§10) and those of the coprocess. A name stands in the
table when the operation is there, so the table is also what `pamctl stdio` can announce.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pamctl.bindings.query_document import is_query_document, query_arguments
from pamctl.errors import InvalidRequest, SubscriptionClosed
from pamctl.named_tuples import NamedTuple

Arguments = Mapping[str, Any]


class Performer(Protocol):
    """A Store, or a group of operations that commit together."""

    def perform(self, operation: str, arguments: Arguments) -> Any:
        """Carries out one operation of the service."""


class Operation(NamedTuple):
    """What the table says of an operation.

    answer: carries it out; the arguments are an object, and no more is known of them.
    grouped: whether it commits together with others of its group.
    scoped, acting: whether its arguments include `scope_id`, and `actor`.
    as_asked: whether the service is asked for the operation of the same name, with the
        same arguments.
    """

    answer: Callable[[Performer, Arguments], Any]
    grouped: bool = False
    scoped: bool = True
    acting: bool = True
    as_asked: bool = False


def perform(performer: Performer, operation: str, arguments: Arguments) -> Any:
    """The answer of an operation of the table, in the shape of the coprocess.

    Raises InvalidRequest for an operation that is not there and arguments that do not fit,
    and whatever PamError the operation ends with.
    """
    return find(operation).answer(performer, arguments)


def find(operation: str) -> Operation:
    """The operation of that name. Raises InvalidRequest where there is none."""
    entry = OPERATIONS.get(operation)
    if entry is None:
        raise _unknown(operation)
    return entry


def _unknown(operation: str) -> InvalidRequest:
    from difflib import get_close_matches

    nearest = get_close_matches(operation, OPERATIONS, n=1)
    hint = f"did you mean '{nearest[0]}'?" if nearest else "known are " + ", ".join(OPERATIONS)
    return InvalidRequest(f"there is no operation '{operation[:80]}'", hint=hint)


def _change(name: str) -> Operation:
    """A change of memories: the service holds its arguments to their schema."""

    def answer(performer: Performer, arguments: Arguments) -> Any:
        return performer.perform(name, arguments)

    return Operation(answer, grouped=True, as_asked=True)


def _checked(name: str) -> Callable[[Performer, Arguments], Any]:
    """An operation whose arguments the service takes on trust, because a command that reads
    cannot afford the validator. Those of a program are held to their schema here."""

    def answer(performer: Performer, arguments: Arguments) -> Any:
        from pamctl.model.documents import check

        check(f"requests/{name}", arguments)
        return performer.perform(name, arguments)

    return answer


def _delegation(name: str) -> Callable[[Performer, Arguments], Any]:
    """An operation over a delegation, which is what it answers."""

    def answer(performer: Performer, arguments: Arguments) -> Any:
        return performer.perform(name, arguments)["envelope"]

    return answer


def _redact(performer: Performer, arguments: Arguments) -> Any:
    """A redaction. PAMSPEC calls what is redacted its target and leaves the form to the
    implementation: `redaction_target` may hold the `paths`, or be empty for the whole."""
    if "redaction_target" not in arguments:
        return performer.perform("redact", arguments)
    target = arguments["redaction_target"]
    if not isinstance(target, dict) or target.keys() - {"paths"} or "paths" in arguments:
        raise InvalidRequest(
            "/redaction_target is an object that holds the paths to redact, or nothing",
            hint='such as {"paths": ["/name"]}; {} is the whole content',
            pointer="/redaction_target",
        )
    rest = {name: value for name, value in arguments.items() if name != "redaction_target"}
    return performer.perform("redact", {**rest, **target})


def _query(performer: Performer, arguments: Arguments) -> Any:
    """Flat arguments answer a list of envelopes; a query document answers the whole page, and
    so does a query by similarity, whose answer has to name its space (PAMSPEC §7.8)."""
    if is_query_document(arguments):
        return performer.perform("query", query_arguments(arguments))
    if "embedding_space_id" in arguments:
        return _checked("query")(performer, arguments)
    return _checked("query")(performer, arguments)["items"]


def _history(performer: Performer, arguments: Arguments) -> list[Any]:
    """All versions of an object, oldest first, or the page that `limit` asks for."""
    page = _checked("history")(performer, arguments)
    items: list[Any] = page["items"]
    while page["next_cursor"] is not None and "limit" not in arguments:
        page = performer.perform("history", {**arguments, "cursor": page["next_cursor"]})
        items += page["items"]
    return items


def _inspect_history(performer: Performer, arguments: Arguments) -> Any:
    """History of an object or, without one, of the scope: a page. PAMSPEC §10.7."""
    return _checked("history" if "object_id" in arguments else "log")(performer, arguments)


def _poll(performer: Performer, arguments: Arguments) -> Any:
    """What a program that polls is given of a closed subscription is that there is nothing,
    and why: after the close nothing is delivered (PAMSPEC §18.3), which is no failure."""
    try:
        return _checked("poll_subscription")(performer, arguments)
    except SubscriptionClosed as closed:
        return {"events": [], "closed": closed.details}


OPERATIONS: Mapping[str, Operation] = {
    "create": _change("create"),
    "read": Operation(_checked("read")),
    "update": _change("update"),
    "transition": _change("transition"),
    "relate": _change("relate"),
    "promote": _change("promote"),
    "redact": Operation(_redact, grouped=True),
    "delete": _change("delete"),
    "query": Operation(_query),
    "inspect_history": Operation(_inspect_history),
    "history": Operation(_history),
    "log": Operation(_checked("log")),
    "diff": Operation(_checked("diff")),
    "subscribe": _change("subscribe"),
    "unsubscribe": Operation(_checked("close_subscription"), scoped=False, acting=False),
    "poll_subscription": Operation(_poll, scoped=False, acting=False),
    "acknowledge_subscription": Operation(
        _checked("acknowledge_subscription"), scoped=False, acting=False
    ),
    "close_subscription": Operation(_checked("close_subscription"), scoped=False, acting=False),
    "list_subscriptions": Operation(_checked("list_subscriptions")),
    "grant_delegation": Operation(_delegation("grant_delegation"), acting=False),
    "check_delegation": Operation(_delegation("check_delegation"), acting=False),
    "revoke_delegation": Operation(_delegation("revoke_delegation")),
    "list_delegations": Operation(_checked("list_delegations")),
    "expire": Operation(_checked("expire")),
    "snapshot_create": _change("snapshot_create"),
    "snapshot_list": Operation(_checked("snapshot_list")),
    "snapshot_show": Operation(_checked("snapshot_show")),
    "snapshot_diff": Operation(_checked("snapshot_diff")),
    "schema_add": _change("schema_add"),
    "schema_list": Operation(_checked("schema_list")),
    "schema_show": Operation(_checked("schema_show")),
    "space_add": _change("space_add"),
    "checkpoint_record": _change("checkpoint_record"),
    "space_list": Operation(_checked("space_list")),
    "space_show": Operation(_checked("space_show")),
    "embedding_put": Operation(_checked("embedding_put")),
    "embedding_delete": Operation(_checked("embedding_delete")),
    "embedding_status": Operation(_checked("embedding_status")),
    "embedding_export": Operation(_checked("embedding_export")),
    "embedding_pending": Operation(_checked("embedding_pending")),
    "embedding_generate": Operation(_checked("embedding_generate")),
    "scope_create": Operation(_checked("scope_create")),
    "scope_list": Operation(_checked("scope_list"), scoped=False, acting=False),
    "scope_show": Operation(_checked("scope_show"), acting=False),
    "scope_policy": Operation(_checked("scope_policy")),
    "scope_policy_test": Operation(_checked("scope_policy_test")),
    "status": Operation(_checked("status"), scoped=False, acting=False),
}

"""The bindings over a store that is made up: grouping, pauses, and commits that fail."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.bindings import batch, lines, stdio
from pamctl.bindings.operations import OPERATIONS, perform
from pamctl.bindings.query_document import query_arguments
from pamctl.encoding.canonical import canonical
from pamctl.errors import (
    InternalError,
    InvalidRequest,
    ObjectNotFound,
    PamError,
    ServiceUnavailable,
)
from pamctl.limits import DOCUMENT_BYTES_MAX, GROUP_BYTES_MAX, GROUP_OPERATIONS_MAX

DEFAULTS = {"scope_id": "workspace:test", "actor": {"actor_id": "actor:a", "actor_kind": "human"}}


class Group:
    """Stages what it is asked; `commit` may be made to fail."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.staged: list[Any] = []

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            if self.store.commit_error is not None:
                raise self.store.commit_error
            self.store.groups.append(self.staged)

    written = None

    def foresee(self, requests: Iterable[Mapping[str, Any]]) -> None:
        list(requests)

    def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        content = arguments.get("canonical_content")
        if isinstance(content, PamError):
            raise content
        if content in self.store.errors:
            raise self.store.errors[content]
        self.staged.append(content)
        return {"content": content}


class Store:
    """Records the groups that were committed."""

    def __init__(self) -> None:
        self.groups: list[list[Any]] = []
        self.commit_error: PamError | None = None
        self.errors: dict[Any, PamError] = {}
        self.follower = None

    def has_open_scopes(self) -> bool:
        return True

    def group(self, *, atomic: bool = False) -> Group:
        return Group(self)


def create(content: Any) -> bytes:
    request = {"operation": "create", "arguments": {"canonical_content": content}}
    return json.dumps(request).encode() + b"\n"


def run(store: Any, data: bytes, **terms: Any) -> tuple[batch.Tally, list[bytes]]:
    emitted: list[bytes] = []
    tally = batch.run(
        store,
        io.BytesIO(data),
        emitted.append,
        terms=batch.Terms(DEFAULTS, **terms),
        identify=lambda: "op:new",
    )
    return tally, emitted


def test_groups_are_bounded_by_operations() -> None:
    store = Store()
    count = 2 * GROUP_OPERATIONS_MAX + 1
    tally, emitted = run(store, b"".join(create(n) for n in range(count)))
    assert [len(group) for group in store.groups] == [
        GROUP_OPERATIONS_MAX,
        GROUP_OPERATIONS_MAX,
        1,
    ]
    assert tally.done == count
    assert len(emitted) == 3


def test_groups_are_bounded_by_bytes() -> None:
    store = Store()
    large = "x" * (GROUP_BYTES_MAX // 4)
    run(store, create(large) * 6)
    assert [len(group) for group in store.groups] == [4, 2]


def test_of_a_group_that_was_not_committed_nothing_is_handed_out() -> None:
    store = Store()
    store.commit_error = ServiceUnavailable("no room")
    emitted: list[bytes] = []
    with pytest.raises(ServiceUnavailable):
        batch.run(
            store,  # type: ignore[arg-type]
            io.BytesIO(create("a")),
            emitted.append,
            terms=batch.Terms(DEFAULTS),
            identify=lambda: "op:new",
        )
    assert emitted == []


@pytest.mark.parametrize("error", [ServiceUnavailable("busy"), InternalError("damaged")])
def test_an_error_that_may_be_the_groups_ends_the_batch_unprinted(error: PamError) -> None:
    store = Store()
    store.errors = {"b": error}
    emitted: list[bytes] = []
    with pytest.raises(type(error)):
        batch.run(
            store,  # type: ignore[arg-type]
            io.BytesIO(create("a") + create("b") + create("c")),
            emitted.append,
            terms=batch.Terms(DEFAULTS, continue_on_error=True),
            identify=lambda: "op:new",
        )
    assert emitted == []


def test_a_failure_is_counted_once_and_the_first_is_kept() -> None:
    store = Store()
    store.errors = {"b": ObjectNotFound("no b"), "c": InvalidRequest("no c")}
    tally, emitted = run(store, create("a") + create("b") + create("c"), continue_on_error=True)
    assert (tally.done, tally.failed) == (1, 2)
    assert isinstance(tally.error, ObjectNotFound)
    assert tally.error.details["line"] == 2
    answers = [json.loads(line) for line in b"".join(emitted).splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3]


def test_atomic_commits_one_group_whatever_its_size() -> None:
    store = Store()
    count = GROUP_OPERATIONS_MAX + 1
    run(store, b"".join(create(n) for n in range(count)), atomic=True)
    assert [len(group) for group in store.groups] == [count]


def test_lines_come_whole_however_they_are_cut() -> None:
    class Trickle(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(3)

    assert list(lines.read_lines(Trickle(b"a\nbcdef\n\nghij"))) == [b"a", b"bcdef", b"", b"ghij"]
    assert list(lines.read_lines(io.BytesIO(b""))) == []


def test_a_line_that_is_too_long_is_cut_and_the_next_is_whole() -> None:
    data = b"x" * (2 * DOCUMENT_BYTES_MAX) + b"\nnext\n"
    long, after = lines.read_lines(io.BytesIO(data))
    assert long is not None
    assert len(long) == DOCUMENT_BYTES_MAX + 1
    assert after == b"next"


def test_a_pause_is_told_once_and_before_it_blocks() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream:
        os.write(writer, b"a\n")
        came: Iterator[bytes | None] = lines.read_lines(stream)
        assert next(came) == b"a"
        assert next(came) is None
        timer = threading.Timer(0.1, lambda: (os.write(writer, b"b\n"), os.close(writer)))
        timer.start()
        assert next(came) == b"b"
        assert [line for line in came if line is not None] == []


def test_a_defect_answers_one_request_and_no_more() -> None:
    class Broken:
        def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
            raise ZeroDivisionError("boom")

    answers: list[Any] = []
    answer: Callable[[bytes], None] = lambda line: answers.append(json.loads(line))  # noqa: E731
    stdio.serve(
        Broken(),
        io.BytesIO(b'{"request_id":1,"operation":"status"}\n' * 2),
        answer,
        identify=lambda: "op:new",
        unexpected=lambda cause: InternalError(str(cause)),
    )
    assert [a.get("error", {}).get("code") for a in answers[1:]] == ["internal_error"] * 2


def test_history_follows_its_pages() -> None:
    class Paged:
        def perform(self, operation: str, arguments: Mapping[str, Any]) -> Any:
            first = int(arguments.get("cursor", 1))
            following = str(first + 2) if first < 5 else None
            return {"items": [first, first + 1], "next_cursor": following}

    arguments = {"scope_id": "a:b", "object_id": "mem:a"}
    assert perform(Paged(), "history", arguments) == [1, 2, 3, 4, 5, 6]
    assert perform(Paged(), "history", {**arguments, "limit": 2}) == [1, 2]


def test_the_table_announces_nothing_that_is_not_there() -> None:
    from pamctl.service.operations import CHANGES, OTHERS

    named = {"inspect_history": "history"}
    for name in OPERATIONS:
        assert named.get(name, name) in {**CHANGES, **OTHERS}


DOCUMENT = {
    "operation_id": "op:q",
    "scope_id": "a:b",
    "query": {"kind": "structured"},
    "pagination": {"limit": 5},
}


@pytest.mark.parametrize(
    "content",
    ["Tee", {"b": [1.0, -0.0, 1e15, 1e22, 0.9], "a": None}, {"\U0001f331": 1, "\uff5e": "\u2028"}],
)
@pytest.mark.parametrize("key", [None, "key:1"])
def test_an_answer_line_is_canonical_whatever_was_at_hand(
    tmp_path: Path, content: Any, key: str | None
) -> None:
    request: dict[str, Any] = {
        "scope_id": "workspace:default",
        "object_type": "observation",
        "canonical_content": content,
        "actor": {"actor_id": "actor:local:test", "actor_kind": "human"},
        "provenance": {"activity": "observed"},
    }
    if key is not None:
        request["idempotency_key"] = key
    with closing(pamctl.init_store(tmp_path / ".pam")) as store, store.group() as group:
        for again in (False, True):
            outcome = {"line": 1, "result": group.perform("create", request), "request_id": "r"}
            assert (group.written is None) == bool(key and again)
            line = lines.answer_line(outcome, envelope=group.written)
            assert line == canonical(outcome) + b"\n"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {}),
        ({"query": {"kind": "structured", "text": "t"}}, {"text": "t", "order_by": ["relevance"]}),
        (
            {"query": {"kind": "temporal", "temporal_basis": "valid_time"}},
            {"order_by": ["valid_from"]},
        ),
        (
            {"ordering": {"order_by": ["object_id:desc"], "tie_break": ["version_id"]}},
            {"order_by": ["object_id:desc", "version_id"]},
        ),
        ({"ordering": {"tie_break": ["semantic_score", "object_id"]}}, {"order_by": ["object_id"]}),
        (
            {"query": {"kind": "structured", "filters": {"object_type": ["claim"]}}},
            {"object_type": ["claim"]},
        ),
        (
            {"query": {"kind": "structured", "filters": {"relationship_type": ["about"]}}},
            {"relationship_type": ["about"]},
        ),
        (
            {"query": {"kind": "semantic", "text": "t"}, "embedding_space_id": "embspace:a"},
            {"embedding_space_id": "embspace:a", "text": "t"},
        ),
        (
            {
                "query": {"kind": "hybrid", "text": "t", "vector": [1]},
                "embedding_space_id": "embspace:a",
                "ordering": {"tie_break": ["semantic_score", "object_id"]},
            },
            {"embedding_space_id": "embspace:a", "text": "t", "vector": [1], "hybrid": True},
        ),
        ({"explain_ranking": True}, {"explain": True}),
        ({"pagination": {"limit": 5, "cursor": "c"}}, {"cursor": "c"}),
    ],
)
def test_query_documents_become_arguments(changed: Any, expected: Any) -> None:
    flat = {"operation_id": "op:q", "scope_id": "a:b", "limit": 5}
    assert query_arguments({**DOCUMENT, **changed}) == {**flat, **expected}


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (
            {
                "query": {"kind": "semantic", "text": "t"},
                "embedding_space_id": "embspace:a",
                "ordering": {"order_by": ["committed_at"]},
            },
            InvalidRequest,
        ),
        ({"query": {"kind": "lexical"}}, InvalidRequest),
        ({"pagination": {}}, InvalidRequest),
    ],
)
def test_query_documents_that_ask_for_what_is_not_there(
    changed: Any, error: type[PamError]
) -> None:
    with pytest.raises(error):
        query_arguments({**DOCUMENT, **changed})

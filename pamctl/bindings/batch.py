"""Many operations from JSON Lines, committed in groups.

A group costs one pack, one ledger write and one fsync however many operations it holds, so
a thousand writes cost little more than one. A result is handed out once its group is
committed and not before: a line that was printed is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any

from pamctl.bindings.lines import (
    Identify,
    Refused,
    Request,
    answer_line,
    error_envelope,
    understand,
)
from pamctl.bindings.operations import OPERATIONS
from pamctl.bindings.questions import Question, Questions
from pamctl.errors import InternalError, InvalidRequest, PamError, ServiceUnavailable
from pamctl.named_tuples import NamedTuple
from pamctl.service.index_follower import IndexFollower

if TYPE_CHECKING:
    from pamctl.service.group import Group
    from pamctl.service.store import Store


class Terms(NamedTuple):
    """How a batch is carried out.

    defaults: `scope_id` and `actor` of lines that leave them out.
    atomic: commit everything or nothing.
    continue_on_error: go on behind an operation that failed.
    key: makes an idempotency key for a change that comes without one, from its operation and
        arguments; None to leave it without.
    """

    defaults: Mapping[str, Any]
    atomic: bool = False
    continue_on_error: bool = False
    key: Callable[[str, Mapping[str, Any]], str] | None = None


class Tally(NamedTuple):
    """What became of a batch: how many operations succeeded, how many failed, and of the
    first that did its error, which names the line, and its operation_id."""

    done: int
    failed: int
    error: PamError | None
    operation_id: str


def run(
    store: Store,
    requests: IO[bytes],
    emit: Callable[[bytes], None],
    *,
    terms: Terms,
    identify: Identify,
) -> Tally:
    """Carries out the requests of a stream, in order.

    emit: takes the lines of results that are committed.
    identify: names an operation whose caller did not.

    The first operation that fails ends the batch: those before it stand, and its error is
    the last line handed out. Raises the PamError of a group that could not be committed, and
    of an atomic batch that failed; of that group no line is handed out. Memory is bounded,
    except that an atomic batch is held whole.
    """
    batch = _Batch(store, terms, identify)
    try:
        with closing(Questions(requests, batch.understand, whole=terms.atomic)) as questions:
            batch.run(questions, emit)
    finally:
        if store.follower is not None:
            store.follower.close()
            store.follower = None
    return Tally(batch.done, batch.failed, batch.error, batch.operation_id)


class _Batch:
    """The state of one run."""

    def __init__(self, store: Store, terms: Terms, identify: Identify) -> None:
        self.done = self.failed = 0
        self.error: PamError | None = None
        self.operation_id = ""
        self._store = store
        self._terms = terms
        self._identify = identify
        self._ended = False

    def run(self, questions: Questions, emit: Callable[[bytes], None]) -> None:
        while not (self._ended or questions.ended):
            # Read before any lock is taken: nobody waits for a scope while input is slow.
            together = questions.next()
            if questions.full and self._store.follower is None:
                self._store.follower = IndexFollower.begin(self._store)
            results: list[bytes] = []
            with self._store.group(atomic=self._terms.atomic) as group:
                group.foresee(question.arguments for question in together)
                self._answer(group, together, results)
                if self._terms.atomic and self.error is not None:
                    # Leaving the group by an exception is what undoes it.
                    raise self.error
            emit(b"".join(results))

    def understand(self, number: int, line: bytes) -> Question:
        try:
            request = understand(line)
        except Refused as refusal:
            return Question(number, refusal, {})
        operation, arguments = OPERATIONS[request.operation], request.arguments
        if operation.scoped and "scope_id" not in arguments:
            arguments["scope_id"] = self._terms.defaults["scope_id"]
        if operation.acting and "actor" not in arguments:
            arguments["actor"] = self._terms.defaults["actor"]
        make_key = self._terms.key
        if make_key is not None and operation.grouped and "idempotency_key" not in arguments:
            arguments["idempotency_key"] = make_key(request.operation, arguments)
        return Question(number, request, arguments)

    def _answer(self, group: Group, questions: list[Question], results: list[bytes]) -> None:
        """Stages the operations of a group, which it takes from the list; the first that fails
        may be the last."""
        questions.reverse()
        while questions:
            # What was answered is let go of, so that what it took serves the next one.
            question = questions.pop()
            outcome, written = self._outcome(group, question)
            results.append(answer_line(outcome, envelope=written))
            if self.error is not None and not self._terms.continue_on_error:
                self._ended = True
                return

    def _outcome(self, group: Group, question: Question) -> tuple[dict[str, Any], bytes | None]:
        """What a line is answered, and the bytes of the envelope in it if they are at hand."""
        number, request, arguments, _ = question
        written = None
        try:
            if isinstance(request, Refused):
                raise request.error
            result = self._perform(group, request, judged=question.judged)
            written = group.written
            self.done += 1
            outcome = {"line": number, "result": result}
        except (ServiceUnavailable, InternalError):
            # These may come from a commit, so nothing is known of what is staged.
            raise
        except PamError as error:
            outcome = {"line": number, "error": self._failed(error, number, arguments)}
        if request.request_id is not None:
            outcome["request_id"] = request.request_id
        return outcome, written

    def _perform(self, group: Group, request: Request, *, judged: bool) -> Any:
        if judged:
            return group.perform(request.operation, request.arguments, judged=True)
        operation = OPERATIONS[request.operation]
        if self._terms.atomic and not operation.grouped:
            raise InvalidRequest(
                f"{request.operation} cannot be part of an atomic batch",
                hint="an atomic batch holds "
                + ", ".join(name for name, entry in OPERATIONS.items() if entry.grouped),
                pointer="/operation",
            )
        return operation.answer(group, request.arguments)

    def _failed(self, error: PamError, number: int, arguments: dict[str, Any]) -> dict[str, Any]:
        """Counts a failure, keeps the first, and answers its envelope."""
        self.failed += 1
        envelope = error_envelope(error, arguments, self._identify)
        if self.error is None:
            error.details["line"] = number
            error.message = f"line {number}: {error.message}"
            self.error = error
            self.operation_id = envelope["operation_id"]
        return envelope

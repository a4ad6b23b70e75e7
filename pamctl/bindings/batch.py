"""Many operations from JSON Lines, committed in groups.

A group costs one pack, one ledger write and one fsync however many operations it holds, so
a thousand writes cost little more than one. A result is handed out once its group is
committed and not before: a line that was printed is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pamctl.bindings.lines import (
    Identify,
    Refused,
    Request,
    answer_line,
    error_envelope,
    read_lines,
    understand,
)
from pamctl.bindings.operations import OPERATIONS
from pamctl.errors import InternalError, InvalidRequest, PamError, ServiceUnavailable
from pamctl.limits import GROUP_BYTES_MAX, GROUP_OPERATIONS_MAX

if TYPE_CHECKING:
    from pamctl.service.group import Group
    from pamctl.service.store import Store

NumberedLine = tuple[int, bytes | None]


class Question(NamedTuple):
    """A line that was read: its number, what it asks or why it is refused, and the arguments
    with the batch's defaults filled in."""

    number: int
    request: Request | Refused
    arguments: dict[str, Any]


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
    first that did its error, whose details name the line, and its operation_id."""

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
    lines = _numbered(requests)
    batch = _Batch(store, terms, identify)
    if terms.atomic:
        # All of the input first: a lock is not held while somebody is still typing.
        batch.run(iter(list(lines)), emit)
    else:
        batch.run(lines, emit)
    return Tally(batch.done, batch.failed, batch.error, batch.operation_id)


def _numbered(requests: IO[bytes]) -> Iterator[NumberedLine]:
    """Lines and their numbers from 1; a pause of the input bears that of the line before."""
    number = 0
    for line in read_lines(requests):
        number += line is not None
        yield number, line


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

    def run(self, lines: Iterator[NumberedLine], emit: Callable[[bytes], None]) -> None:
        while not self._ended:
            # Read before any lock is taken: nobody waits for a scope while input is slow.
            questions = self._gather(lines)
            results: list[bytes] = []
            with self._store.group(atomic=self._terms.atomic) as group:
                group.foresee(question.arguments for question in questions)
                self._answer(group, questions, results)
                if self._terms.atomic and self.error is not None:
                    # Leaving the group by an exception is what undoes it.
                    raise self.error
            emit(b"".join(results))

    def _gather(self, lines: Iterator[NumberedLine]) -> list[Question]:
        """The lines of the next group: until it is full, or input pauses or ends."""
        questions: list[Question] = []
        bytes_left, operations_left = GROUP_BYTES_MAX, GROUP_OPERATIONS_MAX
        for number, line in lines:
            if line is None:
                if questions and not self._terms.atomic:
                    return questions
                continue
            if not line or line.isspace():
                continue
            questions.append(self._question(number, line))
            bytes_left -= len(line)
            operations_left -= 1
            if (bytes_left <= 0 or operations_left <= 0) and not self._terms.atomic:
                return questions
        self._ended = True
        return questions

    def _question(self, number: int, line: bytes) -> Question:
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
        """Stages the operations of a group; the first that fails may be the last."""
        for question in questions:
            outcome, written = self._outcome(group, question)
            results.append(answer_line(outcome, envelope=written))
            if self.error is not None and not self._terms.continue_on_error:
                self._ended = True
                return

    def _outcome(self, group: Group, question: Question) -> tuple[dict[str, Any], bytes | None]:
        """What a line is answered, and the bytes of the envelope in it if they are at hand."""
        number, request, arguments = question
        written = None
        try:
            if isinstance(request, Refused):
                raise request.error
            result = self._perform(group, request)
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

    def _perform(self, group: Group, request: Request) -> Any:
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
            self.error = error
            self.operation_id = envelope["operation_id"]
        return envelope

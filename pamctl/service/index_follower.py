"""A copy of this process that puts into the indexes of a store what this one commits.

The rows of a group are made while the device is waited for; the copy puts them in while the next
group is worked out, on another processor. `docs/decisions/index-in-a-copy.md`.
"""

from __future__ import annotations

import contextlib
import marshal
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Self

from pamctl.errors import PamError
from pamctl.index.intake import Intake
from pamctl.process_copies import await_end, begin_copy, is_worth_copying, wide_pipe
from pamctl.service.open_scope import is_a_create
from pamctl.store.records import Position, Transaction

if TYPE_CHECKING:
    from pamctl.service.open_store import OpenStore
    from pamctl.store.commit import NewTransaction

# To hand over fewer takes as long as to put them into the index.
_WORTH_HANDING_OVER = 256
_SIZE_BYTES = 8
_DONE = b"."


class IndexFollower:
    """Brings the index of a scope to what was committed there. To be closed.

    Where the copy ends before its time, nothing is lost: an index that is behind is brought up
    to date from the ledger by whoever looks at it.
    """

    def __init__(self, copy: int, orders: IO[bytes], answers: IO[bytes]) -> None:
        self._copy = copy
        self._orders = orders
        self._answers = answers
        self._asked = self._answered = 0
        self._gone = False
        self._rows = b""

    @classmethod
    def begin(cls, store: OpenStore) -> Self | None:
        """Copy this process. None where that is not safe, or would gain nothing: what SQLite
        has open cannot be used on both sides of a copy."""
        if store.has_open_scopes() or not is_worth_copying():
            return None
        heard, orders = wide_pipe()
        answers, answering = os.pipe()
        copy = begin_copy(partial(_serve, store, heard, answering), keeping=(heard, answering))
        os.close(heard)
        os.close(answering)
        if copy is None:
            os.close(orders)
            os.close(answers)
            return None
        return cls(copy, open(orders, "wb"), open(answers, "rb", buffering=0))

    def takes(self, transactions: Sequence[NewTransaction]) -> bool:
        """Whether it is worth while, and safe, to leave these to the copy: each of them makes
        one object that was not there, and does nothing else."""
        self._rows = b""
        many = len(transactions) >= _WORTH_HANDING_OVER
        return many and not self._gone and all(map(is_a_create, transactions))

    def prepare(self, base: Position, transactions: Sequence[Transaction]) -> None:
        """Make the rows of what is about to be committed behind `base`, where the index is. As
        `IndexFile.prepare`, it may not be done, and what goes wrong is left to be found again."""
        with contextlib.suppress(PamError):
            intake = Intake()
            intake.take(transactions)
            self._rows = marshal.dumps(
                (tuple(base), intake.packed(), tuple(transactions[-1].after))
            )

    def follow(self, scope_id: str) -> Callable[[], None]:
        """Have what was prepared put into the index of a scope, now that it is committed. What
        is returned waits until it is there, or until nobody brings it any more."""
        order, self._rows = marshal.dumps((scope_id, self._rows)), b""
        try:
            self._orders.write(len(order).to_bytes(_SIZE_BYTES, "big"))
            self._orders.write(order)
            self._orders.flush()
        except OSError:
            self._gone = True
        self._asked += 1
        return partial(self._wait, self._asked)

    def _wait(self, number: int) -> None:
        while self._answered < number and not self._gone:
            answers = self._answers.read(number - self._answered)
            self._answered += len(answers)
            self._gone = not answers

    def close(self) -> None:
        """Wait until the copy is done with all that it was given, and let it go."""
        with contextlib.suppress(OSError):
            self._orders.close()
        self._wait(self._asked)
        self._answers.close()
        await_end(self._copy)


def _serve(store: OpenStore, heard: int, answering: int) -> None:
    """What the copy does."""
    with open(heard, "rb") as orders:
        while size := int.from_bytes(orders.read(_SIZE_BYTES), "big"):
            scope_id, rows = marshal.loads(orders.read(size))
            with contextlib.suppress(PamError):
                _bring(store, scope_id, rows)
            os.write(answering, _DONE)


def _bring(store: OpenStore, scope_id: str, rows: bytes) -> None:
    """Bring the index of a scope to the ledger's head."""
    scope = store.open_scope(scope_id)
    if rows:
        base, packed, after = marshal.loads(rows)
        if scope.index.take_in(Position(*base), Intake.unpacked(packed), Position(*after)):
            return
    scope.refresh()  # from the ledger: others were here meanwhile, or no rows were made

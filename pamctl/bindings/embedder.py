"""An embedder that is a program: texts in, vectors out, as JSON Lines.

It is started once. A line on its standard input is `{"id", "text"}`; for each it prints one
line `{"id", "vector"}`, in any order, as soon as it likes, and it ends when its input does.
Texts come in batches: the next one comes when all of the one before is answered. What it
prints on standard error is for the user.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Any

from pamctl.encoding import strict_json
from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest, ServiceUnavailable
from pamctl.limits import DOCUMENT_BYTES_MAX

_CHUNK_BYTES = 1 << 16
_END_WAIT_SEC = 10.0
_EXCERPT_CHARS = 80


class Embedder:
    """A running embedder; leaving the `with` ends it.

    Arguments:
        command: program and arguments; no shell is involved.
        patience_sec: how long it may print nothing while it owes an answer.

    Raises InvalidRequest for a program that cannot be started.
    """

    def __init__(self, command: Sequence[str], *, patience_sec: float) -> None:
        self._name = " ".join(command)[:_EXCERPT_CHARS]
        self._patience_sec = patience_sec
        self._lines = 0
        self._read = b""
        try:
            self._process = subprocess.Popen(
                [os.fsencode(word) for word in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except (OSError, ValueError) as cause:
            told = cause.strerror if isinstance(cause, OSError) else str(cause)
            raise InvalidRequest(f"cannot run the embedder '{self._name}': {told}") from cause

    def __enter__(self) -> Embedder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._pipe(self._process.stdin).close()
        if error is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_WAIT_SEC)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._pipe(self._process.stdout).close()

    def vectors(self, texts: Mapping[str, str]) -> dict[str, list[int | float]]:
        """The vectors of some texts, by the ids of the texts; all of them.

        Raises InvalidRequest for output that is no answer, and ServiceUnavailable for a
        program that ends or keeps silent before it has answered.
        """
        lines = b"".join(
            canonical({"id": key, "text": text}) + b"\n" for key, text in texts.items()
        )
        # Written beside reading: a program may answer before it has read everything, and one
        # that cannot get rid of its answers reads no further.
        writer = threading.Thread(target=self._write, args=(lines,), daemon=True)
        writer.start()
        found: dict[str, list[int | float]] = {}
        while len(found) < len(texts):
            key, vector = self._answer(self._line(len(found), len(texts)))
            if key not in texts or key in found:
                what = "was answered before" if key in found else "was not asked for"
                raise self._refused(f"the id {key[:_EXCERPT_CHARS]!r} {what}")
            found[key] = vector
        writer.join()
        return found

    def _write(self, lines: bytes) -> None:
        # Whoever reads notices that the program has gone.
        with contextlib.suppress(OSError, ValueError):
            pipe = self._pipe(self._process.stdin)
            pipe.write(lines)
            pipe.flush()

    def _line(self, done: int, wanted: int) -> bytes:
        """The next line that the program prints, without its end."""
        pipe = self._pipe(self._process.stdout)
        while b"\n" not in self._read:
            if len(self._read) > DOCUMENT_BYTES_MAX:
                self._lines += 1
                raise self._refused("it is longer than limits.DOCUMENT_BYTES_MAX")
            ready, _, _ = select.select([pipe], [], [], self._patience_sec)
            if not ready:
                raise self._unfinished(
                    f"printed nothing for {self._patience_sec:g} seconds", done, wanted
                )
            chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
            if not chunk:
                status = self._process.wait()
                how = f"with status {status}" if status >= 0 else f"by signal {-status}"
                raise self._unfinished(f"ended {how}", done, wanted)
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        self._lines += 1
        return line

    def _answer(self, line: bytes) -> tuple[str, list[int | float]]:
        try:
            answer = strict_json.parse(line, what=f"line {self._lines} of the embedder")
        except InvalidRequest as error:
            raise self._refused(error.message) from error
        if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
            raise self._refused('it is no JSON object with an "id" that is a text')
        vector: Any = answer.get("vector")
        if not isinstance(vector, list) or not all(type(n) in (int, float) for n in vector):
            raise self._refused('its "vector" is no list of numbers')
        return answer["id"], vector

    def _refused(self, why: str) -> InvalidRequest:
        return InvalidRequest(
            f"line {self._lines} that the embedder '{self._name}' printed is no answer: {why}",
            hint='it has to print {"id": "...", "vector": [...]} for each line that it reads, and '
            "nothing else on standard output",
        )

    def _unfinished(self, how: str, done: int, wanted: int) -> ServiceUnavailable:
        return ServiceUnavailable(
            f"the embedder '{self._name}' {how}, with {done} of {wanted} texts answered",
            hint="the same command goes on where it stopped",
        )

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None  # both were asked for
        return pipe

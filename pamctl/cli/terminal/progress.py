"""How far something has got that may last: for a person at a terminal, and nobody else."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from types import TracebackType
from typing import IO, Any, cast

from pamctl.cli.terminal import output

_PATIENCE_SEC = 1.0
"""What is over sooner needs no word."""
_BETWEEN_SEC = 0.2
_MEGABYTE = 1_000_000


class _Line:
    """A line on standard error that is written over and gone when the `with` is left.

    Shown only where standard error is a terminal that can go back in a line: not with --quiet,
    and not on one that is `dumb`. prints: whether something is printed meanwhile; then it is
    not shown either where that goes to a terminal too.
    """

    def __init__(self, *, quiet: bool, prints: bool) -> None:
        self._begun = time.monotonic()
        self._next = self._begun + _PATIENCE_SEC
        self._shown = False
        self._wanted = (
            not quiet
            and output.is_terminal(sys.stderr)
            and not (prints and output.is_terminal(sys.stdout))
            and os.environ.get("TERM") != "dumb"
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _is_due(self) -> bool:
        return self._wanted and time.monotonic() >= self._next

    def _show(self, told: str) -> None:
        self._next = time.monotonic() + _BETWEEN_SEC
        self._shown = True
        # A line that wrapped could not be written over.
        line = f"pamctl: {told}"[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun


class Progress(_Line):
    """Things that are counted while results are printed.

    what: what they are, in the plural.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet, prints=True)
        self._what = what
        self._count = 0

    def __enter__(self) -> Progress:
        return self

    def advance(self, count: int) -> None:
        """So many more are done."""
        self._count += count
        if self._is_due():
            rate = self._count / self._elapsed()
            self._show(f"{self._count:,} {self._what}, {rate:,.0f} a second")


class FileProgress(_Line):
    """How much of a file was read, or written, while nothing is printed.

    verb: `read` or `written`.
    """

    def __init__(self, verb: str, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet, prints=False)
        self._verb = verb
        self._bytes = 0
        self._of = ""

    def __enter__(self) -> FileProgress:
        return self

    def of(self, file: IO[bytes]) -> IO[bytes]:
        """The file, counted; as it is where nobody would see that."""
        if not self._wanted:
            return file
        if self._verb == "read" and (size := _size(file)):
            self._of = f" of {size / _MEGABYTE:,.0f}"
        return cast("IO[bytes]", _Counted(file, self))

    def advance(self, count: int) -> None:
        """So many bytes more. Whoever reads to the end may have much to do yet."""
        self._bytes += count
        if self._is_due():
            done, rate = self._bytes / _MEGABYTE, self._bytes / _MEGABYTE / self._elapsed()
            self._show(f"{done:,.0f}{self._of} MB {self._verb}, {rate:,.0f} MB a second")


class _Counted:
    """A binary file that tells of what goes through it."""

    def __init__(self, file: IO[bytes], progress: FileProgress) -> None:
        self._file = file
        self._progress = progress

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._progress.advance(len(data))
        return data

    def readline(self, size: int = -1) -> bytes:
        data = self._file.readline(size)
        self._progress.advance(len(data))
        return data

    def write(self, data: bytes) -> int:
        self._progress.advance(len(data))
        return self._file.write(data)

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _size(file: IO[bytes]) -> int:
    """Bytes of a file, 0 for what is none."""
    try:
        return os.fstat(file.fileno()).st_size
    except (OSError, io.UnsupportedOperation):
        return 0


class Waiting(_Line):
    """That something goes on of which nobody knows how much is done, while nothing is printed.

    doing: what, such as `checking the store`.
    """

    def __init__(self, doing: str, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet, prints=False)
        self._doing = doing

    def __enter__(self) -> Waiting:
        if self._wanted:
            import threading

            self._over = threading.Event()
            self._teller = threading.Thread(target=self._tell, daemon=True)
            self._teller.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._wanted:
            self._over.set()
            self._teller.join()
        super().__exit__(kind, error, trace)

    def _tell(self) -> None:
        pause = _PATIENCE_SEC
        while not self._over.wait(pause):
            self._show(f"{self._doing}, {self._elapsed():,.0f} s")
            pause = _BETWEEN_SEC

"""What the operating system refuses when something is written, as an answer for a person."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pamctl.errors import PamError, ServiceUnavailable


class _Explained:
    """A class, because a commit enters half a dozen and a generator takes a microsecond."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, cause: BaseException | None, trace: object
    ) -> None:
        if isinstance(cause, OSError) and not isinstance(cause, FileExistsError):
            raise unavailable(self._path, cause) from cause


def explained(path: Path) -> _Explained:
    """Turns what the operating system refuses into an answer for a person."""
    return _Explained(path)


def unavailable(path: Path, cause: OSError) -> PamError:
    """That `path` cannot be written, why, and what helps."""
    hints = {
        errno.ENOSPC: "free some space and run the same command again",
        errno.EDQUOT: "the disk quota is used up; free some space and try again",
        errno.EROFS: "the file system is read-only; the store can be read, not written",
        errno.EACCES: "you have no permission to write here; the store can be read, not written",
        errno.EPERM: "you have no permission to write here; the store can be read, not written",
        errno.EIO: "the device failed and nothing was acknowledged; check the disk first",
    }
    reason = os.strerror(cause.errno) if cause.errno else str(cause)
    return ServiceUnavailable(
        f"cannot write {path}: {reason}",
        hint=hints.get(cause.errno or 0),
        path=str(path),
        errno=errno.errorcode.get(cause.errno or 0),
    )

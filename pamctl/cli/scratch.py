"""A folder for what a check notes on its way, gone when the check is done.

`tempfile` has one, and takes longer to import than a small store takes to check.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from pamctl.errors import ServiceUnavailable


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """An empty folder of this user's alone, removed in the end with all that is in it.

    It is named by its purpose, and lies in $TMPDIR, else in /tmp, /var/tmp or here. Raises
    ServiceUnavailable where none of them takes it.
    """
    folder = _made(f"pamctl-{purpose}-{os.urandom(8).hex()}")
    try:
        yield folder
    finally:
        rmtree(folder)


def _made(name: str) -> Path:
    for place in (os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp", ""):
        folder = Path(place, name).absolute()
        with suppress(OSError):
            folder.mkdir(mode=0o700)
            return folder
    raise ServiceUnavailable(
        "there is no place for temporary files", hint="name a folder for them with TMPDIR"
    )

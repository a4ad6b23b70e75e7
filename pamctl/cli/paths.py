"""File names, which are UTF-8 on the command line and in answers, whatever the locale says."""

from __future__ import annotations

import os
from pathlib import Path


def as_path(text: str) -> Path:
    """The file that UTF-8 `text` names, whatever encoding the locale gives file names."""
    return Path(os.fsdecode(text.encode("utf-8")))


def path_text(path: Path) -> str:
    """A path as UTF-8 text, whatever encoding the locale gives file names."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")

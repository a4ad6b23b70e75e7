"""File names, which are UTF-8 on the command line and in answers, whatever the locale says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def as_path(text: str) -> Path:
    """The file that UTF-8 `text` names, whatever encoding the locale gives file names."""
    return Path(os.fsdecode(text.encode("utf-8")))


def path_text(path: Path) -> str:
    """A path as UTF-8 text, whatever encoding the locale gives file names."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where what this user's pamctl remembers is kept, outside any store."""
    return _user_folder(environment, "XDG_STATE_HOME", ".local", "state")


def config_folder(environment: Mapping[str, str]) -> Path:
    """Where this user's settings are kept."""
    return _user_folder(environment, "XDG_CONFIG_HOME", ".config")


def _user_folder(environment: Mapping[str, str], variable: str, *below_home: str) -> Path:
    named = environment.get(variable, "")
    # The specification of these folders has relative names ignored.
    if named and Path(named).is_absolute():
        return Path(named) / "pamctl"
    home = environment.get("HOME")
    return (Path(home) if home else Path.home()).joinpath(*below_home, "pamctl")

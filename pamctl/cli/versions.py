"""Which pamctl this is: its version, and what a report of a defect needs besides."""

from __future__ import annotations

from pamctl import __version__

VERSION = f"pamctl {__version__}\n"


def in_full() -> str:
    """The versions that matter where something does not work: of pamctl and the formats it
    knows, of the interpreter and its SQLite, of the system, and of what pamctl stands on."""
    import platform
    import sqlite3
    import sys
    from importlib import metadata
    from pathlib import Path

    from pamctl.store.layout import FORMAT_VERSION

    rows = {
        "store format": str(FORMAT_VERSION),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
        "encoding": f"{sys.stdout.encoding}, of file names {sys.getfilesystemencoding()}",
        "installed in": str(Path(__file__).parents[2]),
    }
    for requirement in sorted(metadata.requires("pamctl") or ()):
        if "extra ==" in requirement:
            continue
        name = _name(requirement)
        try:
            rows[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            rows[name] = "missing"
    width = max(map(len, rows))
    return VERSION + "".join(f"  {name:<{width}}  {value}\n" for name, value in rows.items())


def _name(requirement: str) -> str:
    """The distribution that a requirement names."""
    import re

    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return found.group()

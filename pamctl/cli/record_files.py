"""Which records a command line means: files, folders, patterns, and lists of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from pamctl.cli import input as given
from pamctl.cli.paths import as_path, path_text
from pamctl.errors import InvalidRequest
from pamctl.limits import PROJECTION_RECORD_BYTES_MAX
from pamctl.projection.bundle import RECORD, RECORD_SUFFIX, record_of
from pamctl.projection.many import RecordFile

_NAME_BYTES_MAX = 64 * 1024
_CHUNK_BYTES = 1 << 16


def is_one(name: str) -> bool:
    """Whether a name can mean one record only, and not any number of them."""
    path = as_path(name)
    if name == given.STANDARD_INPUT:
        return True
    if path.is_dir():
        return (path / RECORD).is_file()
    return path.exists() or not _is_pattern(name)


def _is_pattern(name: str) -> bool:
    return any(magic in name for magic in "*?[")


def record_files(
    names: Iterable[str], bundle: Path | None, *, envelope_only: bool
) -> Iterator[RecordFile]:
    """The records that the names mean, in their order; those of a folder or a pattern in
    the order of their names' bytes.

    A folder that holds a record.json is that record; any other is all the records below it,
    which are named record.json or end in .record.json. A name with `*`, `?` or `[` that is
    no file is a pattern; `**` goes down any number of folders. What a record commits to is
    looked for in `bundle`, or beside it.

    Raises InvalidRequest for a folder or a pattern without any record, and for a file that
    cannot be read.
    """
    for name in names:
        if name == given.STANDARD_INPUT:
            data = given.read_bytes(name, "RECORD", PROJECTION_RECORD_BYTES_MAX)
            yield RecordFile(name, Path(), None if envelope_only else bundle or Path(), data)
            continue
        for shown, file in _meant(name):
            folder = bundle or file.parent
            yield RecordFile(shown, file, None if envelope_only else folder)


def changed_records(
    names: Iterable[str], bundle: Path | None, *, envelope_only: bool
) -> Iterator[RecordFile]:
    """The records that changed files belong to, each once, in the order in which the first
    of its files is named. A file that belongs to no record is passed over."""
    seen: set[Path] = set()
    for name in names:
        file = record_of(as_path(name))
        if file is not None and file not in seen:
            seen.add(file)
            folder = None if envelope_only else bundle or file.parent
            yield RecordFile(path_text(file), file, folder)


def _meant(name: str) -> Iterator[tuple[str, Path]]:
    path = as_path(name)
    if path.is_dir() and (path / RECORD).is_file():
        yield name, path / RECORD
    elif path.is_dir():
        yield from _not_none(_below(path), f"there is no record in the folder {name}")
    elif not path.exists() and _is_pattern(name):
        yield from _not_none(_matches(name), f"no record matches {name}")
    else:
        given.open_bytes(name, "RECORD").close()
        yield name, path


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    for place, folders, files in os.walk(folder):
        folders.sort(key=os.fsencode)
        for file in sorted(files, key=os.fsencode):
            if file == RECORD or file.endswith(RECORD_SUFFIX):
                found = Path(place, file)
                yield path_text(found), found


def _matches(pattern: str) -> Iterator[tuple[str, Path]]:
    import glob

    # Path.glob takes no absolute pattern.
    found = glob.glob(os.fspath(as_path(pattern)), recursive=True)  # noqa: PTH207
    for path in map(Path, sorted(found, key=os.fsencode)):
        if not path.is_dir():
            yield path_text(path), path
        elif (path / RECORD).is_file():
            yield path_text(path), path / RECORD


def _not_none(found: Iterator[tuple[str, Path]], problem: str) -> Iterator[tuple[str, Path]]:
    """A check of nothing must not pass for a check."""
    first = next(found, None)
    if first is None:
        raise InvalidRequest(problem, hint=f"records are named {RECORD} or *{RECORD_SUFFIX}")
    yield first
    yield from found


def listed(name: str) -> Iterator[str]:
    """The names in a list: each ends in NUL where the first ends in it, else in a newline.

    name: of the file that holds the list; `-` is standard input. Raises InvalidRequest for
    a name that is not UTF-8 or longer than any file's.
    """
    with given.open_bytes(name, "--files-from") as stream:
        for entry in _entries(stream):
            try:
                text = entry.decode("utf-8")
            except UnicodeDecodeError as cause:
                raise InvalidRequest("--files-from holds a name that is not UTF-8") from cause
            if text:
                yield text


def _entries(stream: IO[bytes]) -> Iterator[bytes]:
    ending: bytes | None = None
    rest = b""
    while chunk := stream.read(_CHUNK_BYTES):
        rest += chunk
        if ending is None and (b"\0" in rest or b"\n" in rest):
            ending = b"\0" if b"\0" in rest else b"\n"
        if ending is not None:
            *whole, rest = rest.split(ending)
            yield from whole
        if len(rest) > _NAME_BYTES_MAX:
            raise InvalidRequest(f"--files-from holds a name of over {_NAME_BYTES_MAX} bytes")
    yield rest

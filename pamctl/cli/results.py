"""Results that are files: where one goes is decided before the work, and then it is written
whole, durably, or to standard output as it is."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import as_path, path_text
from pamctl.cli.terminal import output, presentation
from pamctl.errors import InvalidRequest
from pamctl.named_tuples import NamedTuple

STANDARD_OUTPUT = "-"

Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="The file to make; - prints the result as it is. Default: inside the JSON answer.",
    ),
]


class Place(NamedTuple):
    """Where a result goes: a file, or standard output as it is, or, with neither, into the
    answer. `replaces`: whether the file may be there."""

    path: Path | None = None
    plain: bool = False
    replaces: bool = False


def place_for(name: str | None, *, replaces: bool = False) -> Place:
    """The place that --output names. Raises InvalidRequest where it can be no file."""
    if name is None or name == STANDARD_OUTPUT:
        return Place(plain=name is not None)
    path = as_path(name)
    if path.exists() and not path.is_file():
        raise InvalidRequest(
            f"{name} is no file", hint="give - and redirect that, for a pipe or a device"
        )
    if not replaces and path.exists():
        raise InvalidRequest(f"{name} is there already", hint="name another file, or remove it")
    if path.is_symlink():
        path = path.resolve()
    if not path.parent.is_dir():
        raise InvalidRequest(f"there is no folder {path_text(path.parent)} for {name}")
    return Place(path, replaces=replaces)


def require_outside(place: Place, store: Path, name: str) -> None:
    """Raises InvalidRequest for a file within the store."""
    if place.path is not None and store.resolve() in place.path.resolve().parents:
        raise InvalidRequest(
            f"{name} is within the store", hint="name a file that is not part of it"
        )


def put(call: Invocation, place: Place, data: bytes, facts: dict[str, Any], sentence: str) -> None:
    """Put `data` in its place and say so; see `tell`."""
    tell(call, placed(place, data, facts), data, sentence, plain=place.plain)


def placed(place: Place, data: bytes, facts: dict[str, Any]) -> dict[str, Any]:
    """Put `data` into the file, if it is to be one; the facts, and where it is."""
    if place.path is None:
        return facts
    write_file(place, data)
    return {**facts, "output": path_text(place.path)}


def tell(
    call: Invocation, facts: dict[str, Any], data: bytes, sentence: str, *, plain: bool
) -> None:
    """Say what was made: as `facts`, or as a sentence to a person; a person who named no place
    sees the data, and so does whoever wanted it `plain`."""
    file = facts.get("output")
    if plain or (file is None and call.format == "table"):
        output.write(data)
        return
    said = sentence if file is None else f"{sentence}, in {file}"
    presentation.show_done(call, facts, lambda _: said)


def write_file(place: Place, data: bytes) -> None:
    """Write a file whole and durably. Raises InvalidRequest where somebody made it first."""
    from pamctl.store import files

    assert place.path is not None
    if place.replaces:
        files.replace_whole(place.path, data)
        return
    try:
        files.create_new(place.path, data)
    except FileExistsError as cause:
        raise InvalidRequest(f"{path_text(place.path)} is there already") from cause

"""What a query by similarity is asked for, and what its answer discloses. PAMSPEC §11."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli.invocation import Invocation
from pamctl.errors import InvalidRequest
from pamctl.limits import APPROXIMATE_FROM_VECTORS

Space = Annotated[
    str | None,
    typer.Option(
        "--space",
        metavar="ID",
        help="The most similar first, by vectors of that Embedding Space: to --vector, to"
        " --like, or to --text where the space is the built-in embedder's.",
    ),
]
Vector = Annotated[
    str | None,
    typer.Option(
        "--vector",
        metavar="FILE",
        help="Similar to this vector, a JSON list of numbers; - is standard input.",
    ),
]
Like = Annotated[
    str | None, typer.Option("--like", metavar="OBJECT", help="Similar to that memory.")
]
Hybrid = Annotated[
    bool,
    typer.Option(
        "--hybrid",
        help="What --text and similarity find together; without --space by the built-in"
        " embedder's vectors.",
    ),
]
Exact = Annotated[bool, typer.Option("--exact", help="Compare all vectors, whatever their number.")]
Approximate = Annotated[
    bool,
    typer.Option(
        "--approximate",
        help="Search a graph over the vectors, which may miss some; it is made where there is"
        f" none. With more than {APPROXIMATE_FROM_VECTORS:,} vectors one that is there is used"
        " unasked.",
    ),
]


def members(
    space: str | None, vector: str | None, like: str | None, hybrid: bool, search: str | None
) -> dict[str, Any]:
    """The members of a query that ask for similarity."""
    if space is None and hybrid and vector is None:
        from pamctl.rules.spaces import BUILT_IN

        space = BUILT_IN
    if space is None and not (vector is None and like is None and search is None):
        raise InvalidRequest(
            "vectors mean something in one Embedding Space alone", hint="name it with --space"
        )
    return {
        "embedding_space_id": space,
        "vector": None if vector is None else _numbers(vector),
        "like_object_id": like,
        "hybrid": hybrid or None,
        "search": search,
    }


def way(exact: bool, approximate: bool) -> str | None:
    """How vectors are to be searched; None for whatever suits."""
    if exact and approximate:
        raise InvalidRequest("--exact and --approximate exclude each other")
    return "exact" if exact else "approximate" if approximate else None


def _numbers(file: str) -> list[int | float]:
    value = given.json_value(given.Source(file=file), "--vector")
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        raise InvalidRequest("the value of --vector is not a JSON list of numbers")
    return value


def disclose(call: Invocation, answer: Mapping[str, Any]) -> None:
    """Says on standard error what lines and tables have no room for."""
    said = answer.get("similarity")
    if said is None or call.format == "json":
        return
    left_out = said.get("without_vector")
    pinned = "best effort" if said["best_effort"] else "repeatable"
    call.note(
        f"{said['kind']} ranking in {said['embedding_space_id']}, {said['search']}, {pinned}"
        + (f"; {left_out} of {said['candidates']} have no vector there" if left_out else "")
    )

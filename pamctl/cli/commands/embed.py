"""`pamctl embed`: vectors of memories, by Embedding Space. PAMSPEC §7.8."""

from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from pamctl.cli import input as given
from pamctl.cli import options, parameters, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.terminal.progress import Progress
from pamctl.cli.verbs import application, verb
from pamctl.encoding import strict_json
from pamctl.errors import (
    AccessDenied,
    DuplicateOperation,
    EmbeddingSpaceMismatch,
    InvalidRequest,
    ObjectDeleted,
    ObjectNotFound,
    ObjectRedacted,
    PamError,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.limits import DOCUMENT_BYTES_MAX, EMBEDDINGS_PER_REQUEST_MAX

if TYPE_CHECKING:
    from pamctl.bindings.embedder import Embedder

app = application(summary="Keep vectors of memories.")

# A slow model loses no more than this when it is interrupted.
_BATCH = 100
_PATIENCE_SEC = 300

Program = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="PROGRAM",
        help="The embedder, with its arguments quoted as in a shell; no shell runs.",
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        "--batch",
        metavar="N",
        parser=options.whole_number(1, EMBEDDINGS_PER_REQUEST_MAX),
        help=f"Texts that are embedded at a time, and kept together; default: {_BATCH}.",
    ),
]
Patience = Annotated[
    int | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        parser=options.whole_number(1, 86_400),
        help="How long the program may print nothing while it owes vectors; default:"
        f" {_PATIENCE_SEC}.",
    ),
]
Space = Annotated[
    str | None, typer.Option("--space", metavar="ID", help="Of that Embedding Space.")
]


@verb(
    app,
    writing.KEYED,
    example="""pamctl embed put vectors.jsonl
pamctl embed put --space space:minilm:1 < vectors.jsonl""",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        ObjectRedacted,
        ObjectDeleted,
        EmbeddingSpaceMismatch,
        ServiceUnavailable,
    ),
)
def put(
    call: Invocation,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="JSON Lines of vectors; - is standard input.")
    ] = given.STANDARD_INPUT,
    space: Annotated[
        str | None,
        typer.Option("--space", metavar="ID", help="The Embedding Space of lines without one."),
    ] = None,
) -> None:
    """Keep vectors, one a line.

    A line is a JSON object:

        {"object_id": "mem:...", "vector": [...], "embedding_space_id": "...",
         "version_id": "what it was made from; default: the current version"}

    A memory has one vector in a space; a later one takes its place. A thousand lines are
    kept together or not at all; what stands before a line that fails stays.
    """
    done = once(call, lambda: _put(call, file, space), reads=("file",))
    presentation.show_done(call, done, lambda result: f"kept {result['embedded']} vectors")


def _put(call: Invocation, file: str, space: str | None) -> dict[str, Any]:
    done: dict[str, Any] = {"embedded": 0, "embedding_space_ids": [], "scope_id": call.scope_id}
    with given.open_bytes(file, "the vectors") as lines:
        for first, embeddings in _chunks(lines, space):
            try:
                answer = call.perform("embedding_put", call.request(embeddings=embeddings))
            except PamError as error:
                error.details["lines"] = [first, first + len(embeddings) - 1]
                error.details["embedded"] = done["embedded"]
                raise
            answer["embedded"] += done["embedded"]
            spaces = {*done["embedding_space_ids"], *answer["embedding_space_ids"]}
            done = {**answer, "embedding_space_ids": sorted(spaces)}
    return done


@verb(
    app,
    writing.KEYED,
    example="pamctl embed delete mem:tea\npamctl embed delete --space space:minilm:1",
    errors=(
        ObjectNotFound,
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        EmbeddingSpaceMismatch,
        ServiceUnavailable,
    ),
)
def delete(
    call: Invocation,
    object_id: Annotated[
        str | None, typer.Argument(metavar="[OBJECT]", help="Identifier of the memory.")
    ] = None,
    space: Space = None,
) -> None:
    """Take vectors away.

    Those of a memory go, of a space, or of a memory in a space. The memories stay as they
    are.
    """
    if object_id is None and space is None:
        raise InvalidRequest("name a memory, or a space with --space")
    request = call.request(object_id=object_id, embedding_space_id=space)
    result = once(call, lambda: call.perform("embedding_delete", request))
    presentation.show_done(call, result, lambda done: f"took away {done['deleted']} vectors")


@verb(
    app,
    options.SCOPED,
    example="pamctl embed status",
    errors=(ScopeNotFound, AccessDenied, EmbeddingSpaceMismatch),
)
def status(call: Invocation, space: Space = None) -> None:
    """Show how many memories have a vector in each space.

    A vector is stale when its memory has a newer version than it was made from.
    """
    answer = call.perform("embedding_status", call.request(embedding_space_id=space))
    presentation.show_items(call, answer, _STATUS)


@verb(
    app,
    options.SCOPED,
    example="pamctl embed export --space space:minilm:1 --format jsonl",
    errors=(ScopeNotFound, AccessDenied, EmbeddingSpaceMismatch),
)
def export(
    call: Invocation,
    space: Annotated[
        str,
        typer.Option("--space", metavar="ID", help="The Embedding Space.", show_default=False),
    ],
    limit: parameters.Limit = None,
    cursor: parameters.Cursor = None,
) -> None:
    """Print the vectors of a space.

    With JSON its descriptor is there too. Lines of --format jsonl are what 'embed put' takes,
    but for the member stale.
    """
    request = call.request(embedding_space_id=space, limit=limit, cursor=cursor)
    presentation.show_items(call, call.perform("embedding_export", request), _VECTORS)


@verb(
    app,
    writing.KEYED,
    example="""pamctl embed run --builtin
pamctl embed run --space space:minilm:1 --command 'python embedder.py'""",
    errors=(
        ScopeNotFound,
        DuplicateOperation,
        AccessDenied,
        EmbeddingSpaceMismatch,
        ServiceUnavailable,
    ),
)
def run(
    call: Invocation,
    space: Annotated[
        str | None,
        typer.Option("--space", metavar="ID", help="The Embedding Space of --command."),
    ] = None,
    command: Program = None,
    builtin: Annotated[
        bool,
        typer.Option(
            "--builtin",
            help="The embedder of pamctl itself: hashed words and parts of words, no model."
            " It describes its own space.",
        ),
    ] = False,
    batch: Batch = None,
    patience: Patience = None,
) -> None:
    """Make the vectors that are missing or stale.

    The program reads lines {"id": ..., "text": ...} and prints, for each, in any order:

        {"id": "the same", "vector": [...]}

    A batch is kept when all of it is answered; a run that ends early goes on from there when
    it is started again.
    """
    if builtin == (command is not None):
        raise InvalidRequest("name an embedder with --command, or take --builtin")
    if builtin and space is not None:
        raise InvalidRequest("--builtin has a space of its own", hint="leave --space out")
    if command is not None and space is None:
        raise InvalidRequest("--command needs --space: what its vectors mean")
    done = once(call, lambda: _run(call, space, command, batch, patience))
    presentation.show_done(call, done, lambda result: f"made {result['embedded']} vectors")


def _run(
    call: Invocation,
    space: str | None,
    command: str | None,
    batch: int | None,
    patience: int | None,
) -> dict[str, Any]:
    from pamctl.bindings import embedding

    def perform(operation: str, members: dict[str, Any]) -> Any:
        return call.perform(operation, call.request(**members))

    tally = embedding.Tally()
    with Progress("vectors", quiet=call.quiet) as progress:
        try:
            if command is None or space is None:
                space = embedding.run_builtin(perform, tally, advance=progress.advance)
            else:
                perform("space_show", {"embedding_space_id": space})
                with _started(command, patience) as program:
                    embedding.run(
                        perform,
                        space,
                        program.vectors,
                        tally,
                        batch=batch or _BATCH,
                        advance=progress.advance,
                    )
        except PamError as error:
            error.details["embedded"] = tally.embedded
            raise
    return {"embedding_space_id": space, "scope_id": call.scope_id, **vars(tally)}


def _started(command: str, patience: int | None) -> "Embedder":
    from pamctl.bindings.embedder import Embedder

    return Embedder(_words(command), patience_sec=patience or _PATIENCE_SEC)


def _words(command: str) -> list[str]:
    import shlex

    try:
        words = shlex.split(command)
    except ValueError as cause:
        raise InvalidRequest(f"--command cannot be read: {cause}") from cause
    if not words:
        raise InvalidRequest("--command names no program")
    return words


def _chunks(lines: IO[bytes], space: str | None) -> Iterator[tuple[int, list[Any]]]:
    """Vectors to be kept together, each time with the number of the first one's line."""
    chunk: list[Any] = []
    first, size, number = 1, 0, 0
    while line := lines.readline(DOCUMENT_BYTES_MAX + 1):
        number += 1
        if len(line) > DOCUMENT_BYTES_MAX:
            raise InvalidRequest(f"line {number} is longer than limits.DOCUMENT_BYTES_MAX")
        if not line.strip():
            continue
        embedding = strict_json.parse(line.rstrip(b"\r\n"), what=f"line {number}")
        if not isinstance(embedding, dict):
            raise InvalidRequest(f"line {number} is not a JSON object")
        embedding.pop("stale", None)
        if space is not None:
            embedding.setdefault("embedding_space_id", space)
        first = first if chunk else number
        chunk.append(embedding)
        size += len(line)
        if len(chunk) == EMBEDDINGS_PER_REQUEST_MAX or size > DOCUMENT_BYTES_MAX:
            yield first, chunk
            chunk, size = [], 0
    if chunk:
        yield first, chunk


def _numbers(item: Mapping[str, Any]) -> str:
    return presentation.excerpt(item["vector"])


_STATUS = (
    Column("SPACE", lambda item: str(item["embedding_space_id"])),
    Column("DIMENSIONS", lambda item: str(item["dimensions"]), whole=True),
    Column("FRESH", lambda item: str(item["fresh"]), whole=True),
    Column("STALE", lambda item: str(item["stale"]), whole=True),
    Column("MISSING", lambda item: str(item["missing"]), whole=True),
)
_VECTORS = (
    Column("OBJECT", lambda item: str(item["object_id"])),
    Column("VERSION", lambda item: str(item["version_id"])),
    Column("STALE", lambda item: "stale" if item["stale"] else "-", whole=True),
    Column("VECTOR", _numbers),
)

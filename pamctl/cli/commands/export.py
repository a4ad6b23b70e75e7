"""`pamctl export`: carry scopes, or a selection of one, away in a file."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from pamctl.cli import options
from pamctl.cli.invocation import Invocation
from pamctl.cli.results import STANDARD_OUTPUT, place_for, require_outside
from pamctl.cli.terminal import output, presentation
from pamctl.cli.terminal.progress import FileProgress
from pamctl.cli.verbs import application, verb
from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    ServiceUnavailable,
    SnapshotNotFound,
)

app = application()

_COPY_BYTES = 1 << 20
_FORMS: Mapping[str, tuple[str, str]] = {
    "bundle": ("", ""),
    "prov-json": ("pamctl.exchange.prov", "write_prov"),
    "markdown": ("pamctl.exchange.markdown", "write_markdown"),
}


Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The file to write; - is standard output. .zst compresses it.",
    ),
]
Objects = Annotated[
    list[str] | None,
    typer.Option(
        "--object", metavar="OBJECT", help="Only that object, all of it; may be repeated."
    ),
]
Snapshot = Annotated[
    str | None,
    typer.Option("--snapshot", metavar="ID", help="Only what that snapshot holds."),
]
Withhold = Annotated[
    list[str] | None,
    typer.Option(
        "--withhold",
        metavar="VERSION",
        help="Without the content of that version; may be repeated.",
    ),
]
WithholdContent = Annotated[
    list[str] | None,
    typer.Option(
        "--withhold-content",
        metavar="OBJECT",
        help="Without the content of that object; may be repeated.",
    ),
]
Form = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="FORM",
        help="bundle, which can be imported; prov-json (W3C PROV) or markdown, which cannot.",
        parser=options.one_of("form of an export", list(_FORMS)),
    ),
]


@verb(
    app,
    options.SCOPED,
    example="""pamctl export --output memory.jsonl
pamctl export --all-scopes --output memory.jsonl.zst
pamctl export --object mem:tea --output tea.jsonl""",
    errors=(
        ScopeNotFound,
        ObjectNotFound,
        SnapshotNotFound,
        AccessDenied,
        ServiceUnavailable,
    ),
)
def export(
    call: Invocation,
    file: Output = STANDARD_OUTPUT,
    all_scopes: Annotated[
        bool, typer.Option("--all-scopes", help="Every scope that the actor may export.")
    ] = False,
    objects: Objects = None,
    snapshot: Snapshot = None,
    withhold: Withhold = None,
    withhold_content: WithholdContent = None,
    with_embeddings: Annotated[
        bool, typer.Option("--with-embeddings", help="With the vectors of what is exported.")
    ] = False,
    compress: Annotated[
        bool, typer.Option("--compress", help="Compress it, whatever the file is called.")
    ] = False,
    form: Form = "bundle",
) -> None:
    """Carry memory away in a file.

    A bundle holds the ledger and the versions of a scope as they are stored, so that whoever
    gets it can verify it (verify-export) and import it. The same state gives the same bytes.
    What was redacted or erased, and what the actor may not read, does not leave.
    """
    from pamctl.exchange.exporting import export_bundle

    if all_scopes and call.named_scope is not None:
        raise InvalidRequest("--all-scopes and --scope are both given", hint="give one of them")
    write = partial(
        export_bundle,
        call.store,
        scope_ids=None if all_scopes else [call.scope_id],
        object_ids=objects,
        snapshot_id=snapshot,
        withhold_version_ids=withhold,
        withhold_object_ids=withhold_content,
        with_embeddings=with_embeddings,
        actor=call.actor,
        operation_id=call.flags.get("operation_id"),
    )
    place = place_for(file, replaces=True)
    require_outside(place, call.store_path, file)
    replaced = place.path is not None and place.path.exists()
    with FileProgress("written", quiet=call.quiet) as progress:

        def counted(target: IO[bytes]) -> dict[str, Any]:
            return write(progress.of(target))

        compressed = compress or file.endswith(".zst")
        answer = _export(counted, place.path, form, compressed=compressed)
    if place.path is not None:
        presentation.show(call, {**answer, "file": file}, _card)
        if replaced:
            call.note(f"{file} was there, and was replaced")


def _export(
    write: Callable[[IO[bytes]], dict[str, Any]], path: Path | None, form: str, *, compressed: bool
) -> dict[str, Any]:
    """Write a bundle, or what another form makes of it, to a file or to standard output, where
    nothing appears before all of it is made."""
    if path is not None and form == "bundle" and not compressed:
        with _file(path) as target:
            return write(target)
    with tempfile.TemporaryFile(prefix="pamctl-export-") as bundle:
        answer = write(bundle)
        bundle.seek(0)
        with _in_form(form, bundle) as made:
            pieces = _compressed(made) if compressed else _pieces(made)
            if path is None:
                for piece in pieces:
                    output.write(piece)
            else:
                with _file(path) as target:
                    target.writelines(pieces)
    return answer


@contextmanager
def _in_form(form: str, bundle: IO[bytes]) -> Iterator[IO[bytes]]:
    """The bundle, or what another form makes of it."""
    module, name = _FORMS[form]
    if not module:
        yield bundle
        return
    from pamctl.model.bundles import read_bundle

    write: Callable[..., None] = getattr(import_module(module), name)
    with tempfile.TemporaryFile(prefix="pamctl-export-") as made:
        write(read_bundle(bundle), made)
        made.seek(0)
        yield made


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_COPY_BYTES):
        yield piece


def _compressed(file: IO[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise InvalidRequest(
            "to compress takes the package zstandard, which is not installed",
            hint="pip install 'pamctl[zstd]', or compress the file with `zstd` afterwards",
        ) from None
    # One thread and one level, so that the same bundle gives the same bytes here again.
    packing = zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj()
    for piece in _pieces(file):
        yield packing.compress(piece)
    yield packing.flush()


@contextmanager
def _file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which appears whole, or stays what it was."""
    from pamctl.store.files import writing_whole

    with writing_whole(path) as target:
        yield target


def _card(answer: Mapping[str, Any]) -> dict[str, str]:
    counts = answer["counts"]
    rows = {
        "file": answer["file"],
        "kind": answer["kind"],
        "digest": answer["digest"],
        "lines": ", ".join(f"{number} {what}" for what, number in counts.items() if number),
        "withheld": "something was held back" if answer["withheld"] else "nothing",
    }
    for scope in answer["scopes"]:
        rows[scope["scope_id"]] = f"{scope['entries']} entries, {scope['sequence']} events"
    return rows

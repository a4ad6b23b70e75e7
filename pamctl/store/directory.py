"""A `.pam` directory as a whole: make one, find one, open one, and its scopes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.strict_json import parse
from pamctl.errors import (
    InvalidRequest,
    PamError,
    ScopeNotFound,
    ServiceUnavailable,
    StoreDamaged,
    StoreNotFound,
    UnknownFormat,
)
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.store.layout import FORMAT, FORMAT_VERSION, STORE_FOLDER, ScopeLayout, StoreLayout
from pamctl.store.plain_files import open_plain, require_own_folder

if TYPE_CHECKING:
    from pamctl.store.commit import NewTransaction

# No line endings are changed, and no file is merged line by line: two ledgers that grew apart
# would become one with conflict markers in it, and that is none.
_GITATTRIBUTES = b"* -text -merge\n"
_GITIGNORE = b"/index/\n/keys/*.pem\n/lock\n/scopes/*/lock\n/scopes/*/tmp/\n/scopes/.*\n"


class StoreDirectory:
    """An open store: its layout and its `store.json`."""

    def __init__(self, layout: StoreLayout, config: Mapping[str, Any]) -> None:
        self.layout = layout
        self.config = config
        self._warned = False

    def warnings(self) -> list[str]:
        """What a writer should be told of the place that the store is in; told once."""
        if self._warned:
            return []
        self._warned = True
        from pamctl.store.file_systems import warning  # who only reads asks for none

        told = warning(self.layout.root)
        return [] if told is None else [told]

    @classmethod
    def find(cls, start: Path) -> Path:
        """The nearest `.pam` in `start` or above it. Raises StoreNotFound."""
        start = Path(os.path.abspath(start))
        for folder in (start, *start.parents):
            if (folder / STORE_FOLDER / "store.json").is_file():
                return folder / STORE_FOLDER
        raise StoreNotFound(
            f"there is no {STORE_FOLDER} store in {start} or above it",
            hint="make one with `pamctl init`, or name one with --store DIR",
        )

    @classmethod
    def open(cls, root: Path) -> StoreDirectory:
        """Open the store at `root`. Raises StoreNotFound, UnknownFormat or StoreDamaged."""
        layout = StoreLayout(root)
        try:
            data = _read(layout.store_file)
        except (FileNotFoundError, NotADirectoryError):
            raise StoreNotFound(
                f"there is no store at {root}", hint="make one with `pamctl init`"
            ) from None
        config = _document(layout.store_file, data)
        if config.get("format") != FORMAT:
            raise UnknownFormat(f"{root} is no {FORMAT}: its format is {config.get('format')!r}")
        if config.get("format_version") != FORMAT_VERSION:
            raise UnknownFormat(
                f"{root} has format version {config.get('format_version')!r}; "
                f"this pamctl knows version {FORMAT_VERSION}",
                hint="use a pamctl that knows it; nothing was changed",
            )
        if not isinstance(config.get("store_id"), str):
            raise StoreDamaged(f"{layout.store_file} names no store_id")
        for folder in layout.folders:
            require_own_folder(folder)
        return cls(layout, config)

    @classmethod
    def create(cls, root: Path, config: Mapping[str, Any]) -> StoreDirectory:
        """Make a store at `root`, or open the one that is there and leave it as it is.

        `store.json` is written last: a store whose making was interrupted is none, and
        making it again completes it.
        """
        from pamctl.store import files

        layout = StoreLayout(root)
        if not layout.store_file.exists():
            for folder in reversed([p for p in root.parents if not p.exists()]):
                files.ensure_directory(folder)
            if not root.is_dir():
                files.ensure_directory(root)
            files.ensure_directory(layout.keys, mode=0o700)
            for folder in (layout.scopes, layout.projections, layout.index):
                files.ensure_directory(folder)
            files.replace_whole(root / ".gitattributes", _GITATTRIBUTES)
            files.replace_whole(root / ".gitignore", _GITIGNORE)
            # Another process may make it in this moment; then its store is the one.
            with contextlib.suppress(FileExistsError):
                files.create_new(layout.store_file, canonical(dict(config)) + b"\n")
        return cls.open(root)

    def scopes(self) -> Iterator[dict[str, Any]]:
        """The `scope.json` of every scope, in the order of their folder names."""
        try:
            names = sorted(os.listdir(self.layout.scopes))
        except FileNotFoundError:
            return
        for name in names:
            if not name.startswith("."):
                yield self._scope_document(ScopeLayout(self.layout.scopes / name))

    def scope(self, scope_id: str) -> ScopeLayout:
        """The layout of a scope that exists. Raises ScopeNotFound."""
        layout = self.layout.scope(scope_id)
        require_own_folder(layout.root)
        if not layout.scope_file.exists():
            raise ScopeNotFound(f"there is no scope {scope_id}")
        document = self._scope_document(layout)
        if document.get("scope_id") != scope_id:
            raise StoreDamaged(
                f"the folder {layout.root} belongs to scope {document.get('scope_id')!r}, "
                f"not to {scope_id!r}",
                path=str(layout.root),
            )
        return layout

    def create_scope(
        self, scope: Mapping[str, Any], transactions: Sequence[NewTransaction]
    ) -> ScopeLayout:
        """Make a scope with the first transactions of its ledger, unless it is there.

        It appears whole, by one rename. Raises InvalidRequest when the folder's name is
        taken by another scope.
        """
        # Here, because what only reads must not pay for the writer.
        from pamctl.store import files
        from pamctl.store.commit import first_ledger
        from pamctl.store.lock import exclusive

        layout = self.layout.scope(scope["scope_id"])
        files.ensure_directory(self.layout.scopes)
        with exclusive(self.layout.lock):
            self._set_aside_unfinished_scopes()
            try:
                files.publish_directory(
                    layout.root,
                    {
                        "scope.json": canonical(dict(scope)) + b"\n",
                        "ledger.jsonl": first_ledger(transactions),
                    },
                    folders=("versions", "packs", "tmp"),
                )
            except FileExistsError:
                if self._scope_document(layout).get("scope_id") != scope["scope_id"]:
                    raise InvalidRequest(
                        f"the scope id {scope['scope_id']} needs the folder of another scope",
                        hint="choose another scope id",
                    ) from None
        return layout

    def adopt_scope(self, built: Path, scope_id: str) -> None:
        """Take over the folder of a scope that was built elsewhere in the store. It appears
        whole, by one rename. Raises ServiceUnavailable where there is one by now."""
        from pamctl.store import files
        from pamctl.store.lock import exclusive

        layout = self.layout.scope(scope_id)
        files.ensure_directory(self.layout.scopes)
        with exclusive(self.layout.lock):
            self._set_aside_unfinished_scopes()
            try:
                files.move_durably(built, layout.root)
            except FileExistsError:
                raise ServiceUnavailable(
                    f"the scope {scope_id} was made while it was being imported",
                    hint="run the same command again",
                ) from None

    def _set_aside_unfinished_scopes(self) -> None:
        """Move what is left of a scope whose making was interrupted; the lock is held."""
        from pamctl.store import files

        for name in os.listdir(self.layout.scopes):
            if name.startswith("."):
                files.ensure_directory(self.layout.quarantine)
                files.set_aside(self.layout.scopes / name, self.layout.quarantine / f"scope{name}")

    def _scope_document(self, layout: ScopeLayout) -> dict[str, Any]:
        try:
            data = _read(layout.scope_file)
        except (FileNotFoundError, NotADirectoryError):
            raise StoreDamaged(
                f"the scope folder {layout.root} has no scope.json",
                hint="run `pamctl fsck` to see what is damaged",
            ) from None
        return _document(layout.scope_file, data)


def _read(path: Path) -> bytes:
    with os.fdopen(open_plain(path), "rb") as file:
        return file.read(DOCUMENT_BYTES_MAX + 1)


def _document(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = parse(data, what=str(path))
    except PamError as cause:
        raise StoreDamaged(cause.message, path=str(path)) from cause
    if not isinstance(value, dict):
        raise StoreDamaged(f"{path} is no JSON object", path=str(path))
    return value

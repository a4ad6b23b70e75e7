"""Commands that change what is in no one ledger, done once under an idempotency key.

What changes a scope has its key in the scope's ledger (`service.idempotency`). Keys, settings,
packs, indexes and files are in none, so what such a command answered is kept for its user,
under `$XDG_STATE_HOME/pamctl/retries/` or `~/.local/state/pamctl/retries/`, one file a key:

    {"answer": {...}, "command": "key generate", "request": "<64 hex>"}

Name and request are HMACs under the user's retry secret, so the file tells nobody what was
asked. The answer is kept when it is true. A command that dies before that is done again, which
does no harm; one that would be refused the second time leaves a mark before the first, a file
without `answer`, and the second looks for what the first made.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.cli import input as given
from pamctl.cli.invocation import EVALUATION_VARIABLE
from pamctl.cli.paths import as_path, path_text, state_folder
from pamctl.errors import DuplicateOperation, InvalidRequest, PamError, StoreNotFound
from pamctl.limits import KEPT_ANSWER_BYTES_MAX, KEPT_ANSWERS_MAX

if TYPE_CHECKING:
    from pamctl.cli.invocation import Invocation

Answer = dict[str, Any]


def refuse_key(call: Invocation, why: str) -> None:
    """Raises InvalidRequest where a key is given to a call that changes nothing, or that
    cannot answer twice."""
    if call.asks_for_once:
        raise InvalidRequest(f"{why}, so there is no request to give an idempotency key")


def once(
    call: Invocation,
    act: Callable[[], Mapping[str, Any]],
    *,
    reads: Sequence[str] = (),
    paths: Sequence[str] = (),
    store: Path | None = None,
    made: Callable[[], Mapping[str, Any] | None] | None = None,
) -> Answer:
    """What the command answers, with `replayed`: whether it was done before, under the key
    that --idempotency-key gives or --retry-key-from-content makes. Without either it is done,
    and so it is within an evaluation: what a run writes must not hang on the runs before it.

    act: does it, and says what was done.
    reads: arguments of the command that name files to read; a request is what they hold.
    paths: arguments that name files or folders to write or to run with.
    store: the store, where it is another than the call's.
    made: of a command that would be refused the second time: what the first time made, None
        if there is nothing of it.

    Raises DuplicateOperation where the key was used with another request, and what keeps the
    secret or the mark from being written, before anything is done.
    """
    if not call.asks_for_once:
        return {**act(), "replayed": False}
    asked = _asked(call, reads, paths)
    key = call.taken_key(call.command, asked)
    if call.environment.get(EVALUATION_VARIABLE):
        return {**act(), "replayed": False}
    kept = _Kept(call, key, asked, store)
    known = kept.read()
    if known is not None and "answer" in known:
        if call.format == "table":
            call.note("done before under this idempotency key; nothing changed")
        return {**known["answer"], "replayed": True}
    found = made() if known is not None and made is not None else None
    if found is not None:
        kept.keep({"answer": dict(found)})
        return {**found, "replayed": True}
    with kept.marked(made is not None):
        answer = dict(act())
    try:
        kept.keep({"answer": answer})
    except (OSError, PamError) as cause:
        # It is done; to fail now would say that it is not.
        call.note(f"the answer was not kept, and the key does not count: {cause}")
    return {**answer, "replayed": False}


def _asked(call: Invocation, reads: Sequence[str], paths: Sequence[str]) -> Answer:
    """The request: the command's own arguments, who asks and of which scope, what the files
    hold that it reads, and where the paths are that it names."""
    asked = {name: _plain(value) for name, value in call.arguments.items()}
    for name in (*reads, *paths):
        if asked.get(name) is not None:
            named = asked[name] if isinstance(asked[name], list) else [asked[name]]
            asked[name] = [_meant(str(one), name, is_read=name in reads) for one in named]
    asked = {n: value for n, value in asked.items() if value is not None and n != "format"}
    if "actor_kind" in call.flags:
        asked["actor"] = call.actor
    if call.named_scope is not None:
        asked["scope_id"] = call.named_scope
    return asked


def _meant(text: str, flag: str, *, is_read: bool) -> str:
    """What an argument stands for that may be the name of a file."""
    path = as_path(text)
    if is_read and (text == given.STANDARD_INPUT or path.is_file()):
        return f"sha256:{given.digest(text, flag)}"
    if text == given.STANDARD_INPUT or (is_read and not path.is_dir()):
        return text
    return path_text(path.absolute())


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


class _Kept:
    """What is kept of one request."""

    def __init__(
        self, call: Invocation, key: str, asked: Mapping[str, Any], store: Path | None
    ) -> None:
        from pamctl.cli.retrying import derived_key, retry_secret

        self._secret = retry_secret(call.environment)
        self._request = derived_key(self._secret, call.command, asked).partition(":")[2]
        self._folder = state_folder(call.environment) / "retries"
        self._call, self._key, self._store = call, key, store

    @property
    def _path(self) -> Path:
        """A key belongs to a store, where it stands: a copy is another store. And in it to
        the scope that is named."""
        from pamctl.cli.retrying import derived_key

        where = [*_identity(self._call, self._store), self._call.named_scope]
        name = derived_key(self._secret, "kept", {"where": where, "key": self._key})
        return self._folder / f"{name.partition(':')[2]}.json"

    def read(self) -> Answer | None:
        """What is kept under the key; None for nothing. Raises DuplicateOperation where it is
        of another request, and InvalidRequest where it cannot be read."""
        from pamctl.encoding.strict_json import parse

        path = self._path
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        known = parse(data, what=path_text(path))
        if not isinstance(known, dict) or not isinstance(known.get("answer", {}), dict):
            raise InvalidRequest(
                f"{path_text(path)} is no kept answer", hint="remove it, and use another key"
            )
        if known.get("request") != self._request:
            raise DuplicateOperation(
                f"the idempotency key {self._key!r} was used before with another request",
                hint="use a new key for a new request",
                idempotency_key=self._key,
            )
        return known

    @contextlib.contextmanager
    def marked(self, wanted: bool) -> Iterator[None]:
        """Leaves a mark for as long as something is being done, where that is wanted, and if
        it dies. What is refused leaves none."""
        if wanted:
            self.keep({})
            path = self._path
        try:
            yield
        except (Exception, KeyboardInterrupt):
            if wanted:
                path.unlink(missing_ok=True)
            raise

    def keep(self, members: Mapping[str, Any]) -> None:
        """Keep these, durably. Raises what keeps it from being written."""
        from pamctl.encoding.canonical import canonical
        from pamctl.store import files

        document = {"command": self._call.command, "request": self._request, **members}
        data = canonical(document) + b"\n"
        if len(data) > KEPT_ANSWER_BYTES_MAX:
            raise InvalidRequest(
                f"it is longer than {KEPT_ANSWER_BYTES_MAX} bytes (limits.KEPT_ANSWER_BYTES_MAX)"
            )
        files.ensure_directories(self._folder, mode=0o700)
        self._forget_old()
        files.replace_whole(self._path, data, mode=0o600)

    def _forget_old(self) -> None:
        """Makes room for one more: a tenth goes when all places are taken, the oldest first."""
        there = list(os.scandir(self._folder))
        if len(there) < KEPT_ANSWERS_MAX:
            return
        there.sort(key=lambda one: one.stat(follow_symlinks=False).st_mtime_ns)
        for one in there[: KEPT_ANSWERS_MAX // 10]:
            Path(one.path).unlink(missing_ok=True)


def _identity(call: Invocation, store: Path | None) -> list[str | None]:
    """Which store it is: where it stands, and what it says that it is, if it can be read."""
    from pamctl.encoding.strict_json import parse

    with contextlib.suppress(StoreNotFound):
        store = store or call.store_path
    if store is None:
        return [None, None]
    said = None
    with contextlib.suppress(OSError, PamError):
        document = parse((store / "store.json").read_bytes())
        said = document.get("store_id") if isinstance(document, dict) else None
    return [path_text(store.resolve()), said if isinstance(said, str) else None]

"""What a command line asks for besides its own arguments: which store, scope and actor,
under which operation, printed how. Flags win over the environment, and that over defaults.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pamctl.cli.paths import as_path, path_text
from pamctl.cli.settings import FORMATS, SETTINGS, user_file, user_settings
from pamctl.cli.terminal import output
from pamctl.encoding.identifiers import new_identifier
from pamctl.errors import InvalidRequest, StoreNotFound
from pamctl.limits import IDEMPOTENCY_KEY_CHARS_MAX

if TYPE_CHECKING:
    from pamctl.service.store import Store

EVALUATION_VARIABLE = "PAM_EVALUATION"
"""Tells a program that it runs in an evaluation, and in which: `pamctl evaluate` sets it."""

_KEYED_TOO = "close_subscription"
"""The operation that takes an idempotency key besides those of `operations.CHANGES`."""

_PLAIN_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def new_operation_id() -> str:
    """A fresh `op:` identifier."""
    return new_identifier("op", os.urandom(16))


class Invocation:
    """One call of the program. Filled by the flags that `verbs.verb` gives every command.

    looking_as: by what name each actor looks; see `guest`.
    command, arguments: what is called, without the program's name, and with what besides flags.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.flags: dict[str, Any] = {}
        self.command = ""
        self.arguments: Mapping[str, Any] = {}
        self.operation_id = ""
        self.format = "json"
        self._store: Store | None = None
        self._secret: bytes | None = None
        self.looking_as: dict[str, str] = {}
        self._user: dict[str, Any] | None = None

    def accept(self, flags: Mapping[str, Any]) -> None:
        """Takes the common flags of a command, by the names of `options.COMMON`."""
        self.flags = dict(flags)
        self.operation_id = flags.get("operation_id") or new_operation_id()
        # Now, because it is too late to refuse it when there is something to print.
        if "format" in flags:
            self.format = self._format()

    def _setting(self, flag: str, variable: str) -> str | None:
        value: str | None = self.flags.get(flag)
        return value if value is not None else self._variable(variable)

    @property
    def user(self) -> dict[str, Any]:
        """The user's settings, read once; see `settings`."""
        if self._user is None:
            self._user = user_settings(self.environment)
        return self._user

    def setting(self, name: str) -> dict[str, Any] | None:
        """The `name`, the `value` and the `origin` of a setting in effect; None where it has
        no value."""
        for value, origin in self._said(name):
            if value is not None:
                return {"name": name, "value": value, "origin": origin}
        return None

    def _said(self, name: str) -> Iterator[tuple[Any, str]]:
        """What a setting is said to be, and where: first what wins."""
        setting = SETTINGS[name]
        if setting.flag is not None:
            yield self.flags.get(setting.flag[2:].replace("-", "_")), setting.flag
        if setting.variable is not None:
            yield self._variable(setting.variable), f"environment {setting.variable}"
        with contextlib.suppress(StoreNotFound):
            if name == "store":
                yield path_text(self.store_path), "nearest to this folder"
            elif setting.of_store:
                place = path_text(self.store.layout.store_file)
                yield self.store.config.get(name), place
        if setting.of_user:
            yield self.user.get(name), path_text(user_file(self.environment))

    def _variable(self, name: str) -> str | None:
        value = self.environment.get(name)
        if not value:
            return None
        try:
            return os.fsencode(value).decode("utf-8")
        except UnicodeDecodeError as cause:
            raise InvalidRequest(f"the environment variable {name} is not UTF-8") from cause

    @property
    def store_path(self) -> Path:
        """The `.pam` directory: --store, PAM_STORE, the nearest one here or above, or the one
        of the user's settings.

        Raises StoreNotFound where there is none to be found.
        """
        from pamctl.store.directory import StoreDirectory

        try:
            return self.named_store_path or StoreDirectory.find(Path.cwd())
        except StoreNotFound:
            if "store" not in self.user:
                raise
            return as_path(self.user["store"])

    @property
    def named_store_path(self) -> Path | None:
        """The `.pam` directory that --store or PAM_STORE names."""
        named = self._setting("store", "PAM_STORE")
        return None if named is None else as_path(named)

    @property
    def store(self) -> Store:
        """The store, opened once."""
        if self._store is None:
            import pamctl
            from pamctl.cli.passphrases import unlocking

            self._store = pamctl.open_store(self.store_path)
            self._store.signers.unlock = unlocking(self.environment)
            self._enter_evaluation(self._store)
            self.detail(f"store {path_text(self._store.path)}, operation {self.operation_id}")
        return self._store

    def _enter_evaluation(self, store: Store) -> None:
        """Makes what is done on the store part of the evaluation that this program was called
        in, if it was."""
        document = self._variable(EVALUATION_VARIABLE)
        if document is not None:
            from pamctl.encoding import strict_json
            from pamctl.service.evaluation import enter

            enter(store, strict_json.parse(document, what=EVALUATION_VARIABLE))

    @property
    def named_scope(self) -> str | None:
        """The scope that --scope or PAM_SCOPE names."""
        return self._setting("scope", "PAM_SCOPE")

    @property
    def scope_id(self) -> str:
        """The scope to work in: --scope, PAM_SCOPE, or the store's default."""
        named = self.named_scope
        if named is not None:
            return named
        return self.store.default_scope

    @property
    def actor(self) -> dict[str, Any]:
        """The actor object of the request. PAMSPEC §8.1.

        --actor-file is a whole one; --actor or PAM_ACTOR name one of the kind that
        --actor-kind says; without any it is the user who runs the program, as the user's
        settings name him. --delegation
        adds the delegation that it acts under.
        """
        actor, delegation_id = self._actor(), self.flags.get("delegation")
        if delegation_id is None:
            return actor
        if actor.get("delegation_id", delegation_id) != delegation_id:
            raise InvalidRequest("--actor-file names another delegation than --delegation")
        return {**actor, "delegation_id": delegation_id}

    @property
    def names_its_actor(self) -> bool:
        """Whether --actor, --actor-file or PAM_ACTOR say who acts."""
        named = self.flags.get("actor_file") or self._setting("actor", "PAM_ACTOR")
        return named is not None

    def _actor(self) -> dict[str, Any]:
        flags = self.flags
        if flags.get("actor_file") is not None:
            if flags.get("actor") is not None or flags.get("actor_kind") is not None:
                raise InvalidRequest("--actor-file is the whole actor", hint="leave out the others")
            from pamctl.cli import input as given

            actor: dict[str, Any] = given.json_object(
                given.Source(file=flags["actor_file"]), "--actor-file"
            )
            return actor
        identifier, kind = self._setting("actor", "PAM_ACTOR"), flags.get("actor_kind")
        if identifier is None:
            # The kind that the user has set is that of the user, and of nobody who is named.
            identifier = self.user.get("actor") or f"actor:local:{local_name()}"
            kind = kind or self.user.get("actor_kind")
        return {"actor_id": identifier, "actor_kind": kind or "human"}

    def request(self, **members: Any) -> dict[str, Any]:
        """The arguments of an operation in the scope, by the draft's member names, with
        scope, actor and operation; members that are None or empty lists are left out."""
        given = {n: m for n, m in members.items() if m is not None and m != []}
        request = {"scope_id": self.scope_id, "actor": self.actor}
        # A name that is made up would differ between two runs of an evaluation.
        if self.flags.get("operation_id") or not self._variable(EVALUATION_VARIABLE):
            request["operation_id"] = self.operation_id
        return {**request, **given}

    def perform(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Carries out an operation of the service on the store, under the key of the request
        that the flags give or ask for."""
        # Those that check a store perform nothing, and need none of these.
        from pamctl.cli.guest import as_guest
        from pamctl.service.operations import CHANGES

        if operation in CHANGES or operation == _KEYED_TOO:
            arguments = self._keyed(operation, arguments)
        arguments = as_guest(self, operation, arguments)
        return self.store.perform(operation, arguments)

    @property
    def asks_for_once(self) -> bool:
        """Whether a flag gives an idempotency key, or asks for one."""
        named = self.flags.get("idempotency_key") is not None
        return named or bool(self.flags.get("retry_key_from_content"))

    def taken_key(self, operation: str, arguments: Mapping[str, Any]) -> str:
        """The key of a whole command. The operations that it is made of are not given it."""
        key: str = self._keyed(operation, dict(arguments))["idempotency_key"]
        if not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX:
            raise InvalidRequest(
                f"an idempotency key has 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters",
                pointer="/idempotency_key",
            )
        self.flags["idempotency_key"], self.flags["retry_key_from_content"] = None, False
        return key

    def _keyed(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        key = self.flags.get("idempotency_key")
        if self.flags.get("retry_key_from_content"):
            if key is not None:
                raise InvalidRequest(
                    "--idempotency-key and --retry-key-from-content exclude each other"
                )
            key = self.retry_key(operation, arguments)
        return arguments if key is None else {**arguments, "idempotency_key": key}

    def retry_key(self, operation: str, arguments: Mapping[str, Any]) -> str:
        """The key that is made from a request; see `retrying`."""
        from pamctl.cli.retrying import derived_key, retry_secret

        if self._secret is None:
            # Two runs of an evaluation write the same bytes, whoever runs them.
            document = self._variable(EVALUATION_VARIABLE)
            shared = None if document is None else document.encode()
            self._secret = shared or retry_secret(self.environment)
        key = derived_key(self._secret, operation, arguments)
        self.detail(f"idempotency key {key}")
        return key

    def _format(self) -> str:
        """json, jsonl or table: --json, --format, PAM_FORMAT, the user's setting, or what suits
        the reader."""
        chosen = "json" if self.flags.get("json") else self._setting("format", "PAM_FORMAT")
        if chosen is not None and chosen not in FORMATS:
            raise InvalidRequest(f"PAM_FORMAT is '{chosen}'", hint="use " + ", ".join(FORMATS))
        chosen = chosen or self.user.get("format")
        if chosen in (None, "auto"):
            return "table" if output.is_terminal(sys.stdout) else "json"
        return str(chosen)

    @property
    def quiet(self) -> bool:
        """Whether only data and errors are to be printed."""
        return bool(self.flags.get("quiet"))

    def end(self) -> None:
        """Tells what the store found and set right on the way, and lets go of it."""
        if self._store is not None:
            for notice in self._store.notices:
                self.note(notice)
            self._store.close()

    def note(self, text: str) -> None:
        """Tells the user something that is no data, on standard error."""
        if not self.quiet and sys.stderr is not None:
            print(f"pamctl: {text}", file=sys.stderr)

    def detail(self, text: str) -> None:
        """Tells a user who asked for --verbose."""
        if self.flags.get("verbose"):
            self.note(text)


def local_name() -> str:
    """The user's name as the last part of an identifier.

    A byte that an identifier cannot carry, and `+` itself, becomes `+` and two hexadecimal
    digits, so that two users never share a name.
    """
    return "".join(
        chr(byte) if byte in _PLAIN_BYTES else f"+{byte:02X}" for byte in os.fsencode(_user())
    )


def _user() -> str:
    """The name of the user who runs the program; the number where the system has no name."""
    try:
        import pwd
    except ImportError:  # Windows
        return os.environ.get("USERNAME") or "unknown"
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())

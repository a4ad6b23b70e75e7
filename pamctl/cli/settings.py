"""What pamctl does unless it is told otherwise: settings of a store, and of its user.

A flag wins over the environment, that over the store, and that over the user's file,
`$XDG_CONFIG_HOME/pamctl/config.json` or `~/.config/pamctl/config.json`. A store never says who
acts or how to print: it may have come from somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamctl.cli.paths import config_folder, path_text
from pamctl.errors import InvalidRequest, PamError
from pamctl.named_tuples import NamedTuple

FORMATS = ("auto", "json", "jsonl", "table")


class Setting(NamedTuple):
    """A setting before it has a value.

    meaning: what it says, for people.
    of_store, of_user: whether a store, or the user's file, may have it.
    flag, variable: what it can also be given by.
    kind: of its value in JSON.
    """

    meaning: str
    of_store: bool = False
    of_user: bool = False
    flag: str | None = None
    variable: str | None = None
    kind: type = str


SETTINGS: Mapping[str, Setting] = {
    "store": Setting(
        "The .pam directory where there is none here or above.",
        of_user=True,
        flag="--store",
        variable="PAM_STORE",
    ),
    "default_scope": Setting(
        "The scope to work in; the user's is that of stores still to be made.",
        of_store=True,
        of_user=True,
        flag="--scope",
        variable="PAM_SCOPE",
    ),
    "actor": Setting("Who asks.", of_user=True, flag="--actor", variable="PAM_ACTOR"),
    "actor_kind": Setting(
        "What that actor is: human, agent, service ...", of_user=True, flag="--actor-kind"
    ),
    "format": Setting(
        "How to print: " + ", ".join(FORMATS) + ".",
        of_user=True,
        flag="--format",
        variable="PAM_FORMAT",
    ),
    "auto_create_scopes": Setting(
        "Whether a first write makes its scope.", of_store=True, kind=bool
    ),
    "max_projection_age_sec": Setting(
        "How old a projection may be that verify-projection accepts.", of_store=True, kind=int
    ),
    "max_trust_age_sec": Setting(
        "How old the trust snapshot of a projection may be.", of_store=True, kind=int
    ),
    "max_clock_skew_sec": Setting(
        "How far the clock of whoever projected may run ahead.", of_store=True, kind=int
    ),
}


def find(name: str) -> Setting:
    """The setting of a name. Raises InvalidRequest, with the nearest name there is."""
    if name in SETTINGS:
        return SETTINGS[name]
    from difflib import get_close_matches

    nearest = get_close_matches(name.replace("-", "_"), SETTINGS, n=1)
    hint = f"did you mean '{nearest[0]}'?" if nearest else "'pamctl config' lists them"
    raise InvalidRequest(f"there is no setting '{name}'", hint=hint)


def user_file(environment: Mapping[str, str]) -> Path:
    """The user's file."""
    return config_folder(environment) / "config.json"


def user_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the user's file says; nothing where there is none.

    Raises InvalidRequest for a file that cannot be read, is no JSON object, or holds a setting
    that is unknown, not the user's, or has no such value.
    """
    path = user_file(environment)
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as cause:
        raise InvalidRequest(
            f"{path_text(path)} cannot be read: {cause.strerror}",
            hint="XDG_CONFIG_HOME, or else HOME, says that settings are there; set it to a folder"
            " of your own",
        ) from cause
    from pamctl.encoding import strict_json

    said = strict_json.parse(data, what=path_text(path))
    if not isinstance(said, dict):
        raise InvalidRequest(f"{path_text(path)} holds no JSON object", pointer="")
    for name, value in said.items():
        try:
            if not find(name).of_user:
                raise InvalidRequest(f"'{name}' is a setting of a store, not of its user")
            require_value(name, value)
        except PamError as fault:
            fault.message = f"{path_text(path)}: {fault.message}"
            raise
    return said


def require_value(name: str, value: Any) -> None:
    """Raises InvalidRequest for what is no value of a setting."""
    kind = SETTINGS[name].kind
    if type(value) is not kind or value == "":
        spoken = {bool: "true or false", int: "a whole number", str: "a word"}[kind]
        raise InvalidRequest(f"the value of '{name}' has to be {spoken}", pointer=f"/{name}")
    if name == "format" and value not in FORMATS:
        raise InvalidRequest(
            f"'{value}' is no format", hint="use " + ", ".join(FORMATS), pointer="/format"
        )


def save_user_settings(environment: Mapping[str, str], said: Mapping[str, Any]) -> None:
    """Puts these in the place of the user's file, durably. Raises ServiceUnavailable or OSError
    where that cannot be done."""
    from pamctl.encoding.canonical import canonical
    from pamctl.store import files

    path = user_file(environment)
    files.ensure_directories(path.parent, mode=0o700)
    files.replace_whole(path, canonical(dict(said)) + b"\n", mode=0o600)

"""What a shell may offer in the place of a word that is not finished.

    _PAMCTL_COMPLETE=fish pamctl read mem:t

answers a value a line, with a tab and what it is behind it. The last argument is the word; a
shell that gives its whole line (bash) gives it as one argument. `:files` alone means that file
names are wanted. What cannot be found out is not offered, and nothing is ever said about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from typer._click import Context, Parameter
from typer._click.shell_completion import (
    CompletionItem,
    _resolve_context,
    _resolve_incomplete,
    split_arg_string,
)

from pamctl.cli.application import LazyGroup
from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal import output
from pamctl.errors import PamError
from pamctl.model.vocabulary import STANDARD_OBJECT_TYPES
from pamctl.service import naming

FILES = ":files"
_FILE_METAVARS = ("FILE", "DIR", "FILE-OR-VALUE", "PATH", "PLACE", "RECORD...")

_OF_THE_SHELL = frozenset("$`\\\"'&;|<>(){}[]*?!#~^")
"""Characters that mean something to a shell."""

Offers = Iterable[tuple[str, str]]


def complete(
    group: LazyGroup, shell: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> None:
    """Prints what `shell` may offer at the end of a command line."""
    words = list(arguments)
    if shell == "bash":
        line = arguments[0] if arguments else ""
        words = split_arg_string(line)[1:] + ([""] if line[-1:].isspace() else [])
    *before, incomplete = words or [""]
    try:
        offers = list(_offers(group, before, incomplete, environment))
    except (PamError, OSError, KeyError, UnicodeError):
        offers = []
    output.write_text("".join(f"{line}\n" for line in _spelt(shell, offers, incomplete)))


def _spelt(shell: str, offers: Offers, incomplete: str) -> Iterable[str]:
    """Offers as a shell wants them."""
    # bash takes a colon for the end of a word, and wants what comes behind the last one.
    breaks = os.environ.get("_PAMCTL_WORDBREAKS", ":=")
    cut = max((incomplete.rfind(sign) for sign in breaks), default=-1) + 1
    for value, said in offers:
        said = " ".join(output.printable(said).split())
        if value == FILES:
            yield FILES
        elif not value.isprintable() or any(map(str.isspace, value)):
            continue  # a value is a line
        elif shell == "bash" and _OF_THE_SHELL.intersection(value):
            continue  # bash puts it on the command line as it is; the others quote it
        elif shell == "bash":
            yield value[cut:]
        elif shell == "zsh":
            yield value.replace("\\", "\\\\").replace(":", "\\:") + (f":{said}" if said else "")
        else:
            yield f"{value}\t{said}" if said else value


def _offers(
    group: LazyGroup, before: list[str], incomplete: str, environment: Mapping[str, str]
) -> Offers:
    call = Invocation(environment)
    context = _resolve_context(group, {"obj": call}, "pamctl", before)
    wanted, incomplete = _resolve_incomplete(context, before, incomplete)
    if not isinstance(wanted, Parameter):
        return _items(wanted.shell_complete(context, incomplete))
    if before and before[-1] in wanted.opts:
        # The parser gives up at a flag without its value, and forgets what came before.
        context = _resolve_context(group, {"obj": call}, "pamctl", before[:-1])
    call.flags = dict(context.params)
    metavar = str(getattr(wanted, "metavar", None) or "")
    if metavar.strip("[]") in _FILE_METAVARS or (wanted.name or "").endswith("_file"):
        return [(FILES, "")]
    offers = _values(call, context, wanted, incomplete)
    return [(value, said) for value, said in offers if value.startswith(incomplete)]


def _items(items: Iterable[CompletionItem]) -> Offers:
    return [(str(item.value), str(item.help or "")) for item in items]


def _values(call: Invocation, context: Context, param: Parameter, incomplete: str) -> Offers:
    """What a parameter may be, by the words that its parser knows or by what it is called."""
    words = getattr(getattr(param.type, "func", None), "words", None)
    if param.name in ("state", "target_state"):
        words = _states(context)
    elif param.name in ("object_type", "object_types"):
        words = STANDARD_OBJECT_TYPES
    if words is not None:
        seen = dict.fromkeys(words, "")
        if param.name in ("object_type", "object_types"):
            seen |= dict(_OF_THE_STORE["object_type"](call, context, incomplete))
        return list(seen.items())
    source = _OF_THE_STORE.get(_called(param, context))
    if source is None:
        return _items(param.shell_complete(context, incomplete))
    return source(call, context, incomplete)


def _called(param: Parameter, context: Context) -> str:
    """The name that says what a parameter names: its own, but for what differs by command."""
    name = str(param.name)
    if (name, context.info_name) in _TO_BE_GIVEN:
        return ""
    if name in ("first", "second") and context.parent and context.parent.info_name == "snapshot":
        return "snapshot"
    if name == "name":
        of_key = context.parent is not None and context.parent.info_name == "key"
        made = ("generate", "import")
        return ("" if context.info_name in made else "key") if of_key else str(context.info_name)
    return name


_TO_BE_GIVEN = frozenset((("object_id", "create"), ("schema_id", "add"), ("snapshot_id", "create")))
"""Parameters by command that name what is not there yet."""


def _states(context: Context) -> Sequence[str]:
    from pamctl.model import vocabulary

    dimension = context.params.get("dimension")
    if dimension not in vocabulary.DIMENSIONS:
        return [
            state
            for one in vocabulary.DIMENSIONS
            for state in getattr(vocabulary, f"{one.upper()}_STATES")
        ]
    states: Sequence[str] = getattr(vocabulary, f"{dimension.upper()}_STATES")
    return states


def _request(call: Invocation, context: Context) -> dict[str, Any]:
    return {"scope_id": call.scope_id, "actor": call.actor}


def _objects(call: Invocation, context: Context, start: str) -> Offers:
    request = _request(call, context)
    found = naming.identifiers(call.store, request, start, "object")
    return found or naming.identifiers(call.store, request, start, "relationship")


def _relationships(call: Invocation, context: Context, start: str) -> Offers:
    return naming.identifiers(call.store, _request(call, context), start, "relationship")


def _delegations(call: Invocation, context: Context, start: str) -> Offers:
    return naming.delegations(call.store, _request(call, context), start)


def _subscriptions(call: Invocation, context: Context, start: str) -> Offers:
    return naming.subscriptions(call.store, _request(call, context))


def _schemas(call: Invocation, context: Context, start: str) -> Offers:
    return naming.schemas(call.store, _request(call, context))


def _versions(call: Invocation, context: Context, start: str) -> Offers:
    named = context.params.get("object_id") or context.params.get("relationship")
    return naming.versions(call.store, _request(call, context), named) if named else []


def _types(family: str) -> Callable[[Invocation, Context, str], Offers]:
    def types(call: Invocation, context: Context, start: str) -> Offers:
        return naming.types(call.store, _request(call, context), family)

    return types


def _sealed(kind: str) -> Callable[[Invocation, Context, str], Offers]:
    def sealed(call: Invocation, context: Context, start: str) -> Offers:
        return naming.sealed(call.store, _request(call, context), kind)

    return sealed


def _scopes(call: Invocation, context: Context, start: str) -> Offers:
    return [
        (str(scope["scope_id"]), str(scope["scope_kind"]))
        for scope in call.store.directory.scopes()
    ]


def _keys(call: Invocation, context: Context, start: str) -> Offers:
    from pamctl.store.keyring import Keyring

    return [(name, "") for name in Keyring(call.store.layout.keys).own()]


def _topics(call: Invocation, context: Context, start: str) -> Offers:
    from pamctl.cli.topics import TOPICS

    return [(name, "") for name in TOPICS]


def _settings(call: Invocation, context: Context, start: str) -> Offers:
    from pamctl.cli.settings import SETTINGS

    return [(name, setting.meaning) for name, setting in SETTINGS.items()]


_OF_THE_STORE: Mapping[str, Callable[[Invocation, Context, str], Offers]] = {
    **dict.fromkeys(
        ("object_id", "source_object_id", "target_object_id", "related_to", "objects", "like"),
        _objects,
    ),
    **dict.fromkeys(("object_ids", "subject"), _objects),
    "relationship": _relationships,
    **dict.fromkeys(("expect", "version", "first", "second"), _versions),
    **dict.fromkeys(("scope", "scope_id", "target_scope", "to_scope", "scopes"), _scopes),
    **dict.fromkeys(("snapshot", "snapshot_id"), _sealed("snapshot")),
    **dict.fromkeys(("space", "space_id", "spaces"), _sealed("space")),
    **dict.fromkeys(("delegation", "delegation_id"), _delegations),
    "subscription_id": _subscriptions,
    "schema_id": _schemas,
    **dict.fromkeys(("key", "sign"), _keys),
    "object_type": _types("object"),
    **dict.fromkeys(("relationship_type", "relation_type"), _types("relationship")),
    "topic": _topics,
    "config": _settings,
}
"""By the name of a parameter: what in the store it names."""

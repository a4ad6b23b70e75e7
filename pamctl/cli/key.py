"""`pamctl key`: the signing keys of a store, and the keys of others that it trusts."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from pamctl.cli import input as given
from pamctl.cli import options, presentation
from pamctl.cli.invocation import Invocation
from pamctl.cli.paths import as_path
from pamctl.cli.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.crypto.keys import PublicKey
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidRequest, ObjectNotFound, ScopeNotFound, ServiceUnavailable
from pamctl.store.keyring import KeyRecord, Keyring

app = application(summary="Make, list and trust signing keys.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.", show_default=False)]
NameOrId = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of a key of this store, or key id of another.",
        show_default=False,
    ),
]
ValidFrom = Annotated[
    str | None,
    typer.Option("--valid-from", metavar="TIME", parser=options.time, help="Not before that time."),
]
ValidTo = Annotated[
    str | None,
    typer.Option("--valid-to", metavar="TIME", parser=options.time, help="Not after that time."),
]


@verb(
    app,
    options.STORED,
    example="pamctl key generate laptop\npamctl key generate agent --actor actor:local:agent",
    errors=(ScopeNotFound, ServiceUnavailable),
)
def generate(
    call: Invocation,
    name: Name,
    actor: Annotated[
        str | None, typer.Option("--actor", metavar="ID", help="The actor whose key it is.")
    ] = None,
    valid_to: ValidTo = None,
) -> None:
    """Make an Ed25519 key.

    The private key stays in the store, readable by you alone, and is never printed.
    """
    sources = call.store.sources
    record = _keyring(call).generate(
        name, seed=sources.entropy(32), now=sources.now(), actor_id=actor, valid_to=valid_to
    )
    presentation.show_done(
        call, _shown(name, record), lambda key: f"made the key {name}, key id {key['key_id']}"
    )


@verb(app, options.STORED, example="pamctl key list", errors=(ScopeNotFound,), name="list")
def list_keys(call: Invocation) -> None:
    """List the keys of the store, then those of others."""
    keyring = _keyring(call)
    others = {**keyring.trusted("adapter"), **keyring.trusted("author")}
    keys = [_shown(name, record) for name, record in keyring.own().items()]
    keys += [_shown(key_id, record) for key_id, record in sorted(others.items())]
    presentation.show_items(call, {"items": keys, "next_cursor": None}, _KEYS)


@verb(
    app,
    options.STORED,
    example="pamctl key show laptop --json",
    errors=(ObjectNotFound, ScopeNotFound),
)
def show(call: Invocation, name: NameOrId) -> None:
    """Show a public key, whom it belongs to, and its validity."""
    presentation.show(call, _shown(name, _keyring(call).show(name)), _card)


@verb(
    app,
    options.STORED,
    example="""pamctl key trust adapter.pem --as adapter --adapter-id urn:example:adapter:1
pamctl key show laptop --json | pamctl --store ../other/.pam key trust - --as author""",
    errors=(ScopeNotFound, ServiceUnavailable),
)
def trust(
    call: Invocation,
    key: Annotated[
        str,
        typer.Argument(
            metavar="FILE-OR-VALUE",
            help="A public key: PEM, DER, hexadecimal, base64url of its DER, or what"
            " 'key show --json' prints; in a file, on standard input (-), or as it is.",
            show_default=False,
        ),
    ],
    role: Annotated[
        Literal["adapter", "author"],
        typer.Option("--as", help="What it is trusted to sign.", show_default=False),
    ],
    actor: Annotated[
        str | None, typer.Option("--actor", metavar="ID", help="The actor whose key it is.")
    ] = None,
    adapter_id: Annotated[
        str | None,
        typer.Option("--adapter-id", metavar="URI", help="The only adapter that may use it."),
    ] = None,
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
) -> None:
    """Trust the key of somebody else.

    Make sure by other means that it is theirs: a key that came with a record proves nothing.
    """
    public = _public_key(key)
    record = _keyring(call).trust(
        public,
        role,
        now=call.store.sources.now(),
        actor_id=actor,
        adapter_id=adapter_id,
        valid_from=valid_from,
        valid_to=valid_to,
    )
    presentation.show_done(
        call,
        _shown(public.key_id, record),
        lambda shown: f"trust the key {shown['key_id']} as {' and '.join(shown['roles'])}",
    )


@verb(
    app,
    options.STORED,
    example="pamctl key revoke laptop --reason 'replaced'\npamctl key revoke laptop --compromised",
    errors=(ObjectNotFound, ScopeNotFound, ServiceUnavailable),
)
def revoke(
    call: Invocation,
    name: NameOrId,
    compromised: Annotated[
        bool, typer.Option("--compromised", help="Somebody else may have the private key.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")
    ] = None,
) -> None:
    """Revoke a key.

    Nothing that it signed is accepted here any more, whatever date it carries: whoever holds
    a key can write any date.
    """
    record = _keyring(call).revoke(
        name, now=call.store.sources.now(), compromised=compromised, reason=reason
    )
    presentation.show_done(
        call, _shown(name, record), lambda key: f"the key {name} is {key['status']}"
    )


def _keyring(call: Invocation) -> Keyring:
    return Keyring(call.store.layout.keys)


def _public_key(text: str) -> PublicKey:
    """The key in a file or on standard input, or in `text` itself where no file is named so."""
    data = text.encode()
    if text == given.STANDARD_INPUT or as_path(text).exists():
        data = given.read_bytes(text, "FILE-OR-VALUE")
    if data.lstrip().startswith(b"{"):
        record = parse(data, what="the public key")
        spki = record.get("public_key_spki_b64u")
        if not isinstance(spki, str):
            raise InvalidRequest("the JSON of the public key has no public_key_spki_b64u")
        return PublicKey.from_spki_b64u(spki)
    return PublicKey.read(data)


def _shown(name: str, record: KeyRecord) -> dict[str, Any]:
    public = PublicKey.from_spki_b64u(record["public_key_spki_b64u"])
    return {"name": name, "actor_id": None, "public_key_pem": public.pem, **record}


def _card(key: Mapping[str, Any]) -> dict[str, str]:
    rows = {
        name.replace("_", " "): ", ".join(value) if isinstance(value, list) else str(value)
        for name, value in key.items()
        if value is not None and name != "public_key_pem"
    }
    return {**rows, "public key": key["public_key_pem"].rstrip()}


def _role(key: Mapping[str, Any]) -> str:
    return ", ".join(key["roles"]) if "roles" in key else "own"


_KEYS = (
    Column("NAME", lambda key: str(key["name"])),
    Column("KEY ID", lambda key: str(key["key_id"])),
    Column("ROLE", _role),
    Column("STATUS", lambda key: str(key["status"])),
    Column("ACTOR", lambda key: str(key["actor_id"] or "-")),
)

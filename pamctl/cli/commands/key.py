"""`pamctl key`: the signing keys of a store, and the keys of others that it trusts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pamctl.cli import input as given
from pamctl.cli import options, passphrases, writing
from pamctl.cli.invocation import Invocation
from pamctl.cli.once import once
from pamctl.cli.paths import as_path
from pamctl.cli.terminal import presentation
from pamctl.cli.terminal.presentation import Column
from pamctl.cli.verbs import application, verb
from pamctl.crypto.key_forms import GivenKey, read_public_key
from pamctl.crypto.keys import PrivateKey, PublicKey
from pamctl.encoding.strict_json import parse
from pamctl.errors import (
    DuplicateOperation,
    InvalidRequest,
    ObjectNotFound,
    ScopeNotFound,
    ServiceUnavailable,
)
from pamctl.store.key_records import KeyRecord
from pamctl.store.keyring import Keyring

if TYPE_CHECKING:
    from pamctl.store.keyring import Seal

app = application(summary="Make, list and trust signing keys.")

_CHANGING = (*writing.RETRYING, *options.STORED)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.", show_default=False)]
NameOrId = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of a key of this store, or key id of another.",
        show_default=False,
    ),
]
Actor = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="ID",
        help="The actor that is bound to it: what it writes is signed with it, and nobody acts"
        " in its name without it.",
    ),
]
Owner = Annotated[
    bool,
    typer.Option(
        "--owner", help="It is the key of the store's owner, whose memories count as its own."
    ),
]
Encrypt = Annotated[
    bool,
    typer.Option(
        "--encrypt",
        help="Encrypt the private key with a passphrase, asked for at the terminal. Where"
        " PAM_KEY_PASSPHRASE is set, that is the passphrase, and this flag is not needed.",
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
    _CHANGING,
    example="pamctl key generate laptop\npamctl key generate agent --actor actor:local:agent",
    errors=(ScopeNotFound, DuplicateOperation, ServiceUnavailable),
)
def generate(
    call: Invocation,
    name: Name,
    actor: Actor = None,
    owner: Owner = False,
    encrypt: Encrypt = False,
    valid_to: ValidTo = None,
) -> None:
    """Make an Ed25519 key.

    The private key stays in the store, readable by you alone, and is never printed.
    """

    def make() -> dict[str, Any]:
        sources = call.store.sources
        record = _keyring(call).generate(
            name,
            seed=sources.entropy(32),
            now=sources.now(),
            actor_id=actor,
            owner=owner,
            valid_to=valid_to,
            seal=_seal(call, encrypt),
        )
        return _shown(name, record)

    answer = once(call, make, made=lambda: _made(call, name, actor, owner=owner))
    presentation.show_done(call, answer, lambda key: f"made the key {name}, key id {key['key_id']}")


@verb(
    app,
    _CHANGING,
    example="pamctl key import agent ~/keys/agent.pem --actor actor:local:agent",
    errors=(ScopeNotFound, DuplicateOperation, ServiceUnavailable),
    name="import",
)
def import_key(
    call: Invocation,
    name: Name,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A private key: PKCS#8 in PEM as openssl writes it, or OpenSSH's format; - is"
            " standard input.",
            show_default=False,
        ),
    ],
    actor: Actor = None,
    owner: Owner = False,
    encrypt: Encrypt = False,
    valid_to: ValidTo = None,
) -> None:
    """Take in a private key that was made elsewhere.

    A copy is kept in the store, readable by you alone. An encrypted file is opened with
    PAM_KEY_PASSPHRASE, or with what you type.
    """
    from pamctl.crypto.private_pem import is_encrypted

    def take_in() -> dict[str, Any]:
        data = given.read_bytes(file, "FILE")
        unlock = passphrases.unlocking(call.environment)
        key = PrivateKey.from_pem(data, unlock(name) if is_encrypted(data) else None)
        record = _keyring(call).add(
            name,
            key,
            now=call.store.sources.now(),
            actor_id=actor,
            owner=owner,
            valid_to=valid_to,
            seal=_seal(call, encrypt),
        )
        return _shown(name, record)

    answer = once(
        call, take_in, reads=("file",), made=lambda: _made(call, name, actor, owner=owner)
    )
    presentation.show_done(
        call, answer, lambda key: f"took in the key {name}, key id {key['key_id']}"
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
    _CHANGING,
    example="""pamctl key trust adapter.pem --as adapter --adapter-id urn:example:adapter:1
pamctl key show laptop --json | pamctl --store ../other/.pam key trust - --as author""",
    errors=(ScopeNotFound, DuplicateOperation, ServiceUnavailable),
)
def trust(
    call: Invocation,
    key: Annotated[
        str,
        typer.Argument(
            metavar="FILE-OR-VALUE",
            help="A public key: PEM, DER, an OpenSSH line, hexadecimal, base64, base64url, or what"
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
    An actor that is named as an author's is bound to that key, and cannot act here.
    """

    def believe() -> dict[str, Any]:
        from pamctl.projection.shape import is_uri

        if adapter_id is not None and not is_uri(adapter_id):
            raise InvalidRequest(f"the adapter id {adapter_id[:80]!r} is not an absolute URI")
        public = _public_key(key)
        record = _keyring(call).trust(
            public.key,
            role,
            now=call.store.sources.now(),
            actor_id=actor,
            adapter_id=adapter_id,
            valid_from=valid_from,
            valid_to=valid_to,
        )
        return {**_shown(public.key.key_id, record), "given_as": public.form}

    presentation.show_done(
        call,
        once(call, believe, reads=("key",)),
        lambda shown: (
            f"trust the key {shown['key_id']} as {' and '.join(shown['roles'])}"
            f" (given as {shown['given_as']})"
        ),
    )


@verb(
    app,
    _CHANGING,
    example="pamctl key revoke laptop --reason 'replaced'\npamctl key revoke laptop --compromised",
    errors=(ObjectNotFound, ScopeNotFound, DuplicateOperation, ServiceUnavailable),
)
def revoke(
    call: Invocation,
    name: NameOrId,
    compromised: Annotated[
        bool,
        typer.Option(
            "--compromised",
            help="Somebody else may have the private key: nothing that it signed counts any"
            " more, whatever date it carries.",
        ),
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", parser=options.time, help="As of that time, which has passed."
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")
    ] = None,
) -> None:
    """Revoke a key.

    What it signed before that time still counts for memories, if nobody else can have had it.
    Projections that it signed are refused from now on, whatever date they carry.
    """

    def end() -> dict[str, Any]:
        now = call.store.sources.now()
        keyring = _keyring(call)
        record = keyring.revoke(name, now=now, at=at, compromised=compromised, reason=reason)
        return _shown(name, record)

    presentation.show_done(call, once(call, end), lambda key: f"the key {name} is {key['status']}")


def _keyring(call: Invocation) -> Keyring:
    return Keyring(call.store.layout.keys)


def _made(call: Invocation, name: str, actor: str | None, *, owner: bool) -> dict[str, Any] | None:
    """The key that a request made which did not come to its answer, None where it made none.
    Where it made half of one, that goes."""
    record = _keyring(call).own().get(name)
    if record is None:
        _keyring(call).forget_unfinished(name)
    if record is None or record.get("actor_id") != actor or record.get("owner", False) != owner:
        return None
    return _shown(name, record)


def _seal(call: Invocation, encrypt: bool) -> "Seal | None":
    return passphrases.seal(call.environment, call.store.sources.entropy, wanted=encrypt)


def _public_key(text: str) -> GivenKey:
    """The key in a file or on standard input, or in `text` itself where no file is named so."""
    data = text.encode()
    if text == given.STANDARD_INPUT or as_path(text).exists():
        data = given.read_bytes(text, "FILE-OR-VALUE")
    if b"PRIVATE KEY-----" in data:
        raise InvalidRequest(
            "this is a private key, which nobody should hand on",
            hint="`openssl pkey -in FILE -pubout` prints the public half",
        )
    if data.lstrip().startswith(b"{"):
        record = parse(data, what="the public key")
        spki = record.get("public_key_spki_b64u")
        if not isinstance(spki, str):
            raise InvalidRequest("the JSON of the public key has no public_key_spki_b64u")
        return GivenKey(PublicKey.from_spki_b64u(spki), "the JSON of a key record")
    return read_public_key(data)


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
    if "roles" in key:
        return ", ".join(key["roles"])
    return "owner" if key.get("owner") else "own"


_KEYS = (
    Column("NAME", lambda key: str(key["name"])),
    Column("KEY ID", lambda key: str(key["key_id"])),
    Column("ROLE", _role),
    Column("STATUS", lambda key: str(key["status"])),
    Column("ACTOR", lambda key: str(key["actor_id"] or "-")),
)

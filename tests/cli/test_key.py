"""`pamctl key`: keys are made, shown, trusted and revoked, and never leak."""

import base64
import json
import os
import pty
import select
import shutil
import stat
import subprocess

import pytest

from tests.cli.conftest import Program

SECRET = {"PAM_KEY_PASSPHRASE": "open sesame"}


def test_a_key_is_made_and_shown(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop", "--actor", "actor:local:me").json
    shown = in_store("key", "show", "laptop").json
    assert {**shown, "replayed": False} == made
    assert shown["actor_id"] == "actor:local:me"
    assert shown["status"] == "active"
    assert shown["valid_to"] is None
    assert len(shown["key_id"]) == 16
    assert shown["public_key_pem"].startswith("-----BEGIN PUBLIC KEY-----\n")
    assert shown["public_key_spki_b64u"].startswith("MCowBQYDK2VwAyEA")


def test_a_private_key_is_yours_alone_and_never_printed(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop", "--verbose")
    private = in_store.folder / ".pam" / "keys" / "laptop.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    secret = private.read_text().splitlines()[1]
    for outcome in (made, in_store("key", "show", "laptop"), in_store("key", "list")):
        assert outcome.status == 0
        assert secret.encode() not in outcome.stdout + outcome.stderr
        assert b"PRIVATE" not in outcome.stdout + outcome.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_the_files_are_openssls(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop").json
    public = subprocess.run(
        ["openssl", "pkey", "-in", ".pam/keys/laptop.pem", "-pubout"],
        cwd=in_store.folder,
        capture_output=True,
        check=True,
    )
    assert public.stdout.decode() == made["public_key_pem"]


def test_two_keys_differ(in_store: Program) -> None:
    keys = [in_store("key", "generate", name).json["key_id"] for name in ("a", "b")]
    assert keys[0] != keys[1]
    listed = in_store("key", "list").json
    assert [item["name"] for item in listed["items"]] == ["a", "b", "owner"]
    assert listed["next_cursor"] is None


def test_a_name_is_taken_once(in_store: Program) -> None:
    in_store("key", "generate", "laptop")
    again = in_store("key", "generate", "laptop")
    assert again.status == 2
    assert again.error["code"] == "invalid_request"


@pytest.mark.parametrize("name", ["../laptop", "a/b", ".x", ""])
def test_a_name_is_no_path(in_store: Program, name: str) -> None:
    assert in_store("key", "generate", name).status == 2
    assert in_store("key", "show", name).status == 2


def test_a_key_that_is_not_there(in_store: Program) -> None:
    missing = in_store("key", "show", "laptop")
    assert missing.status == 3
    assert "pamctl key generate laptop" in missing.error["details"]["hint"]


def test_without_a_store(pamctl: Program) -> None:
    assert pamctl("key", "list").status == 3


def test_a_key_travels_from_store_to_store(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop").json
    in_store("init", "other")
    pem = in_store.folder / "laptop.pub"
    pem.write_text(made["public_key_pem"])
    forms = [
        ("laptop.pub", b""),
        ("-", made["public_key_pem"].encode()),
        ("-", json.dumps(made).encode()),
        ("-", made["public_key_spki_b64u"].encode() + b"\n"),
        (made["public_key_spki_b64u"], b""),
    ]
    for value, stdin in forms:
        trusted = in_store(
            "key",
            "trust",
            value,
            "--as",
            "adapter",
            "--store",
            "other/.pam",
            stdin=stdin,
        ).json
        assert trusted["key_id"] == made["key_id"]
        assert trusted["roles"] == ["adapter"]
    shown = in_store("key", "show", made["key_id"], "--store", "other/.pam").json
    assert shown["public_key_pem"] == made["public_key_pem"]


@pytest.mark.parametrize(
    "value",
    [
        "nonsense",
        "00" * 32,
        "ff" * 32,
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0C\n-----END PUBLIC KEY-----",
        "MCowBQYDK2VuAyEA08THovDNs4pMv1ARMiWEVyplc8KPSoa1ORtO4VksAAc",
        "",
        "{}",
    ],
)
def test_what_is_no_ed25519_key_is_not_trusted(in_store: Program, value: str) -> None:
    refused = in_store("key", "trust", value, "--as", "author")
    assert refused.status == 2
    assert refused.error["code"] == "invalid_request"
    assert [item["name"] for item in in_store("key", "list").json["items"]] == ["owner"]


def test_a_role_is_adapter_or_author(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop").json
    assert in_store("key", "trust", made["public_key_spki_b64u"], "--as", "friend").status == 2
    assert in_store("key", "trust", made["public_key_spki_b64u"]).status == 2


def test_a_revoked_key_says_when_and_why(in_store: Program) -> None:
    in_store("key", "generate", "laptop")
    revoked = in_store("key", "revoke", "laptop", "--reason", "lost it").json
    assert revoked["status"] == "revoked"
    assert revoked["reason"] == "lost it"
    assert revoked["revoked_at"] > revoked["created_at"]
    worse = in_store("key", "revoke", "laptop", "--compromised").json
    assert worse["status"] == "compromised"
    assert worse["revoked_at"] == revoked["revoked_at"]


def test_it_says_in_which_form_a_key_came(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop").json
    raw = base64.urlsafe_b64decode(made["public_key_spki_b64u"] + "==")[12:]
    forms = {
        raw.hex(): "raw key in hexadecimal",
        base64.b64encode(raw).decode(): "raw key in base64",
        made["public_key_spki_b64u"]: "SPKI in base64url",
        made["public_key_pem"]: "SPKI in PEM",
        json.dumps(made): "the JSON of a key record",
    }
    for value, form in forms.items():
        trusted = in_store("key", "trust", "-", "--as", "author", stdin=value.encode()).json
        assert (trusted["key_id"], trusted["given_as"]) == (made["key_id"], form)


def test_a_private_key_is_not_trusted_and_not_quoted(in_store: Program) -> None:
    in_store("key", "generate", "laptop")
    path = ".pam/keys/laptop.pem"
    refused = in_store("key", "trust", path, "--as", "author")
    assert refused.status == 2
    assert (in_store.folder / path).read_text().splitlines()[1].encode() not in refused.stderr
    assert "private key" in refused.error["message"]


def test_revoked_as_of_a_time_that_has_passed(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop").json
    late = in_store("key", "revoke", "laptop", "--at", "2100-01-01T00:00:00Z")
    assert late.status == 2
    assert "still to come" in late.error["message"]
    at = made["created_at"]
    assert in_store("key", "revoke", "laptop", "--at", at).json["revoked_at"] == at


def test_the_owner_is_bound_from_the_beginning(in_store: Program) -> None:
    (owner,) = in_store("key", "list").json["items"]
    assert owner["name"] == "owner"
    assert owner["owner"] is True
    assert owner["actor_id"].startswith("actor:local:")
    made = in_store("create", "--type", "claim", "--content", '"x"').json
    integrity = made["envelope"]["integrity"]
    assert integrity["algorithm"] == "Ed25519"
    other = in_store("create", "--type", "claim", "--content", '"x"', "--actor", "actor:a:b").json
    assert "integrity" not in other["envelope"]


def test_what_a_signature_is_worth_is_told_on_request(in_store: Program) -> None:
    made = in_store("create", "--type", "claim", "--content", '"x"').json
    (owner,) = in_store("key", "list").json["items"]
    shown = in_store("read", made["object_id"], "--verify").json
    assert shown["envelope"] == made["envelope"]
    assert shown["verification"] == {
        "signature": "valid",
        "key_id": owner["key_id"],
        "custodian_key_id": None,
        "original": None,
        "derived_trust": "self",
        "authorship": "signed",
        "problem": None,
    }
    update = ("--expect", made["version_id"], "--content", '"y"', "--actor", "actor:local:other")
    in_store("update", made["object_id"], *update)
    in_store("key", "revoke", "owner", "--compromised")
    history = ("history", made["object_id"], "--verify", "--actor", "actor:local:other")
    first, second = (item["verification"] for item in in_store(*history).json["items"])
    assert (first["signature"], first["derived_trust"]) == ("valid", "unverified")
    assert first["problem"] == "the key is not one that counts here"
    assert (second["signature"], second["derived_trust"]) == ("none", "unverified")
    status, table = in_store.at_terminal(*history)
    assert status == 0
    assert "SIGNATURE" in table
    refused = in_store("read", made["object_id"], "--verify", "--print", "actor")
    assert refused.status == 2


def test_without_an_owner_key_nothing_is_signed(pamctl: Program) -> None:
    assert pamctl("init", "--no-owner-key").status == 0
    assert pamctl("key", "list").json["items"] == []
    made = pamctl("create", "--type", "claim", "--content", '"x"').json
    assert "integrity" not in made["envelope"]


def test_a_bound_actor_cannot_be_impersonated(in_store: Program) -> None:
    (in_store.folder / ".pam/keys/owner.pem").unlink()
    me = in_store("key", "show", "owner").json["actor_id"]
    for words in (
        ["create", "--type", "claim", "--content", '"x"'],
        ["query", "--actor", me],
        ["scope", "create", "workspace:new"],
    ):
        refused = in_store(*words)
        assert refused.status == 7, words
        assert refused.error["code"] == "access_denied", words
        assert refused.error["policy_rule_id"] == "actor_is_bound_to_a_key"
    request = {
        "operation": "create",
        "arguments": {
            "object_type": "claim",
            "canonical_content": 1,
            "provenance": {"activity": "typed"},
        },
    }
    batch = in_store("batch", "-", stdin=json.dumps(request).encode())
    assert batch.status == 7
    assert json.loads(batch.stdout)["error"]["policy_rule_id"] == "actor_is_bound_to_a_key"
    # Who names nobody looks as a guest, and is told.
    looked = in_store("query")
    assert looked.json["items"] == []
    assert f"looking as {me}+guest".encode() in looked.stderr
    assert in_store("query", "--quiet").stderr == b""
    assert in_store("query", env={"PAM_ACTOR": me}).status == 7


def test_an_encrypted_key_takes_the_variable(pamctl: Program) -> None:
    assert pamctl("init", env=SECRET).status == 0
    pem = (pamctl.folder / ".pam/keys/owner.pem").read_bytes()
    assert pem.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    create = ("create", "--type", "claim", "--content", '"x"')
    assert "integrity" in pamctl(*create, env=SECRET).json["envelope"]
    for wrong in ({}, {"PAM_KEY_PASSPHRASE": "wrong"}):
        refused = pamctl(*create, env=wrong)
        assert refused.status == 7
        assert "passphrase" in refused.error["message"]
        assert b"sesame" not in refused.stderr


def test_an_encrypted_key_asks_at_a_terminal(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop", "--encrypt")
    assert made.status == 2
    assert "PAM_KEY_PASSPHRASE" in made.error["message"]
    assert not (in_store.folder / ".pam/keys/laptop.pem").exists()
    words = ("key", "generate", "laptop", "--encrypt")
    status, shown = typing(in_store, words, ["open sesame", "open says me"])
    assert status == 2
    assert "differ" in shown
    assert not (in_store.folder / ".pam/keys/laptop.pem").exists()
    status, shown = typing(in_store, words, ["open sesame", "open sesame"])
    assert status == 0, shown
    assert "sesame" not in shown
    assert b"ENCRYPTED" in (in_store.folder / ".pam/keys/laptop.pem").read_bytes()
    in_store("key", "generate", "agent", "--actor", "actor:a:b", env=SECRET)
    create = ("create", "--type", "claim", "--content", '"x"', "--actor", "actor:a:b")
    status, shown = typing(in_store, create, ["open sesame"])
    assert status == 0, shown
    assert "Passphrase of the key agent:" in shown


def typing(program: Program, words: tuple[str, ...], answers: list[str]) -> tuple[int, str]:
    """A run at a terminal where somebody answers each prompt: its status and what it shows."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*program.command, *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=program.folder,
        env={**program.environment, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    while select.select([controller], [], [], 60)[0]:
        try:
            part = os.read(controller, 65536)
        except OSError:  # the other side is gone
            break
        shown += part
        if shown.endswith(b": ") and answers:
            os.write(controller, answers.pop(0).encode() + b"\n")
    os.close(controller)
    return process.wait(timeout=60), shown.decode()


def test_a_key_from_elsewhere_is_taken_in(in_store: Program) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl")
    pem = in_store.folder / "theirs.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(pem)], check=True)
    taken = in_store("key", "import", "agent", "theirs.pem", "--actor", "actor:local:agent").json
    assert (in_store.folder / ".pam/keys/agent.pem").read_bytes() == pem.read_bytes()
    made = in_store(
        "create", "--type", "claim", "--content", '"x"', "--actor", "actor:local:agent"
    ).json
    raw = base64.urlsafe_b64decode(taken["public_key_spki_b64u"] + "==")[12:]
    named = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert made["envelope"]["integrity"]["ledger_ref"] == f"urn:pamctl:key:ed25519:{named}"
    rsa = in_store.folder / "rsa.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "rsa", "-out", str(rsa)], check=True)
    refused = in_store("key", "import", "rsa", "rsa.pem")
    assert refused.status == 2
    assert "Ed25519" in refused.error["message"]


def test_a_person_gets_a_sentence(in_store: Program) -> None:
    status, shown = in_store.at_terminal("key", "generate", "laptop")
    assert status == 0
    assert shown.startswith("made the key laptop, key id ")
    status, shown = in_store.at_terminal("key", "list")
    assert "laptop" in shown
    assert "own" in shown

"""`pamctl key`: keys are made, shown, trusted and revoked, and never leak."""

import json
import shutil
import stat
import subprocess

import pytest

from tests.cli.conftest import Program


def test_a_key_is_made_and_shown(in_store: Program) -> None:
    made = in_store("key", "generate", "laptop", "--actor", "actor:local:me").json
    shown = in_store("key", "show", "laptop").json
    assert shown == made
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
    assert [item["name"] for item in listed["items"]] == ["a", "b"]
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
    assert in_store("key", "list").json["items"] == []


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


def test_a_person_gets_a_sentence(in_store: Program) -> None:
    status, shown = in_store.at_terminal("key", "generate", "laptop")
    assert status == 0
    assert shown.startswith("made the key laptop, key id ")
    status, shown = in_store.at_terminal("key", "list")
    assert "laptop" in shown
    assert "own" in shown

"""Trust from end to end: who signed decides the label, in whatever store it is read."""

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Program

POLICY = '{"filters":{"any_state":true}}'


def labels(program: Program, out: str, *words: str) -> dict[str, str]:
    """The labels of a projection of everything, by content; it verifies in full."""
    asked = ("--request", "all", "--key", "desk", "--policy", POLICY, "--out", out)
    done = program("project", *asked, *words)
    assert done.status == 0, done.stderr
    verdict = program("verify-projection", f"{out}/record.json", "--bundle", out).json
    assert verdict["valid"], verdict
    found = {}
    for file in (program.folder / out / "fragments").iterdir():
        header, content = file.read_text().splitlines()[:2]
        found[content] = header.split(" ", 2)[2].rsplit(" validation=", 1)[0]
    return found


def remember(program: Program, text: str, *words: str) -> Any:
    return program("create", "--type", "claim", "--content", json.dumps(text), *words).json


def test_labels_follow_the_keyring(in_store: Program) -> None:
    in_store("key", "generate", "desk")
    agent = in_store("key", "generate", "agent", "--actor", "actor:local:agent").json
    remember(in_store, "by the owner")
    remember(in_store, "by the agent", "--actor", "actor:local:agent")
    remember(in_store, "by a guest", "--actor", "actor:local:guest")
    (owner,) = (one for one in in_store("key", "list").json["items"] if one["name"] == "owner")
    found = labels(in_store, "first")
    assert found["by the owner"].startswith("trust=self authorship=signed author_key=")
    assert found["by the agent"].startswith("trust=trusted authorship=signed author_key=")
    unknown = "trust=unverified authorship=unknown author_key=none custody=false"
    assert found["by a guest"] == unknown
    assert owner["key_id"] != agent["key_id"]
    # Revoked, it still counts for what was written before; compromised, for nothing.
    in_store("key", "revoke", "agent")
    assert labels(in_store, "second") == found
    in_store("key", "revoke", "agent", "--compromised")
    assert labels(in_store, "third") == {**found, "by the agent": unknown}


def test_trust_is_not_imported(in_store: Program) -> None:
    remember(in_store, "by the owner")
    owner = in_store("key", "show", "owner").json
    assert in_store("export", "--output", "bundle.jsonl").status == 0
    other = Program(in_store.folder / "elsewhere", in_store.environment)
    other.folder.mkdir()
    assert other("init", "--scope", "workspace:other", "--actor", "actor:local:other").status == 0
    me = {"PAM_ACTOR": "actor:local:other"}
    other.environment.update(me)
    assert other("import", "../bundle.jsonl").status == 0
    other("key", "generate", "desk")
    scope = ("--scope", "workspace:default")
    unknown = "trust=unverified authorship=unknown author_key=none custody=false"
    assert labels(other, "first", *scope) == {"by the owner": unknown}
    # Trusting the author is a decision of this store's, made with a key from elsewhere.
    key = ("key", "trust", owner["public_key_spki_b64u"], "--as", "author")
    assert other(*key).status == 0
    found = labels(other, "second", *scope)["by the owner"]
    assert found.startswith("trust=trusted authorship=signed")
    clean = other("fsck").json
    assert clean["clean"], clean["findings"]


def test_what_is_recorded_anew_is_attested_by_the_owner(in_store: Program) -> None:
    remember(in_store, "by the owner")
    remember(in_store, "by a guest", "--actor", "actor:local:guest")
    author = in_store("key", "show", "owner").json
    assert in_store("export", "--output", "bundle.jsonl").status == 0
    other = Program(in_store.folder / "elsewhere", in_store.environment)
    other.folder.mkdir()
    other.environment["PAM_ACTOR"] = "actor:local:other"
    assert other("init").status == 0
    mapped = ("--map-scope", "workspace:default=workspace:copy")
    assert other("import", "../bundle.jsonl", *mapped).status == 0
    other("key", "generate", "desk")
    scope = ("--scope", "workspace:copy")
    unknown = "trust=unverified authorship=unknown author_key=none custody="
    assert labels(other, "first", *scope) == {
        "by the owner": unknown + "true",
        "by a guest": unknown + "false",
    }
    other("key", "trust", author["public_key_spki_b64u"], "--as", "author")
    found = labels(other, "second", *scope)
    assert found["by a guest"] == unknown + "false"
    key = found["by the owner"].split("author_key=")[1].split()[0]
    assert (
        found["by the owner"] == f"trust=trusted authorship=attested author_key={key} custody=true"
    )
    # A newer key takes the owner's place, and the word of the older one still counts; revoked,
    # it does not.
    me = ("--actor", "actor:local:other", "--owner")
    assert other("key", "generate", "newer", *me).status == 0
    assert labels(other, "third", *scope) == found
    other("key", "revoke", "owner")
    assert labels(other, "fourth", *scope)["by the owner"] == unknown + "false"


def test_a_forged_version_is_found(in_store: Program) -> None:
    """What somebody writes into the files in a bound actor's name is noticed."""
    (in_store.folder / ".pam/keys/owner.pem").rename(in_store.folder / "owner.pem")
    record = in_store.folder / ".pam/keys/owner.json"
    kept = record.read_bytes()
    record.unlink()
    remember(in_store, "forged")
    record.write_bytes(kept)
    found = in_store("fsck").json
    assert [one["id"] for one in found["findings"] if one["id"].startswith("signature")] == [
        "signature-missing"
    ]


def test_a_private_key_leaves_by_no_door(in_store: Program, tmp_path: Path) -> None:
    remember(in_store, "by the owner")
    in_store("key", "generate", "desk")
    secrets = [
        path.read_bytes().splitlines()[1] for path in (in_store.folder / ".pam/keys").glob("*.pem")
    ]
    assert len(secrets) == 2
    in_store("export", "--output", "bundle.jsonl")
    labels(in_store, "out")
    outside = [path for path in in_store.folder.rglob("*") if ".pam" not in path.parts]
    for path in outside:
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in secrets), path

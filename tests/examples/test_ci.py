"""examples/ci: the hooks, the workflow and the job, used as their programs use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pamctl.encoding.canonical import canonical
from tests.conftest import Run, clean_environment, unmeasured

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "examples" / "ci"
BIN = Path(sys.executable).parent


def validated(kind: str, file: Path) -> subprocess.CompletedProcess[str]:
    checker = BIN / "check-jsonschema"
    if not checker.exists():
        pytest.skip("check-jsonschema is not installed")
    return subprocess.run(
        [checker, "--builtin-schema", kind, str(file)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("vendor.github-workflows", "github-actions.yml"),
        ("vendor.gitlab-ci", "gitlab-ci.yml"),
    ],
)
def test_they_are_what_their_programs_accept(kind: str, file: str) -> None:
    done = validated(kind, CI / file)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def repository(tmp_path: Path, run: Run) -> Path:
    """A folder with one good answer, and a policy that pins its key."""
    for words in (
        ["init"],
        ["key", "generate", "reader"],
        ["create", "--type", "claim", "--content", '"Tea is at four."'],
        [
            *("project", "--request", "tea?", "--validation", "unverified"),
            *("--key", "reader", "--out", "answers/tea"),
        ],
    ):
        if words[0] == "project":
            (tmp_path / "answers").mkdir()
        done = run(*words)
        assert done.returncode == 0, done.stderr
    key = json.loads(run("key", "show", "reader").stdout)
    pin = {"public_key_spki_b64u": key["public_key_spki_b64u"], "status": "active"}
    ages = {"max_projection_age_sec": 86400, "max_trust_age_sec": 86400}
    policy = {"adapter_keys": {key["key_id"]: pin}, **ages}
    (tmp_path / "trust.json").write_bytes(canonical(policy))
    return tmp_path


def commands(file: Path) -> list[str]:
    """The command lines of a workflow that call pamctl."""
    return re.findall(r"pamctl verify-projection .*", file.read_text())


@pytest.mark.parametrize("file", ["github-actions.yml", "gitlab-ci.yml"])
def test_their_commands_refuse_what_does_not_hold(repository: Path, file: str) -> None:
    (command,) = commands(CI / file)
    for damage, status in ((False, 0), (True, 11)):
        if damage:
            (repository / "answers" / "tea" / "fragments" / "0000").unlink()
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=repository,
            env=unmeasured(clean_environment(repository)),
            check=False,
        )
        assert done.returncode == status
        (report,) = repository.glob("projections.*")
        assert (b"Supply the missing files" in report.read_bytes().split(b'"tool"')[0]) is damage


def git(folder: Path, *words: str) -> str:
    names = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com"}
    names |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"}
    # pre-commit installs the hook's package; where packages come from is pip's to know.
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", *words],
        cwd=folder,
        env={**unmeasured(clean_environment(folder.parent)), **names, **pip},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Refused(done.stdout + done.stderr)
    return done.stdout + done.stderr


class Refused(Exception):
    """git, or a hook of it, said no."""


def a_checkout_of_us(folder: Path) -> str:
    """A repository with what is installed from this checkout, as it is now; its commit."""
    for name in ("pamctl", "schemas", "man"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copyfile(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", "as it is")
    return git(folder, "rev-parse", "HEAD").strip()


def configuration(repo: Path, commit: str) -> str:
    """The example's, with this checkout in the place of the published one."""
    text = (CI / "pre-commit-config.yaml").read_text()
    text = re.sub(r"repo: \S+", f"repo: {repo}", text)
    return re.sub(r"rev: \S+", f"rev: {commit}", text)


def test_the_hooks_let_a_good_record_in_and_no_bad_one(repository: Path, tmp_path: Path) -> None:
    """With the real pre-commit, which installs this package as it would anybody's."""
    if not (BIN / "pre-commit").exists():
        pytest.skip("pre-commit is not installed")
    ours, repo = tmp_path / "pamctl", tmp_path / "repo"
    ours.mkdir()
    commit = a_checkout_of_us(ours)
    repo.mkdir()
    for name in (".pam", "answers", "trust.json"):
        shutil.move(tmp_path / name, repo / name)
    git(repo, "init", "--quiet")
    (repo / ".pre-commit-config.yaml").write_text(configuration(ours, commit))
    subprocess.run(
        [BIN / "pre-commit", "install"],
        cwd=repo,
        env=unmeasured(clean_environment(tmp_path)),
        check=True,
    )
    git(repo, "add", "--all")
    try:
        said = git(repo, "commit", "--message", "an answer")
    except Refused as refused:
        if re.search(r"No matching distribution|Could not find a version|Connection", str(refused)):
            pytest.skip("there is no package index to install from")
        raise
    assert re.search(r"verify projection records\.+Passed", said)
    assert re.search(r"check the memory store\.+Passed", said)
    # A piece of the projection that was tampered with, without a change of the record.
    (repo / "answers" / "tea" / "fragments" / "0000").write_bytes(b"Tea is at five.\n")
    (repo / "notes.txt").write_text("about something else")
    git(repo, "add", "--all")
    with pytest.raises(Refused, match="fragment_digest_mismatch"):
        git(repo, "commit", "--message", "a lie")
    # What belongs to no record concerns no hook.
    git(repo, "checkout", "HEAD", "--", "answers")
    assert re.search(r"Skipped", git(repo, "commit", "--message", "notes"))
    # A store that was tampered with.
    (ledger,) = repo.glob(".pam/scopes/*/ledger.jsonl")
    ledger.write_bytes(ledger.read_bytes().replace(b'"n":1', b'"n":7', 1))
    git(repo, "add", "--all")
    with pytest.raises(Refused, match="check the memory store"):
        git(repo, "commit", "--message", "history as it should have been")

"""A store on a read-only mount: it is read, with and without an index, and never written."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Outcome, Program

Remember = Callable[..., Any]

MOUNTED = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && shift && exec "$@"'


@pytest.fixture
def mounted(in_store: Program) -> Callable[..., Outcome]:
    """Runs the program with its folder mounted read-only, in a mount namespace of its own."""
    unshare = ["unshare", "--mount"]
    possible = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not possible or subprocess.run([*unshare, "true"], check=False).returncode != 0:
        pytest.skip("mounting needs root and mount namespaces")

    def run(*words: str) -> Outcome:
        done = subprocess.run(
            [*unshare, "sh", "-c", MOUNTED, "sh", str(in_store.folder), *in_store.command, *words],
            capture_output=True,
            env=in_store.environment,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.mark.parametrize("with_index", [True, False])
def test_it_answers_as_it_would_elsewhere(
    in_store: Program, remember: Remember, mounted: Callable[..., Outcome], with_index: bool
) -> None:
    object_id = remember("Tea is at four.")["object_id"]
    if not with_index:
        shutil.rmtree(in_store.folder / ".pam" / "index")
    for words in (
        ("read", object_id),
        ("query", "--any-state", "--text", "tea"),
        ("history", object_id),
        ("log",),
        ("status",),
    ):
        assert mounted(*words).json == in_store(*words).json, words


def test_it_refuses_to_write_and_says_why(
    in_store: Program, remember: Remember, mounted: Callable[..., Outcome]
) -> None:
    remember("tea")
    before = sorted((in_store.folder / ".pam").rglob("*"))
    refused = mounted("create", "--type", "claim", "--content", "1")
    assert refused.status == 75
    assert refused.error["details"]["errno"] == "EROFS"
    assert sorted((in_store.folder / ".pam").rglob("*")) == before

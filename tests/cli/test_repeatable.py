"""The same question over the same store gives the same bytes: twice, and somewhere else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Program

Remember = Callable[..., Any]

QUESTIONS = (
    ("query", "--any-state"),
    ("query", "--any-state", "--text", "tea garden", "--explain", "--count"),
    ("query", "--any-state", "--order-by", "object_id:desc", "--limit", "3"),
    ("query", "--any-state", "--as-of", "4"),
    ("log",),
)


def test_twice_and_on_another_machine(
    in_store: Program, remember: Remember, tmp_path: Path
) -> None:
    for number in range(6):
        remember(f"Tea number {number} in the garden")
    elsewhere = tmp_path / "carried" / "over" / "here"
    shutil.copytree(in_store.folder / ".pam", elsewhere / ".pam")
    shutil.rmtree(elsewhere / ".pam" / "index")
    other = Program(
        elsewhere,
        {
            **in_store.environment,
            "TZ": "Pacific/Kiritimati",
            "LANG": "tr_TR.ISO-8859-9",
            "PYTHONHASHSEED": "7",
        },
    )
    for words in QUESTIONS:
        first = in_store(*words)
        assert first.status == 0, first.stderr
        assert in_store(*words).stdout == first.stdout
        assert other(*words).stdout == first.stdout

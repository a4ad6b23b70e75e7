"""`pamctl export --as`: for other readers, from the installed command."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Program


@pytest.mark.parametrize("form", ["prov-json", "markdown"])
def test_a_form_is_written_to_a_file_and_to_standard_output(
    in_store: Program, remember: Callable[..., Any], form: str
) -> None:
    remember("tea is at five")
    assert in_store("export", "--as", form, "--output", "out").status == 0
    made = (in_store.folder / "out").read_bytes()
    assert b"tea is at five" in made
    assert in_store("export", "--as", form).stdout == made
    if form == "prov-json":
        document = json.loads(made)
        assert len(document["wasGeneratedBy"]) == 1
        assert document["prefix"]["pam"].startswith("urn:")
    else:
        assert made.startswith(b"# Memory\n")


def test_another_form_is_refused(in_store: Program) -> None:
    assert in_store("export", "--as", "html", "--output", "out").error["code"] == "invalid_request"
    assert not (in_store.folder / "out").exists()

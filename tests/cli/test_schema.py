"""`pamctl schema`, and content that names a schema, as a user runs them."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Program

NOTE = "https://example.com/schemas/note"
TITLED = '{"type":"object","required":["title"]}'


def test_a_registered_schema_holds_content_to_it(in_store: Program) -> None:
    added = in_store("schema", "add", NOTE, "--schema", TITLED).json
    assert (added["added"], added["schema_id"]) == (True, NOTE)
    refused = in_store("create", "--type", "claim", "--schema-id", NOTE, "--content", '"untitled"')
    assert (refused.status, refused.stdout) == (10, b"")
    assert refused.error["code"] == "invalid_object"
    assert refused.error["details"]["pointer"] == "/canonical_content"
    titled = ("--schema-id", NOTE, "--content", '{"title":1}')
    assert in_store("create", "--type", "claim", *titled).json["envelope"]["schema_id"] == NOTE
    shown = in_store("schema", "show", NOTE).json
    assert shown["schema"] == {"type": "object", "required": ["title"]}
    again = in_store("schema", "add", NOTE, "--schema", "-", stdin=TITLED.encode())
    assert again.json["added"] is False


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("show", NOTE), 3, "object_not_found"),
        (("add", NOTE), 2, "invalid_request"),
        (("add", "note", "--schema", "{}"), 2, "invalid_request"),
        (("add", NOTE, "--schema", "{"), 2, "invalid_request"),
        (("add", NOTE, "--schema", "5"), 2, "invalid_request"),
        (("add", NOTE, "--schema", '{"type":"no"}'), 2, "invalid_request"),
        (("add", NOTE, "--schema", '{"a":1,"a":2}'), 2, "invalid_request"),
        (("add", NOTE, "--schema-file", "missing.json"), 2, "invalid_request"),
    ],
)
def test_what_is_wrong_is_said(
    in_store: Program, arguments: tuple[str, ...], status: int, code: str
) -> None:
    refused = in_store("schema", *arguments)
    assert (refused.status, refused.error["code"], refused.stdout) == (status, code, b"")
    assert in_store("schema", "list").json["items"] == []

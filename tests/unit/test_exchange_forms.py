"""Exports for other readers: W3C PROV and Markdown. What is withheld stays withheld."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from pamctl.exchange.exporting import export_bundle
from pamctl.exchange.markdown import fenced, plain, write_markdown
from pamctl.exchange.prov import write_prov
from pamctl.model.bundles import read_bundle

SCOPE = "workspace:default"
ADA = {"actor_id": "actor:local:ada", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:planner+1", "actor_kind": "agent"}


def create(store: Any, name: str, content: Any, **members: Any) -> Any:
    return store.create(
        scope_id=SCOPE,
        object_id=name,
        object_type="claim",
        canonical_content=content,
        actor=members.pop("actor", ADA),
        provenance=members.pop("provenance", {"activity": "noted"}),
        **members,
    )


def export(store: Any, form: Any, **selection: Any) -> bytes:
    bundle, made = BytesIO(), BytesIO()
    export_bundle(store, bundle, scope_ids=[SCOPE], actor=ADA, **selection)
    bundle.seek(0)
    form(read_bundle(bundle), made)
    return made.getvalue()


@pytest.fixture
def told(store: Any) -> Any:
    """A store in which things were made, changed, withdrawn and related."""
    provenance = {
        "activity": "heard",
        "source_ref": "chat:7 \u2028 </b>",
        "evidence_refs": ["mail:1", "mail:2"],
        "transformation_parent": "note:3",
    }
    tea = create(store, "mem:tea", {"text": "Tea is at five."}, provenance=provenance)
    store.update(
        scope_id=SCOPE,
        object_id="mem:tea",
        expected_version_id=tea["version_id"],
        canonical_content={"text": "Tea is at four."},
        actor=AGENT,
        provenance={"activity": "corrected"},
    )
    secret = create(store, "mem:secret", "the secret word")
    store.perform(
        "redact",
        {
            "scope_id": SCOPE,
            "object_id": "mem:secret",
            "expected_version_id": secret["version_id"],
            "actor": ADA,
            "policy_basis": "gdpr:17",
            "erase": True,
        },
    )
    create(store, "mem:private", "nobody else's business")
    store.perform(
        "relate",
        {
            "scope_id": SCOPE,
            "source_object_id": "mem:tea",
            "target_object_id": "mem:private",
            "relationship_type": "supports",
            "actor": ADA,
            "provenance": {"activity": "related"},
        },
    )
    return store


def test_prov_is_read_by_the_reference_library(told: Any) -> None:
    model = pytest.importorskip("prov.model")
    data = export(told, write_prov)
    document = model.ProvDocument.deserialize(content=data.decode(), format="json")
    counts = {
        kind: len(list(document.get_records(getattr(model, kind))))
        for kind in ("ProvActivity", "ProvAgent", "ProvGeneration", "ProvInvalidation")
    }
    assert counts == {
        "ProvActivity": 6,
        "ProvAgent": 2,
        "ProvGeneration": 6,
        "ProvInvalidation": 2,
    }
    assert document == model.ProvDocument.deserialize(
        content=document.serialize(format="json"), format="json"
    )


def test_what_prov_says(told: Any) -> None:
    document = json.loads(export(told, write_prov))
    entities = document["entity"]
    (newest,) = [
        name
        for name, facts in entities.items()
        if facts.get("prov:value", {}).get("$") == '{"text":"Tea is at four."}'
    ]
    of_it = [
        one for one in document["wasDerivedFrom"].values() if one["prov:generatedEntity"] == newest
    ]
    (revision,) = of_it
    assert revision["prov:type"]["$"] == "prov:Revision"
    first = revision["prov:usedEntity"]
    sources = [
        (one["prov:type"]["$"], entities[one["prov:usedEntity"]]["prov:label"])
        for one in document["wasDerivedFrom"].values()
        if one["prov:generatedEntity"] == first
    ]
    assert ("prov:PrimarySource", "chat:7 \u2028 </b>") in sources
    assert ("pam:transformation", "note:3") in sources
    by = {one["prov:entity"]: one["prov:agent"] for one in document["wasAttributedTo"].values()}
    assert (by[first], by[newest]) == ("agent:actor:local:ada", "agent:actor:agent:planner+1")
    assert document["agent"]["agent:actor:local:ada"]["prov:type"]["$"] == "prov:Person"
    evidence = [one for one in document["used"].values() if "prov:role" in one]
    assert len(evidence) == 2
    named = {
        one[end]
        for section in document
        if section.startswith("was") or section == "used"
        for one in document[section].values()
        for end in one
        if end in ("prov:entity", "prov:usedEntity", "prov:generatedEntity")
    }
    assert named <= entities.keys()


def test_what_is_withheld_is_in_no_form(told: Any) -> None:
    for form in (write_prov, write_markdown):
        data = export(told, form, withhold_object_ids=["mem:private"])
        assert b"secret word" not in data
        assert b"business" not in data
        assert b"mem:private" in data
        assert b"Tea is at four." in data
    page = export(told, write_markdown, withhold_object_ids=["mem:private"])
    assert b"Its content is not in this export." in page
    document = json.loads(export(told, write_prov, withhold_object_ids=["mem:private"]))
    withheld = [one for one in document["entity"].values() if one.get("pam:withheld")]
    assert len(withheld) == 2
    assert not [one for one in withheld if "prov:value" in one]


def test_a_selection_says_nothing_of_what_is_not_in_it(told: Any) -> None:
    for form in (write_prov, write_markdown):
        data = export(told, form, object_ids=["mem:tea"])
        assert b"mem:tea" in data
        assert b"mem:secret" not in data
        assert b"business" not in data


def test_forms_are_the_same_each_time(told: Any) -> None:
    for form in (write_prov, write_markdown):
        assert export(told, form) == export(told, form)


def test_markdown_for_a_person(told: Any) -> None:
    text = export(told, write_markdown).decode()
    for line in (
        "# Memory",
        f"## Scope {SCOPE}",
        "### Memories (3)",
        "### Relationships (1)",
        "#### mem:tea",
        "- Activity: corrected",
        "### What happened",
    ):
        assert line in text.splitlines(), line
    assert "Tea is at five." not in text, "only the newest version is shown"
    assert "redacted mem:secret, from available to redacted, on the basis of gdpr:17" in text


HOSTILE = (
    "```\n# a heading of its own\n```",
    "<script>alert(1)</script>",
    "[a link](javascript:alert(1)) ![x](http://example.com/x.png) <http://example.com>",
    "see http://example.com and www.example.com or me@example.com",
    "# one\n## two\n- three\n\n    four",
    "| a | b |\n|---|---|\n| **c** | _d_ |",
    "~~~~\n`````\n````````",
    "\u202egnp.exe\u202c \x1b[31m",
    "&lt;&#60;&amp; \\ $x$ @somebody #1",
    "***\n---\n===",
    "  trailing  \n\n\tand a tab",
)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_content_does_nothing_in_markdown(store: Any, text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    create(store, "mem:a", text, provenance={"activity": text.strip(), "source_ref": text})
    create(store, "mem:b", {"text": text, text: 1})
    create(store, "mem:c", "harmless")
    page = export(store, write_markdown).decode()
    reader = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).enable("strikethrough")
    tokens = reader.parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inner)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "table_open", "em_open"}
    assert not kinds & {"strong_open", "s_open", "code_inline", "code_block", "hr"}
    headings = [token for token in tokens if token.type == "heading_open"]
    assert len(headings) == 7, "memory, scope, memories, three of them, what happened"
    contents = [token.content for token in tokens if token.type == "fence"]
    assert len(contents) == 3
    if text.isprintable():
        assert contents[0] == text + "\n"
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_lines_are_plain() -> None:
    assert plain("legal_hold _x_ a_") == r"legal_hold \_x\_ a\_"
    assert plain("a\n\n# b") == r"a \# b"
    assert plain("http://x") == r"http\://x"
    assert plain("www.x") == r"www\.x"
    assert plain(["a", 1]) == r'\["a", 1\]'
    assert fenced("``` ````").startswith("`````\n")

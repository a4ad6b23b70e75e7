"""The report's page: readable by everybody, closed to whatever the store holds, bounded."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pamctl.audit.audited import Audit
from pamctl.audit.excerpts import excerpt, short
from pamctl.audit.inventory import Inventory
from pamctl.audit.markup import Markup, escaped, tag, together, visible
from pamctl.audit.report import render
from pamctl.audit.report_style import DARK, GRAPHIC_PAIRS, LIGHT, STYLE, TEXT_PAIRS
from pamctl.audit.verdict_words import named_cause
from tests.pages import Page

HOSTILE = (
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "</title></head><body onload=alert(1)>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' style='position:fixed",
    "--><!--",
    "]]><![CDATA[",
    "&lt;b&gt;&#60;b&#62;",
    "javascript:alert(1)",
    "\u202egnp.exe\u202c\u2066x\u2069",
    "a\x00b\x1b[31mc\x7f\x85",
    "\ud800 lone",
    "e" + "\u0301" * 500,
    "\u200b\ufeff\U000e0041",
    "x" * 10_000_000,
    "<" * 100_000,
)


def actor(name: str = "actor:local:ada") -> dict[str, Any]:
    return {"actor_id": name, "actor_kind": "human"}


def event(sequence: int, event_type: str = "object_created", **members: Any) -> dict[str, Any]:
    """A ledger entry with an event."""
    body = {
        "event_id": f"evt:{sequence}",
        "event_type": event_type,
        "object_id": f"mem:{sequence}",
        "sequence": sequence,
        "recorded_at": f"2026-01-{1 + sequence % 28:02}T10:00:00.000000Z",
        "actor": actor(),
        **members,
    }
    return {"n": sequence + 2, "kind": "event", "body": body}


def version(identifier: str, content: Any = "tea", **members: Any) -> dict[str, Any]:
    return {
        "object_id": identifier,
        "object_type": "claim",
        "version_id": f"ver:{identifier}",
        "sequence": 1,
        "lifecycle_state": "active",
        "availability_state": "available",
        "retention_state": "retained",
        "validation_state": "unverified",
        "canonical_content": content,
        **members,
    }


def scope(scope_id: str = "workspace:default") -> Inventory:
    """A scope whose ledger has begun."""
    inventory = Inventory(scope_id)
    about = {"store_id": "store:1", "scope_id": scope_id, "scope_kind": "workspace"}
    inventory.ledger({"kind": "scope", "body": {**about, "created_at": "2026-01-01T00:00:00Z"}})
    policy = {"default_effect": "allow", "policy_version": 1, "rules": []}
    body = {"policy": policy, "actor": actor(), "recorded_at": "2026-01-01T00:00:00Z"}
    inventory.ledger({"kind": "policy", "body": body})
    return inventory


def audit(*holdings: Inventory, **members: Any) -> Audit:
    heads = [
        {"scope_id": one.scope_id, "entries": one.entries, "head": "ab" * 32, "tail": "pinned"}
        for one in holdings
    ]
    standard: dict[str, Any] = {
        "name": "memory.jsonl",
        "kind": "export",
        "clean": True,
        "findings": [],
        "counts": {},
        "heads": heads,
        "holdings": holdings,
    }
    return Audit(**{**standard, **members})


def finding(id_: str = "ledger-chain-broken", **members: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "severity": "must",
        "message": "the entry does not follow the line before it",
        "remedy": "look at it",
        "scope_id": "workspace:default",
        "path": "memory.jsonl",
        "offset": 12345,
        **members,
    }


@pytest.fixture
def eventful() -> Audit:
    """An audit with something in every part of the page."""
    one = scope()
    for sequence in range(1, 30):
        one.ledger(event(sequence, payload={"object_type": "claim"}))
        one.version(version(f"mem:{sequence}"))
    held = {"dimension": "retention", "from": "retained", "to": "legal_hold"}
    review = {"dimension": "lifecycle", "from": "deprecated", "to": "active", "condition": "review"}
    gone = {"from": "available", "to": "redacted", "policy_basis": "gdpr:17", "erased_versions": 1}
    one.ledger(event(30, "retention_transitioned", object_id="mem:1", payload=held))
    one.ledger(event(31, "lifecycle_transitioned", object_id="mem:2", payload=review))
    one.ledger(event(32, "object_redacted", object_id="mem:3", payload=gone))
    erased = {"version_id": "ver:3", "event_id": "evt:32", "erased_at": "2026-02-01T00:00:00Z"}
    one.ledger({"kind": "erasure", "body": erased})
    one.ledger(event(33, "delegation_granted", object_id="del:1"))
    one.ledger(event(34, "access_denied", payload={"operation": "delete", "reason": "no"}))
    one.version({"relationship_id": "rel:1", "relationship_type": "supports", "sequence": 1})
    one.settle()
    verdict = {
        "checkpoint": "x.checkpoint",
        "valid": False,
        "reason": "cut",
        "explanation": "the ledger has 7 entries, and 9 were signed",
        "size": 9,
        "signatures": [{"name": "pam/x", "role": "log", "status": "verified"}],
        "facts": {},
    }
    record = {
        "record": "answer/record.json",
        "valid": True,
        "reason": None,
        "verification_scope": "SIGNED_ENVELOPE_ONLY",
    }
    return audit(
        one,
        clean=False,
        findings=[finding(), finding("ledger-tail-unpinned", severity="notice")],
        counts={"ledger-chain-broken": 300, "ledger-tail-unpinned": 1},
        checkpoints=[verdict],
        projections=[record],
        facts={"Digest": "sha256:" + "cd" * 32},
    )


def page_of(one: Audit) -> Page:
    page = Page(render(one).decode())
    assert page.faults == []
    return page


def test_everything_is_told(eventful: Audit) -> None:
    text = " ".join(page_of(eventful).text.split())
    for told in (
        "Not sound",
        "edited or cut",
        "look at it",
        "299 more of the same kinds are left out",
        "12,345",
        "x.checkpoint",
        "9 were signed",
        "answer/record.json",
        "Timeline of the ledger",
        "actor:local:ada",
        "deprecated",
        "gdpr:17",
        "Memories under a legal hold: 1",
        "supports",
        "Refused",
    ):
        assert told in text, told


def test_an_erasure_says_under_which_authority(eventful: Audit) -> None:
    (erasure,) = eventful.holdings[0].erasures.kept
    assert erasure.actor == "actor:local:ada"
    assert "gdpr:17" in erasure.detail
    assert "entry 34" in erasure.detail


def test_headings_go_down_one_level_at_a_time(eventful: Audit) -> None:
    levels = [level for level, _ in page_of(eventful).headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert all(text.strip() for _, text in page_of(eventful).headings)


def test_what_a_screen_reader_goes_by(eventful: Audit) -> None:
    page = page_of(eventful)
    assert page.named("html") == [{"lang": "en"}]
    for landmark in ("header", "nav", "main", "footer"):
        assert len(page.named(landmark)) == 1, landmark
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [attributes["href"] for attributes in page.named("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert all(one["aria-labelledby"] in ids for one in page.named("section"))
    tables = len(page.named("table"))
    assert tables == len(page.named("caption")) > 10
    assert all(one.get("scope") in ("row", "col") for one in page.named("th"))
    scrolling = [one for one in page.named("div") if one.get("class") == "scroll"]
    assert len(scrolling) == tables
    assert all(one["tabindex"] == "0" and one["aria-label"] for one in scrolling)
    pictures = page.named("svg")
    assert all(one.get("aria-hidden") or one.get("aria-label") for one in pictures)


def test_the_page_is_closed(eventful: Audit) -> None:
    """Nothing runs, nothing is fetched, and the page itself forbids it."""
    page = page_of(eventful)
    names = {name for name, _ in page.elements}
    assert not names & {"script", "img", "iframe", "object", "embed", "form", "link", "base"}
    for name, attributes in page.elements:
        assert not [one for one in attributes if one.startswith("on") or one == "style"], name
        assert not {"src", "srcset", "action", "xlink:href"} & attributes.keys()
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    (policy,) = [
        one["content"]
        for one in page.named("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}';" in policy
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    style = re.search(rb"<style>(.*)</style>", render(eventful), re.DOTALL)
    assert style is not None
    assert style[1].decode() == STYLE


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_content_stays_content_wherever_it_stands(text: str) -> None:
    one = scope(text)
    members: dict[str, Any] = dict.fromkeys(
        ("event_id", "object_id", "recorded_at", "policy_basis", "relationship_id"), text
    )
    payload = dict.fromkeys(("dimension", "from", "to", "policy_basis", "condition"), text)
    for event_type in ("object_redacted", "delegation_granted", "access_denied", text):
        one.ledger(event(1, event_type, **{**members, "actor": actor(text), "payload": payload}))
    one.ledger({"kind": text, "body": {"name": text}})
    rule = {"rule_id": text, "effect": text, "actors": [text], "operations": [text, text]}
    override = {"rule_id": text, "condition": text, "dimension": text, "from": [text], "to": [text]}
    policy = {"default_effect": text, "rules": [rule], "overrides": [override], "retention": [text]}
    one.ledger({"kind": "policy", "body": {"policy": policy, "actor": actor(text)}})
    one.version(version(short(text, 600), text, object_type=text, lifecycle_state=text))
    one.settle()
    said = dict.fromkeys(("message", "path", "subject", "remedy", "scope_id"), text)
    verdict = {
        "checkpoint": text,
        "valid": False,
        "reason": "cut",
        "explanation": text,
        "size": 1,
        "signatures": [{"name": text, "role": "log", "status": "unknown"}],
        "facts": {},
    }
    # What is not read from a store or a file is short before it comes here.
    cut = {name: excerpt(value) for name, value in said.items()}
    verdict = {n: excerpt(v) if v is text else v for n, v in verdict.items()}
    verdict["signatures"] = [{"name": excerpt(text), "role": "log", "status": "unknown"}]
    one.scope_id = excerpt(text)
    made = audit(one, name=excerpt(text), findings=[finding(**cut)], checkpoints=[verdict])
    data = render(made)
    page = Page(data.decode())
    assert page.faults == []
    harmless = page_of(audit(scope("x"), findings=[finding()], checkpoints=[]))
    extra = {name for name, _ in page.elements} - {name for name, _ in harmless.elements}
    assert not extra & {"script", "style", "img", "body", "b"}
    assert len(page.named("style")) == len(page.named("body")) == len(page.named("title")) == 1
    assert all(not name.startswith("on") for _, found in page.elements for name in found)
    assert b"<script" not in data
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", data.decode())
    assert len(data) < 400_000


def test_what_is_cut_says_so() -> None:
    assert excerpt("x" * 10_000_000).endswith("\u2026 (10,000,000 characters in all)")
    assert short("tea") == "tea"
    assert short(None) == "?"
    assert short({"a": 1}) == '{"a":1}'


def test_what_cannot_be_seen_is_spelled() -> None:
    assert visible("a\u202eb") == "a\u27e8U+202E\u27e9b"
    assert visible("Gr\u00fc\u00dfe, \u0645\u0631\u062d\u0628\u0627, \u4f60\u597d \U0001f600") == (
        "Gr\u00fc\u00dfe, \u0645\u0631\u062d\u0628\u0627, \u4f60\u597d \U0001f600"
    )
    assert len(visible("e" + "\u0301" * 500)) == 5


def test_only_markup_is_markup() -> None:
    made = tag("p", "<b>", tag("i", "x"), class_='a"b', data_x=True, hidden=False)
    assert made == '<p class="a&quot;b" data-x>&lt;b&gt;<i>x</i></p>'
    assert isinstance(together(made, "&", 12345), Markup)
    assert together(made[:3], 12345) == "&lt;p 12,345", "a piece of markup is text again"
    assert escaped("'") == "&#x27;"


def test_the_same_audit_gives_the_same_bytes(eventful: Audit) -> None:
    assert render(eventful) == render(eventful)


def test_a_hundred_thousand_entries_are_a_readable_page() -> None:
    one = scope()
    for sequence in range(1, 100_001):
        name = f"actor:agent:{sequence % 5000}"
        stamp = f"20{sequence % 70:02}-{1 + sequence % 12:02}-01T00:00:00Z"
        one.ledger(event(sequence, f"kind_{sequence % 3000}", actor=actor(name), recorded_at=stamp))
        if sequence % 4 == 0:
            one.version(version(f"mem:{sequence}", "x" * 300, object_type=f"type{sequence % 997}"))
    one.settle()
    data = render(audit(one))
    assert len(data) < 200_000
    text = Page(data.decode()).text
    assert "100,002 entries" in text
    assert "others" in text
    assert "busiest of 1,000 actors" in text


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2: from 1 to 21."""
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(palette: dict[str, str]) -> None:
    for text, ground in TEXT_PAIRS:
        assert contrast(palette[text], palette[ground]) >= 4.5, (text, ground)
    for shape, ground in GRAPHIC_PAIRS:
        assert contrast(palette[shape], palette[ground]) >= 3, (shape, ground)


def test_every_colour_of_a_text_is_among_the_pairs() -> None:
    """A colour that is set on text in the sheet is held to the contrast above."""
    used = set(re.findall(r"(?<![-a-z])color:\s*var\(--([a-z-]+)\)", STYLE))
    grounds = set(re.findall(r"background:\s*var\(--([a-z-]+)\)", STYLE))
    assert used <= {text for text, _ in TEXT_PAIRS}
    assert grounds <= {ground for _, ground in TEXT_PAIRS}
    assert "prefers-color-scheme: dark" in STYLE
    assert "@media print" in STYLE


def test_every_cause_is_a_word() -> None:
    assert named_cause("ledger-forked") == "forked"
    assert named_cause("something-new") == "something new"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_it_and_runs_nothing(eventful: Audit, tmp_path: Path) -> None:
    one = eventful.holdings[0]
    for number, text in enumerate(HOSTILE[:11], 90):
        one.ledger(event(number, "object_updated", object_id=f"mem:h{number}"))
        one.version(version(f"mem:h{number}", text))
    one.settle()
    (tmp_path / "report.html").write_bytes(render(eventful))
    common = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/c"]
    shown = subprocess.run(
        ["chromium", *common, "--enable-logging=stderr", "--dump-dom", "report.html"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert b"Content Security Policy" not in shown.stderr
    page = Page(shown.stdout.decode())
    assert not page.named("script")
    assert [text for level, text in page.headings if level == 1] == ["memory.jsonl"]
    printed = tmp_path / "report.pdf"
    subprocess.run(
        ["chromium", *common, f"--print-to-pdf={printed}", "report.html"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert printed.read_bytes().startswith(b"%PDF")

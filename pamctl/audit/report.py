"""The report of an audit: one page of HTML that needs nothing else.

No script, no network, no image: a policy in the page itself forbids them. Content is data, and
reaches the page through `markup` alone. The same input gives the same bytes. Its size does not
grow with the store: tables have their last or largest rows, and say how many there were.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.audit.audited import Audit
from pamctl.audit.markup import Child, Markup, code, isolated, tag, together
from pamctl.audit.report_parts import Column, badge, facts, note, table
from pamctl.audit.report_scopes import scope_section
from pamctl.audit.report_style import STYLE
from pamctl.audit.verdict_words import causes_of, named_cause

FINDINGS_MAX = 200
SCOPES_MAX = 50
VERDICTS_MAX = 200


def render(audit: Audit) -> bytes:
    """The page."""
    sections = [
        ("checked", "What was checked", _checked(audit)),
        ("findings", "Findings", _findings(audit)),
    ]
    if audit.checkpoints:
        sections.append(("checkpoints", "Checkpoints", _checkpoints(audit)))
    for number, scope in enumerate(audit.holdings[:SCOPES_MAX], 1):
        heading = together("Scope ", isolated(scope.scope_id))
        sections.append((f"scope-{number}", heading, scope_section(scope, f"scope-{number}")))
    if len(audit.holdings) > SCOPES_MAX:
        left = len(audit.holdings) - SCOPES_MAX
        sections.append(("more", "More scopes", note(f"{left:,} more scopes are left out here.")))
    if audit.projections:
        sections.append(("projections", "Projections", _projections(audit)))
    sections.append(("reading", "How to read this", _reading()))
    body = together(
        tag("a", "Skip to what was found", class_="skip", href="#main"),
        _header(audit, [(name, heading) for name, heading, _ in sections]),
        tag("main", *(_section(*section) for section in sections), id="main"),
        tag("footer", note("Made by pamctl audit. The page holds no script and asks no network.")),
    )
    return _page(f"Audit of {audit.name}", body)


def _page(title: str, body: Markup) -> bytes:
    digest = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    page = tag("html", head, tag("body", body), lang="en")
    return b"<!doctype html>\n" + page.encode("utf-8", "backslashreplace") + b"\n"


def _section(name: str, heading: Child, content: Markup) -> Markup:
    title = tag("h2", heading, id=f"{name}-heading")
    return tag("section", title, content, id=name, aria_labelledby=f"{name}-heading")


def _header(audit: Audit, sections: Sequence[tuple[str, Child]]) -> Markup:
    contents = [tag("li", tag("a", heading, href=f"#{name}")) for name, heading in sections]
    return tag(
        "header",
        tag("p", "Memory audit", class_="kicker"),
        tag("h1", isolated(audit.name)),
        tag("p", _summary(audit), class_="lead"),
        _banner(audit),
        _tiles(audit),
        tag("nav", tag("ol", *contents), aria_label="Contents"),
    )


def _summary(audit: Audit) -> str:
    scopes = len(audit.holdings)
    stores = sorted({scope.about.get("store_id", "?") for scope in audit.holdings})
    of = f" of {stores[0]}" if len(stores) == 1 else f" of {len(stores)} stores"
    return f"{audit.kind.capitalize()} with {scopes} scope{'' if scopes == 1 else 's'}{of}"


def _tiles(audit: Audit) -> Markup:
    holdings = audit.holdings
    memories = sum(scope.by_type("memory").total() for scope in holdings)
    actors = {actor for scope in holdings for actor in scope.actors}
    numbers = (
        (memories, "memories"),
        (sum(scope.events.total() for scope in holdings), "events"),
        (sum(scope.entries for scope in holdings), "ledger entries"),
        (len(actors), "actors"),
        (sum(scope.withdrawn.count for scope in holdings), "redactions and deletions"),
        (sum(scope.erasures.count for scope in holdings), "erasures"),
        (sum(len(scope.holds) for scope in holdings), "legal holds now"),
        (_weight(audit), "findings that count"),
    )
    return tag(
        "ul",
        *(tag("li", tag("b", number), tag("span", what)) for number, what in numbers),
        class_="tiles",
    )


def _weight(audit: Audit) -> int:
    return sum(count for id_, count in audit.counts.items() if _severity(audit, id_) != "notice")


def _severity(audit: Audit, id_: str) -> str:
    return next((str(f["severity"]) for f in audit.findings if f["id"] == id_), "must")


def _banner(audit: Audit) -> Markup:
    unpinned = [head for head in audit.heads if head.get("tail") != "pinned"]
    if not audit.is_sound:
        causes = causes_of(audit.findings, audit.verdicts)
        word, kind = "Not sound", "bad"
        says = f"What was found: {', '.join(causes)}. Each finding below says what to do."
    elif unpinned:
        word, kind = "Sound, and its end is not pinned", "warn"
        says = (
            "Everything in it follows from everything else. Nothing that was kept elsewhere says "
            "where its ledger ends, so entries that were cut off at the end, or written anew from "
            "some entry on, could not be seen. A checkpoint would show that."
        )
    else:
        word, kind = "Sound, and pinned", "good"
        says = (
            "Everything in it follows from everything else, and its ledger ends where a head "
            "that was kept elsewhere says that it does."
        )
    return tag(
        "div", tag("p", word, class_="word"), tag("p", says), class_=f"verdict {kind}", role="note"
    )


def _checked(audit: Audit) -> Markup:
    given = [
        (name, code(value) if value.startswith("sha256:") else isolated(value))
        for name, value in audit.facts.items()
    ]
    rows = [
        (
            isolated(str(head["scope_id"])),
            int(head["entries"]),
            code(str(head["head"])),
            _tail(head),
        )
        for head in audit.heads[:SCOPES_MAX]
    ]
    columns = (Column("Scope"), Column("Entries", "n"), Column("Head", "wide"), Column("End"))
    return together(facts(given), table("Heads of the ledgers", columns, rows))


def _tail(head: Mapping[str, Any]) -> Markup:
    if head.get("tail") == "pinned":
        return badge("pinned", "good")
    return badge("not pinned", "warn")


_KINDS = {"must": "bad", "should": "warn", "notice": "plain"}
_WORDS = {"must": "damage", "should": "to repair", "notice": "notice"}


def _findings(audit: Audit) -> Markup:
    if not audit.findings:
        return note("Nothing was found.")
    order = {"must": 0, "should": 1, "notice": 2}
    ordered = sorted(audit.findings, key=lambda finding: order[str(finding["severity"])])
    parts: list[Child] = [_finding(finding) for finding in ordered[:FINDINGS_MAX]]
    left = sum(audit.counts.values()) - min(len(ordered), FINDINGS_MAX)
    if left > 0:
        parts.append(note(f"{left:,} more of the same kinds are left out."))
    return together(*parts)


def _finding(finding: Mapping[str, Any]) -> Markup:
    severity = str(finding["severity"])
    where: list[Child] = [isolated(str(finding.get("scope_id") or "the whole"))]
    if "path" in finding:
        where += [", ", code(str(finding["path"]))]
    if "line" in finding:
        where.append(f", line {finding['line']:,}")
    if "offset" in finding:
        where.append(f", at byte {finding['offset']:,}")
    if "subject" in finding:
        where += [", ", code(str(finding["subject"]))]
    return tag(
        "div",
        tag(
            "p",
            badge(_WORDS[severity], _KINDS[severity]),
            " ",
            tag("b", named_cause(str(finding["id"]))),
            " ",
            code(str(finding["id"])),
        ),
        tag("p", isolated(str(finding["message"]))),
        tag("p", *where, class_="note"),
        tag("p", tag("b", "What to do: "), isolated(str(finding["remedy"]))),
        class_=f"finding {_KINDS[severity].replace('plain', 'note')}",
    )


def _checkpoints(audit: Audit) -> Markup:
    rows = []
    for one in audit.checkpoints[:VERDICTS_MAX]:
        signers = ", ".join(f"{s['name']} ({s['role']}, {s['status']})" for s in one["signatures"])
        word = badge("valid", "good") if one["valid"] else badge("refused", "bad")
        says = one["explanation"] or _since(one)
        rows.append(
            (
                isolated(str(one["checkpoint"])),
                word,
                one["size"] or 0,
                isolated(signers),
                isolated(str(says)),
            )
        )
    columns = (
        Column("Checkpoint"),
        Column("Verdict"),
        Column("Entries", "n"),
        Column("Signatures", "wide"),
        Column("What it says", "wide"),
    )
    return table("Signed heads that the ledgers were held against", columns, rows)


def _since(verdict: Mapping[str, Any]) -> str:
    behind = verdict["facts"].get("unpinned_entries", 0)
    if not behind:
        return "It is of the ledger's end."
    return f"Nothing before was changed; {behind:,} entries came since."


def _projections(audit: Audit) -> Markup:
    rows = []
    for one in audit.projections[:VERDICTS_MAX]:
        word = badge("valid", "good") if one["valid"] else badge("refused", "bad")
        reason = str(one["reason"] or "-").replace("_", " ")
        rows.append((isolated(str(one["record"])), word, reason, str(one["verification_scope"])))
    refused = sum(not one["valid"] for one in audit.projections)
    total = len(audit.projections)
    caption = f"{total:,} projection records, {refused:,} refused"
    if total > VERDICTS_MAX:
        caption += f"; the first {VERDICTS_MAX}"
    columns = (Column("Record"), Column("Verdict"), Column("Reason"), Column("What was verified"))
    return table(caption, columns, rows)


def _reading() -> Markup:
    return facts(
        (
            (
                "Entry",
                "A line of a ledger. It holds the digest of the line before it, so the last "
                "one, the head, stands for all of them.",
            ),
            (
                "Pinned",
                "A head that was kept where the store's writers cannot change it, or a "
                "checkpoint that was signed, says where the ledger ended.",
            ),
            (
                "Redaction",
                "Content is not given out any more. The ledger says who decided that, "
                "when, and on which basis.",
            ),
            (
                "Erasure",
                "Content is gone. Its digest stays, and proves nothing about what it was, "
                "because it was salted.",
            ),
            ("Legal hold", "Nothing may delete or erase the memory until the hold is released."),
            ("Withheld", "Content that did not leave the store; what is left still verifies."),
        )
    )

"""The report's section on one scope: what it holds, what was done, by whom, under what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pamctl.audit.excerpts import short
from pamctl.audit.inventory import ActorTally, Inventory
from pamctl.audit.markup import Child, Markup, code, isolated, tag, together
from pamctl.audit.report_parts import (
    ROWS_MAX,
    Column,
    chart,
    counted,
    facts,
    log_table,
    moment,
    note,
    table,
)
from pamctl.model.vocabulary import DIMENSIONS

_RULES_MAX = 60
_MEMORIES_MAX = 20


def scope_section(scope: Inventory, name: str) -> Markup:
    """All that is said of a scope. name: of the section, for the ids in it."""
    parts: list[Child] = [_about(scope)]
    for heading, content in _parts(scope):
        parts.append(tag("h3", heading))
        parts.append(content)
    return together(*parts)


def _about(scope: Inventory) -> Markup:
    about = scope.about
    pairs: list[tuple[str, Child]] = [
        ("Store", code(about.get("store_id", "?"))),
        ("Kind", isolated(about.get("scope_kind", "?"))),
        ("Parent", code(about["parent_scope_id"]) if "parent_scope_id" in about else None),
        ("Made", moment(about.get("created_at", "?"))),
        ("Ledger", f"{scope.entries:,} entries, {scope.events.total():,} of them events"),
    ]
    if scope.undisclosed:
        pairs.append(("Not disclosed", f"{scope.undisclosed:,} entries, present as digests only"))
    if scope.withheld:
        pairs.append(("Withheld", f"the content of {scope.withheld:,} versions"))
    return facts(pairs)


def _parts(scope: Inventory) -> Iterator[tuple[str, Markup]]:
    yield "What it holds", _holds_what(scope)
    yield "Timeline of the ledger", _timeline(scope)
    yield "Who did what", _actors(scope)
    yield "States and transitions", _states(scope)
    yield "Policy in force", _policy(scope)
    yield "Redactions, deletions and erasures", _withdrawn(scope)
    yield "Legal holds", _holds(scope)
    if scope.delegations.count:
        yield "Delegations", log_table("Authority that was given and taken back", scope.delegations)
    if scope.denials.count:
        yield "Refused", log_table("Requests that were refused", scope.denials)


def _holds_what(scope: Inventory) -> Markup:
    parts: list[Child] = []
    for family, plural in (("memory", "Memories"), ("relationship", "Relationships")):
        counts = scope.by_type(family)
        if counts:
            parts.append(counted(f"{plural} by type", "Type", counts))
    delegations = scope.by_type("delegation").total()
    if delegations:
        parts.append(note(f"And {delegations:,} delegations."))
    if scope.changed_last():
        parts.append(_last_memories(scope))
    return together(*parts) if parts else note("No version is in it.")


def _last_memories(scope: Inventory) -> Markup:
    rows = []
    for identifier, shown in scope.changed_last()[:_MEMORIES_MAX]:
        content = isolated(shown.content) if shown.content else tag("i", "not shown")
        states = ", ".join(shown.standing.states)
        rows.append(
            (
                code(identifier),
                isolated(shown.standing.type),
                isolated(states),
                shown.sequence,
                content,
            )
        )
    total = scope.by_type("memory").total()
    caption = f"The {len(rows)} memories that changed last, of {total:,}"
    columns = (
        Column("Memory", "id"),
        Column("Type"),
        Column("States"),
        Column("Version", "n"),
        Column("Content", "wide"),
    )
    return table(caption, columns, rows)


def _timeline(scope: Inventory) -> Markup:
    if not scope.latest.count:
        return note("The ledger has no entry that is disclosed.")
    return together(
        chart("Entries over time", scope.days),
        counted("Events by what happened", "What", _spoken(scope.events))
        if scope.events
        else note("No event yet."),
        log_table("The last entries", scope.latest),
    )


def _spoken(counts: Mapping[str, int]) -> dict[str, int]:
    return {name.replace("_", " "): number for name, number in counts.items()}


def _actors(scope: Inventory) -> Markup:
    def busiest(item: tuple[str, ActorTally]) -> tuple[int, str]:
        return -item[1].events.total(), item[0]

    ordered = sorted(scope.actors.items(), key=busiest)
    rows = []
    for actor, tally in ordered[:ROWS_MAX]:
        most = ", ".join(
            f"{name.replace('_', ' ')} {number:,}" for name, number in tally.events.most_common(4)
        )
        rows.append(
            (
                code(actor),
                isolated(tally.kind),
                tally.events.total(),
                moment(tally.first),
                moment(tally.last),
                isolated(most),
            )
        )
    if not rows:
        return note("No event names an actor.")
    columns = (
        Column("Actor", "id"),
        Column("Kind"),
        Column("Events", "n"),
        Column("First", "t"),
        Column("Last", "t"),
        Column("Mostly", "wide"),
    )
    caption = f"The {len(rows)} busiest of {len(ordered):,} actors"
    if scope.other_actors:
        caption += f"; {scope.other_actors:,} events of still others are not told apart"
    return table(caption, columns, rows)


def _states(scope: Inventory) -> Markup:
    rows: list[tuple[Child, ...]] = []
    for dimension, counts in scope.by_state().items():
        for state, number in counts.most_common(12):
            rows.append((dimension, isolated(state), number))
    parts: list[Child] = []
    columns: Sequence[Column]
    if rows:
        columns = (Column("Dimension"), Column("State"), Column("Memories", "n"))
        parts.append(table("States of all memories now", columns, rows))
    steps = sorted(
        scope.transitions.items(), key=lambda item: (_order(item[0][0]), -item[1], item[0])
    )
    if steps:
        columns = (Column("Dimension"), Column("From"), Column("To"), Column("Times", "n"))
        moved = [
            (isolated(dimension), isolated(before), isolated(after), number)
            for (dimension, before, after), number in steps
        ]
        parts.append(table("Transitions so far", columns, moved))
    if scope.conditions.count:
        parts.append(log_table("Transitions on a condition", scope.conditions))
    return together(*parts) if parts else note("No memory, and no transition.")


def _order(dimension: str) -> int:
    return list(DIMENSIONS).index(dimension) if dimension in DIMENSIONS else len(DIMENSIONS)


def _policy(scope: Inventory) -> Markup:
    policy = scope.policy
    if policy is None:
        return note("The entry that holds it is not disclosed.")
    parts: list[Child] = [
        facts(
            [
                ("By default", isolated(short(policy.get("default_effect")))),
                ("Basis by default", isolated(short(policy.get("default_policy_basis", "-")))),
                ("Reads are recorded", "yes" if policy.get("read_audit") is True else "no"),
                (
                    "Retention rules",
                    isolated(short(policy["retention"], 600)) if policy.get("retention") else None,
                ),
                (
                    "Across scopes",
                    isolated(short(policy["cross_scope"], 600))
                    if policy.get("cross_scope")
                    else None,
                ),
            ]
        )
    ]
    columns: Sequence[Column]
    rules = [rule for rule in _list(policy, "rules") if isinstance(rule, dict)]
    if rules:
        columns = (
            Column("Rule", "id"),
            Column("Effect"),
            Column("Who"),
            Column("For what", "wide"),
        )
        caption = f"Rules, the first that matches decides; {len(rules):,} in all"
        parts.append(table(caption, columns, [_rule(rule) for rule in rules[:_RULES_MAX]]))
    overrides = [rule for rule in _list(policy, "overrides") if isinstance(rule, dict)]
    if overrides:
        columns = (
            Column("Rule", "id"),
            Column("Condition"),
            Column("Dimension"),
            Column("From"),
            Column("To"),
        )
        rows = [
            (
                code(short(rule.get("rule_id"))),
                isolated(short(rule.get("condition"))),
                isolated(short(rule.get("dimension"))),
                isolated(_words(rule.get("from"))),
                isolated(_words(rule.get("to"))),
            )
            for rule in overrides[:_RULES_MAX]
        ]
        parts.append(table("Transitions that it allows on a condition", columns, rows))
    parts.append(log_table("Policies so far", scope.policies))
    return together(*parts)


def _rule(rule: Mapping[str, Any]) -> tuple[Child, ...]:
    what = [
        f"{name.replace('_', ' ')}: {_words(rule[name])}"
        for name in ("operations", "object_types", "dimensions", "target_states")
        if rule.get(name)
    ]
    return (
        code(short(rule.get("rule_id"))),
        isolated(short(rule.get("effect"))),
        isolated(_words(rule.get("actors", "everybody"))),
        isolated("; ".join(what) or "everything"),
    )


def _words(value: Any) -> str:
    if isinstance(value, list):
        return short(", ".join(short(one) for one in value[:50]), 400)
    return short(value)


def _list(policy: Mapping[str, Any], name: str) -> list[Any]:
    value = policy.get(name)
    return value if isinstance(value, list) else []


def _withdrawn(scope: Inventory) -> Markup:
    parts: list[Child] = []
    if scope.withdrawn.count:
        parts.append(log_table("Redactions and deletions, and their basis", scope.withdrawn))
    if scope.erasures.count:
        parts.append(log_table("Versions that were erased, and by which event", scope.erasures))
    return together(*parts) if parts else note("None.")


def _holds(scope: Inventory) -> Markup:
    if not scope.holds:
        return note("No memory is under a legal hold.")
    rows = [
        (code(identifier), moment(entry.time), code(entry.actor), isolated(entry.detail))
        for identifier, entry in list(scope.holds.items())[-ROWS_MAX:]
    ]
    columns = (
        Column("Memory", "id"),
        Column("Since", "t"),
        Column("Who", "id"),
        Column("How", "wide"),
    )
    return table(f"Memories under a legal hold: {len(scope.holds):,}", columns, rows)

"""Queries as a whole: expressions, what may not be found out by them, counts, explanations,
snippets, and pages that are judged on envelopes. PAMSPEC §10.6, §11, §15.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pamctl.errors import EmbeddingSpaceMismatch, InvalidRequest, SnapshotNotFound
from pamctl.rules.spaces import BUILT_IN
from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:helper", "actor_kind": "agent"}
ASKED = {"scope_id": SCOPE, "actor": HUMAN}
NOTED = {"activity": "noted", "source_ref": "chat:1"}
DIGEST = "ab" * 32
SEALED = {"algorithm": "sha256", "digest": DIGEST, "canonicalization_profile": "urn:x:1"}

Json = dict[str, Any]


@pytest.fixture
def make(store: Store) -> Callable[..., Json]:
    def make(name: str, content: Any = None, **more: Any) -> Json:
        given = {
            "object_id": f"mem:{name}",
            "object_type": "claim",
            "canonical_content": {"name": name} if content is None else content,
            "provenance": NOTED,
        }
        return store.create(**{**ASKED, **given, **more})

    return make


@pytest.fixture
def ask(store: Store) -> Callable[..., Json]:
    def ask(**arguments: Any) -> Json:
        return store.query(**{**ASKED, "any_state": True, **arguments})

    return ask


def names(answer: Json) -> list[str]:
    return [item["object_id"].removeprefix("mem:") for item in answer["items"]]


@pytest.fixture
def ten(make: Any) -> None:
    for number in range(10):
        make(
            str(number),
            {"number": number, "tags": ["even"] if number % 2 == 0 else [], "common": "tea"},
            object_type="claim" if number < 5 else "task",
            provenance={"activity": ("read", "heard")[number % 2], "source_ref": f"chat:{number}"},
        )


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize(
    ("where", "found", "index_decides"),
    [
        (["content.number > 7"], "89", 0),
        (["content.number > 3", 'object_type = "claim"'], "4", 1),
        (['object_type = "task" and content.tags contains "even"'], "68", 1),
        (['object_type = "task" or content.number = 0'], "056789", 0),
        (['provenance.source_ref in ("chat:1", "chat:3")'], "13", 1),
        (['not provenance.activity = "heard" and sequence = 1'], "02468", 2),
        (['lifecycle_state starts with "act"'], "0123456789", 1),
        (["content.tags[*] exists"], "02468", 0),
        (["content.absent exists"], "", 0),
    ],
)
def test_expressions_select(ask: Any, where: list[str], found: str, index_decides: int) -> None:
    answer = ask(where=where, explain=True, count=True)
    assert "".join(names(answer)) == found
    assert answer["total"] == len(found)
    plan = answer["plan"]
    assert len(plan["index_decides"]) == index_decides
    assert (plan["envelopes_judged"] > 0) == bool(plan["envelopes_decide"])


@pytest.mark.usefixtures("ten")
@pytest.mark.parametrize("order_by", [[], ["object_type:desc"], ["activity", "source_ref:desc"]])
def test_pages_that_envelopes_decide_are_pieces_of_the_whole(
    ask: Any, make: Any, order_by: list[str]
) -> None:
    asked = {"where": ["content.number != 4"], "order_by": order_by}
    whole = names(ask(**asked))
    assert len(whole) == 9
    pages, cursor = [], None
    while True:
        answer = ask(**asked, limit=2, count=True, **({"cursor": cursor} if cursor else {}))
        assert answer["total"] == 9
        pages += names(answer)
        cursor = answer["next_cursor"]
        if cursor is None:
            break
        make(f"later{len(pages)}", {"number": 100})
    assert pages == whole


@pytest.mark.usefixtures("ten")
def test_a_page_that_ends_with_the_last_has_no_next(ask: Any) -> None:
    assert ask(where=["content.number < 4"], limit=4)["next_cursor"] is None
    assert ask(where=["content.number < 4"], limit=3)["next_cursor"] is not None


@pytest.mark.usefixtures("ten")
def test_a_cursor_belongs_to_its_expression(ask: Any) -> None:
    cursor = ask(where=["content.number < 9"], limit=1)["next_cursor"]
    assert names(ask(where=["content.number < 9"], limit=1, cursor=cursor)) == ["1"]
    with pytest.raises(InvalidRequest, match="another query"):
        ask(where=["content.number < 8"], limit=1, cursor=cursor)


def test_expressions_hold_with_words_and_keep_their_order(ask: Any, make: Any) -> None:
    make("once", {"t": "tea", "n": 1})
    make("thrice", {"t": "tea tea tea", "n": 2})
    make("other", {"t": "tea tea", "n": 3})
    assert names(ask(text="tea", where=["content.n < 3"])) == ["thrice", "once"]


def test_filters_of_one_member(ask: Any, make: Any) -> None:
    first = make("a", provenance={"activity": "read"}, integrity=SEALED)
    make("b")
    assert names(ask(activity=["read"])) == ["a"]
    assert names(ask(object_id=["mem:b", "mem:z"])) == ["b"]
    assert names(ask(version_id=[first["version_id"]])) == ["a"]
    assert names(ask(integrity_digest=[DIGEST])) == ["a"]
    assert names(ask(integrity_digest=["cd" * 32])) == []


def test_what_was_hidden_later_is_not_found_out_by_asking_of_the_past(
    store: Store, ask: Any, make: Any
) -> None:
    made = make("a", {"secret": "tea"}, integrity=SEALED)
    make("b", {"secret": "tea"}, integrity=SEALED)
    then = made["ledger_sequence"] + 1
    store.redact(
        **ASKED, object_id="mem:a", expected_version_id=made["version_id"], policy_basis="policy:x"
    )
    for asked in (
        {"where": ['content.secret = "tea"']},
        {"where": ['integrity.digest = "' + DIGEST + '"']},
        {"integrity_digest": [DIGEST]},
        {"text": "tea"},
    ):
        assert names(ask(as_of=then, **asked)) == ["b"], asked
    assert names(ask(as_of=then, where=["not content.secret exists"])) == ["a"]
    # Nor by the order of what is withheld.
    ordered = ask(as_of=then, order_by=["integrity_digest"])
    assert names(ordered) == ["b", "a"]


def test_a_restricted_actor_is_told_no_counts_of_what_is_hidden(
    store: Store, ask: Any, make: Any
) -> None:
    for number in range(5):
        make(f"t{number}", {"number": number}, object_type="task")
    make("c", {"number": 9})
    policy = {
        "policy_version": 1,
        "default_effect": "allow",
        "rules": [
            {
                "rule_id": "rule:no-tasks",
                "effect": "deny",
                "actors": ["actor:agent:*"],
                "object_types": ["task"],
            }
        ],
        "overrides": [],
    }
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy=policy)
    answer = ask(actor=AGENT, where=["content.number >= 0"], explain=True, count=True)
    assert names(answer) == ["c"]
    assert answer["total"] == 1
    assert not {"rows_looked_at", "envelopes_judged"} & answer["plan"].keys()
    mine = ask(where=["content.number >= 0"], explain=True)
    assert mine["plan"]["rows_looked_at"] == 6


@pytest.mark.usefixtures("ten")
def test_a_plan_says_how_the_answer_was_come_by(ask: Any, store: Store) -> None:
    plan = ask(text="tea NOT coffee", explain=True, object_type=["task"])["plan"]
    assert plan == {
        "as_of": 10,
        "states": {},
        "index_decides": [],
        "envelopes_decide": [],
        "order": ["relevance:desc", "object_id", "version_id"],
        "text": '("tea" OR "teas") NOT ("coffe"*)',
        "index": "text",
        "rows_looked_at": 10,
        "envelopes_judged": 0,
    }
    answer = store.query(**ASKED, explain=True, limit=3)
    assert answer["plan"]["states"] == {
        "lifecycle_state": ["active"],
        "availability_state": ["available"],
        "retention_state": ["retained"],
        "validation_state": ["corroborated"],
    }
    assert answer["plan"]["order"] == ["ledger_sequence"]


def test_a_page_that_takes_several_looks_is_explained(store: Store, ask: Any, make: Any) -> None:
    """The best matches are superseded, so that the next have to be looked at too."""
    made = make("often", "tea")
    for number in range(1, 12):
        made = store.update(
            **ASKED,
            object_id="mem:often",
            expected_version_id=made["version_id"],
            canonical_content="tea " + "water " * (number if number < 11 else 90),
            provenance=NOTED,
        )
    for number in range(20):
        make(f"{number}", "tea " + "milk " * (20 + number))
    answer = ask(text="tea", limit=1, explain=True)
    assert names(answer) == ["0"]
    assert answer["plan"]["rows_looked_at"] > 4


def test_an_answer_explains_nothing_unless_asked(ask: Any, make: Any) -> None:
    make("a")
    assert not {"plan", "explanation", "snippets"} & ask().keys()


def test_snippets_show_what_was_found(ask: Any, make: Any) -> None:
    make("long", {"text": "word " * 200 + "the painted\nsunrise " + "word " * 200})
    make("name", {"sunrise": "nothing else"})
    answer = ask(text="painting sunrises NOT lake", snippets=True)
    assert names(answer) == ["long", "name"]
    long, name = answer["snippets"]
    assert [long["text"][start:end] for start, end in long["matches"]] == ["painted", "sunrise"]
    assert long["text"].startswith("…word")
    assert long["text"].endswith("word…")
    assert "\n" not in long["text"]
    assert name == {"text": "", "matches": []}
    assert "snippets" not in ask(snippets=True)


def test_a_snippet_shows_no_more_than_the_envelope(store: Store, ask: Any, make: Any) -> None:
    made = make("a", {"open": "tea", "secret": "tea in the afternoon"})
    store.redact(
        **ASKED,
        object_id="mem:a",
        expected_version_id=made["version_id"],
        paths=["/secret"],
        policy_basis="policy:x",
    )
    answer = ask(text="tea", snippets=True)
    assert names(answer) == ["a"]
    assert "afternoon" not in str(answer["snippets"])


def test_what_was_believed_then_about_another_time(store: Store, ask: Any, make: Any) -> None:
    """Record time and valid time together: what did we believe on Monday about Friday?"""
    friday = {
        "basis": "valid_time",
        "from": "2026-07-03T00:00:00Z",
        "until": "2026-07-03T23:59:59Z",
    }
    first = make(
        "meeting",
        {"place": "room 1"},
        valid_from="2026-07-03T09:00:00Z",
        valid_until="2026-07-03T10:00:00Z",
    )
    monday = first["ledger_sequence"]
    store.update(
        **ASKED,
        object_id="mem:meeting",
        expected_version_id=first["version_id"],
        canonical_content={"place": "room 2"},
        provenance=NOTED,
    )
    make("weekend", valid_from="2026-07-04T00:00:00Z")
    then = ask(as_of=monday, temporal=friday)
    now = ask(temporal=friday)
    assert [item["canonical_content"]["place"] for item in then["items"]] == ["room 1"]
    assert [item["canonical_content"]["place"] for item in now["items"]] == ["room 2"]


def test_states_order_as_the_drafts_have_them(ask: Any, make: Any) -> None:
    for state in ("archived", "scratch", "candidate"):
        make(state, lifecycle_state=state)
    assert names(ask(order_by=["lifecycle_state"])) == ["scratch", "candidate", "archived"]
    assert names(ask(order_by=["lifecycle_state:desc"])) == ["archived", "candidate", "scratch"]


def test_expressions_over_relationships(store: Store, ask: Any, make: Any) -> None:
    make("a")
    make("b")
    for kind, weight in (("supports", 1), ("refutes", 5)):
        store.relate(
            **ASKED,
            relationship_id=f"rel:{kind}",
            relationship_type=kind,
            source_object_id="mem:a",
            target_object_id="mem:b",
            provenance=NOTED,
            canonical_content={"weight": weight},
        )
    heavy = ask(relationships=True, where=["content.weight > 2"])
    assert [item["relationship_id"] for item in heavy["items"]] == ["rel:refutes"]
    kinds = ask(relationships=True, where=['relationship_type starts with "sup"'], explain=True)
    assert [item["relationship_id"] for item in kinds["items"]] == ["rel:supports"]
    assert kinds["plan"]["envelopes_decide"] == []


@pytest.mark.parametrize("where", [[], "content.number = 1", ["content.number = 1"]])
@pytest.mark.usefixtures("ten")
def test_one_expression_or_several(ask: Any, where: Any) -> None:
    assert len(ask(where=where)["items"]) == (1 if where else 10)


def test_a_scope_that_is_not_there_yet_holds_nothing(store: Store) -> None:
    nowhere = {"scope_id": "workspace:none-yet", "actor": HUMAN}
    answer = store.query(**nowhere, text="tea", count=True, explain=True, snippets=True)
    assert (answer["items"], answer["total"]) == ([], 0)
    assert (answer["explanation"], answer["snippets"]) == ([], [])
    with pytest.raises(SnapshotNotFound):
        store.query(**nowhere, snapshot_id="snapshot:1")
    with pytest.raises(EmbeddingSpaceMismatch) as refused:
        store.query(**nowhere, embedding_space_id=BUILT_IN, text="tea")
    assert "embed run --builtin" in str(refused.value.details["hint"])


@pytest.mark.usefixtures("ten")
def test_pages_of_a_future_are_of_what_is_there(ask: Any, make: Any) -> None:
    first = ask(as_of=1_000_000, limit=6, count=True)
    assert first["ledger_sequence"] == 10
    make("late")
    rest = ask(as_of=1_000_000, limit=6, count=True, cursor=first["next_cursor"])
    assert names(first) + names(rest) == list("0123456789")
    assert rest["total"] == 10


def test_a_caret_stands_under_the_place_whatever_stands_before(store: Store) -> None:
    for name, columns in (("ab", 2), ("茶", 2), ("e\u0301", 1)):
        with pytest.raises(InvalidRequest) as refused:
            store.query(**ASKED, where=[f'content["{name}"] ~ 1'])
        caret = refused.value.message.splitlines()[2]
        assert caret.index("^") == len('  content[""] ') + columns, name


def test_what_is_no_expression_is_pointed_out_as_words(ask: Any, make: Any) -> None:
    make("a", {"text": "Glad that you had support."})
    for text in ("NOT support", "support NOT", "(support"):
        (snippet,) = ask(text=text, snippets=True)["snippets"]
        places = [snippet["text"][start:end] for start, end in snippet["matches"]]
        assert places == ["support"], text
    (snippet,) = ask(text="support OR (tea NOT support)", snippets=True)["snippets"]
    assert len(snippet["matches"]) == 1


def test_an_expression_is_read_even_where_there_is_nothing_to_judge(store: Store) -> None:
    with pytest.raises(InvalidRequest, match="expected a value"):
        store.query(scope_id="workspace:none-yet", actor=HUMAN, where=["content.a ="])

"""Relationships in queries: walked, listed, and what an actor may not see left out.
PAMSPEC §8.5, §11, §15.7."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pamctl import errors, limits
from pamctl.rules.authorization import default_policy
from pamctl.service import related
from pamctl.service.store import Store

SCOPE = "workspace:default"
HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
AGENT = {"actor_id": "actor:agent:helper", "actor_kind": "agent"}
NOTED = {"activity": "noted"}
COMMON = {"scope_id": SCOPE, "actor": HUMAN, "provenance": NOTED}


@pytest.fixture
def make(store: Store) -> Callable[..., dict[str, Any]]:
    def make(name: str, **more: Any) -> dict[str, Any]:
        given = {"object_id": f"mem:{name}", "object_type": "claim", "canonical_content": name}
        return store.create(**{**COMMON, **given, **more})

    return make


@pytest.fixture
def relate(store: Store) -> Callable[..., dict[str, Any]]:
    def relate(source: str, target: str, **more: Any) -> dict[str, Any]:
        given = {
            "relationship_id": f"rel:{source}{target}",
            "relationship_type": "supports",
            "source_object_id": f"mem:{source}",
            "target_object_id": f"mem:{target}",
        }
        return store.relate(**{**COMMON, **given, **more})

    return relate


@pytest.fixture
def chain(make: Any, relate: Any) -> None:
    """a supports b supports c refutes d, and e supports a."""
    for name in "abcde":
        make(name)
    relate("a", "b")
    relate("b", "c")
    relate("c", "d", relationship_type="refutes")
    relate("e", "a")


@pytest.fixture
def near(store: Store) -> Callable[..., list[str]]:
    """The last letters of the ids of what is related to an object."""

    def near(start: str, *, actor: dict[str, str] = HUMAN, **walk: Any) -> list[str]:
        query = {key: walk.pop(key) for key in list(walk) if key not in WALK}
        answer = store.query(
            **{"any_state": True, **query},
            scope_id=SCOPE,
            actor=actor,
            related_to={"object_id": f"mem:{start}", **walk},
        )
        return [(item.get("object_id") or item["relationship_id"])[4:] for item in answer["items"]]

    return near


WALK = ("relationship_types", "direction", "depth")


def deny(store: Store, *rules: dict[str, Any], **members: Any) -> None:
    kept = [
        {"rule_id": f"rule:{n}", "effect": "deny", "actors": ["actor:agent:*"], **rule}
        for n, rule in enumerate(rules)
    ]
    policy = {**default_policy(), "rules": kept, **members}
    store.scope_policy(scope_id=SCOPE, actor=HUMAN, policy=policy)


class TestWalk:
    def test_one_step_either_way_unless_told_otherwise(self, chain: None, near: Any) -> None:
        assert near("a") == ["b", "e"]
        assert near("a", direction="out") == ["b"]
        assert near("a", direction="in") == ["e"]

    def test_depth_counts_steps(self, chain: None, near: Any) -> None:
        assert near("a", depth=2, direction="out") == ["b", "c"]
        assert near("a", depth=3, direction="out") == ["b", "c", "d"]
        assert near("a", depth=16, direction="out") == ["b", "c", "d"]
        assert near("d", depth=16, direction="in") == ["a", "b", "c", "e"]
        assert near("d", depth=2) == ["b", "c"]

    def test_types_are_those_that_are_followed(self, chain: None, near: Any) -> None:
        assert near("a", depth=3, relationship_types=["supports"]) == ["b", "c", "e"]
        assert near("c", relationship_types=["refutes"]) == ["d"]
        assert near("a", relationship_types=["refutes"]) == []

    @pytest.mark.parametrize("directionality", ["bidirectional", "undirected"])
    def test_without_a_direction_both_ways_are_open(
        self, make: Any, relate: Any, near: Any, directionality: str
    ) -> None:
        make("a"), make("b")
        relate("a", "b", directionality=directionality)
        for start, other in ("ab", "ba"):
            assert near(start, direction="out") == near(start, direction="in") == [other]

    def test_circles_end(self, chain: None, relate: Any, near: Any) -> None:
        relate("c", "a")
        relate("a", "a")
        assert near("a", depth=16, direction="out") == ["b", "c", "d"]

    def test_distance_is_the_shortest(self, store: Store, chain: None, relate: Any) -> None:
        relate("a", "c")
        answer = store.query(
            scope_id=SCOPE,
            any_state=True,
            explain=True,
            related_to={"object_id": "mem:a", "direction": "out", "depth": 3},
        )
        distances = {each["object_id"]: each["distance"] for each in answer["explanation"]}
        assert distances == {"mem:b": 1, "mem:c": 1, "mem:d": 2}

    def test_the_other_filters_select_from_what_was_reached(
        self, make: Any, relate: Any, near: Any
    ) -> None:
        make("a"), make("b", object_type="task"), make("c", canonical_content="tea")
        relate("a", "b"), relate("b", "c")
        assert near("a", depth=2, object_type=["claim"]) == ["c"]
        assert near("a", depth=2, text="tea") == ["c"]
        assert near("a", depth=2, order_by=["object_id:desc"]) == ["c", "b"]

    def test_pages_are_the_whole_and_stay_so_while_others_write(
        self, store: Store, make: Any, relate: Any
    ) -> None:
        make("a")
        for n in range(7):
            make(f"n{n}")
            relate("a", f"n{n}")
        query: dict[str, Any] = {
            "scope_id": SCOPE,
            "any_state": True,
            "limit": 3,
            "count": True,
            "related_to": {"object_id": "mem:a"},
        }
        page = store.query(**query)
        found = [item["object_id"] for item in page["items"]]
        make("late"), relate("a", "late")
        while page["next_cursor"] is not None:
            page = store.query(**query, cursor=page["next_cursor"])
            assert page["total"] == 7
            found += [item["object_id"] for item in page["items"]]
        assert found == [f"mem:n{n}" for n in range(7)]

    def test_as_of_an_earlier_sequence(
        self, store: Store, make: Any, relate: Any, near: Any
    ) -> None:
        make("a"), make("b")
        made = relate("a", "b")
        then = store.head(SCOPE)["sequence"]
        store.delete(
            scope_id=SCOPE,
            relationship_id="rel:ab",
            expected_version_id=made["version_id"],
            actor=HUMAN,
        )
        assert near("a") == []
        assert near("a", as_of=then) == ["b"]
        assert near("a", as_of=then - 1) == []

    def test_is_the_same_each_time(self, store: Store, chain: None) -> None:
        query: dict[str, Any] = {
            "scope_id": SCOPE,
            "any_state": True,
            "related_to": {"object_id": "mem:a", "depth": 3},
        }
        assert store.query(**query) == store.query(**query)

    def test_a_start_that_is_not_there(self, store: Store, chain: None, near: Any) -> None:
        for nothing in ("nowhere", "rel:ab"):
            with pytest.raises(errors.ObjectNotFound):
                near(nothing)
        with pytest.raises(errors.ObjectNotFound):
            store.query(scope_id="workspace:empty", related_to={"object_id": "mem:a"})

    @pytest.mark.parametrize("walk", [{"depth": 0}, {"depth": 17}, {"direction": "up"}])
    def test_bounds_of_the_request(self, chain: None, near: Any, walk: Any) -> None:
        with pytest.raises(errors.InvalidRequest):
            near("a", **walk)

    def test_a_walk_that_reaches_too_much_is_refused_by_name(
        self, chain: None, near: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert limits.TRAVERSAL_ITEMS_MAX > 10_000
        monkeypatch.setattr(related, "TRAVERSAL_ITEMS_MAX", 2)
        assert near("a") == ["b", "e"]
        with pytest.raises(errors.InvalidRequest, match="TRAVERSAL_ITEMS_MAX"):
            near("a", depth=2)


class TestStates:
    """The states that are asked for hold for everything on the way."""

    TRUSTED = {"validation_state": "corroborated"}  # noqa: RUF012

    def test_trusted_retrieval_follows_what_is_trusted(
        self, make: Any, relate: Any, near: Any
    ) -> None:
        for name in "abcd":
            make(name, **self.TRUSTED)
        relate("a", "b", **self.TRUSTED)
        relate("b", "c")
        relate("a", "d", **self.TRUSTED, lifecycle_state="archived")
        assert near("a", depth=2, any_state=False) == ["b"]
        assert near("a", depth=2, validation_state=["unverified", "corroborated"]) == [
            "b",
            "c",
            "d",
        ]

    def test_nothing_is_reached_through_what_is_not_asked_for(
        self, make: Any, relate: Any, near: Any
    ) -> None:
        make("a"), make("b"), make("c", **self.TRUSTED)
        relate("a", "b", **self.TRUSTED), relate("b", "c", **self.TRUSTED)
        assert near("a", depth=2, any_state=False) == []
        assert near("a", depth=2) == ["b", "c"]

    def test_the_start_may_be_in_any_state(self, make: Any, relate: Any, near: Any) -> None:
        make("a"), make("b", **self.TRUSTED)
        relate("a", "b", **self.TRUSTED)
        assert near("a", any_state=False) == ["b"]

    def test_nothing_leads_on_from_what_was_deleted(
        self, store: Store, chain: None, near: Any
    ) -> None:
        version = store.read(scope_id=SCOPE, object_id="mem:b")["version_id"]
        store.delete(scope_id=SCOPE, object_id="mem:b", expected_version_id=version, actor=HUMAN)
        assert near("a", depth=3, direction="out") == ["b"]
        assert near("b") == ["a", "c"]

    def test_a_deleted_relationship_leads_nowhere_and_is_listed(
        self, store: Store, chain: None, near: Any
    ) -> None:
        version = store.read(scope_id=SCOPE, object_id="rel:ab")["version_id"]
        store.delete(
            scope_id=SCOPE, relationship_id="rel:ab", expected_version_id=version, actor=HUMAN
        )
        assert near("a", direction="out", depth=3) == []
        assert near("a", direction="out", relationships=True) == ["ab"]


class TestRelationships:
    def test_all_of_a_scope(self, store: Store, chain: None) -> None:
        everything = store.query(scope_id=SCOPE, any_state=True, relationships=True, count=True)
        assert [item["relationship_id"] for item in everything["items"]] == [
            "rel:ab",
            "rel:bc",
            "rel:cd",
            "rel:ea",
        ]
        assert everything["total"] == 4
        assert everything["items"][0] == store.read(scope_id=SCOPE, object_id="rel:ab")

    def test_those_of_an_object(self, chain: None, near: Any) -> None:
        assert near("b", relationships=True) == ["ab", "bc"]
        assert near("b", relationships=True, direction="in") == ["ab"]
        assert near("a", relationships=True, depth=2, direction="out") == ["ab", "bc"]
        assert near("a", relationships=True, relationship_types=["refutes"], depth=3) == []

    def test_by_type_state_and_words(self, store: Store, chain: None, relate: Any) -> None:
        relate("a", "d", canonical_content={"why": "Both are about tea."}, relationship_type="x")

        def found(**query: Any) -> list[str]:
            answer = store.query(scope_id=SCOPE, relationships=True, **{"any_state": True, **query})
            return [item["relationship_id"] for item in answer["items"]]

        assert found(relationship_type=["refutes"]) == ["rel:cd"]
        assert found(relationship_type="refutes") == ["rel:cd"]
        assert found(text="tea") == ["rel:ad"]
        assert found(any_state=False) == []
        assert found(actor_id=["actor:nobody"]) == []
        assert found(order_by=["sequence", "object_id:desc"], limit=1) == ["rel:ea"]

    def test_objects_are_not_among_them_nor_they_among_objects(
        self, store: Store, chain: None
    ) -> None:
        objects = store.query(scope_id=SCOPE, any_state=True)["items"]
        assert all("object_id" in item for item in objects)
        assert len(objects) == 5

    def test_an_object_type_is_no_filter_of_theirs(self, store: Store, chain: None) -> None:
        with pytest.raises(errors.InvalidRequest, match="has no object_type"):
            store.query(scope_id=SCOPE, relationships=True, object_type=["claim"])

    def test_objects_at_an_end_of_a_type(self, store: Store, chain: None, near: Any) -> None:
        def ends(*types: str) -> list[str]:
            query = {"scope_id": SCOPE, "any_state": True, "relationship_type": list(types)}
            return [item["object_id"] for item in store.query(**query)["items"]]

        assert ends("refutes") == ["mem:c", "mem:d"]
        assert ends("refutes", "supports") == [f"mem:{name}" for name in "abcde"]
        assert ends("unheard of") == []
        assert near("a", depth=2, relationship_type=["refutes"]) == ["c"]


class TestAuthority:
    """A helper that a rule keeps from decisions."""

    SECRET = {"operations": ["query", "read", "inspect_history"], "object_types": ["decision"]}  # noqa: RUF012

    @pytest.fixture
    def secret(self, store: Store, make: Any, relate: Any) -> None:
        """a supports b; a supports s, a decision, supports c; b undirected s."""
        for name in "abc":
            make(name)
        make("s", object_type="decision")
        relate("a", "b"), relate("a", "s"), relate("s", "c")
        relate("b", "s", directionality="undirected")
        deny(store, self.SECRET)

    def test_nothing_is_reached_at_or_through_what_may_not_be_seen(
        self, secret: None, near: Any
    ) -> None:
        assert near("a", depth=4) == ["b", "c", "s"]
        assert near("a", depth=4, actor=AGENT) == ["b"]
        assert near("c", depth=4, actor=AGENT) == []

    def test_nor_counted_nor_listed(self, store: Store, secret: None, near: Any) -> None:
        assert near("a", relationships=True, depth=4, actor=AGENT) == ["ab"]
        query: dict[str, Any] = {"scope_id": SCOPE, "any_state": True, "count": True}
        assert store.query(**query, relationships=True, actor=AGENT)["total"] == 1
        assert store.query(**query, relationships=True, actor=HUMAN)["total"] == 4
        ends = store.query(**query, relationship_type=["supports"], actor=AGENT)
        assert [item["object_id"] for item in ends["items"]] == ["mem:a", "mem:b"]

    def test_nor_told_of_in_the_log(self, store: Store, secret: None) -> None:
        def told(actor: dict[str, str]) -> set[str]:
            items = store.log(scope_id=SCOPE, actor=actor, event_classes=["relationship_created"])
            return {event["relationship_id"] for event in items["items"]}

        assert told(AGENT) == {"rel:ab"}
        assert told(HUMAN) == {"rel:ab", "rel:as", "rel:sc", "rel:bs"}

    def test_a_start_that_may_not_be_seen_is_as_good_as_absent(
        self, secret: None, near: Any
    ) -> None:
        outcomes = []
        for start in ("s", "nowhere"):
            with pytest.raises(errors.PamError) as refused:
                near(start, actor=AGENT)
            error = refused.value
            message = error.message.replace(f"mem:{start}", "?")
            outcomes.append((error.code, message, error.details))
        assert outcomes[0] == outcomes[1]

    def test_bounds_do_not_count_what_may_not_be_seen(
        self, store: Store, secret: None, near: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(related, "TRAVERSAL_ITEMS_MAX", 1)
        assert near("a", depth=4, actor=AGENT) == ["b"]
        with pytest.raises(errors.InvalidRequest):
            near("a", depth=4)

    @pytest.mark.parametrize("operation", ["query", "read"])
    def test_who_may_look_at_claims_alone_may_not_look_at_relationships(
        self, store: Store, secret: None, near: Any, operation: str
    ) -> None:
        deny(
            store,
            {"effect": "allow", "operations": [operation], "object_types": ["claim"]},
            {"operations": [operation]},
        )
        assert store.query(scope_id=SCOPE, any_state=True, actor=AGENT)["items"]
        for start in ("a", "nowhere"):
            with pytest.raises(errors.AccessDenied) as denied:
                near(start, actor=AGENT)
            assert denied.value.policy_rule_id == "rule:1"

    def test_an_actor_who_may_not_query_learns_nothing(
        self, store: Store, secret: None, near: Any
    ) -> None:
        deny(store, {"operations": ["query"]})
        for start in ("a", "nowhere"):
            with pytest.raises(errors.AccessDenied):
                near(start, actor=AGENT)


class TestAcrossScopes:
    def test_a_walk_stays_in_its_scope(self, store: Store, make: Any, relate: Any) -> None:
        there = "workspace:there"
        grant = {"rule_id": "rule:x", "operations": ["relate"]}
        store.scope_policy(
            scope_id=there,
            actor=HUMAN,
            policy={
                **default_policy(),
                "cross_scope": [{**grant, "direction": "in", "scopes": [SCOPE]}],
            },
        )
        store.scope_policy(
            scope_id=SCOPE,
            actor=HUMAN,
            policy={
                **default_policy(),
                "cross_scope": [{**grant, "direction": "out", "scopes": [there]}],
            },
        )
        make("a"), make("b"), make("b", scope_id=there)
        relate("a", "b", target_scope_id=there, policy_basis="p:1")

        def items(scope_id: str, start: str, **more: Any) -> list[Any]:
            walk = {"related_to": {"object_id": start, "depth": 3}, "any_state": True}
            answer: list[Any] = store.query(scope_id=scope_id, **walk, **more)["items"]
            return answer

        # The object of this scope that has the target's id is not the target.
        assert items(SCOPE, "mem:a") == []
        assert items(SCOPE, "mem:b", relationships=True) == []
        assert items(there, "mem:b", relationships=True) == []
        (listed,) = items(SCOPE, "mem:a", relationships=True)
        assert listed["target_scope_id"] == there
        ends = store.query(scope_id=SCOPE, relationship_type=["supports"], any_state=True)
        assert [item["object_id"] for item in ends["items"]] == ["mem:a"]

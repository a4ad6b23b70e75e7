"""What tests of subscriptions share: a subscription, and what its subscriber does with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pamctl.service.store import Store
from tests.authority import OWNER, SCOPE

Json = dict[str, Any]


CREATED = ("object_created",)


def files(store: Store, pattern: str) -> list[Path]:
    """The files of all subscriptions whose names are like this."""
    return sorted(store.path.glob(f"scopes/*/subscriptions/{pattern}"))


def remember_many(store: Store, count: int, **more: Any) -> None:
    """Creates so many claims, together."""
    with store.group() as group:
        for number in range(count):
            given = {"scope_id": SCOPE, "object_type": "claim", "actor": OWNER, **more}
            given |= {"canonical_content": number, "provenance": {"activity": "observed"}}
            group.perform("create", given)


class Subscriber:
    """A subscription of one actor's."""

    def __init__(
        self,
        store: Store,
        actor: Mapping[str, Any] = OWNER,
        *,
        scope_id: str = SCOPE,
        classes: tuple[str, ...] = (),
        **more: Any,
    ) -> None:
        if classes:
            more["filter"] = {"event_classes": list(classes), **more.get("filter", {})}
        self.store = store
        self.opened: Json = store.subscribe(scope_id=scope_id, actor=actor, **more)
        self.subscription_id: str = self.opened["subscription_id"]

    def poll(self, **more: Any) -> Json:
        return self.store.subscriptions.poll(subscription_id=self.subscription_id, **more)

    def got(self, **more: Any) -> list[int]:
        """The sequences of what a poll delivers."""
        return [event["sequence"] for event in self.poll(**more)["events"]]

    def acknowledge(self, sequence: int, **more: Any) -> int:
        done = self.store.subscriptions.acknowledge(
            subscription_id=self.subscription_id, sequence=sequence, **more
        )
        return int(done["acknowledged_sequence"])

    def close(self, **more: Any) -> Json:
        return self.store.subscriptions.close(subscription_id=self.subscription_id, **more)

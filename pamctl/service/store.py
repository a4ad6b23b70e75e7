"""The public face of a store: its methods are the operations.

    store = pamctl.open_store(".pam")
    made = store.create(scope_id="workspace:default", object_type="claim", …)
    store.read(scope_id="workspace:default", object_id=made["object_id"])

Arguments bear the draft's member names; what is None counts as not given. Every method
raises a PamError and then has changed nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.errors import ObjectNotFound
from pamctl.model.documents import check
from pamctl.service.open_store import DEFAULT_SCOPE, OpenStore
from pamctl.service.scopes import OWNER, index_state
from pamctl.service.sources import Clock, Entropy, Sources
from pamctl.store.directory import StoreDirectory
from pamctl.store.layout import FORMAT, FORMAT_VERSION

if TYPE_CHECKING:
    from pamctl.service.arguments import (
        CreateArguments,
        DeleteArguments,
        DiffArguments,
        ExpireArguments,
        HistoryArguments,
        LogArguments,
        PolicyArguments,
        PolicyTestArguments,
        PromoteArguments,
        QueryArguments,
        ReadArguments,
        RedactArguments,
        RelateArguments,
        ScopeArguments,
        TransitionArguments,
        UpdateArguments,
    )
    from pamctl.service.checkpoints import Checkpoints
    from pamctl.service.delegations import Delegations
    from pamctl.service.embeddings import Embeddings
    from pamctl.service.family_arguments import SubscribeArguments
    from pamctl.service.schemas import Schemas
    from pamctl.service.snapshots import Snapshots
    from pamctl.service.spaces import Spaces
    from pamctl.service.subscriptions import Subscriptions
    from pamctl.store.keyring import Seal
    from pamctl.store.watch import Watch

Json = dict[str, Any]


def init_store(
    path: str | os.PathLike[str],
    *,
    default_scope: str = DEFAULT_SCOPE,
    actor: Mapping[str, Any] = OWNER,
    owner_key: bool = False,
    seal: Seal | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
) -> Store:
    """Make a store in the directory `path` with its default scope, and open it.

    Does nothing to a store that is there already. Raises InvalidRequest for what is no scope
    id and no actor, before anything is made.

    owner_key: whether to make the owner's key and bind it to `actor`, so that what it writes
        is signed; `seal` is what the key is encrypted with, if at all.
    """
    check("requests/scope_create", {"scope_id": default_scope, "actor": actor})
    sources = _sources(clock, entropy)
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "store_id": sources.identifier("store"),
        "created_at": sources.now(),
        "default_scope": default_scope,
        "auto_create_scopes": True,
    }
    store = Store(StoreDirectory.create(Path(path), config), sources)
    store.ensure_scope(store.default_scope, actor, declared=True)
    if owner_key and store.config["store_id"] == config["store_id"]:
        store.signers.make_owner(str(actor["actor_id"]), seal)
    return store


def open_store(
    path: str | os.PathLike[str], *, clock: Clock | None = None, entropy: Entropy | None = None
) -> Store:
    """Open the store in the directory `path`. Raises StoreNotFound or UnknownFormat."""
    return Store(StoreDirectory.open(Path(path)), _sources(clock, entropy))


def find_store(start: str | os.PathLike[str] = ".") -> Path:
    """The nearest `.pam` in `start` or above it. Raises StoreNotFound."""
    return StoreDirectory.find(Path(start))


class Store(OpenStore):
    """An open store whose operations are methods; see `OpenStore` for the rest."""

    # Writing

    def create(self, **arguments: Unpack[CreateArguments]) -> Json:
        """Create a Memory Object. PAMSPEC §10.1."""
        return self._write("create", arguments)

    def update(self, **arguments: Unpack[UpdateArguments]) -> Json:
        """Make the next version: of its content, by value or by patch, or of its metadata.
        PAMSPEC §10.3."""
        return self._write("update", arguments)

    def transition(self, **arguments: Unpack[TransitionArguments]) -> Json:
        """Change one of the four states. PAMSPEC §10.4."""
        return self._write("transition", arguments)

    def relate(self, **arguments: Unpack[RelateArguments]) -> Json:
        """Link two objects, or update such a link. PAMSPEC §10.5."""
        return self._write("relate", arguments)

    def promote(self, **arguments: Unpack[PromoteArguments]) -> Json:
        """Make a lasting memory of working memory. PAMSPEC §10.10."""
        return self._write("promote", arguments)

    def redact(self, **arguments: Unpack[RedactArguments]) -> Json:
        """Hide content, all or some of it, and erase it if asked to. PAMSPEC §10.9."""
        return self._write("redact", arguments)

    def expire(self, **arguments: Unpack[ExpireArguments]) -> Json:
        """Expire what the scope's retention rules say is due. PAMSPEC §9.6."""
        return self._look("expire", arguments)

    def delete(self, **arguments: Unpack[DeleteArguments]) -> Json:
        """Leave a tombstone. PAMSPEC §10.11."""
        return self._write("delete", arguments)

    def subscribe(self, **arguments: Unpack[SubscribeArguments]) -> Json:
        """Open a stream of the scope's events. PAMSPEC §10.8."""
        return self._write("subscribe", arguments)

    @property
    def subscriptions(self) -> Subscriptions:
        """What was subscribed to: polled, acknowledged, closed and listed. PAMSPEC §18.3."""
        from pamctl.service.subscriptions import Subscriptions

        return Subscriptions(self)

    def watch(self, scope_id: str) -> Watch:
        """Notices whatever any process commits to a scope; see `Watch`."""
        from pamctl.store.watch import Watch

        return Watch(self.layout.scope(scope_id).ledger)

    @property
    def delegations(self) -> Delegations:
        """Authority that actors give to others. PAMSPEC §18.2."""
        from pamctl.service.delegations import Delegations

        return Delegations(self)

    @property
    def snapshots(self) -> Snapshots:
        """Sealed views of a scope. PAMSPEC §12, §18.11."""
        from pamctl.service.snapshots import Snapshots

        return Snapshots(self)

    @property
    def schemas(self) -> Schemas:
        """What the scopes demand of content. PAMSPEC §8.2."""
        from pamctl.service.schemas import Schemas

        return Schemas(self)

    @property
    def checkpoints(self) -> Checkpoints:
        """What was signed of the ledgers."""
        from pamctl.service.checkpoints import Checkpoints

        return Checkpoints(self)

    @property
    def spaces(self) -> Spaces:
        """Embedding Spaces. PAMSPEC §7.8."""
        from pamctl.service.spaces import Spaces

        return Spaces(self)

    @property
    def embeddings(self) -> Embeddings:
        """Vectors of objects. PAMSPEC §7.8."""
        from pamctl.service.embeddings import Embeddings

        return Embeddings(self)

    # Reading

    def read(self, **arguments: Unpack[ReadArguments]) -> Json:
        """The envelope of an object, or of one of its versions. PAMSPEC §10.2."""
        return self._look("read", arguments)

    def history(self, **arguments: Unpack[HistoryArguments]) -> Json:
        """An object's versions or events, oldest first. PAMSPEC §10.7."""
        return self._look("history", arguments)

    def log(self, **arguments: Unpack[LogArguments]) -> Json:
        """The scope's events, in ledger order. PAMSPEC §7.7."""
        return self._look("log", arguments)

    def diff(self, **arguments: Unpack[DiffArguments]) -> Json:
        """What changed between two versions of an object. PAMSPEC §10.7."""
        return self._look("diff", arguments)

    def query(self, **arguments: Unpack[QueryArguments]) -> Json:
        """The objects that filters select. PAMSPEC §10.6, §11."""
        return self._look("query", arguments)

    def version_bytes(self, scope_id: str, version_id: str) -> bytes:
        """The exact stored bytes of a version, whose SHA-256 is its address."""
        scope = self.open_scope(scope_id, fresh=True)
        row = scope.index.version(version_id)
        if row is None:
            raise ObjectNotFound(f"there is no version {version_id} in {scope_id}")
        return scope.version_bytes(row)

    def head(self, scope_id: str) -> Json:
        """The head of a scope's ledger: `head`, `entries` and `sequence`."""
        position = self.open_scope(scope_id).refresh()
        return {
            "head": position.head,
            "entries": position.entries,
            "sequence": position.sequence,
        }

    # Scopes

    def scope_create(self, **arguments: Unpack[ScopeArguments]) -> Json:
        """Make a scope, unless it is there, and show it. PAMSPEC §7.5."""
        return self._look("scope_create", arguments)

    def scope_list(self) -> Json:
        """Every scope of the store, by scope id."""
        return self._look("scope_list", {})

    def scope_show(self, *, scope_id: str) -> Json:
        """One scope, with its policy. Raises ScopeNotFound."""
        return self._look("scope_show", {"scope_id": scope_id})

    def scope_policy(self, **arguments: Unpack[PolicyArguments]) -> Json:
        """Put a policy in force."""
        return self._write("scope_policy", arguments)

    def scope_policy_test(self, **arguments: Unpack[PolicyTestArguments]) -> Json:
        """What a policy says to an actor's wish, without acting on it."""
        return self._look("scope_policy_test", arguments)

    def status(self) -> Json:
        """The store, and each scope's counts, head and index."""
        return self._look("status", {})

    def rebuild_index(self, *, scope_id: str, actor: Mapping[str, Any] = OWNER) -> Json:
        """Make a scope's index anew from its ledger. No version comes of it (PAMSPEC §17.3),
        and an `index_rebuilt` event where the scope can be written."""
        from pamctl.service.rebuild import rebuild

        scope = rebuild(self, scope_id, actor)
        return index_state(scope, scope.refresh().sequence)

    def pack(self, *, scope_id: str) -> Json:
        """Move a scope's version files, and its small packs, into large packs. Says how many
        there were: `files`, `packs_merged`, `packs_made`, `versions`, `copies_removed`."""
        from pamctl.service.packing import pack

        return pack(self, scope_id)


def _sources(clock: Clock | None, entropy: Entropy | None) -> Sources:
    defaults = Sources()
    return Sources(clock or defaults.clock, entropy or defaults.entropy)

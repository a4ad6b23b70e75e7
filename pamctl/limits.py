"""Every bound, with its reason. A request beyond a bound is refused with the bound's name."""

from __future__ import annotations

INTEGER_MAX = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 7493 §2.2)."""

DEPTH_MAX = 128
"""Nesting of a JSON value. Deep enough for any document a person wrote; far below the
depth at which a recursive reader, ours or another's, runs out of stack."""

DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
"""One JSON document: an input, a version, a ledger line. A reader can hold one in memory
without thinking, and a hostile store cannot make it hold more."""

CONTENT_BYTES_MAX = 8 * 1024 * 1024
"""Canonical content of one version. Leaves room for the rest of the envelope, and for a
patch that rewrites all of it, within DOCUMENT_BYTES_MAX."""

IDENTIFIER_CHARS_MAX = 512
"""An identifier fits a command line, a file system and an index key."""

TIMESTAMP_CHARS_MAX = 64
"""A timestamp with more than thirty fractional digits is not a measurement."""

IDEMPOTENCY_KEY_CHARS_MAX = 256
"""A key is an identifier chosen by a caller, not a place to keep data."""

TEXT_CHARS_MAX = 4096
"""Free text that is metadata: an activity, a policy basis, a source reference."""

PAGE_ITEMS_MAX = 1000
"""Items of one page, so that an answer stays in memory; cursors give the rest."""

PAGE_ITEMS_DEFAULT = 50

GROUP_OPERATIONS_MAX = 2048
"""Operations that a batch commits together. The fsyncs of a commit are paid once for a
group, so beyond a thousand or two a larger group gains nothing and costs memory: twice as many
take another 40 MB."""

GROUP_BYTES_MAX = 32 * 1024 * 1024
"""Input bytes that a batch commits together; bounds its memory whatever the operations are."""

LOOSE_VERSIONS_MAX = 8192
"""About how many versions of a scope are files of their own before a write packs them. By then
packing takes a fraction of a second, once in thousands of writes; and folders, backups and
clones never have to deal with hundreds of thousands of small files."""

SMALL_PACKS_MAX = 256
"""About how many small packs a scope has before a write merges them: each operation that
makes two versions leaves one."""

SMALL_PACK_BYTES = 1024 * 1024
"""A pack that is smaller is merged with others when there is packing to do. Larger ones are
left alone, so that a version is copied a few times in its life and not each time."""

PACK_BYTES_MAX = 8 * 1024 * 1024
"""Of a pack that packing makes. It is held in memory while it is written, and the lock is let
go after each."""

LOCK_WAIT_SEC = 10.0
"""How long a writer waits for a scope before it answers service_unavailable. A commit takes
milliseconds; a group of the largest size takes about a second."""

TRAVERSAL_DEPTH_MAX = 16
"""Steps along relationships. In a connected graph of people's notes everything is within a
few; whoever asks for more asks for everything."""

TRAVERSAL_ITEMS_MAX = 100_000
"""Objects that one traversal reaches, and relationships that it lists, so that it stays in
memory and within seconds."""

DELEGATION_CHAIN_MAX = 8
"""Delegations that rest on one another. Every use looks at all of them, and nobody can
oversee authority that went through more hands than this."""

SUBSCRIPTION_LAG_EVENTS_MAX = 100_000
"""Events that may wait for a subscriber who asked to be closed rather than to lag: days of a
busy scope, and still read again in seconds by a new subscription."""

SUBSCRIPTION_SCAN_EVENTS_MAX = 10_000
"""Events that a poll looks at while it holds the lock of subscriptions, so that others wait
for a fraction of a second however little a filter lets through."""

PREDICATE_MEMBERS_MAX = 32
"""Conditions of one subscription's predicate: each is tried on every event."""

CONTENT_SCHEMA_BYTES_MAX = 256 * 1024
"""A JSON Schema that a scope registers: read whenever content names it."""

CONTENT_SCHEMA_PARTS_MAX = 10_000
"""Parts of such a schema when its references are written out: the steps that it may take for
each value in the content. The largest schema of this project has under a thousand."""

EMBEDDING_DIMENSIONS_MAX = 65_536
"""Numbers in one vector: sixteen times what the largest models in use give."""

EMBEDDINGS_PER_REQUEST_MAX = 1000
"""Vectors that are put together. Each leaves an event; the fsyncs are paid once for all."""

APPROXIMATE_FROM_VECTORS = 250_000
"""Vectors of a space beyond which a graph over them is used unasked, where there is one: fewer
are compared with all of them in some fifty milliseconds."""

APPROXIMATE_LOOKED_AT_MAX = 16_384
"""Near vectors that a graph is asked for. Where more are needed to fill a page, because filters
accept few of them, all that filters accept are compared."""

SLUG_CHARS_MAX = 40
"""The readable part of a scope's folder name; the rest of the name makes it unique."""

PROJECTION_ENTRIES_MAX = 65535
"""Delivered entries of one Memory Projection Record, as in the record's published schema."""

PROJECTION_BYTES_MAX = 256 * 1024 * 1024
"""One projection and each of its materials: well past any model's context window."""

PROJECTION_RECORD_BYTES_MAX = 32 * 1024 * 1024
"""The JSON of one record: 65,535 entries take 22 MB in canonical form."""

CHECKPOINT_BYTES_MAX = 64 * 1024
"""One checkpoint: five short lines, and as many signatures as a note may have."""

PROOF_BYTES_MAX = DOCUMENT_BYTES_MAX + 2 * CHECKPOINT_BYTES_MAX
"""One proof about a ledger: the longest line that a ledger has, hashes and a checkpoint."""

BUNDLE_WINDOW_BYTES_MAX = 128 * 1024 * 1024
"""Memory that a compressed bundle may ask its reader for: what `zstd --ultra` and `--long` use
by default."""

BUNDLE_EXPANSION_MAX = 1000
"""How many times larger than its file a compressed bundle may be. Text of ledgers shrinks to a
tenth, repeated text to a hundredth; what shrinks to less was made to fill a disk."""

BUNDLE_EXPANSION_FREE_BYTES = 16 * 1024 * 1024
"""Bytes that a compressed bundle may have in any case, so that a small one is never refused."""

WHERE_CHARS_MAX = 16_384
"""One expression of a query over envelopes: many times what a person writes, still parsed in
a moment."""

WHERE_TERMS_MAX = 256
"""Conditions and values of all expressions of a query together. Each is tried on every
version that the index cannot decide about."""

WHERE_NESTING_MAX = 32
"""Parentheses and negations within one another; far below the depth at which a recursive
reader runs out of stack."""

PATTERN_STATES_MAX = 2000
"""States of a pattern's machine. A character of a text costs at most a look at each."""

SNIPPET_CHARS = 160
"""The passage that shows where a text was found: two lines of a terminal."""

INDEXED_FROM_VERSIONS = 20_000
"""Versions in a scope from which on queries make indexes of what they select and order by.
Fewer are looked through in some ten milliseconds."""

IDEMPOTENCY_KEY_CHARS_MAX = 256
"""An idempotency key: room for the name of a source and a place in it."""

KEPT_ANSWERS_MAX = 10_000
"""Answers that are kept for a user's retries of commands whose keys no ledger has."""

KEPT_ANSWER_BYTES_MAX = DOCUMENT_BYTES_MAX
"""One kept answer. A longer one is given and not kept."""

KEY_RECORDS_MAX = 10_000
"""Key records in a folder of a keyring. Every operation looks through them for its actor."""

KEY_RECORD_BYTES_MAX = 65_536
"""One key record. It holds a key, a few names, and why the key was revoked."""

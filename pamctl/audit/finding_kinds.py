"""Everything a check can find: one table, from which `docs/fsck.md` is written.

The ids are those of the invariants in `store-format/invariants.md` and never change.
"""

from __future__ import annotations

from typing import Literal

from pamctl.audit.bundle_kinds import BUNDLE_KINDS
from pamctl.named_tuples import NamedTuple

Severity = Literal["must", "should", "notice"]


class Kind(NamedTuple):
    """One kind of finding.

    severity: `must` says that data is lost or trust is broken; `should` that the store works
        and can be put right from what is there; `notice` is worth knowing, and no fault.
    meaning: what the check saw.
    remedy: what to do about it.
    """

    id: str
    severity: Severity
    meaning: str
    remedy: str


_RESTORE = "`pamctl repair --from COPY` with a copy of the store that is whole, or an export of it."
_REPAIR = "`pamctl repair` puts it right."
_PERSON = "A person has to look: nothing in the store says what it should be."
_BROUGHT = "It came from another store, or somebody wrote it into the files in the actor's name."
_WRITER = "The next command that writes puts it right; so does `pamctl repair`."

KINDS: tuple[Kind, ...] = (
    # The store and its files
    Kind("store-file-invalid", "must", "`store.json` is missing, or not as specified.", _RESTORE),
    Kind(
        "format-version-unknown",
        "must",
        "The store's format, or its version, is not one that this pamctl knows. Nothing else "
        "was checked.",
        "Use a pamctl that knows it.",
    ),
    Kind("scope-file-invalid", "must", "A scope's `scope.json` is missing or wrong.", _RESTORE),
    Kind(
        "scope-folder-misnamed",
        "must",
        "A scope's folder does not have the name that its scope id gives.",
        "Give the folder the name that the finding states.",
    ),
    Kind(
        "scope-id-repeated",
        "must",
        "Two folders say that they are the same scope.",
        "Move the one that is misnamed out of `scopes/`.",
    ),
    Kind(
        "name-collision",
        "must",
        "Two names in one folder differ only by case or Unicode form, and would be one file "
        "elsewhere.",
        "Rename or move away the one that does not belong to the store.",
    ),
    Kind(
        "unexpected-file-kind",
        "must",
        "A link, a folder, a pipe or a device stands where a file belongs, or a file where a "
        "folder does. It was not opened.",
        "Find out who put it there; " + _RESTORE[:1].lower() + _RESTORE[1:],
    ),
    Kind(
        "key-permissions-loose",
        "must",
        "Others can read or write a private key.",
        "`chmod 600` it, and revoke the key if somebody may have read it.",
    ),
    Kind("key-record-invalid", "must", "The record of a key is not as it says.", _RESTORE),
    Kind(
        "projection-entry-invalid",
        "should",
        "An entry of the projection register is not named by its projection id.",
        "The name alone decides, so nothing was accepted twice; move the file away.",
    ),
    Kind(
        "leftover-file",
        "should",
        "A temporary file stands there that nobody is writing.",
        _WRITER,
    ),
    Kind(
        "git-files-missing",
        "should",
        "`.gitattributes` or `.gitignore` is missing, or lacks a line that keeps git from "
        "changing the store.",
        _REPAIR,
    ),
    Kind(
        "quarantine-occupied",
        "notice",
        "Recovery or repair set something aside.",
        "Look at it, and delete it when nobody needs it. It may hold what was erased since.",
    ),
    # The ledger
    Kind(
        "ledger-missing",
        "must",
        "A scope has no ledger, or an empty one, or a scope that a pin knows is gone.",
        _RESTORE,
    ),
    Kind(
        "ledger-wrong-scope",
        "must",
        "The ledger is another scope's or another store's, or says twice whose it is.",
        _RESTORE,
    ),
    Kind(
        "ledger-line-too-long",
        "must",
        "A line of the ledger is longer than any that a writer writes.",
        _RESTORE,
    ),
    Kind(
        "ledger-line-mangled",
        "must",
        "A line ends in a carriage return, starts with a byte order mark, or is a conflict "
        "marker: git or an editor changed the file.",
        "Check the file out again with the store's `.gitattributes` in place, or "
        + _RESTORE[:1].lower()
        + _RESTORE[1:],
    ),
    Kind("ledger-line-not-json", "must", "A whole line of the ledger is no JSON object.", _RESTORE),
    Kind("ledger-member-repeated", "must", "An object has two members of one name.", _RESTORE),
    Kind(
        "ledger-line-not-canonical",
        "must",
        "A line is not the canonical spelling of its value.",
        _RESTORE,
    ),
    Kind("ledger-entry-invalid", "must", "An entry is not as its schema says.", _RESTORE),
    Kind(
        "ledger-chain-broken",
        "must",
        "An entry names another line before it than the one that stands there: one of the two "
        "was changed, or lines between them are gone.",
        _RESTORE,
    ),
    Kind(
        "ledger-forked",
        "must",
        "Two entries follow the same line, or a pinned head says that the ledger was another: "
        "two writers, or two clones, went on from one place.",
        "Choose a side, and keep the other: see `store-format/git.md`. Where the side that you "
        "saw last is not the one, `pamctl fsck --forget` then.",
    ),
    Kind(
        "ledger-reordered",
        "must",
        "The line that an entry follows stands elsewhere in the ledger.",
        _RESTORE,
    ),
    Kind(
        "ledger-counters-wrong",
        "must",
        "`n`, `tx`, `i` or `of` do not follow from the entry before.",
        _RESTORE,
    ),
    Kind(
        "ledger-bytes-lost",
        "must",
        "Whole entries stand behind zero bytes: the device lost what was before them.",
        _RESTORE,
    ),
    Kind(
        "ledger-torn-tail",
        "should",
        "The ledger ends within a line: a writer died, and never acknowledged it.",
        _WRITER,
    ),
    Kind(
        "ledger-transaction-incomplete",
        "should",
        "The ledger ends within a transaction: a writer died, and never acknowledged it.",
        _WRITER,
    ),
    Kind(
        "ledger-tail-cut",
        "must",
        "The ledger is shorter than a pin says, or does not hold a pinned head.",
        "With the same pins, " + _RESTORE + " Where you went back to it yourself, "
        "`pamctl fsck --forget`.",
    ),
    Kind(
        "ledger-tail-unpinned",
        "notice",
        "Nothing pins the end of the ledger: that it was cut off at a transaction, or written "
        "anew from some entry on, could not be seen.",
        "Keep the head that this check states, and give it to the next one with --expect-head, "
        "or a signed checkpoint, which pins a selection too. Of a store, the command line "
        "remembers the last head for you.",
    ),
    Kind(
        "ledger-kind-unknown",
        "should",
        "An entry is of a kind that this format version does not have.",
        "A newer pamctl may have written it; use that.",
    ),
    # Events and versions
    Kind("event-sequence-gap", "must", "Event sequences leave one out.", _RESTORE),
    Kind("event-sequence-reused", "must", "Two events have one sequence.", _RESTORE),
    Kind("event-id-reused", "must", "Two events of a ledger have one `event_id`.", _PERSON),
    Kind("event-wrong-scope", "must", "An event belongs to another scope.", _RESTORE),
    Kind(
        "event-without-version",
        "must",
        "An event of a type that commits a version names none, or one of another type does.",
        _RESTORE,
    ),
    Kind(
        "event-version-mismatch",
        "must",
        "An event and its version disagree on ids, scope, actor or time of record.",
        _RESTORE,
    ),
    Kind(
        "version-missing",
        "must",
        "A version that the ledger names is nowhere, and no erasure permits that.",
        _RESTORE,
    ),
    Kind(
        "version-altered",
        "must",
        "The bytes of a version file are not those that its name says.",
        "`pamctl repair` takes the bytes from a pack where one has them; else "
        + _RESTORE[:1].lower()
        + _RESTORE[1:],
    ),
    Kind("version-not-canonical", "must", "A version's bytes are not canonical.", _PERSON),
    Kind("version-invalid", "must", "A version is not as its schema says.", _PERSON),
    Kind("version-too-long", "must", "A version is longer than the bound.", _RESTORE),
    Kind("signature-invalid", "must", "A version's signature does not hold.", _PERSON),
    Kind("signature-missing", "notice", "No key of its bound actor signed a version.", _BROUGHT),
    Kind("version-id-reused", "must", "Two versions of a scope have one `version_id`.", _PERSON),
    Kind("version-committed-twice", "must", "Two entries commit one version.", _PERSON),
    Kind(
        "version-sequence-gap",
        "must",
        "The versions of an object do not count from 1, or from where an import says that they "
        "were given, in the order of their events.",
        _PERSON,
    ),
    Kind(
        "version-orphaned",
        "should",
        "A version, or a stub, is there that no entry names: a writer died before its commit.",
        "It does no harm; `pamctl repair` moves files to quarantine.",
    ),
    Kind(
        "erasure-without-authority",
        "must",
        "A stub stands in the place of a version, and no `erasure` entry permits it.",
        _RESTORE,
    ),
    Kind(
        "erasure-incomplete",
        "must",
        "The bytes of an erased version can still be found.",
        "The next command that writes to the scope removes them.",
    ),
    Kind(
        "stub-mismatch",
        "must",
        "A stub is not what its `erasure` entry says, or still has content.",
        _RESTORE,
    ),
    Kind(
        "custody-invalid",
        "must",
        "The record of what an import brought is not as its schema says, or is another scope's.",
        _RESTORE,
    ),
    Kind(
        "custody-unfinished",
        "should",
        "A record of an import speaks of entries that the ledger does not have: the import died "
        "before any of them was there, or the ledger was cut since.",
        _WRITER + " A cut shows only against a head that was kept.",
    ),
    Kind(
        "withheld-without-custody",
        "must",
        "A version stands there without its content, and no import brought it so.",
        _RESTORE,
    ),
    Kind("pack-misnamed", "must", "A pack's name is not the SHA-256 of its bytes.", _RESTORE),
    Kind("pack-line-invalid", "must", "A line of a pack is neither version nor stub.", _RESTORE),
    Kind(
        "pack-count-wrong",
        "should",
        "A pack does not have as many lines as the ledger says.",
        _RESTORE,
    ),
    Kind(
        "transition-illegal",
        "must",
        "An object changed its state in a way that PAMSPEC §9.5 does not allow on the condition "
        "that the event states.",
        _PERSON,
    ),
    Kind("tombstone-followed", "must", "A version follows the final tombstone.", _PERSON),
    Kind(
        "relationship-dangling",
        "should",
        "An end of a relationship is no object of the scope that it names.",
        _PERSON,
    ),
    Kind("idempotency-key-reused", "must", "Two records have one idempotency key.", _PERSON),
    Kind(
        "idempotency-mismatch",
        "must",
        "The result of an idempotency record is not what its transaction did.",
        _PERSON,
    ),
    Kind(
        "descriptor-invalid",
        "must",
        "A snapshot or an Embedding Space is described twice, or a snapshot speaks of events or "
        "spaces that were not there when it was sealed.",
        _PERSON,
    ),
    Kind(
        "snapshot-digest-wrong",
        "must",
        "A snapshot's digest is not that of what its scope held, by the ledger: evaluations of it "
        "do not prove what they ran on. Looked for where nothing else is wrong with the scope.",
        _PERSON,
    ),
    Kind(
        "clock-backwards",
        "notice",
        "A time of record is earlier than the one before. No order in a store follows from a "
        "clock.",
        "Nothing; look at the clock of the machine that wrote it.",
    ),
    # What is derived
    Kind(
        "index-out-of-step",
        "should",
        "The index has not read up to the ledger's head, or is of another ledger.",
        "The next command that reads brings it up to date; `pamctl index rebuild` makes it anew.",
    ),
    Kind(
        "embedding-orphaned",
        "should",
        "A vector is of no version of the scope, or of a space that no entry describes so.",
        "`pamctl embed delete` takes vectors away; whoever has the model can make them again.",
    ),
    Kind(
        "subscription-invalid",
        "should",
        "A subscription's descriptor or cursor is not as specified, or beyond the ledger.",
        "Close the subscription and open another.",
    ),
)

BY_ID = {kind.id: kind for kind in KINDS}
ANY = {**BY_ID, **{row[0]: Kind(*row) for row in BUNDLE_KINDS}}

VERDICT: frozenset[str] = frozenset(k.id for k in ANY.values() if k.severity != "notice")
"""Findings that make a store not clean, or a bundle not valid."""

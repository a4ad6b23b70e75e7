"""Writes the generated pages of docs/: `make docs`. A test fails when one is not current."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pamctl import errors
from pamctl.audit.bundle_kinds import BUNDLE_KINDS
from pamctl.audit.finding_kinds import KINDS
from pamctl.cli import reference
from pamctl.cli.terminal.output import STATUS_READER_GONE
from pamctl.errors import CODES, EXIT_CHECK_FAILED, EXIT_INTERRUPTED, PamError

PAGES = Path(__file__).parent

_ERRORS_BEFORE = """\
<!-- Written by docs/generate.py from pamctl/errors.py: change it there, then `make docs`. -->

# Errors and exit statuses

A command that fails prints nothing on standard output. On standard error it prints a sentence
and, where there is one, what to do; in a pipe, the error envelope of PAMSPEC §14 as one line of
JSON:

```console
$ pamctl init --quiet
$ pamctl read mem:tea 2>&1 | cat
{"code":"object_not_found",...,"operation_id":"op:...","retryable":false}
```

| member | what it says |
|---|---|
| `code` | which of the errors below; scripts decide by it, or by the exit status |
| `message` | one sentence for a person; its wording may change |
| `retryable` | whether the same request may succeed later |
| `operation_id` | the operation that failed, as in the ledger and in logs |
| `details` | facts about it, `hint` among them; never anything the actor may not see |
| `policy_rule_id` | the rule of the scope's policy that decided, where one did |

The exit status says which kind of error it was; codes that a script treats alike share one.
`pamctl help exit-codes` prints this table.

"""

_FSCK_BUNDLES = """
## In a bundle

`pamctl verify-export FILE` ([exchange](exchange.md#verify)), and `pamctl fsck FILE`, which is the
same, find that in the ledgers and versions of a bundle too, and besides:

"""

_ERRORS_BETWEEN = """
## Errors with a more exact name

Python raises these; on the command line they look like the error that they are a kind of.

"""


_ERRORS_HELP = """
## What they say

An error says what was wrong, where, and what to do about it. A word that is not known here is
answered with the one that was probably meant:

```console
$ pamctl creat
pamctl: there is no command 'creat'
  did you mean 'create'?
$ echo $?
2
$ pamctl query --lifecycle activ
pamctl: invalid value for '--lifecycle': 'activ' is no lifecycle state
  did you mean 'active'?
$ echo $?
2
$ pamctl create --typ claim --content 1
pamctl: there is no flag '--typ'
  did you mean '--type'?
$ echo $?
2
$ pamctl create --type clam --content 1
...
  did you mean claim?
$ echo $?
10
```

Input is judged strictly, and the place of the fault is a JSON Pointer:

```console
$ pamctl create --type claim --content '{"seen": [1, 9007199254740993]}'
pamctl: the value of --content: /seen/1 is the integer 9007199254740993, outside ±(2^53-1)
  send it as a string, in quotes
$ echo $?
2
$ pamctl create --type claim --content '{"text": "a", "text": "b"}'
pamctl: the value of --content: the whole value has the member 'text' twice
  keep one of the two
$ echo $?
2
$ pamctl create --type claim --content 'Tea is at four.'
pamctl: the value of --content is not JSON: Expecting value at line 1, column 1
  a string needs quotes of its own: --content '"like this"'
$ echo $?
2
```

Somebody else was faster. Who, when, and how to see it:

```console
$ pamctl create --type claim --id mem:tea --content '"Tea is at four."' --lifecycle scratch --quiet
$ pamctl update mem:tea --expect ver:old --content '"Tea is at five."'
pamctl: mem:tea is no longer at ver:old: version 1 was written by actor:local:... at ...
  fetch it with `pamctl read mem:tea`, merge, and try again
$ echo $?
4
```

A transition that the tables of PAMSPEC §9.5 do not have is answered with those that they have and,
where a policy may permit it all the same, with the rule that would:

```console
$ seen=$(pamctl read mem:tea --print version_id)
$ pamctl transition mem:tea lifecycle active --expect "$seen" --policy-basis 'it is true'
pamctl: lifecycle cannot go from scratch to active; only an override rule can permit it
  from scratch it can go to candidate, archived; this rule ... permits it: {...
$ echo $?
6
```

And where there is no store at all:

```console
$ cd /
$ pamctl status
pamctl: there is no .pam store in / or above it
  make one with `pamctl init`, or name one with --store DIR
$ echo $?
3
```
"""


def errors_page() -> str:
    """The page of errors: every code with its status, and every class that has none of its own."""
    rows = [(0, "", "", "Success. A replayed idempotent request too.")]
    rows += [
        (error.exit_status, f"`{error.code}`", _yes(error.retryable), error.meaning)
        for error in CODES
    ]
    rows += [
        (EXIT_CHECK_FAILED, "", "", "A check ran and its verdict is no."),
        (EXIT_INTERRUPTED, "", "", "Interrupted by Ctrl-C."),
        (STATUS_READER_GONE, "", "", "Whoever read the output closed it, as `head -1` does."),
    ]
    rows.sort(key=lambda row: row[0])
    kinds = sorted(_kinds(), key=lambda kind: kind.__name__)
    return (
        _ERRORS_BEFORE
        + _table(("status", "code", "try again", "meaning"), rows)
        + _ERRORS_HELP
        + _ERRORS_BETWEEN
        + _table(
            ("class", "is a", "meaning"),
            [(f"`{kind.__name__}`", f"`{kind.code}`", _one_line(kind.__doc__)) for kind in kinds],
        )
    )


def _kinds() -> list[type[PamError]]:
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, PamError)
        and value not in CODES
        and value is not PamError
    ]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


_FSCK = """\
<!-- Written by docs/generate.py from pamctl/audit/finding_kinds.py; `make docs` does it again. -->

# fsck: checking a store

`pamctl fsck` reads everything in a store and says what is wrong. It shares no code with what
writes, changes nothing (SQLite may touch its own shared memory beside an index), and needs a
folder for temporary files that has room for about as much as the ledgers take. It proves first
that nothing is wrong, and reads everything again to say what is, where there is no such
proof: a damaged store takes up to three times as long ([why](decisions/proof-first.md)).

```console
$ pamctl init --quiet
$ pamctl create --type claim --content '{"text":"green tea"}' --quiet >made.json
$ pamctl fsck --format table
workspace:default: ... entries, 1 versions, head ..., which nothing pins...
the store is clean
$ pamctl fsck --format table
workspace:default: ... entries, 1 versions, head ..., which is the one that was pinned
the store is clean
```

The exit status is 0 for a store that is clean and 11 for one in which a **must** or a **should**
was found:

- **must**: data is lost, or trust is broken.
- **should**: the store works, and can be put right from what is there.
- **notice**: nothing is wrong, but it deserves to be known.

As JSON the answer has `findings`, each with `id`, `severity`, `message`, `remedy` and where they
apply `scope_id`, `path`, `offset` and `subject`; `counts` of findings by id, because of each kind
only the first hundred in a scope are listed; `scopes`, each with its `head`, its `entries` and
whether its `tail` is `pinned`; and `clean`.

Where entries of a ledger cannot be read or are gone, what would follow from that alone is not
reported beside it: orphans, for instance, which those entries may have named.

## Pins

A ledger proves everything but its own end: see
[heads and pins](../store-format/heads-and-pins.md). `fsck` holds it against

- `--expect-head DIGEST` and `--expect-count N`, which a script, a ticket or a CI job keeps;
- `--checkpoint FILE` with `--trust KEY`: a head that its owner signed ([audit](audit.md));
- the head that you saw last. It is remembered for you, one file a store, in
  `$XDG_STATE_HOME/pamctl/heads/`, or else in `~/.local/state/pamctl/heads/`. `--forget` says that
  what is there now is right, after a backup was restored for instance.

## Repair

`pamctl repair` says what it would do, and does it with `--apply`. It takes bytes from packs, from
quarantine and, with `--from PATH`, from a second copy of the store or an export of it, and only
where their digest is the one that the ledger asks for. A ledger is taken from a copy as a whole,
and only when the check of that copy finds nothing wrong with it. Repair goes by the pins that
`fsck` goes by, the head that you saw last and those that it is given: for a ledger whose tail was
cut off it takes a copy that has the pinned head, and no other. Every byte that is replaced or
moved away is kept in the store's `quarantine/`, under names that begin with `repair-`. Without
`--apply` nothing in the store is changed, not even a modification time. A ledger from a copy that
is older than an erasure does not know of it, and the content comes back with it: erase it again.

```console
$ rm .pam/.gitattributes
$ pamctl repair --format table || echo "status $?"
add: .gitattributes (git-files-missing)
nothing was changed; --apply carries this out
status 11
$ pamctl repair --apply --format table
add: .gitattributes (git-files-missing)
the store is clean
```

What it cannot put right it leaves alone and names; the table says what to do. Putting one thing
right can show what was hidden behind it, so `--apply` may do more than the plan said: all that it
did is in its answer.

## Findings

"""


def fsck_page() -> str:
    """The page of the checker: every finding with its severity, meaning and remedy."""
    rows = [(f"`{k.id}`", k.severity, k.meaning, k.remedy) for k in KINDS]
    heads = ("id", "severity", "what was found", "what to do")
    bundled = [(f"`{id_}`", grade, meaning, remedy) for id_, grade, meaning, remedy in BUNDLE_KINDS]
    return _FSCK + _table(heads, rows) + _FSCK_BUNDLES + _table(heads, bundled)


def _same(text: str) -> Callable[[], str]:
    return lambda: text


GENERATED = {
    "errors.md": errors_page,
    "fsck.md": fsck_page,
    **{name: _same(text) for name, text in reference.pages().items()},
}
"""The generated pages: the file's name in docs/, and what writes its text."""


if __name__ == "__main__":
    (PAGES / "reference").mkdir(exist_ok=True)
    for old in PAGES.glob("reference/*.md"):
        old.unlink()
    for name, page in GENERATED.items():
        (PAGES / name).write_text(page(), encoding="utf-8")

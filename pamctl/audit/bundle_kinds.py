"""What a check of a bundle can find besides what a check of a store can: one table, from which
`docs/fsck.md` is written. The first eleven are the causes of model.bundles with `bundle-`
before them."""

from __future__ import annotations

from typing import Literal

_AGAIN = "Get it again from whoever made it; what it holds cannot be relied on."
ASK = "Ask whoever made it to export it again, and find out what changed it on the way."

BUNDLE_KINDS: tuple[tuple[str, Literal["must"], str, str], ...] = (
    ("bundle-not-a-bundle", "must", "The file does not begin with the header of a bundle.", _AGAIN),
    (
        "bundle-format-unknown",
        "must",
        "The version of the format is not one that this pamctl knows. Nothing else was checked.",
        "Use a pamctl that knows it.",
    ),
    ("bundle-compression-invalid", "must", "The file cannot be decompressed.", _AGAIN),
    (
        "bundle-expansion-too-large",
        "must",
        "The file expands to so many times its size that it was made to fill a disk.",
        "Do not decompress it.",
    ),
    ("bundle-line-too-long", "must", "A line is longer than any that a bundle has.", ASK),
    (
        "bundle-line-invalid",
        "must",
        "A line is no line of a bundle: edited, not canonical, or with a member twice.",
        ASK,
    ),
    (
        "bundle-line-misplaced",
        "must",
        "A line stands where it may not: moved, or what was before it is gone.",
        ASK,
    ),
    ("bundle-counts-wrong", "must", "There are more or fewer lines than the footer says.", ASK),
    (
        "bundle-digest-wrong",
        "must",
        "The lines are not those that the footer has the digest of: the file was edited.",
        ASK,
    ),
    ("bundle-cut", "must", "The file ends before its footer: it was cut off.", _AGAIN),
    ("bundle-continued", "must", "Something stands behind the footer.", ASK),
    (
        "bundle-head-wrong",
        "must",
        "A ledger does not end in the head, at the count or at the sequence that the header says.",
        ASK,
    ),
    (
        "bundle-root-wrong",
        "must",
        "The lines and leaves of a selection do not make up the tree whose root the header says.",
        ASK,
    ),
    (
        "bundle-scope-absent",
        "must",
        "A scope that a head was given for is not in the bundle.",
        "Check the scope's name, or get a bundle that has it.",
    ),
)

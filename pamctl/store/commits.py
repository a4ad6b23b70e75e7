"""Reads a whole ledger for an index, in half of the time that it takes to read every entry.

Nearly all transactions are the plain event of one version, alone or with the plain record of a
key. What an index takes of those is in a few places of their lines, which are found without
reading the rest as JSON. All that is checked of any line is checked of these. A transaction
that is different in the least is left to whoever reads every entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from pamctl.store.ledger import Assembly
from pamctl.store.plain_lines import plain_event, plain_key
from pamctl.store.records import Commit, Transaction

_Line = tuple[bytes, int]


def commits(lines: Iterator[_Line], assembly: Assembly) -> Iterator[Transaction | Commit]:
    """The transactions in `lines`, of which the first follows what `assembly` has. Raises as
    `Assembly.add`."""
    for line in lines:
        event = None if assembly.is_open else plain_event(line[0])
        following = None
        if event is not None:
            members = event.groups()
            if members[8] == b"2":
                following = next(lines, None)
            commit = _commit(assembly, members, line, following)
            if commit is not None:
                yield commit
                continue
        for data, offset in (line,) if following is None else (line, following):
            found = assembly.add(data, offset)
            if found is not None:
                yield found
            elif assembly.torn:
                return


def _commit(
    assembly: Assembly, members: tuple[Any, ...], line: _Line, following: _Line | None
) -> Commit | None:
    """The commit in a line with these members and the one after it, where it takes two. None,
    and nothing changed, where they are no plain commit, or do not follow."""
    data, offset = line
    event_id, event_type, object_id, recorded_at, relationship_id = members[:5]
    sequence, i, n, of, prev, tx, address = members[5:]
    number, sequence_number = assembly.entries + 1, assembly.sequence + 1
    if int(n) != number or tx != n or i != b"1" or int(sequence) != sequence_number:
        return None
    if prev.decode() != assembly.head:
        return None
    last, last_offset, last_number, head = data, offset, number, sha256(data).hexdigest()
    key = None
    if of == b"2":
        record = None if following is None else plain_key(following[0])
        if following is None or record is None:
            return None
        name, i, n, of, prev, key_tx = record.groups()
        if int(n) != number + 1 or key_tx != tx or i != b"2" or of != b"2":
            return None
        if prev.decode() != head:
            return None
        last, last_offset = following
        last_number, head = number + 1, sha256(last).hexdigest()
        key = name.decode(), last_number, last_offset, len(last)
    elif of != b"1":
        return None
    version = assembly.versions.find(address.decode())
    if version is None or version.envelope is None:
        return None
    line_bytes = len(last) + 1
    end = (last_offset + line_bytes, last_number, sequence_number, head, line_bytes)
    assembly.skip(end)
    made = (
        (sequence_number, event_type.decode(), event_id.decode(), recorded_at.decode()),
        (number, offset, len(data)),
        (
            None if object_id is None else object_id.decode(),
            None if relationship_id is None else relationship_id.decode(),
        ),
        version,
        key,
        end,
    )
    # Past its constructor, which is written in Python and takes as long again.
    return tuple.__new__(Commit, made)

"""What of a content a redaction hides, and what is left of it. PAMSPEC §9.6, §10.9."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

MARKER = "[REDACTED]"
"""Stands in the place of a member that was redacted."""

_NOWHERE = object()
# Shorter ones ("yes", "2026") stand in many a text that has nothing to do with the one meant.
_TELLING_CHARS = 6


def mask(content: Any, pointers: Sequence[str]) -> Any:
    """`content` with the marker in the place of every member that a JSON Pointer names.
    Pointers that name nothing change nothing."""
    paths = [_steps(pointer) for pointer in pointers]
    for path in sorted(paths, key=len, reverse=True):
        if _found(content, path) is not _NOWHERE:
            content = _masked(content, path)
    return content


def mask_leaves(content: Any) -> Any:
    """Content with its structure and without its values, for a partial redaction that names
    no members."""
    if isinstance(content, dict):
        return {name: mask_leaves(member) for name, member in content.items()}
    if isinstance(content, list):
        return [mask_leaves(member) for member in content]
    return None if content is None else MARKER


def is_there(content: Any, pointer: str) -> bool:
    """Whether a JSON Pointer names a member of `content`."""
    return _found(content, _steps(pointer)) is not _NOWHERE


def is_shown(content: Any, pointer: str) -> bool:
    """Whether a JSON Pointer names a member of `content` that is not masked."""
    return _found(content, _steps(pointer)) not in (_NOWHERE, MARKER)


def unmask(masked: Any, earlier: Any) -> Any:
    """`masked` with what an earlier content has in the places of its markers.

    Members of objects are known by their names, whatever else was changed meanwhile. Items of
    arrays are known by their places, and only where redactions alone made the later array of
    the earlier one; otherwise its markers stay.
    """
    if masked == MARKER:
        return earlier
    if isinstance(masked, dict) and isinstance(earlier, dict):
        return {
            name: unmask(member, earlier[name]) if name in earlier else member
            for name, member in masked.items()
        }
    return earlier if _is_masked_form(masked, earlier) else masked


def texts_at(content: Any, pointers: Sequence[str]) -> set[str]:
    """The texts, long enough to be told from others, of members that JSON Pointers name."""
    found = (_found(content, _steps(pointer)) for pointer in pointers)
    texts = {text for member in found if member is not _NOWHERE for text in _texts(member)}
    return {text for text in texts if len(text) >= _TELLING_CHARS and text != MARKER}


def holds_text(content: Any, texts: Collection[str]) -> bool:
    """Whether one of these texts stands somewhere in a content."""
    return any(text in held for held in _texts(content) for text in texts)


def _is_masked_form(masked: Any, whole: Any) -> bool:
    """Whether redactions alone can have made `masked` of `whole`."""
    if masked == MARKER:
        return True
    if isinstance(masked, dict) and isinstance(whole, dict):
        return masked.keys() == whole.keys() and all(
            _is_masked_form(member, whole[name]) for name, member in masked.items()
        )
    if isinstance(masked, list) and isinstance(whole, list):
        return len(masked) == len(whole) and all(map(_is_masked_form, masked, whole))
    return type(masked) is type(whole) and bool(masked == whole)


def _texts(content: Any) -> Iterator[str]:
    """Every string in a content, names of members included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        yield from content
        for member in content.values():
            yield from _texts(member)
    elif isinstance(content, list):
        for member in content:
            yield from _texts(member)


def _steps(pointer: str) -> list[str]:
    """The member names and places that a JSON Pointer leads through. RFC 6901."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _found(content: Any, path: Sequence[str]) -> Any:
    for step in path:
        if isinstance(content, dict) and step in content:
            content = content[step]
        elif isinstance(content, list) and _is_place(step) and int(step) < len(content):
            content = content[int(step)]
        else:
            return _NOWHERE
    return content


def _is_place(step: str) -> bool:
    return step.isascii() and step.isdigit() and (step == "0" or step[0] != "0") and len(step) < 10


def _masked(content: Any, path: Sequence[str]) -> Any:
    if not path:
        return MARKER
    step, rest = path[0], path[1:]
    if isinstance(content, list):
        place = int(step)
        return [*content[:place], _masked(content[place], rest), *content[place + 1 :]]
    return {**content, step: _masked(content[step], rest)}

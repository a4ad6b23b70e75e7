"""What a query says of its answer to people: where a text was found, and why each hit is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pamctl.cli.invocation import Invocation
from pamctl.cli.terminal.presentation import Column, Passage


def with_passages(columns: Sequence[Column], answer: Mapping[str, Any]) -> Sequence[Column]:
    """The columns of a table, the last of which shows the passage that a text was found in
    where the answer has one."""
    if not answer.get("snippets"):
        return columns
    *others, content = columns
    passages = {
        item["version_id"]: Passage(snippet["text"], snippet["matches"])
        for item, snippet in zip(answer["items"], answer["snippets"], strict=True)
    }

    def passage(item: Mapping[str, Any]) -> str | Passage:
        found = passages[item["version_id"]]
        return found if found.matches else content.cell(item)

    return [*others, content._replace(cell=passage)]


def tell(call: Invocation, answer: Mapping[str, Any]) -> None:
    """The explanation of an answer, on standard error, where JSON does not hold it."""
    plan = answer.get("plan")
    if plan is None or call.format == "json":
        return
    for name, value in plan.items():
        if value not in ([], {}):
            call.note(f"{name.replace('_', ' ')}: {_said(value)}")
    for place, hit in enumerate(answer["explanation"], start=1):
        facts = [f"{name} {value}" for name, value in hit.items() if name not in _IDENTITY]
        call.note(f"{place}. {hit['object_id']}: {', '.join(facts)}")


_IDENTITY = ("object_id", "version_id")


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(member)}" for name, member in value.items())
    if isinstance(value, list):
        return ", ".join(str(member) for member in value)
    return str(value)

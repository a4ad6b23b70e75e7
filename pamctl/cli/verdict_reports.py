"""Verdicts as other programs want them: JSON, JSON Lines, SARIF 2.1.0 and JUnit XML.

A report goes to a file first and is printed when all records were judged, so that a command
that fails prints nothing, and that many records need no more memory than one. The same
verdicts give the same bytes: no report says when or where it was made.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import IO, Any

import pamctl
from pamctl.cli.terminal import output
from pamctl.encoding.canonical import canonical
from pamctl.projection.explanations import EXPLANATIONS, Explanation

FORMATS = ("json", "jsonl", "sarif", "junit")

SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_IN_MEMORY_BYTES = 8 * 1024 * 1024
_RULES = {reason: index for index, reason in enumerate(EXPLANATIONS)}


class Tally:
    """How many records were judged, and how many refused."""

    def __init__(self) -> None:
        self.records = self.refused = 0

    def count(self, verdict: Mapping[str, Any]) -> None:
        self.records += 1
        self.refused += not verdict["valid"]


def write_report(verdicts: Iterable[Mapping[str, Any]], form: str) -> Tally:
    """Print the report on all verdicts, whole or, where one cannot be had, not at all.

    form: one of FORMATS. Raises what the verdicts raise.
    """
    tally = Tally()
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as body:
        before, after, separator, render = _FORMS[form]
        for verdict in verdicts:
            for piece in render(verdict):
                if body.tell():
                    body.write(separator)
                body.write(piece)
            tally.count(verdict)
        body.seek(0)
        output.write(before(tally))
        _copy(body)
        output.write(after(tally))
    return tally


def _copy(body: IO[bytes]) -> None:
    while chunk := body.read(shutil.COPY_BUFSIZE):  # type: ignore[attr-defined]
        output.write(chunk)


def _lines(verdict: Mapping[str, Any]) -> list[bytes]:
    return [canonical(verdict)]


def _failures(verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The faults that a refusal names, each with its reason; none of a valid record."""
    if verdict["valid"]:
        return []
    details = verdict["details"]
    failures: list[Mapping[str, Any]] = details.get("failures") or [
        {"reason": verdict["reason"], **details}
    ]
    return failures


def _results(verdict: Mapping[str, Any]) -> list[bytes]:
    """What SARIF calls results: a refused record has one for each fault, others have none."""
    from urllib.parse import quote

    return [
        canonical(
            {
                "ruleId": failure["reason"],
                "ruleIndex": _RULES[failure["reason"]],
                "level": "error",
                "message": {"text": _told(failure)},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": quote(verdict["record"], safe="/~")}
                        }
                    }
                ],
                "properties": {"verification_scope": verdict["verification_scope"]},
            }
        )
        for failure in _failures(verdict)
    ]


def _told(failure: Mapping[str, Any]) -> str:
    meaning, remedy = EXPLANATIONS[failure["reason"]]
    return f"{meaning} ({failure['problem']}) {remedy}"


def _rule(reason: str, explanation: Explanation) -> dict[str, Any]:
    return {
        "id": reason,
        "name": "".join(word.capitalize() for word in reason.split("_")),
        "shortDescription": {"text": explanation.meaning},
        "help": {"text": explanation.remedy},
        "defaultConfiguration": {"level": "error"},
    }


def _sarif_before(tally: Tally) -> bytes:
    counts = canonical({"records": tally.records, "refused": tally.refused})
    schema = canonical(SARIF_SCHEMA)
    return b'{"$schema":' + schema + b',"runs":[{"properties":' + counts + b',"results":['


def _sarif_after(_: Tally) -> bytes:
    driver = {
        "name": "pamctl",
        "semanticVersion": pamctl.__version__,
        "rules": [_rule(reason, told) for reason, told in EXPLANATIONS.items()],
    }
    return b'],"tool":' + canonical({"driver": driver}) + b'}],"version":"2.1.0"}\n'


def _junit_case(verdict: Mapping[str, Any]) -> list[bytes]:
    case = (
        f'<testcase classname="verify-projection.{_xml(verdict["verification_scope"])}"'
        f' name="{_xml(verdict["record"])}" time="0"'
    )
    failures = _failures(verdict)
    if not failures:
        return [f"{case}/>".encode()]
    # JUnit knows one failure of a case; the others are in its text.
    text = "\n".join(f"{one['reason']}: {_told(one)}" for one in failures)
    return [
        (
            f'{case}><failure type="{verdict["reason"]}" message="{_xml(failures[0]["problem"])}">'
            f"{_xml(text)}</failure></testcase>"
        ).encode()
    ]


def _junit_before(tally: Tally) -> bytes:
    counts = f'tests="{tally.records}" failures="{tally.refused}" errors="0" skipped="0" time="0"'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="pamctl verify-projection" {counts}>\n'
        f'<testsuite name="verify-projection" {counts}>\n'
    ).encode()


def _junit_after(tally: Tally) -> bytes:
    return (b"\n" if tally.records else b"") + b"</testsuite>\n</testsuites>\n"


def _xml(text: str) -> str:
    """`text` for an attribute or an element. XML cannot carry most control characters in
    any form; they become escapes that show what they were."""
    from xml.sax.saxutils import escape

    shown = "".join(
        character if _is_xml(character) else character.encode("unicode_escape").decode()
        for character in output.printable(text)
    )
    return escape(shown, {'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def _is_xml(character: str) -> bool:
    return character not in "\ufffe\uffff" and not "\ud800" <= character <= "\udfff"


def _nothing(_: Tally) -> bytes:
    return b""


_FORMS: Mapping[str, Any] = {
    "json": (
        lambda _: b'{"items":[',
        lambda _: b'],"next_cursor":null}\n',
        b",",
        _lines,
    ),
    "jsonl": (_nothing, lambda tally: b"\n" if tally.records else b"", b"\n", _lines),
    "sarif": (_sarif_before, _sarif_after, b",", _results),
    "junit": (_junit_before, _junit_after, b"\n", _junit_case),
}
"""What comes before, what behind, what between, and what each verdict becomes."""

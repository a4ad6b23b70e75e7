"""The crash sweep says at the end how many moments of each operation it met."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import pytest

_MOMENTS = "moments"
_KINDS = {
    "test_at_every_call": "killed, or refused by the device",
    "test_at_every_file_that_is_made": "no file to be had",
    "test_whatever_the_device_kept": "power cut",
}


@pytest.fixture
def fixed_sources() -> None:
    """Not here: the processes beside that of the test have the system's clock, and one that is
    behind theirs is a finding."""


@pytest.fixture
def met(record_property: Callable[[str, object], None]) -> Callable[[int], None]:
    """Notes how many moments a test has met."""

    def note(moments: int) -> None:
        record_property(_MOMENTS, moments)

    return note


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """A line for each operation, where all of them were asked for."""
    if not config.getoption("--thorough"):
        return
    found: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_KINDS, 0))
    for report in terminalreporter.stats.get("passed", []):
        test, _, rest = report.nodeid.rpartition("::")[2].partition("[")
        for name, moments in report.user_properties:
            if name == _MOMENTS and report.when == "call":
                scenario = rest.removesuffix("]").removesuffix("-KILL")
                scenario = scenario.removesuffix("-EIO").removesuffix("-ENOSPC")
                found[scenario][test] += moments
    if found:
        _write(terminalreporter, found)


def _write(reporter: pytest.TerminalReporter, found: Mapping[str, Mapping[str, int]]) -> None:
    reporter.section("moments of which all was whole afterwards")
    for scenario, counts in sorted(found.items()):
        said = ", ".join(f"{counts[test]} {kind}" for test, kind in _KINDS.items())
        reporter.write_line(f"{scenario:20} {said}")
    total = sum(sum(counts.values()) for counts in found.values())
    reporter.write_line(f"{len(found)} operations, {total} moments")

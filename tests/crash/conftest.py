"""The short form of the crash tests takes seconds; `--thorough`, as `make crash` has it, takes
every call of every operation."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="every operation at every call (minutes)"
    )


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    # The option is there only where this folder was named on the command line.
    return bool(pytestconfig.getoption("--thorough", default=False))

"""Every document accepts what is right and refuses what is not, naming the member."""

from __future__ import annotations

from typing import Any

import pytest

from pamctl.errors import PamError
from pamctl.model.documents import check, is_valid
from tests.schemas.evaluation_tables import EVALUATION_TABLES
from tests.schemas.exchange_tables import EXCHANGE_TABLES
from tests.schemas.model_tables import MODEL_TABLES
from tests.schemas.published import RESULTS, published_names
from tests.schemas.request_tables import REQUEST_TABLES
from tests.schemas.store_tables import STORE_TABLES
from tests.schemas.tables import Fault, edited

TABLES = {
    **MODEL_TABLES,
    **STORE_TABLES,
    **REQUEST_TABLES,
    **EVALUATION_TABLES,
    **EXCHANGE_TABLES,
}

VALID = [
    pytest.param(name, instance, id=f"{name}-{number}")
    for name, table in TABLES.items()
    for number, instance in enumerate(table.valid)
]
INVALID = [
    pytest.param(name, fault, id=f"{name}-{number}{fault.at or fault.names or ''}"[:80])
    for name, table in TABLES.items()
    for number, fault in enumerate(table.faults)
]


@pytest.mark.parametrize(("name", "instance"), VALID)
def test_what_is_right_is_accepted(name: str, instance: Any) -> None:
    check(name, instance)
    assert is_valid(name, instance)


@pytest.mark.parametrize(("name", "fault"), INVALID)
def test_what_is_wrong_is_refused_by_name(name: str, fault: Fault) -> None:
    table = TABLES[name]
    spoiled = edited(table.valid[0], fault.at, fault.value)
    assert not is_valid(name, spoiled)
    with pytest.raises(PamError) as refused:
        check(name, spoiled)
    pointer = fault.at if fault.names is None else fault.names
    assert refused.value.details["pointer"] == pointer
    assert refused.value.code == (fault.code or table.code)
    assert (pointer or "the ") in refused.value.message


def test_no_schema_goes_without_instances() -> None:
    # `common` is no document: it holds the definitions of the others. What commands print is
    # judged where they print it, by tests/cli/test_result_schemas.py: nobody hands it to us.
    documents = {name for name in published_names() if not name.startswith(RESULTS)}
    assert set(TABLES) == documents - {"common"}
    for name, table in TABLES.items():
        assert table.valid, name
        assert len(table.faults) >= 2, name

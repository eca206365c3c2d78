"""What the tests of this folder share."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mgvae.errors import CodecWarning
from tests.streams.tables import table_of


@pytest.fixture(autouse=True)
def _calm() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        yield


@pytest.fixture(params=["in memory", "in a file"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the encoded rows are."""
    if request.param == "in a file":
        monkeypatch.setattr("mgvae.streams._in_batches._IN_MEMORY", 0)
    return str(request.param)


@pytest.fixture
def stored(tmp_path: Path) -> tuple[pa.Table, Path]:
    """A table and the Parquet file that holds it, in row groups of 70 rows."""
    table, path = table_of(), tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=70)
    return pq.read_table(path), path


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder for temporary files that must be empty in the end."""
    (tmp_path / "room").mkdir()
    return tmp_path / "room"

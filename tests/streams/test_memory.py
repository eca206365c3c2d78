"""Bounded memory, as users take it: the command balances a table in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

_COLUMNS = 64
_COMMAND = ["-t", "class", "--strategy", '{"few": 900}', "--seed", "0", "-q", "--force", "-o"]


def write_table(path: Path, rows: int) -> None:
    """Write a table of numbers with 500 rows of the smaller class, a row group at a time."""
    names = [f"x{i}" for i in range(_COLUMNS)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("class", pa.string())])
    with pq.ParquetWriter(path, schema, use_dictionary=["class"], compression="none") as writer:
        for start in range(0, rows, 10_000):
            numbers = np.random.default_rng(start).normal(size=(10_000, _COLUMNS))
            labels = np.where(np.arange(start, start + 10_000) % (rows // 500) == 0, "few", "many")
            writer.write_table(pa.table([*numbers.T, labels], schema=schema))


def peak(path: Path) -> int:
    """Balance a table by the command; return the most bytes it had resident."""
    command = [sys.executable, "-m", "mgvae", "balance", str(path), *_COMMAND]
    child = subprocess.Popen([*command, str(path.with_name("out.parquet"))])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return 1024 * usage.ru_maxrss


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not tell a child's memory")
def test_the_memory_of_a_large_table_is_that_of_a_small_one(tmp_path: Path) -> None:
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    write_table(small, 100_000)
    write_table(large, 800_000)
    assert large.stat().st_size > 400e6
    encoded = 4 * _COLUMNS * 800_000  # bytes: what training would have in memory if it kept all
    assert peak(large) - peak(small) < encoded / 2

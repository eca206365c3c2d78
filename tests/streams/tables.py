"""A table to balance."""

from itertools import pairwise

import numpy as np
import pyarrow as pa

FAST = {"pretrain_steps": 3, "finetune_steps": 3, "random_state": 0}


def table_of(n: int = 300, seed: int = 0) -> pa.Table:
    """A table of several kinds of columns, the target in the middle."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "key": pa.array([f"K{i:04d}" for i in range(n)]),
            "number": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "count": pa.array(rng.poisson(3, n), pa.int16()),
            "class": pa.array(np.where(rng.random(n) < 0.1, "few", "many")),
            "level": pa.array(rng.choice([f"l{i}" for i in range(150)], n)),
            "group": pa.array(rng.choice(["a", "b"], n)).dictionary_encode(),
            "day": pa.array(rng.integers(0, 9999, n), pa.int32()).cast(pa.date32()),
        },
        metadata={"who": "me"},
    )


def cut(table: pa.Table, places: list[int]) -> list[pa.RecordBatch]:
    """Cut a table into batches at some places."""
    edges = [0, *sorted(p % (len(table) + 1) for p in places), len(table)]
    parts = [table.slice(a, b - a) for a, b in pairwise(edges)]
    return [part.combine_chunks().to_batches()[0] for part in parts if len(part)]

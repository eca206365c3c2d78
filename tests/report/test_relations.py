"""Relations between columns in the report: found in the real rows, counted among the new ones."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mgvae import MGVAE
from mgvae.errors import ParameterError
from mgvae.report import quality


def table(n: int, label: str, seed: int) -> pd.DataFrame:
    """Rows in which ``grade`` and ``number`` determine each other, and ``low`` < ``high``."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 5, n)
    low = rng.normal(size=n)
    return pd.DataFrame(
        {
            "number": number,
            "grade": np.array(list("abcde"))[number],
            "low": low,
            "high": low + rng.exponential(size=n),
            "y": label,
        }
    )


@pytest.fixture(scope="module")
def real() -> pd.DataFrame:
    return pd.concat([table(400, "no", 0), table(100, "yes", 1)], ignore_index=True)


def test_rows_that_break_a_relation_are_counted(real: pd.DataFrame) -> None:
    new = table(100, "yes", 2)
    (one,) = quality(real, new, target="y").classes
    assert one["relations"].value == 0
    assert one["relations"].verdict == "good"
    assert {relation.text for relation in one.relations} == {
        "number <-> grade: 5 combinations", "low < high"
    }  # fmt: skip
    broken = new.copy()
    broken.loc[:29, "grade"] = [{"a": "b"}.get(grade, "a") for grade in new["grade"][:30]]
    broken.loc[20:59, "high"] = broken.loc[20:59, "low"] - 1
    (one,) = quality(real, broken, target="y").classes
    counts = {relation.text: relation.n_broken for relation in one.relations}
    assert counts == {"number <-> grade: 5 combinations": 30, "low < high": 40}
    assert one["relations"].value == pytest.approx(0.6)
    assert one["relations"].verdict == "bad"
    assert one.answers[0].verdict == "bad"
    assert "60 of 100 new rows break one of the 2 relations" in one["relations"].reading


def test_rows_of_any_sampler_are_judged_by_them(real: pd.DataFrame) -> None:
    """Ours keep them unless they are told not to, and the advice is to let them."""
    given = {"pretrain_steps": 30, "finetune_steps": 30, "random_state": 0}
    verdicts = []
    for constraints in (None, "auto"):
        sampler = MGVAE(**given, constraints=constraints)
        (one,) = quality(real, None, target="y", sampler=sampler).classes
        verdicts.append(one["relations"].verdict)
        advice = {a.setting: a.value for answer in one.answers for a in answer.advice}
        assert (advice.get("constraints") == "auto") == (constraints is None)
    assert verdicts == ["bad", "good"]


def test_the_page_lists_them(real: pd.DataFrame) -> None:
    report = quality(real, table(50, "yes", 3), target="y")
    page = report.to_html()
    assert "number &lt;-&gt; grade: 5 combinations" in page
    assert "0 of 50" in page
    lonely = real[["low", "y"]].assign(other=np.random.default_rng(0).normal(size=len(real)))
    page = quality(lonely, lonely[lonely["y"] == "yes"], target="y").to_html()
    assert "No relation between columns was found" in page


def test_relations_that_were_asked_for_are_listed(real: pd.DataFrame) -> None:
    sampler = MGVAE(
        constraints=["only", "number <= high"], pretrain_steps=2, finetune_steps=2, random_state=0
    )
    with pytest.warns(match="rows of the data do not keep"):
        report = quality(real, None, target="y", sampler=sampler)
    (asked,) = [one for one in report.classes[0].relations if one.declared]
    assert asked.text == "number <= high"
    assert asked.n_broken == 0
    assert "asked for" in report.to_html()


def few(rows: pd.DataFrame) -> pd.Series:
    """At most two of the number."""
    return rows["number"] <= 2


@pytest.mark.parametrize(
    "container", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"]
)
def test_functions_that_were_asked_for_are_counted(
    real: pd.DataFrame, container: Callable[[pd.DataFrame], Any]
) -> None:
    new = table(100, "yes", 2)
    above = functools.partial(lambda least, rows: rows["low"] > least, -1.0)
    sampler = MGVAE(constraints=["low < high", few, above])
    given = {"target": "y", "sampler": sampler, "held_out": 0}
    (one,) = quality(container(real), container(new), **given).classes
    counts = {relation.text: relation.n_broken for relation in one.relations if relation.declared}
    line = above.func.__code__.co_firstlineno
    assert counts == {
        "low < high": 0,
        "few: At most two of the number.": int((new["number"] > 2).sum()),
        f"lambda of line {line}": int((new["low"] <= -1).sum()),
    }
    either = (new["number"] > 2) | (new["low"] <= -1)
    assert one["relations"].value == pytest.approx(either.mean())
    usual = (real["number"] > 2) | (real["low"] <= -1)
    assert one["relations"].reference == pytest.approx(usual.mean())
    assert "every real row keeps" not in one["relations"].reading


def test_rows_of_a_sampler_keep_functions_and_the_page_lists_them(real: pd.DataFrame) -> None:
    sampler = MGVAE(constraints=[few], pretrain_steps=2, finetune_steps=2, random_state=0)
    X, y = sampler.fit_resample(real.drop(columns="y"), real["y"])
    new = X[len(real) :].assign(y=y[len(real) :])
    report = quality(real, new, target="y", sampler=sampler)
    (asked,) = [one for one in report.classes[0].relations if one.declared]
    assert (asked.text, asked.n_broken) == ("few: At most two of the number.", 0)
    page = report.to_html()
    assert "few: At most two of the number." in page
    assert "asked for" in page


def test_a_function_that_does_not_answer_for_each_row(real: pd.DataFrame) -> None:
    sampler = MGVAE(constraints=[lambda rows: True])  # noqa: ARG005
    with pytest.raises(ParameterError, match="constraints: the function lambda of line"):
        quality(real, table(10, "yes", 2), target="y", sampler=sampler, held_out=0)

"""Relations between columns in the report: found in the real rows, counted among the new ones."""

import numpy as np
import pandas as pd
import pytest

from mgvae import MGVAE
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

"""What the quality report says of MGVAE's and of SMOTE's rows, on real tables.

    python benchmarks/report_verdicts.py adult bank-full wine_quality yeast1 --sampler MGVAE SMOTE

Half of the minority is held out; see docs/report.md. Data are looked for below ``$MGVAE_DATA``.
"""

import argparse
import os
import warnings
from pathlib import Path

import pandas as pd
from imblearn.over_sampling import SMOTE, SMOTENC
from sklearn.base import BaseEstimator

from mgvae import MGVAE
from mgvae.report import quality

_ADULT = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours", "country", "target",
]  # fmt: skip
FIGURES = ("learned", "discriminator", "nearer", "closest", "coverage", "association", "columns")


class MixedSMOTE(BaseEstimator):
    """SMOTE, or SMOTENC where there are categories; missing cells are filled in first."""

    def __init__(self, sampling_strategy="auto", random_state=None):
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

    def fit_resample(self, X, y):
        """Return the rows, filled in, and new ones below."""
        X = X.copy()
        texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        for name in X:
            X[name] = X[name].fillna("missing" if name in texts else X[name].median())
        given = {"sampling_strategy": self.sampling_strategy, "random_state": self.random_state}
        smote = SMOTENC(texts, **given) if texts else SMOTE(**given)
        return smote.fit_resample(X, y)


def load(name: str) -> pd.DataFrame:
    """Read a table; its class is the column ``target``."""
    folder = Path(os.environ["MGVAE_DATA"])
    if name == "adult":
        return pd.read_csv(
            folder / "mixed/adult.data.gz", names=_ADULT, na_values="?", skipinitialspace=True
        )
    if name == "bank-full":
        return pd.read_csv(folder / "mixed/bank-full.csv.gz", sep=";").rename(
            columns={"y": "target"}
        )
    (path,) = [*folder.glob(f"tabular/{name}.csv.gz"), *folder.glob(f"keel/{name}.csv.gz")]
    return pd.read_csv(path)


def main() -> None:
    """Print a line for each table and sampler."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--sampler", nargs="+", default=["MGVAE", "SMOTE"])
    parser.add_argument("--set", nargs="*", default=[], help="parameters of MGVAE: name=value")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    changes = {}
    for text in given.set:
        name, _, value = text.partition("=")
        changes[name] = value if value.isalpha() else float(value)
    for name in given.tables:
        table = load(name)
        for which in given.sampler:
            sampler = MGVAE(random_state=0, **changes) if which == "MGVAE" else MixedSMOTE()
            one = quality(table, None, target="target", sampler=sampler).classes[0]
            figures = {
                f.name: f"{f.value:.2f}"
                + (f" [{f.interval[0]:.2f}, {f.interval[1]:.2f}]" if f.interval else "")
                for f in one.figures
                if f.name in FIGURES and f.value is not None
            }
            answers = {answer.question: answer.verdict for answer in one.answers}
            print(name, which, changes, one.n_learned, one.n_held_out, answers, figures, flush=True)


if __name__ == "__main__":
    main()

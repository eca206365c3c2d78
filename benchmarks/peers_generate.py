"""Make new minority rows with one peer: train.csv in, synthetic.csv and cost.json out.

Run by ``peers.py``, as ``python peers_generate.py FOLDER``, with the Python of the peer's own
environment. ``FOLDER/job.json`` names the peer, the number of rows wanted, the columns of text, and
the limit in processor seconds, at which the process ends by the signal SIGPROF. ``train.csv`` has
the class in its last column, 1 for the minority. Only pandas and the peer itself are imported.

How each peer is used (settings not named are its defaults):

* CTGAN learns from all rows with the class as a discrete column, and draws under the condition that
  it is the minority. The condition only makes the class likely: other rows are thrown away.
* TVAE knows no condition, and learns from the minority alone.
* ARF knows no condition either, and learns from the minority alone. A leaf holds at least five
  rows, or a quarter of the minority if that is fewer.
* ForestDiffusion trains separate models for each class anyway: it gets the minority alone. Its
  settings are reduced to 20 noise levels (of 50) and 10 noises for each row (of 100).
* TabularARGN learns from all rows with the class as a column, and draws given the minority's class.
* SMOTE is SMOTENC where there are columns of text.

Missing categories become a category, except for MGVAE, which takes them as they are.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import pandas as pd

LABEL = "class of the row"


def mgvae(train, wanted, text):  # noqa: ARG001 (finds the columns of text itself)
    """Use MGVAE with its defaults."""
    from mgvae import MGVAE

    X = train.drop(columns=LABEL)
    sampler = MGVAE(random_state=0)
    return lambda: sampler.fit_resample(X, train[LABEL])[0][len(X) :]


def smote(train, wanted, text):  # noqa: ARG001 (makes as many as are wanted itself)
    """Use SMOTE, or SMOTENC where there are columns of text."""
    from imblearn.over_sampling import SMOTE, SMOTENC

    X = train.drop(columns=LABEL)
    neighbours = min(5, int(train[LABEL].sum()) - 1)
    options = {"k_neighbors": neighbours, "random_state": 0}
    sampler = SMOTENC(text, **options) if text else SMOTE(**options)
    return lambda: sampler.fit_resample(X, train[LABEL])[0][len(X) :]


def ctgan(train, wanted, text):
    """Use CTGAN under the condition of the minority's class."""
    from ctgan import CTGAN

    model = CTGAN(enable_gpu=False)
    model.set_random_state(0)

    def work():
        model.fit(train.astype({LABEL: str}), [*text, LABEL])
        parts = []
        while sum(map(len, parts)) < wanted:
            drawn = model.sample(wanted, LABEL, "1")
            parts.append(drawn[drawn[LABEL] == "1"].drop(columns=LABEL))
        return pd.concat(parts)[:wanted]

    return work


def tvae(train, wanted, text):
    """Use TVAE on the minority."""
    from ctgan import TVAE

    model = TVAE(enable_gpu=False)
    model.set_random_state(0)

    def work():
        model.fit(minority(train), text)
        return model.sample(wanted)

    return work


def arf(train, wanted, text):
    """Use adversarial random forests on the minority."""
    import numpy as np
    from arfpy import arf as forests

    rows = minority(train).astype(dict.fromkeys(text, object))
    least = max(1, min(5, len(rows) // 4))

    def work():
        np.random.seed(0)  # noqa: NPY002 (the peer draws from the global generator)
        model = forests.arf(rows, verbose=False, min_node_size=least, random_state=0, n_jobs=1)
        model.forde()
        return model.forge(wanted)

    return work


def forest_diffusion(train, wanted, text):
    """Use ForestDiffusion on the minority."""
    from ForestDiffusion import ForestDiffusionModel

    rows = minority(train)
    levels = {name: pd.Categorical(rows[name]) for name in text}
    coded = rows.assign(**{name: found.codes for name, found in levels.items()})
    places = {name: rows.columns.get_loc(name) for name in text}
    two = [place for name, place in places.items() if len(levels[name].categories) <= 2]
    more = [place for place in places.values() if place not in two]
    whole = [
        place for place, name in enumerate(rows) if name not in text and (rows[name] % 1 == 0).all()
    ]

    def work():
        model = ForestDiffusionModel(
            coded.to_numpy(float),
            n_t=20,
            duplicate_K=10,
            bin_indexes=two,
            cat_indexes=more,
            int_indexes=whole,
            n_jobs=1,
            seed=0,
        )
        new = pd.DataFrame(model.generate(batch_size=wanted), columns=rows.columns)
        for name, found in levels.items():
            codes = new[name].round().clip(0, len(found.categories) - 1).astype(int)
            new[name] = found.categories.to_numpy()[codes]
        return new

    return work


def tabular_argn(train, wanted, text):  # noqa: ARG001 (finds the columns of text itself)
    """Use TabularARGN, given the minority's class."""
    from mostlyai.engine import TabularARGN

    rows = train.assign(**{LABEL: train[LABEL].map({0: "no", 1: "yes"})})
    given = pd.DataFrame({LABEL: ["yes"] * wanted})

    def work():
        with tempfile.TemporaryDirectory() as folder:
            model = TabularARGN(workspace_dir=folder, device="cpu", random_state=0)
            model.fit(rows)
            return model.sample(seed_data=given, device="cpu").drop(columns=LABEL)

    return work


PEERS = {
    "MGVAE": mgvae,
    "SMOTE": smote,
    "CTGAN": ctgan,
    "TVAE": tvae,
    "ARF": arf,
    "ForestDiffusion": forest_diffusion,
    "TabularARGN": tabular_argn,
}


def minority(train):
    """Return the minority's rows without their class."""
    return train[train[LABEL] == 1].drop(columns=LABEL).reset_index(drop=True)


def read_rows(path, text):
    """Read rows as they were written; only empty cells are missing."""
    return pd.read_csv(
        path,
        dtype=dict.fromkeys(text, object),
        keep_default_na=False,
        na_values=[""],
        float_precision="round_trip",
    )


def spent():
    """Return the processor seconds of this process and of those it started and ended."""
    return sum(os.times()[:4])


def peak_mb():
    """Return the peak of this process's memory, that of its parent at the start left out."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)


def main():
    """Do the job in a folder."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    text = job["text"]
    train = read_rows(folder / "train.csv", text)
    if job["peer"] != "MGVAE":
        train[text] = train[text].fillna("missing")
    work = PEERS[job["peer"]](train, job["wanted"], text)
    signal.setitimer(signal.ITIMER_PROF, job["limit"])
    started = spent()
    new = work()
    seconds = spent() - started
    signal.setitimer(signal.ITIMER_PROF, 0)
    cost = {"seconds": round(seconds, 2), "peak_mb": peak_mb()}
    new.to_csv(folder / "synthetic.csv", index=False)
    (folder / "cost.json").write_text(json.dumps(cost))


if __name__ == "__main__":
    main()

"""What fitting and generating cost against rows, columns, classes and exemplars; and a plan.

Run ``python benchmarks/scaling.py`` to measure what is not in ``benchmarks/results/scaling.json``
yet, draw ``docs/figures/scaling.png`` and print a plan for 10^9 rows. Each point is a process of
its own, with one thread. Seconds are the processor's, so that other work on the machine does not
count; memory is what the peak of the process grew by. The tables are numbers, 20,000 rows x 20
columns with 1,000 rows of each minority class unless a curve varies one of these.

``python benchmarks/scaling.py plan [--rows 1e9] [--minority 1e7] [--cores 32] [--price 0.05]
[--disk 200]`` prints the plan alone, for one's own number of rows, cores, price of a core for an
hour, and MB/s of a disk.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scaling.json"
FIGURE = HERE.parent / "docs" / "figures" / "scaling.png"
GENERATED = 200_000
USUAL = {"rows": 20_000, "columns": 20, "classes": 2, "minority": 1_000, "exemplars": 128}
CURVES = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
    "columns": (5, 20, 80, 320),
    "classes": (2, 3, 5, 9),
    "minority": (100, 1_000, 10_000, 100_000),
    "exemplars": (32, 128, 512, 2_048),
}


def data(rows, columns, classes, minority):
    """Return correlated numbers, and classes of which the first has all rows that are left."""
    rng = np.random.default_rng(0)
    y = np.zeros(rows, np.int64)
    y[: (classes - 1) * minority] = np.repeat(np.arange(1, classes), minority)
    X = rng.standard_normal((rows, columns), np.float32)
    X[:, 1:] += X[:, :-1]
    X += y[:, None]
    return X, y


def peak_mb():
    """Return the peak of this process's memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(point):
    """Work out one point, in this process."""
    import pyarrow as pa
    from pyarrow import parquet

    from mgvae import MGVAE
    from mgvae.codec import TableCodec, read_table

    MGVAE(pretrain_steps=1, finetune_steps=1).fit_resample(*data(300, 2, 2, 30))  # load everything
    minority, classes = point["minority"], point["classes"]
    rows = max(point["rows"], 2 * classes * minority)
    X, y = data(rows, point["columns"], classes, minority)
    found, base = {}, peak_mb()

    def lap(name, work):
        started = time.process_time()
        out = work()
        found[name] = round(time.process_time() - started, 3)
        return out

    sampler = MGVAE(n_exemplars=point["exemplars"], random_state=0, n_threads=1)
    lap("fit", lambda: sampler.fit(X, y))
    found["fit_mb"] = round(peak_mb() - base)
    lap("generate", lambda: sampler.generate(GENERATED, 1, random_state=0))
    found["generate_mb"] = round(peak_mb() - base)
    found["table_mb"] = round(X.nbytes / 2**20)
    table = read_table(X)
    codec = lap("statistics", lambda: TableCodec().fit(table))
    lap("encode", lambda: codec.encode(table))
    if point == USUAL:
        new = sampler.generate(GENERATED, 1, random_state=0)
        named = pa.table({f"c{i}": column for i, column in enumerate(new.T)})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new.parquet"
            lap("write", lambda: parquet.write_table(named, path, use_dictionary=False))
            found["bytes_per_row"] = round(path.stat().st_size / GENERATED, 1)
    return found


def collect():
    """Measure the points that are missing, each in its own process, and give all."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for curve, values in CURVES.items():
        for value in values:
            point = {**USUAL, curve: value}
            key = json.dumps(point)
            if key in found:
                continue
            command = [sys.executable, __file__, "one", key]
            done = subprocess.run(
                command, env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            found[key] = json.loads(done.stdout.splitlines()[-1])
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
            print(curve, value, found[key], flush=True)
    return found


def curve_of(found, curve):
    """Return the values of a curve that are measured, and the points at them."""
    keys = {value: json.dumps({**USUAL, curve: value}) for value in CURVES[curve]}
    values = [value for value, key in keys.items() if key in found]
    return values, [found[keys[value]] for value in values]


def draw(found):
    """Draw seconds above memory, a column for each curve."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["font.size"] = 8
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(CURVES), figsize=(12, 4.6), sharex="col", sharey="row")
    titles = {"minority": "rows of the minority", "exemplars": "n_exemplars"}
    for (upper, lower), curve in zip(axes.T, CURVES, strict=True):
        values, points = curve_of(found, curve)
        reading = [p["statistics"] + p["encode"] for p in points]
        upper.plot(values, [p["fit"] for p in points], "o-", label="fit")
        upper.plot(values, reading, "^:", label="of it, reading the columns")
        made = [p["generate"] * 1e6 / GENERATED for p in points]
        upper.plot(values, made, "s--", label="generate a million rows")
        lower.plot(values, [p["fit_mb"] for p in points], "o-", label="fit")
        lower.plot(values, [p["table_mb"] for p in points], "k:", label="the table itself")
        lower.set(xlabel=titles.get(curve, curve), xscale="log", yscale="log", ylim=(1, None))
        lower.set_xticks(values, [f"{value:,}" for value in values], rotation=40)
        lower.minorticks_off()
        upper.set(yscale="log")
        for axis in (upper, lower):
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("processor seconds")
    axes[1, 0].set_ylabel("MB more than before")
    axes[0, 2].legend(frameon=False, fontsize=7, loc=(0.1, 0.3))
    axes[1, 2].legend(frameon=False, fontsize=7)
    figure.tight_layout()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, metadata={"Software": None})


def plan(found, rows, minority, cores, price, disk):
    """Return a plan from the measured rates, as a Markdown table."""
    values, points = curve_of(found, "rows")
    per_row = {
        name: (points[-1][name] - points[0][name]) / (values[-1] - values[0])
        for name in ("statistics", "encode")
    }
    usual = found[json.dumps(USUAL)]
    train = points[0]["fit"]
    large = curve_of(found, "minority")[1][-1]["generate"] / GENERATED
    write = usual["write"] / GENERATED
    wanted = rows - 2 * minority
    stages = [
        ("read: statistics of the columns", per_row["statistics"] * rows, 1),
        ("read: encode the rows", per_row["encode"] * rows, 1),
        ("train", train, 1),
        (f"make {wanted:.2g} rows", large * wanted, cores),
        ("write them as Parquet", write * wanted, cores),
    ]
    lines = ["| stage | core-hours | cores | minutes | cost |", "|---|---|---|---|---|"]
    for name, seconds, n in [*stages, ("all", sum(s for _, s, _ in stages), 0)]:
        hours = seconds / 3600
        wall = seconds / n if n else sum(s / m for _, s, m in stages)
        lines.append(
            f"| {name} | {hours:.2f} | {n or ''} | {wall / 60:.1f} | {hours * price:.3f} |"
        )
    encoded, table, new = (
        n * b / 1e9
        for n, b in (
            (rows, 4 * USUAL["columns"]),
            (rows, usual["bytes_per_row"]),
            (wanted, usual["bytes_per_row"]),
        )
    )
    moved = 3 * table + encoded + table + new
    lines += [
        "",
        f"{rows:.3g} rows of {USUAL['columns']} numbers, {minority:.3g} of them of the minority; a "
        f"core costs {price} for an hour. Disk: the table is {table:.0f} GB and is read three "
        f"times, its encoded rows are {encoded:.0f} GB, the result is {table + new:.0f} GB: "
        f"{moved:.0f} GB in all, {moved * 1000 / disk / 60:.0f} minutes at {disk:g} MB/s.",
    ]
    return "\n".join(lines)


def main():
    """Measure, draw and plan."""
    parser = argparse.ArgumentParser(description="What fitting and generating cost.")
    parser.add_argument("what", nargs="?", choices=["all", "plan", "one"], default="all")
    parser.add_argument("point", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--minority", type=float, default=1e7)
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--price", type=float, default=0.05, help="of a core for an hour")
    parser.add_argument("--disk", type=float, default=200.0, help="MB/s of one machine")
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(measure(json.loads(options.point))))
        return
    found = json.loads(RESULTS.read_text()) if options.what == "plan" else collect()
    if options.what == "all":
        draw(found)
    print(plan(found, *(vars(options)[o] for o in ("rows", "minority", "cores", "price", "disk"))))


if __name__ == "__main__":
    main()

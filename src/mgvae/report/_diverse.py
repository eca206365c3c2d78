"""Figures that tell whether new rows show the whole class."""

import numpy as np

from mgvae.report._data import Rows, sample
from mgvae.report._figures import Figure, judge, unknown
from mgvae.report._intervals import wilson
from mgvae.report._neighbours import K, coverage_density, spread
from mgvae.report._parts import Parts

__all__ = ["distinct_rows", "region_figures", "spread_of_rows"]


def region_figures(real: Rows, new: Rows, parts: Parts, rng: np.random.Generator) -> list[Figure]:
    """Judge whether new rows lie where real ones do: coverage, and density, which is faithful."""
    if len(real) < K + 1:
        why = f"It takes {K + 1} real and new rows to see neighbourhoods."
        return [
            unknown("coverage", "diverse", "Coverage", why),
            unknown("density", "faithful", "Density", why),
        ]
    coverage, density = coverage_density(real.encoded, new.encoded)
    usual, usual_density, who = 1.0, 1.0, "real rows"
    if parts.held_out is not None:
        who = "unseen real rows"
        n = min(len(parts.learned), len(real))
        others = parts.learned.encoded[sample(np.arange(len(parts.learned)), n, rng)]
        usual, usual_density = coverage_density(real.encoded, others)
    interval = wilson(coverage, len(real))
    return [
        Figure(
            "coverage", "diverse", "Coverage", coverage, usual,
            judge(coverage, 0.8 * usual, 0.5 * usual, interval),
            f"good from {0.8 * usual:.0%}, caution from {0.5 * usual:.0%}, which are 80% and 50% "
            "of what other real rows cover",
            f"{coverage:.0%} of the {who} have a new row in their neighbourhood, when as many new "
            "rows as real ones are taken.",
            interval, "other real rows", as_share=True,
        ),
        Figure(
            "density", "faithful", "Density", density, usual_density,
            judge(density, 0.6 * usual_density, 0.3 * usual_density),
            f"good from {0.6 * usual_density:.2f}, caution from {0.3 * usual_density:.2f}, which "
            "are 60% and 30% of what other real rows have",
            f"On average a new row lies in the neighbourhoods of {K * density:.1f} {who}, another "
            f"real row in those of {K * usual_density:.1f}."
            f"{' New rows keep to the crowded middle.' if density > 1.5 else ''}",
            reference_name="other real rows",
        ),
    ]  # fmt: skip


def distinct_rows(real: Rows, new: Rows) -> Figure:
    """Judge how many new rows differ from each other."""
    n_real, n_new = len(np.unique(real.keys)), len(np.unique(new.keys))
    usual, value = n_real / len(real), n_new / len(new)
    return Figure(
        "distinct", "diverse", "Distinct rows", value, usual, judge(value / usual, 0.9, 0.6),
        f"good from 90%, caution from 60% of the share among real rows, which is {usual:.0%}",
        f"Among {len(new):,} new rows there are {n_new:,} different ones; among {len(real):,} real "
        f"rows there are {n_real:,}.",
        as_share=True,
    )  # fmt: skip


def spread_of_rows(parts: Parts) -> Figure:
    """Judge how widely new rows are spread."""
    usual = spread(parts.unseen.encoded)
    if usual == 0:
        return unknown("spread", "diverse", "Spread", "The real rows of the class are all alike.")
    value = spread(parts.new.encoded) / usual
    verdict = judge(value, 0.7, 0.4)
    word = {"good": "", "caution": " They are rather alike.", "bad": " The model has collapsed."}
    return Figure(
        "spread", "diverse", "Spread", value, 1.0, verdict,
        "good from 0.70, caution from 0.40; below that the model has collapsed",
        f"New rows are spread {value:.2f} times as widely as real ones.{word[verdict]}",
    )  # fmt: skip

"""Measure what ten members cost beside ten fits of the classifier and one of the sampler.

Usage: python benchmarks/balanced_time.py [ROWS]

Prints the processor time of ``BalancedClassifier(LGBMClassifier())`` beside that of its parts, and
the seconds with one and with two processes. The unit is a fit on the balanced rows, which is what
one draw at full balance costs.
"""

import sys
import time
from collections.abc import Callable

from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification

from mgvae import MGVAE, BalancedClassifier


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor's seconds of this process, and those of the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - clock


def main() -> None:
    """Measure and print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    X, y = make_classification(
        n, 20, n_informative=8, weights=[0.95], class_sep=0.8, random_state=0
    )
    tree = LGBMClassifier(n_estimators=300, n_jobs=1, verbose=-1)
    sampler = MGVAE(random_state=0)
    for_sampler, _ = spent(lambda: sampler.fit(X, y))
    balanced = sampler.fit_resample(X, y)
    for_one, _ = spent(lambda: tree.fit(*balanced))
    one = BalancedClassifier(tree, random_state=0)
    whole, alone = spent(lambda: one.fit(X, y))
    bound = for_sampler + 10 * for_one
    print(f"{n} rows; processor seconds: sampler {for_sampler:.1f}, one balanced fit {for_one:.2f}")
    print(f"one sampler and ten fits {bound:.1f}; BalancedClassifier {whole:.1f}: ", end="")
    print(f"{whole / bound:.2f} of the bound")
    many = BalancedClassifier(tree, n_jobs=2, random_state=0)
    many.fit(X[:500], y[:500])  # processes are started
    _, together = spent(lambda: many.fit(X, y))
    members = alone - for_sampler
    print(f"on the clock: {alone:.1f} s with one process, {together:.1f} s with two; ", end="")
    print(f"the members alone {members:.1f} and about {together - for_sampler:.1f} s")
    same = bool((one.predict_proba(X[:500]) == many.predict_proba(X[:500])).all())
    print("the same probabilities:", same)


if __name__ == "__main__":
    main()

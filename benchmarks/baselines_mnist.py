"""Do CGAN (as a DCGAN) and CVAE heed the class? MNIST-100: 60 images of each digit 5 to 9.

A judge, trained on the whole of MNIST, says of every generated minority image whether it is one of
the digits 5 to 9. Run with the folder of the data in ``MGVAE_DATA``::

    python benchmarks/baselines_mnist.py DCGAN OCVAE
"""

import sys
import time

import numpy as np

from mgvae import CGAN, CVAE
from mgvae.classifiers import TorchClassifier
from mgvae_paper.data import split

_SAMPLERS = {
    "DCGAN": lambda: CGAN(network="dcgan", random_state=0),
    "DCGAN as published": lambda: CGAN(network="dcgan", recipe="paper", random_state=0),
    "OCGAN": lambda: CGAN(random_state=0),
    "OCVAE": lambda: CVAE(random_state=0),
    "OCVAE as published": lambda: CVAE(balanced=False, random_state=0),
}
_JUDGED = 1_000


def main(names: list[str]) -> None:
    """Print the share that the judge recognises, by sampler."""
    whole = split("mnist-full", "paper", 0)
    judge = TorchClassifier(epochs=3, random_state=0).fit(whole.X_train, whole.y_train)
    print(f"judge: {np.mean(judge.predict(whole.X_test) == whole.y_test):.1%} of the test digits")
    parts = split("mnist-100", "paper", 0)
    for name in names:
        started, used = time.perf_counter(), time.process_time()
        sampler = _SAMPLERS[name]().fit(parts.X_train, parts.y_train)
        seconds, used = time.perf_counter() - started, time.process_time() - used
        made = sampler.generate(_JUDGED, 1)
        share = np.mean(judge.predict(made) == 1)
        print(f"{name}: {share:.1%} judged 5 to 9, {seconds:.0f} s ({used:.0f} s of processor)")


if __name__ == "__main__":
    main(sys.argv[1:] or list(_SAMPLERS))

"""What every example of the gallery starts from."""

import os
import tempfile

import matplotlib.pyplot as plt


def no_arguments(_gallery, _variables):
    """Give an example no command-line arguments."""
    return []


def reset(_gallery, _name):
    """Work in an empty folder, with one look for all figures."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    plt.rcParams.update(
        {
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 11,
        }
    )
    os.chdir(tempfile.mkdtemp(prefix="mgvae-gallery-"))

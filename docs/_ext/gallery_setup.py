"""What every example of the gallery starts from."""

import matplotlib.pyplot as plt


def reset(_gallery, _name):
    """Give all figures one look."""
    plt.rcParams.update(
        {
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 11,
        }
    )

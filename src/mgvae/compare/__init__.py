"""Does over-sampling help on my data? Cross-validated, beside what costs nothing."""

from mgvae.compare._advice import Recommendation
from mgvae.compare._comparison import Comparison, Difference, compare

__all__ = ["Comparison", "Difference", "Recommendation", "compare"]

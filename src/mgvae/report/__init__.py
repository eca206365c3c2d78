"""The quality of synthetic rows: verdicts, figures, JSON, and one self-contained page."""

from mgvae.report._advice import Advice
from mgvae.report._columns import ColumnQuality
from mgvae.report._figures import Figure
from mgvae.report._quality import quality
from mgvae.report._report import ClassQuality, KeptRelation, QualityReport, side_by_side
from mgvae.report._verdicts import Answer

__all__ = [
    "Advice",
    "Answer",
    "ClassQuality",
    "ColumnQuality",
    "Figure",
    "KeptRelation",
    "QualityReport",
    "quality",
    "side_by_side",
]

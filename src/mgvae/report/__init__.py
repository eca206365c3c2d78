"""The quality of synthetic rows: as figures, as JSON and as one self-contained page."""

from mgvae.report._columns import ColumnQuality
from mgvae.report._figures import Figure
from mgvae.report._quality import ClassQuality, QualityReport, quality

__all__ = ["ClassQuality", "ColumnQuality", "Figure", "QualityReport", "quality"]

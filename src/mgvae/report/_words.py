"""What a report calls the samples: its sentences speak of rows, or of images where it judges these.

Only the report's own words change. The names of classes are the user's: one may be "row house".
"""

import re
from typing import Literal

__all__ = ["Things", "in_words_of"]

Things = Literal["rows", "images"]

_ROW = re.compile(r"\b(?:(a) )?(r|R)ow(s?)\b")


def in_words_of(things: Things, text: str) -> str:
    """Return a sentence on rows as one on images, if these are judged.

    Examples
    --------
    >>> in_words_of("images", "Rows that lie closer to a row than to other rows")
    'Images that lie closer to an image than to other images'
    """
    return text if things == "rows" else _ROW.sub(_image, text)


def _image(found: re.Match[str]) -> str:
    article, first, plural = found.groups()
    return f"{'an ' if article else ''}{'I' if first == 'R' else 'i'}mage{plural}"

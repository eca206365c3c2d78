"""Tables that do not fit in memory.

Nothing here holds a whole table. One pass over its batches finds what the columns are and which
class each row has; a second writes the encoded rows to a file, from which training takes a few
hundred at a time; a third copies the rows to the output, and new ones follow part by part.
"""

from mgvae.streams._balance import balance_dataset

__all__ = ["balance_dataset"]

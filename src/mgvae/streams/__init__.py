"""Tables that need not fit in memory.

The rows are read batch by batch, several times: to look at them, to encode them, and to write them
with the new ones below. What is encoded goes to a file if it is large.
"""

from mgvae.streams._balance import balance_dataset
from mgvae.streams._in_batches import InBatches, anchor_mark, check_output_room
from mgvae.streams._labels import LabelReader

__all__ = ["InBatches", "LabelReader", "anchor_mark", "balance_dataset", "check_output_room"]

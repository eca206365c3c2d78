"""Samplers that can be saved and loaded."""

import os
from typing import Any, Self, cast

from mgvae.storage import load_sampler, save_sampler

__all__ = ["Saving"]


class Saving:
    """What saves a sampler to a file and loads it again."""

    def save(self, path: str | os.PathLike[str], *, without_rows: bool | None = None) -> None:
        """Write the fitted sampler to a model file.

        The file is one safetensors file: the networks' weights, blurred latent means of the
        majority's rows, and as JSON the parameters and what the columns are. It holds levels,
        ranges and example texts of columns. With ``generation="bridge"``, the default for tables,
        new rows start from the minority's rows, so these can be worked out from the file: see
        ``docs/models.md`` before sharing one. Of the majority's differences a bridge's file holds
        random sums, so the loaded sampler makes other rows than this one.

        Parameters
        ----------
        path : path
            Where the file shall be. A file that is there is replaced, in one step.
        without_rows : bool or None
            True stores, in the place of rows that new ones start from, others that are drawn from
            the model. What the loaded sampler makes is a little less like the minority's rows.
            False stores the rows that new ones start from. None is like False, with a
            :class:`mgvae.errors.DisclosureWarning` if rows can be worked out from the file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import make_classification
        >>> from mgvae import MGVAE
        >>> X, y = make_classification(n_samples=300, weights=[0.9], random_state=0)
        >>> few = {"pretrain_steps": 50, "finetune_steps": 50}
        >>> sampler = MGVAE(random_state=0, generation="translate", **few).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "model.safetensors")
        ...     sampler.save(path)
        ...     again = MGVAE.load(path)
        >>> made, remade = (s.generate(5, label=1, random_state=0) for s in (sampler, again))
        >>> bool((made == remade).all())
        True
        """
        save_sampler(cast(Any, self), path, without_rows)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a sampler of this class from a model file.

        Parameters
        ----------
        path : path
            What :meth:`save` wrote, here or on another machine.

        Returns
        -------
        sampler : object
            Fitted, on the CPU. ``generate`` and ``translate`` give what they gave before saving;
            ``fit`` and ``fit_resample`` train anew. ``history_`` is empty.

        Raises
        ------
        mgvae.errors.ModelFileError
            If the file is not a model file of this class, or is damaged.
        """
        sampler: Self = load_sampler(path, cast(Any, cls))
        return sampler

"""Samplers that can be looked at in a notebook: their training as a table and as a picture."""

from typing import Any, cast

from sklearn.utils.validation import check_is_fitted

from mgvae.common.notebook import axes, data_frame, html_table
from mgvae.errors import DataError
from mgvae.training import History

__all__ = ["Showing"]


class Showing:
    """What shows how a fitted sampler was trained, and what it makes."""

    history_: dict[str, History]

    def to_frame(self) -> Any:
        """Return the loss of every training step as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each stage and step: ``stage``, ``step`` and the terms of the loss, missing
            where a stage has no such term. Requires pandas (``mgvae[pandas]``). For one stage see
            ``history_``.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from mgvae import MGVAE
        >>> X, y = make_classification(200, weights=[0.9], random_state=0)
        >>> sampler = MGVAE(pretrain_steps=20, finetune_steps=10, random_state=0).fit(X, y)
        >>> sampler.to_frame().groupby("stage", sort=False).size().tolist()
        [20, 10]
        """
        stages = self._stages()
        terms = dict.fromkeys(term for one in stages.values() for term in one.terms)
        columns: dict[str, list[Any]] = {"stage": [], "step": [], **{term: [] for term in terms}}
        for name, history in stages.items():
            columns["stage"] += [name] * history.steps
            columns["step"] += range(history.steps)
            for term in terms:
                values = history.terms.get(term, [])
                columns[term] += [*values, *[None] * (history.steps - len(values))]
        return data_frame(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss of every stage of training; return matplotlib's axes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of these, optional
            Where to draw, one for each stage; a new figure unless given.

        Returns
        -------
        axes : matplotlib Axes, or list of these
            One if there is one stage; requires matplotlib (``mgvae[report]``).
        """
        stages = self._stages()
        places = axes(ax, len(stages))
        for place, history in zip(places, stages.values(), strict=False):
            history.plot(place)
        return places[: len(stages)] if len(stages) > 1 else places[0]

    def _stages(self) -> dict[str, History]:
        check_is_fitted(cast(Any, self), "classes_")
        if not self.history_:
            raise DataError(
                "this sampler has no history of training: it learned nothing, or it was read from "
                "a model file, which holds none. Fit it to see its losses."
            )
        return self.history_

    def _html_repr(self) -> str:
        page = str(super()._html_repr())  # type: ignore[misc]
        state = getattr(self, "state_", None)
        if state is None:
            return page
        rows = [
            (label, f"{n:,}", f"{state.new_rows.get(label, 0):,}")
            for label, n in zip(state.classes.tolist(), state.counts, strict=True)
        ]
        title = f"{type(self).__name__}, fitted to {sum(state.counts):,} rows"
        return page + html_table(title, ("class", "rows", "new rows"), rows)

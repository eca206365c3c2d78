"""One fit of a sampler, many draws: an ensemble for imbalanced classes.

A sampler that has learned once can draw for ever. Each member of :class:`BalancedClassifier` sees
its own draw of new rows below its own bootstrap of the real ones; what the members say is carried
back to the true shares of the classes (:mod:`mgvae.classifiers.priors`) and averaged. Rows that
were out of a member's bag judge it: they weigh the shares (:mod:`mgvae.classifiers.shares`),
calibrate the probabilities (:mod:`mgvae.classifiers.calibration`) and tune decisions
(:mod:`mgvae.classifiers.decisions`), without any row held out.
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mgvae.classifiers.combining import combine, spoken_priors
from mgvae.classifiers.decisions import (
    METRICS,
    Judged,
    check_decision,
    check_metric,
    decide,
    decision_matrix,
)
from mgvae.classifiers.draws import Draws, OneFit, Refit, is_oversampler, seed_randomness
from mgvae.classifiers.members import (
    ClassifiedRows,
    Member,
    Trainer,
    member_seeds,
    probabilities_of,
)
from mgvae.classifiers.priors import Floats, correct_priors
from mgvae.classifiers.reading import read_rows, weights_option
from mgvae.classifiers.shares import AUTO, Place, places
from mgvae.common.progress import progress_bars
from mgvae.common.runtime import seed_sequence
from mgvae.errors import DataError, ParameterError
from mgvae.samplers import MGVAE, GenerativeSampler

__all__ = ["BalancedClassifier", "correct_priors"]


class BalancedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers trained on many draws of one fitted sampler, their probabilities averaged.

    The sampler is fitted once. Each member is trained on a stratified bootstrap of the rows and on
    new rows that start from rows of that bootstrap only, so that its predictions of the other rows
    are honest. What still leaks is what the shared sampler has learned of them: see the notes.

    .. versionadded:: 0.1

    Parameters
    ----------
    estimator : classifier
        What is trained; it is cloned for each member.
    sampler : sampler of mgvae or imbalanced-learn, default=None
        What makes new rows; None is :class:`mgvae.MGVAE`. A sampler of mgvae is fitted once, and
        draws again for each member; within ``sklearn.frozen.FrozenEstimator`` one that is fitted
        already, on these very rows. Any other is fitted for each member, on its bootstrap.
    n_draws : int, default=10
        How many draws of new rows, each with a member of its own. More cost more, and are never
        worse but by luck.
    share : "auto", float or None, default="auto"
        How large every class becomes at least, as a part of the largest: 1 is balance, 0 adds
        nothing. ``"auto"`` draws at 1 and, every third time, at 0.5, adds one member without new
        rows for every five draws, and weighs the three by their out-of-bag predictions. None leaves
        it to the sampler's own ``sampling_strategy``.
    bootstrap : bool, default=True
        Whether each member sees a bootstrap of the real rows, of each class as many as there are,
        instead of all of them. Without, there are no out-of-bag predictions.
    correct : {"priors", "none"}, default="priors"
        Whether ``predict_proba`` is carried back to the true shares of the classes. ``"none"``
        averages what the members say.
    calibration : {"auto", "sigmoid", "isotonic"} or None, default="auto"
        How probabilities are calibrated on out-of-bag predictions. ``"auto"`` is ``"sigmoid"``
        where there are such predictions for five rows of every class, else none.
    decide : {"balanced", "probable", "tuned", "costs"} or float, default="balanced"
        What ``predict`` goes by: the class that is most probable beside its share of the data, for
        which one resamples; the most probable class, which is hardly ever a rare one; the decision
        that is best out of bag by ``metric`` or by ``cost_matrix``; the least expected cost; or, of
        two classes, the second from this probability on.
    metric : {"gm", "balanced_accuracy", "f1", "accuracy"} or callable, default="gm"
        What ``decide="tuned"`` makes large, if there is no ``cost_matrix``; a callable takes the
        true and the predicted labels. F1 is that of the rarer of two classes.
    cost_matrix : array-like of shape (n_classes, n_classes) or dict, default=None
        Costs of decisions (columns) where a class is true (rows), in the order of ``classes_``, or
        in any order in a pandas DataFrame whose rows and columns are the labels; or by label, the
        cost of missing a row of it.
    n_jobs : int, default=None
        Members that are trained at once, as in joblib. It does not change the result.
    random_state : None, int, RandomState or Generator, default=None
        Decides everything, the members' own ``random_state`` too; a sampler that is fitted once
        keeps its own if it has one.
    verbose : bool or int, default=False
        Show a progress bar.

    Attributes
    ----------
    estimators_ : list of classifier
        The members.
    sampler_ : sampler or None
        Fitted; None if it was fitted anew for each member.
    classes_ : ndarray
        The labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        Shares of the classes in the training rows.
    member_shares_ : list of float or None
        The share at which each member was trained.
    member_weights_ : ndarray of shape (n_members,)
        The weight of each member in the average.
    share_weights_ : dict of float to float
        What each share counts.
    oob_probabilities_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities of the training rows, calibrated as those of ``predict_proba``; NaN
        for a row that was in every bootstrap. Only with ``bootstrap``, and if members give
        probabilities.
    decision_matrix_ : ndarray of shape (n_classes, n_classes)
        The class c with the largest ``(predict_proba(X) @ decision_matrix_)[:, c]`` is predicted.
    feature_importances_ : ndarray
        The mean of the members', where they have them.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.

    See Also
    --------
    mgvae.MGVAE : The sampler of this library.
    mgvae.TorchClassifier : A network that gets new rows in every epoch.
    mgvae.compare.compare : Compare methods by cross-validation.

    Notes
    -----
    Members without ``predict_proba`` vote; ``share="auto"`` is then 1.

    The shared sampler has learned from rows that are out of a bag. ``benchmarks/out_of_bag.py``
    measures what leaks into out-of-bag predictions thereby, against samplers that are fitted on
    each bag alone.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from mgvae import BalancedClassifier
    >>> X, y = make_classification(500, weights=[0.95], random_state=0)
    >>> model = BalancedClassifier(LogisticRegression(), random_state=0).fit(X, y)
    >>> said = model.predict_proba(X)[:, 1].mean()  # near the share of the class, not near one half
    >>> bool(abs(said - y.mean()) < 0.05)
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "estimator": [HasMethods(["fit", "predict"])],
        "sampler": [HasMethods(["fit_resample"]), HasMethods(["draw"]), None],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "share": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "bootstrap": ["boolean"],
        "correct": [StrOptions({"priors", "none"})],
        "calibration": [StrOptions({"auto", "sigmoid", "isotonic"}), None],
        "decide": [
            StrOptions({"balanced", "probable", "tuned", "costs", "corrected"}),
            Interval(Real, 0, 1, closed="both"),
        ],
        "metric": [StrOptions(set(METRICS)), callable],
        "cost_matrix": ["array-like", dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        sampler: Any = None,
        *,
        n_draws: int = 10,
        share: float | Literal["auto"] | None = "auto",
        bootstrap: bool = True,
        correct: Literal["priors", "none"] = "priors",
        calibration: Literal["auto", "sigmoid", "isotonic"] | None = "auto",
        decide: Literal["balanced", "probable", "tuned", "costs"] | float = "balanced",
        metric: str | Callable[[Any, Any], float] = "gm",
        cost_matrix: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.n_draws = n_draws
        self.share = share
        self.bootstrap = bootstrap
        self.correct = correct
        self.calibration = calibration
        self.decide = decide
        self.metric = metric
        self.cost_matrix = cost_matrix
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the sampler once, and the members on its draws.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The training rows, as sampler and estimator take them.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a new row has the mean weight of its class. The estimator, or the
            last step of a pipeline, must take weights.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (a patient, a customer) are in a bootstrap or out of it together, so
            that out-of-bag predictions are of groups never seen.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        data = self._read(X, y, sample_weight, groups)
        for_sampler, for_members = seed_sequence(self.random_state).spawn(2)
        draws = self._fit_sampler(data, for_sampler)
        placed = self._places()
        members = self._train(data, draws, placed, for_members)

        self.classes_, self.priors_ = data.classes, data.priors
        self.sampler_ = draws.sampler if isinstance(draws, OneFit) else None
        self.estimators_ = [member.estimator for member in members]
        self.member_shares_ = [place.share for place in placed]
        self._settle(data, members)
        return self

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class at the true shares of the classes.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._said(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, as ``decide`` says.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        said = self._said(X)
        chosen: NDArray[Any] = self.classes_[decide(said, self.decision_matrix_)]
        return chosen

    @property
    def feature_importances_(self) -> Floats:
        """The mean of the members' feature importances, by their weights."""
        check_is_fitted(self)
        found = [member.feature_importances_ for member in self.estimators_]
        mean: Floats = np.average(np.asarray(found, np.float64), 0, self.member_weights_)
        return mean

    def _said(self, X: Any) -> Floats:
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)  # names
        return self._combined(
            probabilities_of(member, X, self.classes_) for member in self.estimators_
        )

    @property
    def _carried(self) -> bool:
        """Whether what members say is carried to the true shares; votes say nothing of shares."""
        return self.correct == "priors" and hasattr(self.estimator, "predict_proba")

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ClassifiedRows:
        """Check parameters and data, before anything is learned."""
        self._validate_params()
        if is_regressor(self.estimator):
            raise ParameterError(
                f"estimator must be a classifier; {type(self.estimator).__name__} is a regressor."
            )
        if self.n_jobs == 0:
            raise ParameterError("n_jobs must not be 0. Set 1 for one process, -1 for all cores.")
        data = read_rows(self.estimator, X, y, sample_weight, groups)
        validate_data(self, X, skip_check_array=True)
        self._check_decision(data)
        return data

    def _check_decision(self, data: ClassifiedRows) -> None:
        needs = [
            f"{name}={value!r}"
            for name, value in (("decide", self.decide), ("calibration", self.calibration))
            if value in ("tuned", "sigmoid", "isotonic")
        ]
        if needs and not self.bootstrap:
            raise ParameterError(
                f"{needs[0]} needs out-of-bag predictions, which bootstrap=False has not. Set "
                "bootstrap=True."
            )
        tells = hasattr(self.estimator, "predict_proba")
        if not tells and (needs or self.decide not in ("balanced", "probable", "corrected")):
            asked = needs[0] if needs else f"decide={self.decide!r}"
            raise ParameterError(
                f"{asked} needs probabilities, which {type(self.estimator).__name__} does not "
                "give. Use an estimator with predict_proba."
            )
        check_decision(self.decide, self.cost_matrix, data.classes)
        if callable(self.metric):
            check_metric(self.metric, data.y)

    def _places(self) -> list[Place]:
        if self.share != "auto":
            return places((self.share,), self.n_draws)
        if not hasattr(self.estimator, "predict_proba"):
            return places((1.0,), self.n_draws)
        oversampled = self.sampler is None or is_oversampler(_inner(self.sampler))
        return places(
            AUTO if oversampled else (None,), self.n_draws, auto=self.bootstrap and self._carried
        )

    def _fit_sampler(self, data: ClassifiedRows, seeds: np.random.SeedSequence) -> Draws:
        """Fit a sampler that can draw again, unless nothing is to be drawn."""
        frozen = isinstance(self.sampler, FrozenEstimator)
        sampler = (
            MGVAE(verbose=bool(self.verbose)) if self.sampler is None else _inner(self.sampler)
        )
        strategy = getattr(sampler, "sampling_strategy", "auto")
        over = is_oversampler(sampler)
        if self.share is not None and over and not frozen and strategy != "auto":
            raise ParameterError(
                f"share={self.share!r} and the sampler's sampling_strategy={strategy!r} say the "
                "same thing twice. Set share=None, or leave sampling_strategy out."
            )
        if isinstance(self.share, Real) and self.share > 0 and not over:
            raise ParameterError(
                f"share={self.share!r} is for over-samplers; {type(sampler).__name__} decides "
                "itself how many rows there are. Set share=None."
            )
        if frozen:
            if not isinstance(sampler, GenerativeSampler):
                raise ParameterError(
                    f"sampler: a frozen {type(sampler).__name__} cannot draw again. Leave "
                    "FrozenEstimator out, and it is fitted for each member."
                )
            check_is_fitted(sampler, "state_")
            if sum(sampler.state_.counts) != len(data.y):
                raise DataError(
                    f"sampler was fitted on {sum(sampler.state_.counts)} rows, and X has "
                    f"{len(data.y)}: a frozen sampler must be fitted on the rows of X."
                )
            return OneFit(sampler)
        sampler = clone(sampler)
        if not isinstance(sampler, GenerativeSampler):
            return Refit(sampler)
        if sampler.random_state is None:
            seed_randomness(sampler, seeds)
        if self.share != 0:
            sampler.fit(data.X, data.y)
        return OneFit(sampler)

    def _train(
        self,
        data: ClassifiedRows,
        draws: Draws,
        placed: list[Place],
        seeds: np.random.SeedSequence,
    ) -> list[Member]:
        train = Trainer(
            self.estimator,
            data,
            draws,
            self.bootstrap,
            weights_option(self.estimator) or "sample_weight",
        )
        own = member_seeds(seeds, self.n_draws)
        tasks = [delayed(train)(share, own[bag]) for share, bag in placed]
        members = []
        with progress_bars(bool(self.verbose)) as bars:
            for member in _in_order(tasks, self.n_jobs):
                members.append(member)
                if bars is not None:
                    bars("members", len(members), len(placed), {"rows": member.n_rows})
        return members

    def _settle(self, data: ClassifiedRows, members: list[Member]) -> None:
        """Combine the members and choose the decision, by what is said out of bag."""
        trained = [member.priors for member in members]
        out = [member.out for member in members if member.out is not None]
        tells = hasattr(self.estimator, "predict_proba")
        self._combined = combine(
            data,
            self.member_shares_,
            trained if self._carried else None,
            out if out and tells else None,
            self.calibration,
        )
        self.member_weights_ = self._combined.weights
        self.share_weights_ = {
            share: float(self.member_weights_[[s == share for s in self.member_shares_]].sum())
            for share in dict.fromkeys(self.member_shares_)
        }
        said, seen = np.empty((0, len(data.classes))), np.zeros(len(data.y), bool)
        if self._combined.out_of_bag is not None:
            self.oob_probabilities_ = said = self._combined.out_of_bag
            seen = ~np.isnan(said[:, 0])
            said = said[seen]
        weight = None if data.weight is None else data.weight[seen]
        spoken = spoken_priors(self._combined, trained) if tells else np.ones(len(data.classes))
        self.decision_matrix_ = decision_matrix(
            self.decide,
            data.classes,
            spoken,
            Judged(said, data.codes[seen], weight),
            metric=self.metric,
            cost_matrix=self.cost_matrix,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator)
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            sampler = MGVAE() if self.sampler is None else _inner(self.sampler)
            dense = isinstance(sampler, GenerativeSampler)
            tags.input_tags.sparse = inner.input_tags.sparse and not dense
            if inner.classifier_tags is not None:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _in_order(tasks: list[Any], n_jobs: int | None) -> Iterator[Member]:
    """Work on tasks, several at once, and yield their results in order as they come."""
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # an engine that tells of results only when it has all
        parallel = Parallel(n_jobs=n_jobs)
    yield from parallel(tasks)


def _inner(sampler: Any) -> Any:
    return sampler.estimator if isinstance(sampler, FrozenEstimator) else sampler

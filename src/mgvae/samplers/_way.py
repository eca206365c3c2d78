"""The way of the data: look, learn, make, give back.

Every sampler goes this way, with arrays, frames and images in memory (:class:`InMemory`) and with
tables on disk (:class:`mgvae.streams.InBatches`) alike::

    X, y  ->  look    the kind of samples, columns, classes, how many rows to make
          ->  learn   encode once, pre-train once, then every class
          ->  make    encoded rows, decoded part by part
          ->  give back   the original rows untouched, new rows below

Each fact is found once, in :func:`look`, and handed on as :class:`Seen`.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from imblearn.utils import check_sampling_strategy
from numpy.typing import NDArray

from mgvae.codec.samples import Samples, open_samples
from mgvae.common.progress import progress_bars
from mgvae.common.rows import EncodedRows, MemoryRows
from mgvae.common.runtime import enough_memory, resolve_device, seed_sequence, threads
from mgvae.errors import MGVAEWarning, ParameterError, Setting
from mgvae.methods.method import SMALLER, DataLayout, Job, Learned, Unvaried
from mgvae.methods.mgvae.together import outer_team
from mgvae.samplers._checkpoint import open_checkpoint
from mgvae.samplers._constraints import predicates_of
from mgvae.samplers._making import Order, Part, make_parts
from mgvae.storage import FittedState

if TYPE_CHECKING:
    from mgvae.samplers._base import GenerativeSampler

__all__ = ["Given", "Seen", "learn", "look", "make", "make_job", "rows_to_make"]


class Given(Protocol):
    """The rows that a user gives, wherever they are."""

    @property
    def sample(self) -> Any:
        """Enough of the rows to tell what kind they are."""

    @property
    def example(self) -> Any:
        """The user's container without rows."""

    def observe(self, samples: Samples) -> tuple[NDArray[Any], NDArray[Any]]:
        """Fit the codec; return the labels, sorted, and the class of every row among them."""

    def encode(self, samples: Samples) -> EncodedRows:
        """Encode all rows."""


class Seen(NamedTuple):
    """What one pass over the data tells.

    Attributes
    ----------
    samples : Samples
        The kind of samples; its codec is fitted.
    example : object
        The data's container without rows.
    classes : ndarray
        The labels, sorted.
    codes : ndarray of int
        The class of every row, as a position among the labels.
    new_rows : dict
        How many rows to make, by label.
    """

    samples: Samples
    example: Any
    classes: NDArray[Any]
    codes: NDArray[Any]
    new_rows: dict[Any, int]

    @property
    def n_new(self) -> int:
        """How many rows to make in all."""
        return sum(self.new_rows.values())


def look(sampler: "GenerativeSampler", given: Given) -> Seen:
    """Find out what the columns are, the class of each row, and how many rows to make."""
    sampler.check_parameters()
    samples = open_samples(given.sample, sampler.codec_options())
    classes, codes = given.observe(samples)
    new_rows = rows_to_make(sampler.sampling_strategy, classes, codes)
    return Seen(samples, given.example, classes, codes, new_rows)


def learn(sampler: "GenerativeSampler", given: Given, seen: Seen) -> np.random.SeedSequence:
    """Train on encoded rows, and only then set the fitted attributes.

    Returns
    -------
    seeds : numpy.random.SeedSequence
        For :func:`make`.
    """
    method = sampler.make_method(seen.samples)
    job = make_job(sampler, given, seen)
    layout, members, targets, workers = job.layout, job.members, job.targets, job.workers
    _warn_of_single_rows([layout.names[code] for code in targets if len(members[code]) == 1])
    team = outer_team(workers, job.device)
    if team is not None:
        job = replace(job, seeds=team.from_first(job.seeds))
    if sampler.checkpoint is not None and targets:
        job = open_checkpoint(sampler, method, job, seen.new_rows, team)
    for_training, for_resampling, for_later = job.seeds.spawn(3)
    learned = Learned({}, [])
    if targets and not seen.samples.codec.width:
        learned = Learned({code: Unvaried(job.majority) for code in targets}, [])
    elif targets:
        with (
            enough_memory("training", SMALLER),
            threads(workers.n_threads),
            progress_bars(bool(sampler.verbose), sampler.callback) as bars,
        ):
            learned = method.learn(replace(job, seeds=for_training, callback=bars))
    state = FittedState(
        samples=seen.samples,
        template=None,
        layout=layout,
        classes=seen.classes,
        counts=[len(rows) for rows in members],
        new_rows=seen.new_rows,
        method=method,
        generators=dict(learned.generators),
        later=for_later,
        predicates=predicates_of(sampler.constraints),
        ewc_weights=learned.ewc_weights,
    )
    none = np.empty((0, seen.samples.codec.width), np.float32)
    state.template = seen.samples.only(seen.example, state.decode(none, for_later))
    sampler.set_state(state, {history.stage: history for history in learned.history})
    seen.samples.validate(sampler, given.sample, reset=True)
    return for_resampling


def _warn_of_single_rows(names: list[str]) -> None:
    """Warn of classes that cannot show how their rows differ."""
    if names:
        which = f"class {names[0]!r} has" if len(names) == 1 else f"the classes {names[:10]} have"
        warnings.warn(
            MGVAEWarning(
                f"{which} one row only, from which nothing can be learned about how rows of a "
                "class differ: new rows will all resemble it. Collect more, or leave it out of ",
                Setting("sampling_strategy"),
                ".",
            ),
            stacklevel=4,
        )


def make_job(sampler: "GenerativeSampler", given: Given, seen: Seen) -> Job:
    """Encode the rows, and say what is to be learned from them."""
    members = [np.flatnonzero(seen.codes == code) for code in range(len(seen.classes))]
    majority = int(np.argmax([len(rows) for rows in members]))
    names = [str(label) for label in seen.classes]
    layout = DataLayout(seen.samples.shape, seen.samples.codec.spans, names, majority)
    targets = [c for c, label in enumerate(seen.classes) if seen.new_rows.get(label, 0) > 0]
    rows = given.encode(seen.samples) if targets else MemoryRows(torch.empty(0, 0))
    device, root = resolve_device(sampler.device), seed_sequence(sampler.random_state)
    return Job(layout, rows, members, targets, device, root, sampler.workers())


def make(
    state: FittedState, seeds: np.random.SeedSequence, n_threads: int | None
) -> Iterator[Part]:
    """Make the rows that ``sampling_strategy`` asks for, part by part."""
    branches = seeds.spawn(len(state.classes))
    codes = {label: code for code, label in enumerate(state.classes)}
    orders = [
        Order(codes[label], str(label), n, state.generators[codes[label]], branches[codes[label]])
        for label, n in state.new_rows.items()
        if n
    ]
    return make_parts(state, orders, branches[0], n_threads=n_threads)


def rows_to_make(strategy: Any, classes: NDArray[Any], codes: NDArray[Any]) -> dict[Any, int]:
    """Read ``sampling_strategy``: how many rows of each class it asks for.

    imbalanced-learn counts the labels by sorting them, which is slow for much text: it is given
    their codes.

    Examples
    --------
    >>> import numpy as np
    >>> rows_to_make({"b": 3}, np.array(["a", "b"]), np.array([0, 1, 0, 0]))
    {'b': 2}
    """
    kind = "over-sampling"
    if callable(strategy):
        return dict(check_sampling_strategy(strategy, classes[codes], kind))
    labels = dict(enumerate(classes))
    if isinstance(strategy, Mapping):
        place = {label: code for code, label in labels.items()}
        if any(label not in place or n < 0 for label, n in strategy.items()):
            check_sampling_strategy(strategy, classes, kind)  # raises, and names the label
        labels |= {place[label]: label for label in strategy}
        strategy = {place[label]: n for label, n in strategy.items()}
    try:
        wanted = check_sampling_strategy(strategy, codes, kind)
    except ValueError:
        _refuse_fewer(strategy, labels, np.bincount(codes, minlength=len(classes)))
        raise
    return {labels[int(code)]: int(n) for code, n in wanted.items()}


def _refuse_fewer(strategy: Any, labels: Mapping[int, Any], counts: NDArray[Any]) -> None:
    """Raise, in our words, if a strategy asks for fewer rows than a class has, or is no ratio."""
    if isinstance(strategy, Mapping):
        for code, n in strategy.items():
            if n < counts[code]:
                raise ParameterError(
                    Setting("sampling_strategy"),
                    f": class {str(labels[code])!r} shall have {n} rows and has {counts[code]}. "
                    f"Rows are only added: ask for at least {counts[code]}, or leave it out.",
                )
    elif isinstance(strategy, Real) and 0 < float(strategy) <= 1:
        if len(counts) > 2:
            raise ParameterError(
                Setting("sampling_strategy", strategy),
                f": a ratio is for two classes, and there are {len(counts)}. Say how many rows "
                "each class shall have.",
            )
        few, many = sorted(counts.tolist())
        raise ParameterError(
            Setting("sampling_strategy", strategy),
            f": the smaller class has {few} rows to {many} already, a ratio of {few / many:.3g}. "
            "Rows are only added: say a larger ratio, of at most 1.",
        )

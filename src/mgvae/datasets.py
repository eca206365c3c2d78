"""A torch data set that is balanced anew in every epoch."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch.utils.data import Dataset, get_worker_info

from mgvae.common.runtime import seed_sequence
from mgvae.errors import DataError, ParameterError
from mgvae.samplers import GenerativeSampler

__all__ = ["BalancedDataset"]


class _Sized(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class BalancedDataset(Dataset[tuple[Any, Any]]):
    """Real samples and freshly generated ones, the same number of every class.

    An epoch has as many samples of each class as the largest class has. For a smaller class one
    part of them are real, each as often as the others, and the rest is generated when asked for:
    every epoch brings new ones.

    .. versionadded:: 0.1

    Parameters
    ----------
    dataset : torch data set with ``len`` and indexing
        Gives pairs of a sample and its class.
    sampler : fitted sampler
        Fitted on samples of the same shape, with the same classes.
    synthetic_share : float
        The part of a smaller class that is generated; at least the class's own samples stay.
    labels : sequence, optional
        The classes of the data set's samples. If not given they are taken from its ``targets`` or
        ``tensors``, or read by going through it once.
    transform : callable, optional
        What the data set does to its samples, to be done to generated ones: from the sampler's
        form, an array, to that of the data set. Without, a generated sample gets the type of the
        data set's first one.
    random_state : None, int, RandomState or Generator
        Decides the generated samples, together with the order in which batches are asked for. In
        worker processes, which begin anew in each epoch, the seed that the data loader gives them
        counts too: give the loader a ``generator`` for the same samples in each run.

    See Also
    --------
    mgvae.TorchClassifier : A classifier that does this by itself.
    mgvae.MGVAE.generate : Make new samples.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> from mgvae import MGVAE
    >>> X = np.random.default_rng(0).random((50, 8, 8), dtype=np.float32)
    >>> y = np.repeat([0, 1], [40, 10])
    >>> sampler = MGVAE(pretrain_steps=5, finetune_steps=5, random_state=0).fit(X, y)
    >>> real = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    >>> balanced = BalancedDataset(real, sampler, random_state=0)
    >>> len(balanced)
    80
    >>> images, labels = next(iter(DataLoader(balanced, batch_size=80)))
    >>> images.shape, labels.sum()
    (torch.Size([80, 8, 8]), tensor(40))
    """

    def __init__(
        self,
        dataset: _Sized,
        sampler: GenerativeSampler,
        *,
        synthetic_share: float = 0.5,
        labels: Sequence[Any] | None = None,
        transform: Callable[[NDArray[Any]], Any] | None = None,
        random_state: Any = None,
    ) -> None:
        check_is_fitted(sampler, "classes_")
        if not 0.0 <= synthetic_share <= 1.0:
            raise ParameterError(
                f"synthetic_share must lie between 0 and 1; got {synthetic_share!r}."
            )
        self.dataset = dataset
        self.sampler = sampler
        self.transform = transform
        classes = _find_labels(dataset, labels)
        if len(classes) != len(dataset):
            raise DataError(f"there are {len(classes)} labels for {len(dataset)} samples.")
        self.classes, codes = np.unique(classes, return_inverse=True)
        members = [np.flatnonzero(codes == code) for code in range(len(self.classes))]
        self._largest = max(len(rows) for rows in members)
        self._real = [
            rows
            if len(rows) == self._largest
            else np.resize(rows, max(len(rows), round((1.0 - synthetic_share) * self._largest)))
            for rows in members
        ]
        self._entropy = seed_sequence(random_state).generate_state(4).tolist()
        self._visits = np.zeros(len(self), np.int64)

    def __len__(self) -> int:
        return len(self.classes) * self._largest

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return one sample and its class; a loader asks for whole batches, which is faster."""
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, Any]]:
        """Return a batch of samples and classes, generating what is needed at once."""
        found: dict[int, tuple[Any, Any]] = {}
        wanted: dict[int, list[int]] = {}
        for place, index in enumerate(indices):
            code, position = divmod(self._position(index), self._largest)
            if position < len(self._real[code]):
                sample, label = self.dataset[int(self._real[code][position])]
                found[place] = (sample, label)
            else:
                wanted.setdefault(code, []).append(place)
        for code, places in wanted.items():
            positions = [self._position(indices[place]) for place in places]
            made = self.sampler.generate(
                len(places), self.classes[code], random_state=self._seed(positions)
            )
            like, label = self.dataset[int(self._real[code][0])]
            for place, sample in zip(places, made, strict=True):
                found[place] = (self._as(sample, like), label)
        return [found[place] for place in range(len(indices))]

    def _position(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} of a data set with {len(self)} samples")
        return index % len(self)

    def _seed(self, positions: list[int]) -> np.random.SeedSequence:
        """Return a seed that differs whenever samples are asked for again."""
        worker = get_worker_info()
        base = 0 if worker is None else worker.seed - worker.id
        visits = self._visits[positions].tolist()
        self._visits[positions] += 1
        return np.random.SeedSequence([*self._entropy, base, *positions, *visits])

    def _as(self, sample: NDArray[Any], like: Any) -> Any:
        if self.transform is not None:
            return self.transform(sample)
        if isinstance(like, torch.Tensor):
            return torch.as_tensor(sample).to(like.dtype)
        return sample


def _find_labels(dataset: Any, labels: Sequence[Any] | None) -> NDArray[Any]:
    for found in (labels, getattr(dataset, "targets", None)):
        if found is not None:
            return np.asarray(found)
    tensors = getattr(dataset, "tensors", None)
    if tensors is not None and len(tensors) == 2:
        return np.asarray(tensors[1])
    return np.asarray([dataset[i][1] for i in range(len(dataset))])

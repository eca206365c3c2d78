"""A torch data set that is balanced anew in every epoch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch.utils.data import Dataset, get_worker_info

from mgvae.augment import mix, read_geometry
from mgvae.common.runtime import seed_sequence, torch_generator
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
    augment : dict or None
        Small changes of images, real and generated, as in :class:`mgvae.TorchClassifier`. Samples
        must then be tensors (channels, height, width) or (height, width).
    mixup, cutmix : float
        Mix each batch with itself, as in :class:`mgvae.TorchClassifier`. Samples must then be
        tensors of one shape, and a label becomes a vector with the share of every class, which
        ``torch.nn.CrossEntropyLoss`` takes.
    random_state : None, int, RandomState or Generator
        Decides the generated samples and their changes, together with the order in which batches
        are asked for. In worker processes, which begin anew in each epoch, the seed that the data
        loader gives them counts too: give the loader a ``generator`` for the same samples in each
        run.

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
        augment: Mapping[str, Any] | None = None,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        random_state: Any = None,
    ) -> None:
        check_is_fitted(sampler, "classes_")
        if not 0.0 <= synthetic_share <= 1.0:
            raise ParameterError(
                f"synthetic_share must lie between 0 and 1; got {synthetic_share!r}."
            )
        for name, value in (("mixup", mixup), ("cutmix", cutmix)):
            if not value >= 0:
                raise ParameterError(f"{name} must be at least 0; got {value!r}.")
        self._geometry = read_geometry(augment)
        self.mixup, self.cutmix = mixup, cutmix
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
        return self._augmented([found[place] for place in range(len(indices))], indices)

    def _augmented(
        self, batch: list[tuple[Any, Any]], indices: Sequence[int]
    ) -> list[tuple[Any, Any]]:
        """Change the images of a batch and mix it, as far as asked for."""
        mixing = self.mixup or self.cutmix
        if self._geometry is None and not mixing:
            return batch
        samples = [sample for sample, _ in batch]
        if not all(isinstance(sample, torch.Tensor) for sample in samples):
            raise DataError(
                "augment, mixup and cutmix need samples that are tensors; the data set gave "
                f"{type(samples[0]).__name__}. Convert them in the data set and in transform."
            )
        X = torch.stack(samples)
        last = X.ndim == 4 and X.shape[3] in (1, 3, 4) and X.shape[1] not in (1, 3, 4)
        if (self._geometry is not None or self.cutmix) and (X.ndim not in (3, 4) or last):
            raise DataError(
                "augment and cutmix need images, (channels, height, width) or (height, width); "
                f"the samples have the shape {tuple(X.shape[1:])}."
            )
        generator = torch_generator(self._seed([self._position(index) for index in indices]))
        if self._geometry is not None:
            images = X.unsqueeze(1) if X.ndim == 3 else X
            X = self._geometry(images, generator).reshape(X.shape)
        labels = [label for _, label in batch]
        if not mixing:
            return list(zip(X, labels, strict=True))
        mixed = mix(X, generator, mixup=self.mixup, cutmix=self.cutmix)
        codes = torch.from_numpy(np.searchsorted(self.classes, np.asarray(labels)))
        own = torch.nn.functional.one_hot(codes, len(self.classes)).float()
        shares = mixed.share * own + (1.0 - mixed.share) * own[mixed.partner]
        return list(zip(mixed.X, shares, strict=True))

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

r"""Augmentation: small changes of images that keep their class, and mixtures of samples.

A *geometry* moves, turns, scales or mirrors each image by an amount of its own. With a shift
:math:`t`, an angle :math:`\alpha`, a factor :math:`s` and a mirror :math:`m \in \{1, -1\}`, the new
image at the place :math:`p`, measured from its centre, is the old one at

.. math:: \tfrac1s \begin{pmatrix} m & 0 \\ 0 & 1 \end{pmatrix}
          \begin{pmatrix} \cos\alpha & \sin\alpha \\ -\sin\alpha & \cos\alpha \end{pmatrix}
          (p - t),

between pixels by linear interpolation, and beyond the border the nearest pixel of the border.
Shifts are whole pixels: alone, they and mirrors move pixels without changing one.

*Mixup* and *CutMix* replace a batch by mixtures with the same batch in another order. Mixup takes
:math:`\lambda x_i + (1-\lambda) x_j`; CutMix pastes a rectangle of image j into image i that covers
a part :math:`1-\lambda` of it; :math:`\lambda \sim \mathrm{Beta}(a, a)`. The loss is
:math:`\lambda\, \ell(y_i) + (1-\lambda)\, \ell(y_j)`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from mgvae.errors import ParameterError

__all__ = ["Geometry", "Mixed", "mix", "read_geometry"]


@dataclass(frozen=True)
class Geometry:
    """Small random changes of images.

    .. versionadded:: 0.1

    Parameters
    ----------
    shift : int, default=0
        Most pixels by which an image is moved up or down, left or right.
    rotation : float, default=0.0
        Largest angle in degrees, either way.
    scale : float, default=0.0
        Largest enlargement or reduction: 0.1 draws a factor between 1/1.1 and 1.1.
    flip : bool, default=False
        Whether one half of the images is mirrored, left to right. Not for digits or letters.

    See Also
    --------
    mgvae.augment.mix : Mix images with each other.
    mgvae.TorchClassifier : Its ``augment`` takes these fields as a dict.

    Examples
    --------
    >>> import torch
    >>> images = torch.rand(5, 1, 28, 28)
    >>> small = Geometry(shift=2, rotation=10.0)
    >>> small(images, torch.Generator().manual_seed(0)).shape
    torch.Size([5, 1, 28, 28])
    """

    shift: int = 0
    rotation: float = 0.0
    scale: float = 0.0
    flip: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.shift, Integral) or isinstance(self.shift, bool) or self.shift < 0:
            raise ParameterError(
                f"augment: shift must be a whole number of pixels, 0 or more; got {self.shift!r}."
            )
        for name, most in (("rotation", 180.0), ("scale", 1.0)):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= most:
                raise ParameterError(
                    f"augment: {name} must be a number from 0 to {most:g}; got {value!r}."
                )
        if not isinstance(self.flip, bool):
            raise ParameterError(f"augment: flip must be True or False; got {self.flip!r}.")

    @property
    def changes(self) -> bool:
        """Whether anything is changed at all."""
        return bool(self.shift or self.rotation or self.scale or self.flip)

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw the amounts for ``n`` images, shape (5, n), from 0 to 1."""
        return torch.rand(5, n, generator=generator, device=generator.device)

    @torch.no_grad()
    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Change images by amounts that :meth:`draw` gave."""
        n, device = len(images), images.device
        draws = draws.to(device)
        most = 2 * int(self.shift) + 1
        shifts = (draws[:2] * most).long().clamp_(max=most - 1) - int(self.shift)
        mirrored = draws[4] < 0.5 if self.flip else torch.zeros(n, dtype=torch.bool, device=device)
        if not self.rotation and not self.scale:
            return _move(images, shifts[0], shifts[1], mirrored)
        angles = (2.0 * draws[2] - 1.0) * math.radians(self.rotation)
        factors = torch.exp((2.0 * draws[3] - 1.0) * math.log1p(self.scale))
        return _warp(images, shifts, angles, factors, mirrored)

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Change each image by an amount of its own.

        Parameters
        ----------
        images : Tensor of shape (n, channels, height, width)
            The images.
        generator : torch.Generator
            Decides the amounts.

        Returns
        -------
        changed : Tensor of shape (n, channels, height, width)
            New images, or the same tensor where nothing is to be changed.
        """
        if not self.changes or not len(images):
            return images
        return self.apply(images, self.draw(len(images), generator))


def _move(images: Tensor, down: Tensor, right: Tensor, mirrored: Tensor) -> Tensor:
    """Move images by whole pixels and mirror some, without changing a pixel's value."""
    n, channels, height, width = images.shape
    rows = (torch.arange(height, device=images.device) - down[:, None]).clamp_(0, height - 1)
    columns = (torch.arange(width, device=images.device) - right[:, None]).clamp_(0, width - 1)
    columns = torch.where(mirrored[:, None], width - 1 - columns, columns)
    places = (rows[:, :, None] * width + columns[:, None, :]).view(n, 1, -1)
    return images.flatten(2).gather(2, places.expand(-1, channels, -1)).view_as(images)


def _warp(
    images: Tensor, shifts: Tensor, angles: Tensor, factors: Tensor, mirrored: Tensor
) -> Tensor:
    """Turn, scale, move and mirror images by linear interpolation."""
    height, width = images.shape[2:]
    kind = images.dtype if images.is_floating_point() else torch.float32
    cos, sin = (torch.cos(angles) / factors).to(kind), (torch.sin(angles) / factors).to(kind)
    sign = torch.where(mirrored, -1.0, 1.0).to(kind)
    # places in pixels from the centre; torch's grid goes from -1 to 1 over each side
    y = torch.arange(height, device=images.device, dtype=kind) - (height - 1) / 2
    x = torch.arange(width, device=images.device, dtype=kind) - (width - 1) / 2
    y = (y - shifts[0][:, None].to(kind))[:, :, None]
    x = (x - shifts[1][:, None].to(kind))[:, None, :]
    cos, sin, sign = cos[:, None, None], sin[:, None, None], sign[:, None, None]
    from_x, from_y = sign * (cos * x + sin * y), cos * y - sin * x
    grid = torch.stack([from_x * (2.0 / width), from_y * (2.0 / height)], -1)
    changed = functional.grid_sample(
        images.to(kind), grid, mode="bilinear", padding_mode="border", align_corners=False
    )
    return changed if images.is_floating_point() else changed.round_().to(images.dtype)


def read_geometry(augment: Any) -> Geometry | None:
    """Read the parameter ``augment`` of an estimator.

    .. versionadded:: 0.1

    Parameters
    ----------
    augment : mapping or None
        Fields of :class:`Geometry` by name.

    Returns
    -------
    geometry : Geometry or None
        None where nothing is to be changed.

    See Also
    --------
    mgvae.augment.Geometry : What it returns.

    Examples
    --------
    >>> read_geometry({"shift": 2})
    Geometry(shift=2, rotation=0.0, scale=0.0, flip=False)
    """
    if augment is None:
        return None
    known = [f.name for f in fields(Geometry)]
    if not isinstance(augment, Mapping) or not {*augment} <= {*known}:
        raise ParameterError(
            f"augment must be None or a dict with some of the keys {', '.join(known)}, such as "
            f'{{"shift": 2}}; got {augment!r}.'
        )
    geometry = Geometry(**augment)
    return geometry if geometry.changes else None


@dataclass(frozen=True)
class Mixed:
    """A batch of mixtures.

    .. versionadded:: 0.1

    Parameters
    ----------
    X : Tensor of shape (n, ...)
        The mixtures.
    partner : Tensor of int of shape (n,)
        The row of the batch that each is mixed with.
    share : float
        How much each still is of its own class.

    See Also
    --------
    mgvae.augment.mix : Make one.
    """

    X: Tensor
    partner: Tensor
    share: float


def mix(X: Tensor, generator: torch.Generator, *, mixup: float = 0.0, cutmix: float = 0.0) -> Mixed:
    """Mix a batch with itself in another order.

    .. versionadded:: 0.1

    Parameters
    ----------
    X : Tensor of shape (n, ...)
        The batch. CutMix needs images, (n, channels, height, width).
    generator : torch.Generator
        Decides the order, the share and the rectangle.
    mixup, cutmix : float
        The parameter a of Beta(a, a); 0 is without. Where both are given, each batch takes one of
        them, by equal chances.

    Returns
    -------
    mixed : Mixed
        With neither, the batch itself at a share of 1.

    See Also
    --------
    mgvae.augment.Geometry : Shift, turn and scale images.

    Examples
    --------
    >>> import torch
    >>> mixed = mix(torch.eye(4), torch.Generator().manual_seed(0), mixup=1.0)
    >>> bool(torch.allclose(mixed.X.sum(1), torch.ones(4)))
    True
    """
    if not mixup and not cutmix:
        return Mixed(X, torch.arange(len(X), device=X.device), 1.0)
    partner = torch.randperm(len(X), generator=generator, device=generator.device).to(X.device)
    choice = float(torch.rand(1, generator=generator, device=generator.device))
    cut = bool(cutmix) and (not mixup or choice < 0.5)
    share = _beta(cutmix if cut else mixup, generator)
    if not cut:
        return Mixed(torch.lerp(X[partner], X, share), partner, share)
    height, width = X.shape[-2:]
    side = math.sqrt(1.0 - share)
    h, w = round(side * height), round(side * width)
    place = torch.rand(2, generator=generator, device=generator.device).tolist()
    top, left = int(place[0] * (height - h + 1)), int(place[1] * (width - w + 1))
    mixed = X.clone()
    mixed[..., top : top + h, left : left + w] = X[partner, ..., top : top + h, left : left + w]
    return Mixed(mixed, partner, 1.0 - h * w / (height * width))


def _beta(a: float, generator: torch.Generator) -> float:
    """Draw from Beta(a, a), as a quotient of Gamma variables."""
    shapes = torch.full((2,), float(a), dtype=torch.float64, device=generator.device)
    first, second = torch._standard_gamma(shapes, generator=generator).tolist()
    total = first + second
    return first / total if total > 0 else 0.5

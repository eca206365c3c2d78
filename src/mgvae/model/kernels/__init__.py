r"""The fence: every hand-written gradient and hand-fused operation of the package.

The modules beside this package say what is computed; this package computes the same in fewer
passes. A training step of a small network spends most of its time outside the matrix products: in
small passes over matrices, and in autograd's bookkeeping. What stands here removes both.

Rules of the fence:

- Every function here stands beside its plain form ``..._plain``, which autograd differentiates.
  There are four exceptions. The plain form of :func:`vae_codes` is Eq. 4 in
  :mod:`mgvae.model.vae`; that of :class:`DenseStep` is Eq. 4 with the penalty of
  :mod:`mgvae.model.ewc`, differentiated by autograd; that of :class:`Scores` is
  :mod:`mgvae.model.likelihood`; that of :class:`Adam` is torch's. ``tests/model/test_kernels.py``
  compares values and gradients of all pairs.
- Other modules use the names in ``__all__`` and nothing else.
- No result has a second derivative, and none works under :mod:`torch.func`: what needs either, such
  as the Fisher information, calls the plain form.

The gradient of gathering tensors from several processes is communication, and stands in
:mod:`mgvae.training.team`.
"""

from mgvae.model.kernels.adam import Adam
from mgvae.model.kernels.codes import vae_codes
from mgvae.model.kernels.errors import squared_error
from mgvae.model.kernels.step import DenseStep

__all__ = ["Adam", "DenseStep", "squared_error", "vae_codes"]

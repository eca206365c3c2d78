"""Bodies of encoders and decoders (the paper's appendix "Architectures").

An encoder's body maps encoded rows to features; the heads for the latent mean and variance belong
to :class:`mgvae.model.vae.VAE`. A decoder maps latent codes to raw outputs, which
:class:`mgvae.model.likelihood.Likelihood` interprets.
"""

from mgvae.networks._bodies import Bodies
from mgvae.networks._choose import Network, Precision, choose_bodies, is_small
from mgvae.networks._cnn import cnn_bodies
from mgvae.networks._dcgan import dcgan
from mgvae.networks._mlp import Dense, mlp, mlp_bodies
from mgvae.networks._residual import residual_bodies

__all__ = [
    "Bodies",
    "Dense",
    "Network",
    "Precision",
    "choose_bodies",
    "cnn_bodies",
    "dcgan",
    "is_small",
    "mlp",
    "mlp_bodies",
    "residual_bodies",
]

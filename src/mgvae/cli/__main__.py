"""``python -m mgvae.cli`` is ``mgvae``."""

from mgvae.cli import main

main()

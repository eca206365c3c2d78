"""``python -m mgvae.cli`` is ``mgvae``."""

from mgvae.cli import main

if __name__ == "__main__":
    main()

"""Run the command line as ``python -m mgvae``."""

from mgvae.cli import main

if __name__ == "__main__":
    main()

"""What several tests of the command line share."""

from collections.abc import Callable

import pytest

from mgvae.cli._run import run


@pytest.fixture
def balance(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run ``mgvae balance``; give its exit code and what it said on both streams."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["balance", *map(str, arguments)])
        said = capfd.readouterr()
        return code, said.out, said.err

    return call

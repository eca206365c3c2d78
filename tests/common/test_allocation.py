"""Training keeps its memory while it runs, gives it back afterwards, and computes the same."""

import subprocess
import sys

import pytest

from mgvae.common import allocation
from mgvae.common.allocation import kept_memory

_FAULTS = """
import resource
import torch
from contextlib import nullcontext
from mgvae.common.allocation import kept_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def faults(where):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with where:
        for _ in range(20):
            torch.ones(2**24)  # 64 MB
        inside = resident()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, inside

torch.ones(2**24)
start = resident()
(given_back, _), (kept, inside) = faults(nullcontext()), faults(kept_memory())
print(given_back, kept, inside - start, resident() - start)
"""


@pytest.mark.skipif(allocation._glibc() is None, reason="only glibc is told to keep memory")
def test_memory_is_kept_inside_and_given_back_after():
    ran = subprocess.run(
        [sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True
    )
    given_back, kept, inside, after = map(int, ran.stdout.split())
    assert kept < given_back / 2  # else every one of the twenty blocks is made of fresh pages
    assert inside > 2**25
    assert after < 2**24


@pytest.fixture
def calls(monkeypatch):
    """Write down what the C library is told."""
    told = []

    class Library:
        def mallopt(self, what, value):
            told.append((what, value))

        def malloc_trim(self, pad):
            told.append(("trim", pad))

    monkeypatch.setattr(allocation, "_glibc", Library)
    return told


def test_only_the_first_and_the_last_of_several_tell_the_library(calls):
    with kept_memory():
        first = list(calls)
        with kept_memory(), pytest.raises(ZeroDivisionError), kept_memory():
            raise ZeroDivisionError
        assert calls == first
    assert calls[len(first) :][-1] == ("trim", 0)
    with kept_memory():
        pass
    assert calls.count(("trim", 0)) == 2


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(allocation, "_glibc", lambda: None)
    with kept_memory():
        pass

"""Atomic writing: whatever happens, the old file or the new one is there, and nothing else."""

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from pathlib import Path

import pytest

from mgvae.common.atomic import SpecialFileError, atomic_write, check_writable


def test_new_file_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_error_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_bytes(b"")
    old.chmod(0o640)
    plain.write_bytes(b"")  # what an ordinary open() gives here
    for path in (old, new):
        with atomic_write(path) as file:
            file.write(b"x")
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_what_swallows_everything_is_written_to() -> None:
    check_writable(os.devnull)
    with atomic_write(os.devnull) as file:
        file.write(b"x")
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for opened in (atomic_write, lambda path: nullcontext(check_writable(path))):
            with (
                pytest.raises(SpecialFileError, match="is a pipe, a socket or a device"),
                opened(path),
            ):
                pass


def test_long_names_fit(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250)
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    code = textwrap.dedent("""
        import os, signal, sys
        from mgvae.common.atomic import atomic_write
        with atomic_write(sys.argv[1]) as file:
            file.write(b"half"); file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    result = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert result.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_check_names_what_is_wrong(tmp_path: Path) -> None:
    check_writable(tmp_path / "fine")
    assert os.listdir(tmp_path) == []
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        check_writable(tmp_path / "nowhere" / "a")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_check_finds_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            check_writable(tmp_path / "a")
    finally:
        tmp_path.chmod(0o700)

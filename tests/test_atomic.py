"""Files appear whole or not at all."""

import os
import stat

import pytest

from dpscd.atomic import atomic_write


def test_a_file_replaces_the_old_one_only_at_the_end(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with atomic_write(file) as out:
        out.write("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_nothing_behind(tmp_path, error):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(error), atomic_write(file) as out:
        raise [out.write("half"), error][1]
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_missing_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"there is no such folder: '.*none'$"),
        atomic_write(tmp_path / "none" / "a.txt"),
    ):
        pass


def test_bytes_and_permissions(tmp_path, monkeypatch):
    file = tmp_path / "a.bin"
    before = os.umask(0o027)
    set_again = os.umask
    # It is of the whole process: other threads would write files that anybody may read.
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    try:
        with atomic_write(file, binary=True) as out:
            out.write(b"\r\n")
    finally:
        set_again(before)
    assert file.read_bytes() == b"\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640

"""How many processes were counted for a launch, also if its folder fails."""

import errno
import os

import pytest

from sluice._spool import next_conversation


def counts(folder, *failing, processes=3):
    """What the processes of a launch get while these functions of the operating system fail."""

    def fail(*_):
        raise OSError(errno.EIO, "planted")

    with pytest.MonkeyPatch.context() as patch:
        for name in failing:
            patch.setattr(os, name, fail)
        return [next_conversation(str(folder)) for _ in range(processes)]


def test_each_process_gets_a_number_of_its_own(tmp_path):
    assert counts(tmp_path) == [0, 1, 2]
    assert (tmp_path / "conversations").read_bytes() == b"..."


@pytest.mark.parametrize("name", ["lockf", "write", "ftruncate"])
def test_one_failure_does_not_keep_a_process_from_being_counted(tmp_path, name):
    assert counts(tmp_path, name) == [0, 1, 2]


@pytest.mark.parametrize("names", [["open"], ["write", "ftruncate"], ["fstat"]])
def test_a_process_that_cannot_be_counted_still_differs_from_the_earlier_ones(
    tmp_path, names
):
    (tmp_path / "conversations").write_bytes(b"..")
    assert counts(tmp_path, *names, processes=1) == [2]


def test_without_a_file_a_process_is_the_first(tmp_path):
    assert next_conversation(None) == 0
    assert next_conversation(str(tmp_path / "nowhere")) == 0
    (tmp_path / "target").write_bytes(b"...")
    (tmp_path / "conversations").symlink_to(tmp_path / "target")
    assert next_conversation(str(tmp_path)) == 0, "links are not followed"
    assert (tmp_path / "target").read_bytes() == b"..."

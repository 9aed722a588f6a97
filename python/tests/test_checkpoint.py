"""Checkpoints are whole or not there."""

import pytest

SAVE = """
import os, sys, sluice
def save(work):
    with sluice.checkpoint(work) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "model").write_text(str(work))
def show():
    latest = sluice.latest_checkpoint()
    print(latest and (latest / "sub" / "model").read_text())
"""


def test_the_latest_checkpoint_replaces_the_one_before(controller, launch):
    process = launch(SAVE + "show(); save(1); show(); save(22); show()")
    assert process.end() == ["None", "1", "22"]
    saved = controller.of_type("saved")
    mark = "22\n"  # what says the work to whoever copies the checkpoint
    assert [(one["work"], one["bytes"]) for one in saved] == [(1, 1 + 2), (22, 2 + len(mark))]
    folder = process.home / "checkpoints" / "7"
    assert (folder / "latest" / ".sluice-work").read_text() == mark
    assert [path.name for path in folder.iterdir()] == ["latest"]
    assert launch(SAVE + "show()", assign={"launch": 2}).end() == ["22"]


def test_an_error_in_the_body_keeps_the_one_before(controller, launch):
    process = launch(
        SAVE
        + """
save(1)
try:
    with sluice.checkpoint(2) as folder:
        (folder / "half").touch()
        raise OSError("disk full")
except OSError:
    show()
print(os.listdir(sluice.checkpoint_dir()))
"""
    )
    assert process.end() == ["1", "['latest']"]
    assert len(controller.of_type("saved")) == 1


@pytest.mark.parametrize("step", range(1, 16))
def test_killed_anywhere_a_whole_checkpoint_remains(controller, launch, step):
    """Kills at the step-th change to the file system of the second save, before and after it."""
    process = launch(
        SAVE
        + f"""
save(1)
count = 0
def deadly(function):
    def call(*arguments, **options):
        global count
        count += 1
        if count == {step}: os.kill(os.getpid(), 9)
        result = function(*arguments, **options)
        count += 1
        if count == {step}: os.kill(os.getpid(), 9)
        return result
    return call
os.rename, os.fsync, os.rmdir = deadly(os.rename), deadly(os.fsync), deadly(os.rmdir)
with sluice.checkpoint(2) as folder:
    (folder / "sub").mkdir()
    (folder / "sub" / "model").write_text("2")
"""
    )
    process.process.communicate()
    (seen,) = launch(SAVE + "show()", assign={"launch": 2}).end()
    assert seen in ("1", "2")
    assert launch(SAVE + "save(3); show()", assign={"launch": 3}).end() == ["3"]
    assert launch(SAVE + "print(os.listdir(sluice.checkpoint_dir()))").end() == ["['latest']"]


def test_the_folder_of_a_trial_persists(launch):
    launch("import sluice; (sluice.checkpoint_dir() / 'mine').write_text('x')").end()
    script = "import sluice; print((sluice.checkpoint_dir() / 'mine').read_text())"
    assert launch(script, assign={"launch": 2}).end() == ["x"]

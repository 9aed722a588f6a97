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
    mark = "22\n"  # the file that tells the work when the checkpoint is copied
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


# Kills the process at the STEP-th moment before or after a change to the file system.
DEADLY = """
count = 0
def deadly(function):
    def call(*arguments, **options):
        global count
        count += 1
        if count == STEP: os.kill(os.getpid(), 9)
        result = function(*arguments, **options)
        count += 1
        if count == STEP: os.kill(os.getpid(), 9)
        return result
    return call
os.rename, os.fsync, os.rmdir = deadly(os.rename), deadly(os.fsync), deadly(os.rmdir)
"""


def deadly_at(step):
    """A script that makes the changes after it deadly."""
    return DEADLY.replace("STEP", str(step))


@pytest.mark.parametrize("step", range(1, 16))
def test_killed_anywhere_a_whole_checkpoint_remains(controller, launch, step):
    """Kills at the step-th change to the file system of the second save, before and after it."""
    process = launch(SAVE + "save(1)" + deadly_at(step) + "save(2)")
    process.process.communicate()
    (seen,) = launch(SAVE + "show()", assign={"launch": 2}).end()
    assert seen in ("1", "2")
    assert launch(SAVE + "save(3); show()", assign={"launch": 3}).end() == ["3"]
    assert launch(SAVE + "print(os.listdir(sluice.checkpoint_dir()))").end() == ["['latest']"]


BEST = {"direction": "maximize", "of": "best"}
EPOCH = """
def epoch(work, accuracy, saves=True, late=False):
    if not late: sluice.report(work, accuracy=accuracy)
    if saves: save(work)
    if late: sluice.report(work, accuracy=accuracy)
def best():
    folder = sluice.best_checkpoint()
    print(folder and folder.name, folder and (folder / "sub" / "model").read_text())
"""


@pytest.mark.parametrize("late", [False, True])
def test_the_checkpoint_of_the_best_report_is_kept(controller, launch, late):
    script = f"""
def at(work, accuracy): epoch(work, accuracy, late={late})
at(1, 0.5); best()
at(2, 0.9); best()
at(3, 0.7); best()
at(4, 0.8); best(); show()
print(sorted(os.listdir(sluice.checkpoint_dir())))
"""
    process = launch(SAVE + EPOCH + script, assign=BEST)
    assert process.end() == ["latest 1", "latest 2", "best 2", "best 2", "4", "['best', 'latest']"]
    both = 2 * (1 + len("1\n"))
    assert controller.of_type("saved")[-1]["bytes"] == both, "both count"
    later = {**BEST, "launch": 2, "work": 4, "best": 0.9, "best_work": 2}
    script = "best(); epoch(5, 0.85); best(); epoch(6, 0.95); epoch(7, float('nan')); best()"
    script += "; epoch(8, 0.96, saves=False); best(); epoch(9, 0.1); best()"
    process = launch(SAVE + EPOCH + script, assign=later)
    assert process.end() == ["best 2", "best 2", "best 6", "None None", "None None"]
    assert [path.name for path in (process.home / "checkpoints" / "7").iterdir()] == ["latest"]


def test_what_is_only_done_again_is_not_the_best(launch):
    known = {**BEST, "launch": 2, "work": 2, "best": 0.5, "best_work": 1}
    script = "epoch(1, 0.5); epoch(2, 0.6); epoch(3, 0.1); best()"
    assert launch(SAVE + EPOCH + script, assign=known).end() == ["best 1"]


def test_smaller_can_be_better_and_the_last_may_count(launch):
    script = "epoch(1, 0.5); epoch(2, 0.9); best()"
    script += "; print(sorted(os.listdir(sluice.checkpoint_dir())))"
    down = {**BEST, "direction": "minimize"}
    assert launch(SAVE + EPOCH + script, assign=down).end() == ["best 1", "['best', 'latest']"]
    last = {**BEST, "of": "last", "trial": 8}
    assert launch(SAVE + EPOCH + script, assign=last).end() == ["None None", "['latest']"]


def test_a_folder_of_the_programs_own_called_best_is_left_alone(launch):
    script = """
mine = sluice.checkpoint_dir() / "best"
mine.mkdir()
(mine / "model").write_text("mine")
epoch(1, 0.9); epoch(2, 0.5); epoch(3, 0.4); best()
print((mine / "model").read_text())
"""
    assert launch(SAVE + EPOCH + script, assign=BEST).end() == ["None None", "mine"]


@pytest.mark.parametrize("step", range(1, 22))
def test_killed_anywhere_the_best_checkpoint_remains(launch, step):
    """Kills at each change to the file system of the save after the best one."""
    script = "epoch(1, 0.5); epoch(2, 0.9)" + deadly_at(step) + "epoch(3, 0.7)"
    launch(SAVE + EPOCH + script, assign=BEST).process.communicate()
    later = {**BEST, "launch": 2, "work": 3, "best": 0.9, "best_work": 2}
    seen = launch(SAVE + EPOCH + "best(); epoch(4, 0.1); best()", assign=later).end()
    assert seen[0] in ("latest 2", "best 2", ".previous 2")
    assert seen[1] == "best 2"


def test_the_folder_of_a_trial_persists(launch):
    launch("import sluice; (sluice.checkpoint_dir() / 'mine').write_text('x')").end()
    script = "import sluice; print((sluice.checkpoint_dir() / 'mine').read_text())"
    assert launch(script, assign={"launch": 2}).end() == ["x"]

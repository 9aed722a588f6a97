"""A checkpoint is complete or absent, and a launch that was given up saves none."""

import os
import time
from pathlib import Path

import pytest
from controller import LIMIT_S, assignment

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
    mark = "22\n"  # the content of the file with the checkpoint's work
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


# Kills the process before or after one of the calls below. Each call has two such moments; the
# process is killed at the STEP-th moment.
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
    """Lines of a script. The process is killed at the given step of the lines after them."""
    return DEADLY.replace("STEP", str(step))


@pytest.mark.parametrize("step", range(1, 21))
def test_killed_anywhere_a_whole_checkpoint_remains(controller, launch, step):
    """Kills the process at each step of the second save."""
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


@pytest.mark.parametrize("step", range(1, 26))
def test_killed_anywhere_the_best_checkpoint_remains(launch, step):
    """Kills the process at each step of the save that follows the best one."""
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


def own(home, launch, trial=7):
    """Writes the owner file of the trial's checkpoint folder, as the controller does."""
    folder = home / "checkpoints"
    folder.mkdir(exist_ok=True)
    path = folder / f"{trial}.owner"
    path.write_text(f"{launch:010}\n")
    return path


def given_up(launch, owner, trial=7):
    return (
        f"sluice: launch {launch} of trial {trial} was given up, and launch {owner} goes on with "
        "the trial: a checkpoint was dropped"
    )


def test_the_launch_that_owns_the_folder_saves(controller, launch, tmp_path):
    own(tmp_path, 1)
    script = "save(1); save(2); show(); print(sorted(os.listdir(sluice.checkpoint_dir())))"
    assert launch(SAVE + script).end() == ["2", "['latest']"]
    assert [one["bytes"] for one in controller.of_type("saved")] == [3, 3], "the file is no part"


@pytest.mark.parametrize("text", ["", "\n", "no number\n"])
def test_an_owner_that_is_not_understood_is_none(launch, tmp_path, text):
    own(tmp_path, 1).write_text(text)
    assert launch(SAVE + "save(1); show()").end() == ["1"]


# Completes its checkpoint when it gets a line of input, and prints whether it is to stop.
LATE = """
with sluice.checkpoint(1) as folder:
    print(folder.parent.parent == sluice.checkpoint_dir(), flush=True)
    input()
    if folder.exists(): (folder / "model").write_text("old")
print(sluice.should_stop())
"""


@pytest.mark.parametrize("has_saved", [False, True])
def test_a_launch_that_was_given_up_cannot_save_over_a_newer_one(
    controller, launch, tmp_path, has_saved
):
    own(tmp_path, 1)
    old = launch(SAVE + LATE)
    assert old.process.stdout.readline() == "True\n"
    own(tmp_path, 2)
    if has_saved:
        launch(SAVE + "save(22)", assign={"launch": 2}).end()
    old.say()
    assert old.end() == ["True"], "it is to stop"
    assert old.errors.splitlines() == [given_up(1, 2)]
    assert [one["launch"] for one in controller.of_type("saved")] == [2] * has_saved
    script = "show(); print(sorted(os.listdir(sluice.checkpoint_dir())))"
    seen = launch(SAVE + script, assign={"launch": 2}).end()
    assert seen == (["22", "['latest']"] if has_saved else ["None", "[]"])


def test_a_launch_that_was_given_up_does_not_begin_to_save(launch, tmp_path):
    own(tmp_path, 2)
    writing = tmp_path / "checkpoints" / "7" / ".writing" / "2"
    writing.mkdir(parents=True)
    previous = tmp_path / "checkpoints" / "7" / ".previous"
    previous.mkdir()
    old = launch(SAVE + "show(); save(1); print(sluice.should_stop())")
    assert old.end() == ["None", "True"]
    assert old.errors.splitlines() == [given_up(1, 2)]
    assert writing.is_dir() and previous.is_dir(), "the newer launch may be saving just now"


def test_a_newer_launch_waits_for_a_save_that_is_being_put_in_place(launch, tmp_path):
    """The owner changes while an old process waits for the lock. The process finds the new one."""
    file = os.open(own(tmp_path, 1), os.O_RDWR)
    os.lockf(file, os.F_LOCK, 0)
    old = launch("import os, sluice\nprint('begins', flush=True)\n" + SAVE + "save(1); show()")
    assert old.process.stdout.readline() == "begins\n"
    wait_until_locked_out(old.process.pid)
    os.pwrite(file, b"%010d\n" % 2, 0)
    os.close(file)
    assert old.end() == ["None"]
    assert old.errors.splitlines() == [given_up(1, 2)]


def wait_until_locked_out(pid):
    """Waits until the process waits for a lock: /proc/locks then lists it after an arrow."""
    deadline = time.monotonic() + LIMIT_S
    while f" {pid} " not in " ".join(
        line for line in Path("/proc/locks").read_text().splitlines() if "->" in line
    ):
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Calls meanwhile() after the next rename to `.previous`: there is no `latest` then.
BETWEEN = SAVE + """
import signal, threading
def between_the_renames(meanwhile):
    rename = os.rename
    def call(source, target):
        rename(source, target)
        if target.name == ".previous":
            os.rename = rename
            meanwhile()
    os.rename = call
"""


@pytest.mark.parametrize("finds", ["latest", "best"])
@pytest.mark.parametrize("is_owned", [False, True])
def test_a_thread_that_looks_waits_for_a_save_in_another(launch, tmp_path, is_owned, finds):
    """Without a lock between threads, it would rename the folders of the save."""
    if is_owned:
        own(tmp_path, 1)
    script = f"""
sluice.report(1, accuracy=1)
save(1)
seen = []
def look():
    folder = sluice.{finds}_checkpoint()
    seen.append((folder.name, (folder / "sub" / "model").read_text()))
reader = threading.Thread(target=look)
def meanwhile():
    reader.start()
    reader.join(0.5)  # in vain, if it waits for the lock
    print(reader.is_alive())
between_the_renames(meanwhile)
save(2)
reader.join()
print(*seen[0])
"""
    found = {"latest": "latest 2", "best": "best 1"}
    assert launch(BETWEEN + script, assign=BEST).end() == ["True", found[finds]]


def test_threads_save_and_look_at_the_same_time(controller, launch):
    script = """
def look():
    while len(done) == 0:
        folder = sluice.latest_checkpoint()
        if folder is None or folder.name != "latest":
            done.append(folder)
done = []
save(1)
readers = [threading.Thread(target=look) for _ in range(3)]
for reader in readers: reader.start()
for work in range(2, 100): save(work)
done.append("all")
for reader in readers: reader.join()
print(done)
"""
    assert launch(BETWEEN + script).end() == ["['all']"]
    assert len(controller.of_type("saved")) == 99


def test_a_signal_handler_finds_the_previous_checkpoint_during_a_save(launch, tmp_path):
    own(tmp_path, 1)
    script = """
save(1)
signal.signal(signal.SIGUSR1, lambda *_: show())
between_the_renames(lambda: signal.raise_signal(signal.SIGUSR1))
save(2)
show()
"""
    assert launch(BETWEEN + script).end() == ["1", "2"]


def test_the_lock_of_a_file_outlasts_a_signal_handler(launch, tmp_path):
    """The end of the handler's lock does not end the lock of what it has interrupted."""
    path = own(tmp_path, 1)
    script = f"""
save(1)
def try_lock():
    sluice.best_checkpoint()
    code = (
        "import os; file = os.open({str(path)!r}, os.O_RDWR); os.lockf(file, os.F_TLOCK, 0);"
        "print('free')"
    )
    tried = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    print(tried.stdout.strip() or tried.stderr.split()[-2:])
between_the_renames(try_lock)
save(2)
try_lock()
"""
    out = launch(BETWEEN + "import subprocess" + script).end()
    assert out == ["['temporarily', 'unavailable']", "free"]


def test_a_child_that_is_forked_during_a_save_does_not_hang(launch, tmp_path):
    """The thread that saves is only in the parent. The child waits until it has saved."""
    own(tmp_path, 1)
    script = """
save(1)
begun, forked = threading.Event(), threading.Event()
def meanwhile():
    begun.set()
    forked.wait()
between_the_renames(meanwhile)
saver = threading.Thread(target=save, args=(2,))
saver.start()
begun.wait()
child = os.fork()
if child == 0:
    show()
    sys.stdout.flush()
    os._exit(0)
print(child, flush=True)
input()
forked.set()
print(os.waitpid(child, 0)[1])
saver.join()
"""
    process = launch(BETWEEN + script)
    wait_until_locked_out(int(process.process.stdout.readline()))
    process.say()
    assert process.end() == ["2", "0"]


def test_a_worker_whose_trial_has_a_newer_launch_takes_no_other(controller, launch, tmp_path):
    own(tmp_path, 2)
    controller.assignments = [assignment(tmp_path, trial=8)]
    script = """
import sluice
for trial in sluice.trials():
    with trial.checkpoint(1) as folder:
        (folder / "model").touch()
    print(trial.number, trial.should_stop())
"""
    old = launch(script)
    assert old.end() == ["7 True"]
    assert old.errors.splitlines()[0] == given_up(1, 2)


def test_a_trial_that_is_over_does_not_end_the_next(controller, launch, tmp_path):
    """A script tries to save for a trial that it has left. Only that checkpoint is refused."""
    controller.assignments = [assignment(tmp_path, trial=8)]
    script = """
import sluice
first = None
for trial in sluice.trials():
    if first is None:
        first = trial
        continue
    try:
        with first.checkpoint(1):
            print("never")
    except RuntimeError as error:
        print(error)
    trial.report(1, accuracy=0.5)
    print(trial.number, trial.should_stop())
"""
    old = launch(script)
    assert old.end() == ["trial 7 is over: it takes no checkpoint", "8 False"]
    assert controller.works(trial=8) == [1]

"""A process of a launch that was given up, and still wants to save its checkpoint."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from adversity import launch_folder, prepare
from house import wait_until

# Saves each epoch. After its second one it waits for its gate.
TRIAL = """
import os, time
import sluice

trial = sluice.trial()
latest = sluice.latest_checkpoint()
first = int((latest / "epoch").read_text()) + 1 if latest else 1
for epoch in range(first, 5):
    sluice.report(epoch, loss=1 / epoch)
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    while epoch > first and not os.path.exists(f"gate-{trial.launch}"):
        time.sleep(0.01)
"""

# A process of launch 1 that outlives the launch. It is about to save, or is refused first.
STRAY = """
import sys, time
import sluice

def save(wait):
    with sluice.checkpoint(9) as folder:
        wait()
        if folder.exists():
            (folder / "epoch").write_text("9")

def wait():
    print("ready", flush=True)
    input()

if sys.argv[1] == "saving":
    save(wait)
else:
    wait()
    sluice.report(9, loss=0)
    while not sluice.should_stop():
        time.sleep(0.01)
    save(lambda: None)
print("stops", sluice.should_stop())
"""


def environment_of(process):
    """That of a running process, without the marks by which its launcher is found."""
    text = pathlib.Path(f"/proc/{process}/environ").read_bytes()
    pairs = [os.fsdecode(pair).split("=", 1) for pair in text.split(b"\0") if pair]
    left_out = ("SLUICE_LAUNCHERS", "SLUICE_OWNER_PID")
    return {name: value for name, value in pairs if name not in left_out}


@pytest.mark.parametrize("how", ["saving", "refused"])
def test_a_refused_process_cannot_overwrite_a_newer_checkpoint(house, how):
    prepare(house, TRIAL, trials=1, more="retries: 1\nbackoff: 1ms")
    controller = house.start("tune", "study.yaml", "-q")
    folder = launch_folder(house, 1, 1)
    checkpoint = folder.parent / "checkpoint"
    owner = folder.parent / "checkpoint.owner"

    def saved():
        try:
            return int((checkpoint / "latest" / "epoch").read_text())
        except OSError:
            return 0

    wait_until(lambda: saved() == 2, what="the second checkpoint")
    assert int(owner.read_text()) == 1
    program = int((folder / "program").read_text().split()[0])
    stray = subprocess.Popen(
        [sys.executable, "-c", STRAY, how],
        env=environment_of(program),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    house.started.append(stray)
    assert stray.stdout.readline() == "ready\n"
    os.kill(program, signal.SIGKILL)
    wait_until(lambda: saved() == 4, what="a checkpoint of the second launch")
    assert int(owner.read_text()) == 2
    out, errors = stray.communicate("go\n", timeout=30)
    assert stray.returncode == 0, errors
    assert out == "stops True\n"
    assert "launch 1 of trial 1 was given up, and launch 2 goes on with the trial" in errors
    assert "a checkpoint was dropped" in errors
    assert saved() == 4
    assert os.listdir(checkpoint) == ["latest"]
    house.write("gate-2", "")
    _, errors = controller.communicate(timeout=60)
    assert controller.returncode == 0, errors
    assert house.states() == {1: "complete"}
    assert [work for _, work, _ in house.reports()] == [1, 2, 3, 4]

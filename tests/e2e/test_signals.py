"""Signals at bad moments."""

import fcntl
import os
import pathlib
import signal
import subprocess
import termios

import pytest
from adversity import WAITING, finish, prepare, shell, slow_disk
from house import SLUICE, wait_until


def signals(process, field):
    """A set of signals in /proc/PID/status, as a number."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split(field + ":")[1].split()[0], 16)


def holds_interrupts(process):
    """Whether Ctrl-C waits. While a command starts a process, all signals do."""
    blocked = signals(process, "SigBlk")
    hangup, interrupt = (1 << (word - 1) for word in (signal.SIGHUP, signal.SIGINT))
    return blocked & interrupt and not blocked & hangup


def test_ignored_hangup_is_ignored(house):
    """nohup sluice tune ..."""
    prepare(house, WAITING)
    process = subprocess.Popen(
        [SLUICE, "tune", "study.yaml", "-q"],
        cwd=house.folder,
        env=house.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    house.started.append(process)
    wait_until(lambda: house.reports(), what="the first report")
    process.send_signal(signal.SIGHUP)
    house.write("go", "")
    finish(process)
    assert house.states() == {1: "complete"}
    assert not is_draining(house)


def is_draining(house):
    return house.query("SELECT 1 FROM events WHERE kind = 'study_pause_asked'")


@pytest.mark.parametrize("word", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "program",
    [
        'echo "{\\"loss\\": 1}"; sleep 300',  # dies of SIGTERM
        "trap 'exit 0' TERM; echo \"{\\\"loss\\\": 1}\"; while :; do sleep 0.1; done",  # ends well
        "trap '' TERM; echo \"{\\\"loss\\\": 1}\"; while :; do sleep 0.1; done",  # must be killed
    ],
    ids=["dies", "ends", "stays"],
)
def test_a_program_that_cannot_hear_is_ended_when_the_controller_leaves(house, word, program):
    """One signal is enough: the program gets SIGTERM, its grace, SIGKILL.

    The trial then waits, is charged no failure, and runs again.
    """
    prepare(house, shell(program), more="timeouts: {grace: 300ms}")
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: house.reports(), what="a report")
    process.send_signal(word)
    finish(process, 130)
    assert house.query("SELECT state, failures, launch FROM trials") == [("waiting", 0, 1)]
    process = house.start("resume", "adv", "-q")
    wait_until(lambda: house.query("SELECT launch FROM trials") == [(2,)], what="a second launch")
    process.send_signal(word)
    process.send_signal(word)
    finish(process, 130)


# Uses the package, but reports once and hears nothing more. It ends well when it gets SIGTERM.
DEAF = """
import os, signal, time
import sluice
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
sluice.report(1, loss=1)
while True:
    time.sleep(0.05)
"""


def test_a_program_that_ends_well_when_it_is_ended_is_not_complete(house):
    prepare(house, DEAF, more="timeouts: {grace: 300ms}")
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: house.reports(), what="a report")
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    assert house.query("SELECT state, failures, launch FROM trials") == [("waiting", 0, 1)]


def test_a_closed_terminal_pauses_nothing(house):
    """The command ends with its terminal: the study goes on, and can be stopped."""
    go = house.folder / "go"
    report = 'echo "{\\"loss\\": 1}"'
    prepare(house, shell(f"{report}; until [ -e {go} ]; do sleep 0.05; done; {report}; sleep 300"))
    ours, its = os.openpty()
    process = subprocess.Popen(
        [SLUICE, "tune", "study.yaml"],
        cwd=house.folder,
        env=house.environment(),
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    house.started.append(process)
    os.close(its)
    wait_until(lambda: house.reports(), what="a report")
    os.close(ours)  # the kernel sends SIGHUP to the leader of the session
    assert process.wait(20) == -signal.SIGHUP
    go.touch()
    wait_until(lambda: len(house.reports()) == 2, what="another report")
    assert not is_draining(house)
    house.run("stop", "adv")
    wait_until(lambda: house.states() == {1: "stopped"}, what="the end of the trial")


def test_second_interrupt_ends_what_was_about_to_start(house):
    prepare(house, shell("sleep 300"))
    slow = slow_disk(house, 150)
    process = house.start("tune", "study.yaml", "-q", **slow)
    # To the engine the trial is running, while its start is still being written down.
    wait_until(lambda: house.query("SELECT 1 FROM studies"), what="the study")
    wait_until(lambda: holds_interrupts(process), what="the study to be handed over")
    process.send_signal(signal.SIGINT)
    wait_until(lambda: not signals(process, "ShdPnd"), what="the first signal to be read")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    assert "running" not in house.states().values()


def test_interrupt_before_the_first_trial(house):
    prepare(house, shell('echo "{\\"loss\\": 1}"'), trials=3)
    slow = slow_disk(house, 60)
    process = house.start("tune", "study.yaml", "-q", **slow)
    wait_until(lambda: holds_interrupts(process), what="the study to be handed over")
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    house.run("resume", "adv", "-q")
    assert set(house.states().values()) == {"complete"} and len(house.states()) == 3

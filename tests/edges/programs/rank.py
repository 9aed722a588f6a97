"""A child of a trial's program that trains on until it is killed, or for two minutes."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from witness import Witness, read_settings  # noqa: E402


def leave_the_parent():
    """What a daemon does: two forks, and a session of its own in between."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)


def main():
    settings = read_settings()
    witness = Witness(settings)
    shape, trial, launch = settings["shape"], settings["trial"], settings["launch"]
    if shape in ("double", "cleared", "hopping"):
        leave_the_parent()
    if shape == "deaf":
        for word in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(word, signal.SIG_IGN)
    witness.hold(trial, launch)
    witness.note("rank", trial, launch, shape)
    if shape == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        time.sleep(0.02)
        if shape == "hopping":  # goes on in a new process each time, so that no pid lasts
            if os.fork():
                os._exit(0)
            os.setsid()
            witness.hold(trial, launch)


main()

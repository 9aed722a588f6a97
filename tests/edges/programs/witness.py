"""What the programs of these tests share: settings, and notes of what they did.

A program is called with words KEY=VALUE. $WITNESS (or the setting `witness`, where the environment
was cleared) names a folder, outside of the store, that holds

    notes              a line for each thing that a program did: WORD TRIAL LAUNCH PID MORE...
    lock.TRIAL.LAUNCH  locked by each process that works on that launch
    FILE               what a gate waits for (`gates=3:FILE`: before epoch 3)

A process that finds another launch of its trial at work notes `twice`: the promise is that this
never happens.
"""

import fcntl
import os
import struct
import subprocess
import sys
import time

RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")


def read_settings():
    return dict(word.split("=", 1) for word in sys.argv[1:])


class Witness:
    def __init__(self, settings):
        self.settings = settings
        self.folder = os.environ.get("WITNESS") or settings["witness"]

    def number(self, key, default=0):
        return int(self.settings.get(key, default))

    def pause(self):
        time.sleep(self.number("pause", 20) / 1000)

    def path(self, name):
        return os.path.join(self.folder, name)

    def note(self, word, trial, launch, *more):
        line = " ".join(map(str, (word, trial, launch, os.getpid(), *more))) + "\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path("notes"), flags, 0o600)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    def hold(self, trial, launch):
        """Works on a launch until the descriptor returned is closed.

        The locks are those of POSIX: the kernel drops them before a process counts as gone, a
        child does not inherit them, and F_GETLK tells of others without taking anything.
        """
        own = os.open(self.path(f"lock.{trial}.{launch}"), os.O_RDWR | os.O_CREAT, 0o600)
        os.set_inheritable(own, False)
        fcntl.lockf(own, fcntl.LOCK_SH)
        for name in os.listdir(self.folder):
            if name.startswith(f"lock.{trial}.") and name != f"lock.{trial}.{launch}":
                self.look_at(name, trial, launch)
        return own

    def look_at(self, name, trial, launch):
        descriptor = os.open(self.path(name), os.O_RDWR | os.O_CLOEXEC)
        asked = struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, asked)
        kind, _, _, _, holder = struct.unpack("@hhqqi", answer)
        os.close(descriptor)
        if kind != fcntl.F_UNLCK:
            self.note("twice", trial, launch, name, holder)

    def gate(self, epoch, leaves=lambda: False):
        """Waits for the file that the epoch needs; `leaves` says that it need not."""
        for pair in self.settings.get("gates", "").split(","):
            if pair.partition(":")[0] == str(epoch):
                end = time.monotonic() + 120
                while not os.path.exists(self.path(pair.partition(":")[2])):
                    if leaves() or time.monotonic() > end:
                        return
                    time.sleep(0.005)

    def start_ranks(self, trial, launch):
        """Starts children that train on until they are killed, each in the shape asked for."""
        shape = self.settings.get("shape", "session")
        for _ in range(self.number("ranks")):
            words = [sys.executable, "-S", RANK, f"witness={self.folder}", f"shape={shape}"]
            process = subprocess.Popen(
                [*words, f"trial={trial}", f"launch={launch}"],
                start_new_session=shape != "group",
                env={} if shape == "cleared" else None,
            )
            if shape in ("double", "cleared", "hopping"):
                process.wait()
        self.await_ranks(trial, launch)

    def await_ranks(self, trial, launch):
        """A program that ended before its children have begun would leave nothing to look at."""
        end = time.monotonic() + 20
        while self.number("ranks") and time.monotonic() < end:
            with open(self.path("notes")) as file:
                begun = sum(line.startswith(f"rank {trial} {launch} ") for line in file)
            if begun >= self.number("ranks"):
                return
            time.sleep(0.005)

    def become_evil(self, trial, launch):
        """Puts something unreadable where the controller reads, once, if the test asks for it."""
        try:
            with open(self.path(f"evil.{trial}")) as file:
                kind, *names = file.read().split()
            os.unlink(file.name)
        except OSError:
            return
        folder = os.path.dirname(os.environ["SLUICE_TRIAL_FILE"])
        for name in names:
            path = os.path.join(folder, name)
            if os.path.lexists(path):
                os.rename(path, path + ".before")
            if kind == "fifo":
                os.mkfifo(path)
            elif kind == "folder":
                os.mkdir(path)
            elif kind == "loop":
                os.symlink(name, path)
            else:
                os.symlink("/dev/zero", path)
        self.note("evil", trial, launch, kind, *names)

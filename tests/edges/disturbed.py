"""A study that is disturbed at random, and what must hold of it at its end (disturb.py).

Long because: every way to disturb a study is a method of it, and each must know all the others.
"""

import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time

from edges import Edge, can_mount, kill_all, processes_of, read_bytes, variable_of
from peer import Peer

POISON = -987654321.0
LIMIT_S = 90  # a study takes a few seconds, with all that is done to it
CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGPIPE)

# Methods of Disturbed, one of which each disturbance is.
ACTIONS = [
    "kill_controller",
    "kill_command",
    "kill_command_and_controller",
    "kill_launcher",
    "kill_program",
    "kill_rank",
    "kill_controller_and_launchers",
    "kill_everything",
    "kill_controller_then_program",
    "stop_controller",
    "stop_command",
    "stop_launcher",
    "stop_program",
    "stop_rank",
    "stop_all",
    "second_command",
    "linked_command",
    "remove_lock",
    "copy_store",
    "fill_disk",
    "rogue_hello",
    "spoil_files",
    "interrupt",
    "interrupt_twice",
]


class Broken(Exception):
    """A promise that was not kept."""


class Disturbed:
    """One study: its drawing, its disturbances, its end."""

    def __init__(self, root, seed):
        self.seed = seed
        self.chance = random.Random(seed)
        self.edge = Edge(root / seed)
        self.copies = root / f"{seed}-copies"
        self.commands = []  # that look on at the study
        self.seen = set()  # the controllers of the store, as far as they were seen
        self.was_killed = False  # the controller was, and no other was seen since
        self.sleepers = []  # timers that continue what was stopped, and their processes
        self.done = []  # the names of the disturbances made
        self.exempt = set()  # trials that spoiled their own files
        self.begin = time.monotonic()
        self.disk = None
        self.draw()

    def draw(self):
        chance = self.chance
        self.kind = chance.choice(["package", "plain", "warm", "package", "plain"])
        self.trials = chance.randint(2, 5)
        self.epochs = chance.randint(4, 9)
        settings = {"epochs": self.epochs, "pause": chance.choice([10, 30, 60])}
        self.ranks = chance.choice([0, 0, 1, 2])
        if self.ranks:
            shape = chance.choice(["session", "double", "deaf", "group"])
            settings |= {"ranks": self.ranks, "shape": shape}
        lease = chance.choice(["1s", "3s", "60s"])
        more = f"timeouts: {{lease: {lease}, grace: 500ms, report: 15s}}"
        if self.kind != "plain" and chance.random() < 0.5:
            more += f"\nbudget: {{max: {self.epochs}}}"
        self.draw_disk()
        self.edge.study(
            self.kind,
            trials=self.trials,
            parallelism=chance.randint(1, 4),
            retries=100,
            more=more,
            **settings,
        )
        self.planned = chance.randint(2, 7)

    def draw_disk(self):
        """One study in four has a small disk: under its files, or under its store as well."""
        where = self.chance.choice(["files", "all", "", "", "", "", "", ""])
        if not where or not can_mount():
            return
        edge = self.edge
        if where == "files":
            self.disk = edge.disk(edge.files, "size=16m")
        else:
            place = edge.folder / "small"
            self.disk = edge.disk(place, "size=32m")
            edge.store, edge.files = place / "store.db", place / "store.files"

    def title(self):
        words = [self.kind, f"{self.trials} x {self.epochs}"]
        words += [f"{self.ranks} ranks"] if self.ranks else []
        words += ["small disk"] if self.disk else []
        return ", ".join(words)

    # The course of a study.

    def run(self):
        next_at = time.monotonic() + self.chance.choice([0.05, 0.3, 0.6]) * self.chance.random()
        while not self.is_over():
            self.watch_controllers()
            self.keep_going()
            if len(self.done) < self.planned and time.monotonic() >= next_at:
                self.disturb()
                next_at = time.monotonic() + self.chance.uniform(0.0, 0.5)
            self.rest(0.005)
        self.check()

    def rest(self, seconds):
        time.sleep(seconds)
        if time.monotonic() - self.begin > LIMIT_S:
            raise Broken(f"no end after {LIMIT_S} s: {self.where_it_stands()}")

    def stop(self, pid, seconds):
        """Stops a process for a while. A timer wakes it: others may wait for what it holds."""

        def wake():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(seconds, wake)
        timer.start()
        self.sleepers.append((timer, wake))

    def wait(self, process, seconds):
        """Waits for a process; False if it goes on."""
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            self.rest(0.005)
        return process.poll() is not None

    def where_it_stands(self):
        rows = self.edge.query("SELECT trial, state, work, failures, note FROM trials")
        return f"{rows}, running: {self.edge.processes()}"

    def alive(self):
        """The commands that look on."""
        for process in [each for each in self.commands if each.poll() is not None]:
            self.commands.remove(process)
            self.judge(process)
        return self.commands

    def judge(self, process):
        """A command may be refused, or end with an error; it does not crash."""
        out, err = process.communicate()
        if process.returncode in CRASHES:
            raise Broken(f"a command ended by signal {-process.returncode}: {out}{err}")
        usual = (0, 130, -signal.SIGKILL, -signal.SIGINT)  # SIGINT: before it was handled
        if process.returncode not in usual and "sluice: " not in err:
            raise Broken(f"a command ended with {process.returncode}, and no word: {out}{err}")

    def watch_controllers(self):
        """A controller may be killed, or end with an error; it does not crash.

        It is the child of the command that started it, which leaves it a zombie.
        """
        pid = self.edge.controller()
        if pid is not None and pid not in self.seen:
            self.seen.add(pid)
            self.was_killed = False
        for each in self.seen:
            fields = read_bytes(f"/proc/{each}/stat").rpartition(b")")[2].split()
            if fields and fields[0] in (b"Z", b"X") and -(int(fields[-1]) & 127) in CRASHES:
                raise Broken(f"a controller ended by signal {int(fields[-1]) & 127}: {self.log()}")

    def log(self):
        """What controllers wrote before they ended with an error."""
        return read_bytes(self.edge.files / "run/controller.log").decode(errors="replace")

    def is_over(self):
        return not self.alive() and self.edge.query("SELECT finished FROM studies") == [(1,)]

    def words(self):
        if self.edge.query("SELECT 1 FROM studies"):
            return ["resume", "edge", "-q"]
        return ["tune", "study.yaml", "-q"]

    def keep_going(self):
        if not self.alive():
            self.commands.append(self.edge.start(*self.words()))

    # Disturbances. Each returns what it did, or nothing where it found nothing to do it to.

    def disturb(self):
        """Makes one of the disturbances that can be made now."""
        actions = ACTIONS + ["fill_disk"] * (6 if self.disk else 0)
        self.chance.shuffle(actions)
        for name in actions:
            said = getattr(self, name)()
            if said:
                self.done.append(said)
                return

    def pick(self, role):
        found = self.edge.processes(role)
        return self.chance.choice(found) if found else None

    def pid_of(self, role):
        process = self.pick(role)
        return process.pid if process else None

    def kill_one(self, role):
        pid = self.pid_of(role)
        if pid is None:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.was_killed |= role == "controller"
        return f"kill {role}"

    def stop_one(self, role):
        pid = self.pid_of(role)
        if pid is None:
            return None
        seconds = self.chance.choice([0.05, 0.3, 1.2, 2.5])
        self.stop(pid, seconds)
        return f"stop {role} {seconds} s"

    def kill_controller(self):
        return self.kill_one("controller")

    def kill_command(self):
        """The study goes on without it."""
        return self.kill_one("command")

    def kill_all_commands(self):
        """Then nothing starts another controller, before this one is killed."""
        for process in self.edge.processes("command"):
            process.signal(signal.SIGKILL)
        for process in self.alive():
            process.wait()

    def kill_command_and_controller(self):
        if not self.edge.processes("controller"):
            return None
        self.kill_all_commands()
        self.kill_one("controller")
        return "kill command and controller"

    def kill_launcher(self):
        return self.kill_one("launcher")

    def kill_program(self):
        return self.kill_one("program")

    def kill_rank(self):
        return self.kill_one("rank")

    def kill_controller_and_launchers(self):
        found = self.edge.processes("controller", "launcher")
        if {each.role for each in found} != {"controller", "launcher"}:
            return None
        if self.chance.random() < 0.5:  # or else a command starts another controller at once
            self.kill_all_commands()
        self.chance.shuffle(found)
        for process in found:
            process.signal(signal.SIGKILL)
        self.was_killed = True
        return "kill controller and launchers"

    def kill_everything(self):
        found = self.edge.processes()
        self.chance.shuffle(found)
        for process in found:
            process.signal(signal.SIGKILL)
        self.was_killed |= any(each.role == "controller" for each in found)
        return "kill everything" if found else None

    def kill_controller_then_program(self):
        """The program trains alone for a while, and is killed before a controller hears of it."""
        if not self.edge.processes("program") or not self.edge.processes("controller"):
            return None
        self.kill_all_commands()
        self.kill_one("controller")
        self.rest(self.chance.uniform(0.0, 0.3))
        self.kill_one("program")
        return "kill controller, then program"

    def stop_controller(self):
        return self.stop_one("controller")

    def stop_command(self):
        return self.stop_one("command")

    def stop_launcher(self):
        return self.stop_one("launcher")

    def stop_program(self):
        return self.stop_one("program")

    def stop_rank(self):
        return self.stop_one("rank")

    def stop_all(self):
        seconds = self.chance.choice([0.3, 1.2])
        found = self.edge.processes()
        for process in found:
            self.stop(process.pid, seconds)
        return f"stop everything {seconds} s" if found else None

    def second_command(self, *more):
        """It looks on like the first, or starts a controller if there is none."""
        if not self.alive() or not self.edge.query("SELECT 1 FROM studies"):
            return None
        self.commands.append(self.edge.start("resume", "edge", "-q", *more))
        return "second command"

    def linked_command(self):
        link = self.edge.store.with_name("link.db")
        if not link.is_symlink():
            link.symlink_to("store.db")
        return self.second_command("--store", link) and "linked second command"

    def remove_lock(self):
        found = [path for path in self.edge.files.glob("run/*") if "lock" in path.name]
        if not found or not self.alive():
            return None
        for path in found:
            with contextlib.suppress(OSError):
                path.unlink()
        return self.second_command() and "remove lock, second command"

    def copy_store(self):
        """Copies the store, and ends, deletes or runs the copy."""
        edge = self.edge
        if not edge.query("SELECT 1 FROM trials"):
            return None
        copy = Edge(self.copies / str(len(self.done)))
        for path in [*edge.store.parent.glob("store.db*"), edge.files]:
            words = ["cp", "-r", str(path), str(copy.folder)]
            subprocess.run(words, check=False, capture_output=True)
        (copy.files / ".filler").unlink(missing_ok=True)
        verb = self.chance.choice(["stop", "delete", "resume"])
        try:
            self.use_copy(copy, verb)
        finally:
            copy.close()
        return f"copy, {verb} the copy"

    def use_copy(self, copy, verb):
        words = {"delete": ["delete", "edge", "--yes"], "resume": ["resume", "edge", "-q"]}
        process = copy.start(*words.get(verb, ["stop", "edge"]))
        if verb == "resume":
            self.wait(process, self.chance.uniform(0.1, 1.0))
            for _ in range(2):
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    self.wait(process, 1.0)
        if not self.wait(process, 30):
            raise Broken(f"`{verb}` of a copy does not end")
        if process.returncode in CRASHES:
            raise Broken(f"`{verb}` of a copy ended by signal {-process.returncode}")
        self.assert_gone(copy.folder, f"`{verb}` of a copy left")

    def fill_disk(self):
        if not self.disk or not self.disk.place.exists():
            return None
        seconds = self.chance.choice([0.05, 0.3, 1.0])
        self.disk.fill()
        self.rest(seconds)
        self.disk.free()
        return f"disk full {seconds} s"

    def rogue_hello(self):
        """A process outside of the study claims to be one of its workers, and reports."""
        program = self.pick("program")
        names = ["WORKER", "TRIAL", "LAUNCH", "SOCKET"]
        told = {name: variable_of(program.pid, f"SLUICE_{name}") for name in names if program}
        if not told or None in told.values():
            return None
        place = {"trial": int(told["TRIAL"]), "launch": int(told["LAUNCH"])}
        peer, acked = None, False
        with contextlib.suppress(OSError, ValueError):
            peer = Peer(told["SOCKET"], seconds=1)
            pid = self.chance.choice([program.pid, os.getpid()])
            peer.hello(told["WORKER"], pid, study="edge", **place)
            for seq in (1, 2, 3):
                values = {"loss": POISON}
                peer.say(type="report", seq=seq, work=self.epochs + seq, values=values, **place)
            while message := peer.hear():
                acked |= message["type"] == "ack"
        if peer is None:
            return None
        peer.close()
        if acked:
            raise Broken("a stranger's report was acknowledged")
        return "rogue hello"

    def spoil_files(self):
        """Asks a trial to put something unreadable into its launch folder."""
        running = [trial for trial, state in self.edge.states().items() if state == "running"]
        if self.kind == "warm" or not running:
            return None
        trial = self.chance.choice(running)
        names = ["spool.jsonl", "stdout", "stderr", "paused", "speaks"]
        chosen = self.chance.sample(names, self.chance.randint(1, 5))
        kind = self.chance.choice(["fifo", "zero"])
        self.exempt.add(trial)
        (self.edge.witness / f"evil.{trial}").write_text(" ".join([kind, *chosen]))
        return f"{kind} in trial {trial}"

    def interrupt(self, times=1):
        alive = self.alive()
        if not alive:
            return None
        process = self.chance.choice(alive)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        if times > 1:
            self.wait(process, self.chance.uniform(0.0, 0.3))
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        if not self.wait(process, 45):
            raise Broken(f"a command goes on after {times} Ctrl-C: {self.where_it_stands()}")
        if process.returncode == 130 and not self.alive():
            self.assert_gone(self.edge.folder, f"{times} Ctrl-C left")
        return "Ctrl-C" if times == 1 else "Ctrl-C twice"

    def interrupt_twice(self):
        return self.interrupt(2)

    # The end of a study.

    def assert_gone(self, folder, what, seconds=3.0):
        end = time.monotonic() + seconds
        while left := processes_of(folder):
            if time.monotonic() > end:
                raise Broken(f"{what}: {left}")
            self.rest(0.01)

    def check(self):
        edge = self.edge
        self.sweep()
        self.assert_gone(edge.folder, "left at the end", 8.0)
        self.check_log()
        self.check_witness()
        self.check_trials()
        for words in (["doctor", "--json"], ["doctor", "--replay", "edge", "--json"]):
            done = edge.run(*words, check=False, seconds=60)
            if done.returncode != 0:
                checks = json.loads(done.stdout or '{"checks": []}')["checks"]
                wrong = [each for each in checks if each.get("state") != "ok"]
                raise Broken(f"{' '.join(words)} says: {wrong} {done.stderr}")

    def sweep(self):
        """If the last controller was killed, the next one ends what it left running."""
        if self.was_killed:
            self.edge.run("resume", "edge", "-q", check=False)

    def check_log(self):
        if "broken invariant" in self.log():
            raise Broken(f"a controller has found itself at fault: {self.log()}")

    def check_witness(self):
        twice = self.edge.notes("twice")
        if twice:
            raise Broken(f"two launches of one trial at once: {twice}")

    def check_trials(self):
        edge = self.edge
        twice = edge.query("SELECT seq FROM events INTERSECT SELECT seq FROM reports")
        if twice:
            raise Broken(f"an event and a report have the same number: {twice}")
        rows = edge.query("SELECT trial, state, params, note FROM trials ORDER BY trial")
        if [row[0] for row in rows] != list(range(1, self.trials + 1)):
            raise Broken(f"the trials are {rows}")
        found = collections.defaultdict(list)
        for trial, work, metrics in edge.reports():
            found[trial].append((work, metrics.get("loss")))
        for trial, state, params, note in rows:
            x = json.loads(params)["x"]
            wanted = [(epoch, x * 100 + epoch) for epoch in range(1, self.epochs + 1)]
            self.check_trial(trial, state, note, sorted(found[trial]), wanted)

    def check_trial(self, trial, state, note, found, wanted):
        works = [work for work, _ in found]
        doubled = sorted({work for work in works if works.count(work) > 1})
        if doubled:
            raise Broken(f"trial {trial}: the reports {doubled} were counted twice")
        if [each for each in found if each not in wanted]:
            raise Broken(f"trial {trial}: reports that it never made: {found}")
        if (state == "complete" and found == wanted) or trial in self.exempt:
            return
        met_full_disk = self.kind == "plain" and any("disk full" in each for each in self.done)
        if met_full_disk and state != "complete" and note:
            return
        said = self.edge.notes(trial=trial)
        raise Broken(f"trial {trial} is {state} ({note}) with the reports {works}; it did {said}")

    def close(self, keeps):
        for timer, wake in self.sleepers:
            if timer.is_alive():
                timer.cancel()
                wake()
        for process in self.edge.started:
            if process.poll() is None:
                process.kill()
        kill_all(self.edge.folder)
        if keeps:  # what lies on a small disk goes with it
            kept = f"{self.edge.folder}-kept"
            words = ["cp", "-a", str(self.edge.folder), kept]
            subprocess.run(words, check=False, capture_output=True)
        self.edge.close()
        shutil.rmtree(self.copies, ignore_errors=True)
        shutil.rmtree(self.edge.folder, ignore_errors=True)

"""A study of bundles whose controller and processes are killed with kill -9."""

import contextlib
import signal
import subprocess
import time

from house import kill_if_alive, pid_if_alive, wait_until

VICTIMS = ["controller", "program", "launcher", "controller program", "controller launcher"]


class KilledStudy:
    """A study in a house, from the file study.yaml, and what can be killed of it."""

    def __init__(self, house, study, environment):
        self.house = house
        self.study = study
        self.environment = environment
        self.controller = None
        self.killed = 0  # instants at which something was killed
        self.bundles_killed = 0

    def start(self):
        has_begun = self.house.query("SELECT 1 FROM studies")
        words = ["resume", self.study, "-q"] if has_begun else ["tune", "study.yaml", "-q"]
        self.controller = self.house.start(*words, **self.environment)

    def is_over(self):
        """Whether the controller has ended, and not because it was killed."""
        if self.controller.poll() in (None, -signal.SIGKILL):
            return False
        _, said = self.controller.communicate()
        is_finished = self.controller.returncode == 0 or "is finished (all trials done)" in said
        assert is_finished, said
        return True

    def records(self, name):
        launches = f"studies/{self.study}/trials/*/launch-*"
        return sorted(self.house.files.glob(f"{launches}/{name}"))

    def kill(self, victims, chance):
        """At once, as far as one process can kill several others: one bundle, or sometimes all."""
        places = {"program": "program", "launcher": "claim"}
        order = victims.split()
        alive = [path.parent for path in self.records("program") if pid_if_alive(path)]
        chance.shuffle(alive)
        chosen = alive if chance.random() < 0.3 else alive[:1]
        chance.shuffle(order)
        hit = False
        for victim in order:
            if victim == "controller":
                hit |= self.controller.poll() is None
                self.controller.kill()
            else:
                count = sum(kill_if_alive(bundle / places[victim]) for bundle in chosen)
                self.bundles_killed += count
                hit |= count > 0
        if "controller" in order:
            self.controller.communicate()
        self.killed += hit

    def wait(self, seconds):
        """Returns early if the controller ends."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.controller.wait(timeout=seconds)

    def kill_and_go_on(self, chance):
        """Kills something. If that was the controller, starts another one after a while."""
        self.kill(chance.choice(VICTIMS), chance)
        if self.controller.poll() == -signal.SIGKILL:
            # The bundles go on without a controller for a while, and may die meanwhile.
            time.sleep(chance.choice([0, 0.01, 0.1, 0.3]) * chance.random())
            if chance.random() < 0.3:
                self.kill(chance.choice(["program", "launcher"]), chance)
            self.start()

    def check_end(self):
        """No process is left, and the events tell the whole state."""
        for name in ("program", "claim"):
            for record in self.records(name):
                wait_until(lambda path=record: not pid_if_alive(path), 5, f"the end of {record}")
        doctor = self.house.json("doctor", "--replay", self.study)["checks"]
        replay = next(check for check in doctor if check["check"] == "replay")
        assert "replays to the same state" in replay["found"], replay

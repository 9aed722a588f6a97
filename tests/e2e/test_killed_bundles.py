"""kill -9 of the controller and of bundles at any instant: nothing is lost, nothing is done twice.

Each seed is one study. The seed draws when something is killed, and what.
"""

import collections
import json
import random

import pytest
from house import IS_SOAK, ROOT, House, python_program
from killed_study import KilledStudy

SEEDS = range(20 if IS_SOAK else 1)
KILLS = 6  # of each study
ATTEMPTS = 12  # some hit nothing, because nothing runs at that instant
TRIALS = {"none": 20, "asha": 60, "asha-promotion": 40}  # about two seconds of work
EPOCHS = 9
# Numbers of endings in the store's events.
FAILED, BUNDLE_LOST = 2, 7

# Each value follows from the one before it, which is part of the checkpoint. So a trial that goes
# on from a wrong state reports a wrong value. The script holds a lock for each trial that it
# trains, and writes down what it does.
SCRIPT = """
import fcntl, os, time
import sluice

log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
states, locks = {}, {}


def note(word, trial, epoch):
    text = f"{word} {os.getpid()} {trial.number} {trial.launch} {epoch}\\n"
    os.write(log, text.encode())


def enter(trial):
    saved = trial.latest_checkpoint()
    text = (saved / "state").read_text() if saved else f"0 {trial.params['x']}"
    states[trial] = tuple(map(int, text.split()))
    locks[trial] = os.open(f"{os.environ['LOG']}.{trial.number}", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(locks[trial], fcntl.LOCK_EX | fcntl.LOCK_NB)
        note("in", trial, states[trial][0])
    except BlockingIOError:
        note("twice", trial, states[trial][0])


def save(trial):
    with trial.checkpoint(states[trial][0]) as folder:
        (folder / "state").write_text("%d %d" % states[trial])
    note("saved", trial, states[trial][0])


with sluice.bundle(capacity=4) as bundle:
    for step in bundle:
        for trial in step.left:
            if trial.should_save():
                save(trial)
            note("out", trial, states[trial][0])
            os.close(locks.pop(trial))
        for trial in step.joined:
            enter(trial)
        time.sleep(0.015)
        for trial in step.trials:
            epoch, value = states[trial]
            epoch += 1
            states[trial] = epoch, (value * 31 + trial.params["x"] + epoch) % 1000003
            trial.report(epoch, loss=states[trial][1])
            if epoch % 2 == 0:
                save(trial)
"""

STUDY = """
study: killed
program: {program}
space: {{x: {{int: [0, 99999]}}}}
objective: {{minimize: loss}}
sampler: random
stopper: {stopper}
budget: {{min: 1, max: {epochs}, eta: 3}}
trials: {trials}
policy: {policy}
fuse: 4
retries: 100
backoff: 1ms
seed: {seed}
"""

POLICIES = ["hydro", "confluence"]  # those that fuse trials


def loss_of(x, epoch):
    """What the script reports."""
    value = x
    for each in range(1, epoch + 1):
        value = (value * 31 + x + each) % 1000003
    return value


class Bundles(KilledStudy):
    """A study of bundles in a house."""

    def __init__(self, house, stopper, seed):
        paths = {"LOG": str(house.folder / "log"), "PYTHONPATH": str(ROOT / "python")}
        super().__init__(house, "killed", paths)
        self.trials = TRIALS[stopper]
        program = python_program(house.write("trial.py", SCRIPT))
        study = STUDY.format(
            program=program,
            stopper=stopper,
            epochs=EPOCHS,
            trials=self.trials,
            policy=POLICIES[seed % len(POLICIES)],
            seed=seed,
        )
        house.write("study.yaml", study)

    def notes(self):
        """(word, pid, trial, launch, epoch) of what the scripts wrote down, in its order."""
        lines = (self.house.folder / "log").read_text().splitlines()
        rows = [line.split() for line in lines]
        return [(word, *map(int, numbers)) for word, *numbers in rows]

    def endings(self):
        """(trial, launch, ending, whether its process said so), in their order."""
        rows = self.house.query("SELECT body FROM events WHERE kind = 'launch_ended' ORDER BY seq")
        bodies = [json.loads(body) for (body,) in rows]
        return [(b["trial"], b["launch"], b["ending"], "message" in b) for b in bodies]

    def processes(self):
        """(trial, launch) -> the process that it was given to, as its launcher is recorded."""
        found = {}
        for path in self.records("claim"):
            launch, trial = path.parent, path.parent.parent
            key = int(trial.name), int(launch.name.removeprefix("launch-"))
            found[key] = tuple(path.read_text().split()[:2])
        return found


def disturb(bundles, chance):
    """Runs the study to its end, and kills something of it again and again."""
    bundles.start()
    for _ in range(ATTEMPTS):
        bundles.wait(chance.choice([0.05, 0.3, 0.8]) * chance.random())
        if bundles.killed >= KILLS or bundles.is_over():
            break
        bundles.kill_and_go_on(chance)
    bundles.wait(60)
    assert bundles.is_over(), "the study did not end within 60 s"


def check_reports(bundles):
    """Each trial reported what follows from its parameters: no epoch twice, none left out."""
    house = bundles.house
    params = dict(house.query("SELECT trial, params FROM trials"))
    curves = {trial: {} for trial in params}
    for trial, work, metrics in house.reports():
        assert work not in curves[trial], f"trial {trial} reported epoch {work} twice"
        curves[trial][work] = metrics["loss"]
    for trial, curve in curves.items():
        x = json.loads(params[trial])["x"]
        assert curve == {epoch: loss_of(x, epoch) for epoch in range(1, len(curve) + 1)}, trial
    return curves


def check_work(bundles):
    """No trial was in two places at once, and none went back behind its last checkpoint."""
    last_saved = {}
    for word, pid, trial, launch, epoch in bundles.notes():
        where = f"trial {trial}, launch {launch}, process {pid}, epoch {epoch}"
        assert word != "twice", f"it runs elsewhere, too: {where}"
        if word == "saved":
            last_saved[trial] = epoch
        if word == "in":
            assert epoch >= last_saved.get(trial, 0), f"it lost a checkpoint: {where}"


def check_failures(bundles):
    """A process that was killed is a failure of its trial only if it had no other."""
    processes = bundles.processes()
    left = {(trial, launch) for word, _, trial, launch, _ in bundles.notes() if word == "out"}
    failed = collections.Counter()
    for trial, launch, ending, was_said in bundles.endings():
        if ending != FAILED:
            continue
        failed[trial] += 1
        assert not was_said, f"the script failed: trial {trial}, launch {launch}"
        process = processes.get((trial, launch))
        mates = {each for each in processes if processes[each] == process} - left
        assert mates <= {(trial, launch)}, f"several died, and trial {trial} is blamed: {mates}"
    for trial, failures in bundles.house.query("SELECT trial, failures FROM trials"):
        assert failures <= failed[trial]
    assert failed.total() <= bundles.bundles_killed


def check_alone(bundles):
    """A trial whose process died twice with others in it runs alone after that."""
    lost = collections.Counter()
    alone = set()
    for trial, launch, ending, was_said in bundles.endings():
        lost[trial] += ending == BUNDLE_LOST
        if was_said:
            lost[trial] = 0
        if lost[trial] >= 2:
            alone.add((trial, launch + 1))
    carried = collections.defaultdict(set)  # by process
    for word, pid, trial, launch, _ in bundles.notes():
        if word == "in":
            carried[pid].add((trial, launch))
            assert len(carried[pid]) == 1 or not carried[pid] & alone, (carried[pid], alone)
        if word == "out":
            carried[pid].discard((trial, launch))


def check_all(bundles):
    curves = check_reports(bundles)
    check_work(bundles)
    check_failures(bundles)
    bundles.check_end()
    return curves


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_bundles_find_the_same(house, tmp_path_factory, seed):
    undisturbed = Bundles(House(tmp_path_factory.mktemp("undisturbed")), "none", seed)
    undisturbed.start()
    undisturbed.wait(60)
    assert undisturbed.is_over()
    wanted = check_all(undisturbed)
    undisturbed.house.close()

    bundles = Bundles(house, "none", seed)
    disturb(bundles, random.Random(f"killed bundles {seed}"))
    assert check_all(bundles) == wanted
    check_alone(bundles)
    assert all(len(curve) == EPOCHS for curve in wanted.values())
    assert house.states() == dict.fromkeys(range(1, bundles.trials + 1), "complete")
    assert bundles.killed >= 3, "the test killed next to nothing"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stopper", ["asha", "asha-promotion"])
def test_killed_bundles_are_judged_all_the_same(house, stopper, seed):
    bundles = Bundles(house, stopper, seed)
    disturb(bundles, random.Random(f"killed bundles {stopper} {seed}"))
    curves = check_all(bundles)
    assert len(curves) == bundles.trials
    for trial, state in house.states().items():
        if state == "complete":
            assert len(curves[trial]) == EPOCHS
        else:
            assert state == ("stopped" if stopper == "asha" else "paused"), (trial, state)
            assert len(curves[trial]) in (1, 3), (trial, curves[trial])
    assert bundles.killed >= 3, "the test killed next to nothing"

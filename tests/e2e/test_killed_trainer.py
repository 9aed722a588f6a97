"""kill -9 of the controller and of sluice-trainer at any instant: the study finds the same.

Each seed is one study, which is run undisturbed first. The seed draws when something is killed, and
what.
"""

import random

import pytest
from house import BINARIES, IS_SOAK, House
from killed_study import KilledStudy

numpy = pytest.importorskip("numpy")

SEEDS = range(5 if IS_SOAK else 1)
KILLS = 6 if IS_SOAK else 3  # instants of each study
BOUND = 1e-6  # of reported numbers, relative
EPOCHS = 9
BATCH = 64
STEPS = 180  # of a trial, in all epochs

STUDY = """
study: killed
model: {{network: "zoo:mlp,in=64,hidden=128,layers=3", loss: cross_entropy}}
data: {{path: data}}
train:
  optimizer: sgd
  lr: "{{lr}}"
  momentum: 0.9
  weight_decay: 1e-4
  batch: {batch}
  precision: float64
  schedule: {{name: cosine, over: {epochs}}}
space: {{lr: {{float: [1e-3, 0.3], log: true}}}}
objective: {{minimize: loss}}
sampler: random
stopper: {stopper}
budget: {{min: 1, max: {epochs}, eta: 3}}
trials: {trials}
policy: hydro
fuse: 4
retries: 100
backoff: 1ms
seed: {seed}
"""


pytestmark = pytest.mark.skipif(
    not (BINARIES / "sluice-trainer").exists(),
    reason="sluice-trainer is not built: PyTorch was not found",
)


def write_data(folder, seed):
    """Classes of noisy vectors: for training, and for validation unless the seed is odd. Without
    validation the loss is that of training."""
    folder.mkdir()
    generator = numpy.random.default_rng(seed)
    centres = generator.normal(size=(10, 64))
    parts = [("train", STEPS // EPOCHS * BATCH)] + [("val", 100)] * (seed % 2 == 0)
    for part, examples in parts:
        targets = generator.integers(0, 10, examples)
        inputs = centres[targets] + 2 * generator.normal(size=(examples, 64))
        numpy.save(folder / f"{part}_inputs.npy", inputs.astype("float32"))
        numpy.save(folder / f"{part}_targets.npy", targets)


class TrainedStudy(KilledStudy):
    def __init__(self, house, stopper, seed):
        super().__init__(house, "killed", {})
        self.trials = 9
        write_data(house.folder / "data", seed)
        house.write("study.yaml", STUDY.format(
            stopper=stopper, seed=seed, trials=self.trials, epochs=EPOCHS, batch=BATCH))

    def reported(self):
        """How many reports are on disk."""
        rows = self.house.query("SELECT count(*) FROM reports")
        return rows[0][0] if rows else 0

    def results(self):
        """(trial, work) -> metrics, each reported once."""
        found = {}
        for trial, work, metrics in self.house.reports():
            assert (trial, work) not in found, f"trial {trial} reported epoch {work} twice"
            found[trial, work] = metrics
        return found

    def verdicts(self):
        return dict(self.house.query("SELECT trial, state FROM trials"))

    def best(self):
        return self.house.json("best", "killed")["trial"]


def run_undisturbed(stopper, seed, folder):
    study = TrainedStudy(House(folder), stopper, seed)
    study.start()
    study.wait(120)
    assert study.is_over(), "the study did not end within 120 s"
    found = study.results(), study.verdicts(), study.best()
    study.check_end()
    study.house.close()
    return found


def disturb(study, reports, chance):
    """Runs the study to its end. Kills something of it when so many reports are on disk, which is
    drawn, and a little later."""
    study.start()
    for count in sorted(chance.randrange(reports) for _ in range(KILLS)):
        while study.reported() < count and study.controller.poll() is None:
            study.wait(0.01)
        study.wait(0.1 * chance.random())
        if study.is_over():
            break
        study.kill_and_go_on(chance)
    study.wait(120)
    assert study.is_over(), "the study did not end within 120 s"


def differing(found, expected):
    """Numbers that differ, by trial, work and name."""
    return {
        (*key, name): (found[key][name], value)
        for key, metrics in expected.items() for name, value in metrics.items()
        if not abs(found[key][name] - value) <= BOUND * abs(value)
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stopper", ["none", "sha"])
def test_killed_trainers_find_the_same(house, tmp_path_factory, stopper, seed):
    undisturbed = tmp_path_factory.mktemp("undisturbed")
    results, verdicts, best = run_undisturbed(stopper, seed, undisturbed)
    assert len(verdicts) == 9
    if stopper == "none":
        assert len(results) == 9 * EPOCHS

    study = TrainedStudy(house, stopper, seed)
    disturb(study, len(results), random.Random(f"killed trainer {stopper} {seed}"))
    found = study.results()
    assert found.keys() == results.keys()
    assert {key: set(each) for key, each in found.items()} == {
        key: set(each) for key, each in results.items()}
    assert not differing(found, results)
    assert study.verdicts() == verdicts
    assert study.best() == best
    study.check_end()
    assert study.killed >= 2, "the test killed next to nothing"

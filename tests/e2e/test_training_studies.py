"""Studies with `train`: sluice-trainer trains their trials, and no program of the user's runs."""

import json
import re
import subprocess
import sys

import pytest
from house import BINARIES, ROOT, wait_until

numpy = pytest.importorskip("numpy")

TRAINER = BINARIES / "sluice-trainer"
needs_trainer = pytest.mark.skipif(
    not TRAINER.exists(), reason="sluice-trainer is not built: PyTorch was not found"
)

STUDY = """
study: digits
model: {network: "zoo:mlp,in=64,hidden=16,layers=1", loss: cross_entropy}
data: {path: data, validation_fraction: 0.25}
train: {optimizer: sgd, lr: "{lr}", momentum: 0.9, batch: "{batch}"}
space:
  lr: {float: [1e-3, 1], log: true}
  batch: {choice: [16, 32]}
objective: {maximize: accuracy}
sampler: random
budget: {max: 3}
trials: 8
seed: 5
"""


def write_data(house, examples=400, seed=0):
    """Ten classes of noisy pictures of 64 pixels."""
    rng = numpy.random.default_rng(seed)
    folder = house.folder / "data"
    folder.mkdir(exist_ok=True)
    targets = rng.integers(0, 10, examples)
    pictures = numpy.random.default_rng(99).normal(size=(10, 64))
    inputs = pictures[targets] + rng.normal(size=(examples, 64))
    numpy.save(folder / "train_inputs.npy", inputs.astype("float32"))
    numpy.save(folder / "train_targets.npy", targets)


@pytest.fixture
def digits(house):
    write_data(house)
    house.write("study.yaml", STUDY)
    return house


def refused(house, study, code=2):
    house.write("study.yaml", study)
    done = house.run("check", "study.yaml", check=False)
    assert done.returncode == code, done.stderr
    return done.stderr.replace("sluice: ", "")


@needs_trainer
def test_trains_together_without_a_program(digits):
    digits.run("tune", "study.yaml", "-q")
    works, best = {}, {}
    for trial, work, metrics in digits.reports():
        works.setdefault(trial, []).append(work)
        assert set(metrics) == {"loss", "accuracy", "perplexity", "top5", "train_loss"}
        best[trial] = max(best.get(trial, 0), metrics["accuracy"])
    assert works == {trial: [1, 2, 3] for trial in range(1, 9)}
    assert max(best.values()) > 0.8 and set(digits.states().values()) == {"complete"}
    hosts = digits.query("SELECT count(*) FROM events WHERE kind = 'capacity_told'")
    assert 1 <= hosts[0][0] <= 2, "trials share processes, whatever their shape"
    assert not list(digits.files.glob("studies/*/trials/*/launch-*/recipe.json"))


@needs_trainer
def test_check_says_how_parameters_reach_the_training(digits):
    said = digits.run("check", "study.yaml").stdout
    assert re.search(r"lr: float .* -> train\.lr\n", said)
    assert re.search(r"batch: choice .* -> train\.batch \(of the shape", said)
    assert "300 training examples" in said and "zoo:mlp" in said
    checked = digits.json("check", "study.yaml")
    assert checked["training"]["reaches"]["lr"] == "train.lr"
    assert checked["found_at"] == str(TRAINER)
    assert checked["errors"] == [] and checked["parallelism"] == 8


@needs_trainer
def test_trains_a_narrower_network(digits):
    text = STUDY.replace("loss: cross_entropy", "loss: cross_entropy, scale: 2")
    text = text.replace("momentum: 0.9", 'weight_decay: "{decay}"')
    digits.write(
        "study.yaml", text.replace("  batch: {c", "  decay: {float: [0, 0.1]}\n  batch: {c")
    )
    warnings = digits.json("check", "study.yaml")["warnings"]
    expected = "train.weight_decay: trials train a narrower network: 'decay': "
    assert sum(expected in warning for warning in warnings) == 1
    assert not any("'lr'" in warning for warning in warnings)
    digits.run("tune", "study.yaml", "-q", "--trials", 3)
    assert set(digits.states().values()) == {"complete"}
    shrunk = digits.run("model", "shrink", "--study", "study.yaml").stdout
    assert "layers.0.weight" in shrunk


@needs_trainer
def test_the_example_of_the_reference_trains(house):
    page = (ROOT / "docs/study-file.md").read_text()
    [study] = [
        text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "train:" in text
    ]
    write_data(house)
    house.write("study.yaml", study)
    house.run("tune", "study.yaml", "-q", "--seed", 1)
    assert set(house.states().values()) == {"complete"} and len(house.states()) == 12
    assert house.json("best", "digits")["value"] > 0.5


@needs_trainer
def test_a_study_goes_on_with_the_files_it_was_made_with_alone(digits):
    digits.run("tune", "study.yaml", "-q", "--trials", 2)
    digits.run("resume", "digits", "--trials", 4, "-q")
    assert set(digits.states().values()) == {"complete"} and len(digits.states()) == 4
    write_data(digits, seed=1)
    refused = digits.run("resume", "digits", "--trials", 6, "-q", code=1).stderr
    assert re.search(
        r"data/train_inputs\.npy: expected the file that the study was made with, \d+ "
        r"bytes with the hash \w+, found \d+ bytes .* make a new study",
        refused,
    )
    assert len(digits.states()) == 4
    write_data(digits)
    digits.run("resume", "digits", "--trials", 6, "-q")
    assert len(digits.states()) == 6
    digits.run("doctor", "--replay", "digits")


@needs_trainer
def test_pauses_and_resumes_from_checkpoints(digits):
    digits.write("study.yaml", STUDY + "stopper: asha-promotion\n")
    digits.run("tune", "study.yaml", "-q")
    assert set(digits.states().values()) <= {"complete", "paused", "stopped"}
    works = {}
    for trial, work, _ in digits.reports():
        works.setdefault(trial, []).append(work)
    assert all(done == list(range(1, len(done) + 1)) for done in works.values())
    assert len({len(done) for done in works.values()}) > 1, "some were promoted, some were not"


@needs_trainer
def test_a_killed_controller_is_followed_by_another(digits):
    text = STUDY.replace("max: 3", "max: 200").replace("trials: 8", "trials: 4")
    text = text.replace("[1e-3, 1]", "[1e-3, 0.02]")  # a trial that diverges ends early
    digits.write("study.yaml", text)
    process = digits.start("tune", "study.yaml", "-q")
    wait_until(lambda: len(digits.reports()) > 20, what="reports")
    process.kill()
    process.wait()
    digits.run("resume", "digits", "-q")
    assert set(digits.states().values()) == {"complete"}
    works = {}
    for trial, work, _ in digits.reports():
        works.setdefault(trial, set()).add(work)
    assert works == {trial: set(range(1, 201)) for trial in range(1, 5)}


@needs_trainer
def test_a_recipe_too_long_for_a_command_line_is_in_a_file(digits):
    files = [f"data/part{number:04}_with_quite_a_long_name.npy" for number in range(1200)]
    for name in files:
        (digits.folder / name).symlink_to("train_inputs.npy")
        (digits.folder / name.replace("part", "target")).symlink_to("train_targets.npy")
    data = {
        "train": {"inputs": files, "targets": [name.replace("part", "target") for name in files]},
        "validation": {"inputs": files[0], "targets": files[0].replace("part", "target")},
    }
    text = re.sub("data: .*", f"data: {json.dumps(data)}", STUDY).replace("max: 3", "max: 1")
    digits.write("study.yaml", text.replace("[16, 32]", "[4096]").replace("trials: 8", "trials: 1"))
    digits.run("tune", "study.yaml", "-q")
    assert digits.states() == {1: "complete"}
    assert list(digits.files.glob("studies/*/trials/*/launch-*/recipe.json"))


def test_what_does_not_go_together_is_refused_before_anything_runs(house):
    write_data(house)
    said = refused(house, STUDY.replace("path: data", "path: nowhere"))
    assert re.match(r"study\.yaml:4: data: /.*/nowhere: no such file\n", said)
    said = refused(house, STUDY.replace("in=64", "in=99"))
    assert said.startswith(
        "study.yaml:4: data: expected examples of the sizes [99], as the network"
    )
    said = refused(house, STUDY.replace("zoo:mlp", "zoo:mpl"))
    assert said.startswith("study.yaml:3: model.network: ")
    said = refused(house, STUDY.replace("cross_entropy", "crossentropy"))
    assert said.startswith("study.yaml:3: model.loss: ") and "did you mean 'cross_entropy'" in said
    said = refused(house, STUDY.replace("maximize: accuracy", "maximize: acuracy"))
    assert said.startswith("study.yaml:9: objective: expected a metric that sluice-trainer reports")
    assert "did you mean 'accuracy'" in said
    said = refused(house, STUDY.replace(", validation_fraction: 0.25", ""))
    assert "add 'validation_fraction: 0.1' to 'data'" in said
    said = refused(
        house,
        STUDY.replace("optimizer: sgd", 'optimizer: "{o}"').replace(
            "space:\n", "space:\n  o: {choice: [sgd, adam]}\n"
        ),
    )
    assert said.startswith("study.yaml:5: train.momentum: expected nothing with the optimizer adam")
    said = refused(house, STUDY.replace("  batch: {c", "  depth: {int: [1, 2]}\n  batch: {c"))
    assert said.startswith("study.yaml:8: space.depth: parameter 'depth' reaches nothing in train")
    population = "stopper: {name: pbt, interval: 1, mutate: [kind]}\nspace:\n"
    said = refused(
        house,
        STUDY.replace("space:\n", population + "  kind: {choice: [sgd, adam]}\n").replace(
            "optimizer: sgd", 'optimizer: "{kind}"'
        ),
    )
    assert "found 'kind', which sets train.optimizer: a fork goes on with the weights" in said
    assert not house.store.exists()


@needs_trainer
def test_narrower_networks_are_checked_before_they_are_trained(digits):
    text = re.sub(
        "network: .*",
        "network: 'zoo:mlp,in=64,hidden=64', loss: cross_entropy, scale: 4}",
        STUDY,
        count=1,
    ).replace("trials: 8", "trials: 2")
    digits.write("study.yaml", text)
    said = digits.run("check", "study.yaml").stdout
    assert "zoo:mlp,in=64,hidden=64 at scale 4: nothing differs ('sluice-trainer check" in said
    assert re.search(r"\n +fused +equal: ", said) and re.search(r"\n +coordinates alike: ", said)
    assert "at scale 4: nothing differs" in digits.run("tune", "study.yaml", "--plain").stderr
    # With PyTorch's own parametrisation, logits are larger in a narrow network.
    for this, other in {
        "hidden=64'": "hidden=256'",
        "scale: 4}": "scale: 4, rule: standard, readout: keep}",
        "optimizer: sgd": "optimizer: adam",
        " momentum: 0.9,": "",
    }.items():
        text = text.replace(this, other)
    digits.write("study.yaml", text)
    said = digits.run("check", "study.yaml").stdout
    assert "may be wrong for the whole network" in said and "coordinates differ: " in said


def test_without_the_trainer_tune_and_check_say_how_to_get_it(digits, tmp_path):
    for name in ("sluice", "sluice-launcher"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_bytes((BINARIES / name).read_bytes())
        (tmp_path / "bin" / name).chmod(0o755)
    for verb in ("check", "tune"):
        done = subprocess.run(
            [tmp_path / "bin/sluice", verb, "study.yaml"],
            cwd=digits.folder,
            env=digits.environment(SLUICE_BIN_DIR=""),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "study.yaml:5: train: expected the program sluice-trainer" in done.stderr
        assert "SLUICE_TORCH_PREFIX" in done.stderr
    assert not digits.store.exists()


@needs_trainer
def test_where_memory_is_scarce_fewer_trials_share_a_program(digits):
    text = STUDY.replace("hidden=16,layers=1", "hidden=1024,layers=3")
    for this, other in {
        "optimizer: sgd": "optimizer: adam",
        " momentum: 0.9,": "",
        "[1e-3, 1]": "[1e-4, 1e-3]",
        "max: 3": "max: 1",
        "trials: 8": "trials: 16",
        "choice: [16, 32]": "choice: [32]",
    }.items():
        assert this in text
        text = text.replace(this, other)
    digits.write("study.yaml", text)
    limit = 500 << 20
    tune = subprocess.run(
        ["prlimit", f"--data={limit}", BINARIES / "sluice", "tune", "study.yaml", "-q"],
        cwd=digits.folder,
        env=digits.environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert tune.returncode == 0, tune.stderr
    assert set(digits.states().values()) == {"complete"} and len(digits.states()) == 16
    said = "".join(path.read_text() for path in digits.files.glob("studies/**/stderr"))
    assert re.search(r"the memory does not suffice for \d+ trials in one program: at most", said)
    assert "training: there is not enough memory" not in said, "a process ended"
    assert digits.query("SELECT sum(failures) FROM trials") == [(0,)]


@needs_trainer
def test_run_has_nothing_to_run(digits):
    digits.run("tune", "study.yaml", "-q", "--trials", 1)
    said = digits.run("run", "digits", code=1).stderr
    assert "sluice-trainer trains its trials" in said and "sluice best digits" in said
    assert digits.json("best", "digits")["command"] is None
    assert "run it again" not in digits.run("best", "digits").stdout


EXPORT = """
import sys, sluice, torch
width = int(sys.argv[1])
layers = torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)
sluice.export(torch.nn.Sequential(*layers), torch.randn(4, 64), f"net{width}.pt2")
"""


@needs_trainer
def test_archives_are_kept_to_as_well(digits):
    pytest.importorskip("torch")
    script = digits.write("export.py", EXPORT)

    def export(width):
        subprocess.run(
            [sys.executable, script, str(width)],
            cwd=digits.folder,
            env=digits.environment(PYTHONPATH=str(ROOT / "python")),
            check=True,
        )

    for width in (8, 16):
        export(width)
    text = STUDY.replace('"zoo:mlp,in=64,hidden=16,layers=1"', '"net{width}.pt2"')
    text = text.replace("  batch: {c", "  width: {choice: [8, 16]}\n  batch: {c")
    digits.write("study.yaml", text)
    assert "(of the shape" in digits.json("check", "study.yaml")["training"]["reaches"]["width"]
    digits.run("tune", "study.yaml", "-q", "--trials", 3)
    assert set(digits.states().values()) == {"complete"}
    export(8)
    said = digits.run("resume", "digits", "--trials", 4, "-q", code=1).stderr
    assert re.search(r"/net8\.pt2: expected the file that the study was made with", said)
    (digits.folder / "net8.pt2").unlink()
    said = digits.run("resume", "digits", "--trials", 4, "-q", code=1).stderr
    assert re.search(
        r"/net8\.pt2: expected the file that the study was made with, found none", said
    )


REFUSES_NAN = """
import sluice, torch

class Coder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.Linear(8, 64))

    def forward(self, x):
        odds = self.layers(x).exp()  # infinite where the weights are large
        chance = odds / (1 + odds)
        return torch.nn.functional.binary_cross_entropy(chance, torch.sigmoid(x))

sluice.export(Coder(), torch.randn(4, 64), "coder.pt2")
"""


@needs_trainer
def test_where_pytorch_refuses_nan_a_trial_has_diverged(digits):
    pytest.importorskip("torch")
    subprocess.run(
        [sys.executable, digits.write("export.py", REFUSES_NAN)],
        cwd=digits.folder,
        env=digits.environment(PYTHONPATH=str(ROOT / "python")),
        check=True,
    )
    text = re.sub("model: .*", "model: {network: coder.pt2}", STUDY)
    text = text.replace("maximize: accuracy", "minimize: loss").replace("trials: 8", "trials: 2")
    text = text.replace("lr: {float: [1e-3, 1], log: true}", "lr: {choice: [0.1, 1e+9]}")
    digits.write("study.yaml", text.replace("random", "grid").replace("[16, 32]", "[16]"))
    assert "no accuracy, top5, perplexity: " in digits.run("check", "study.yaml").stdout
    digits.run("tune", "study.yaml", "-q")
    assert digits.states() == {1: "complete", 2: "failed"}
    assert "'loss' was NaN at epoch 1" in digits.run("trials", "digits").stdout

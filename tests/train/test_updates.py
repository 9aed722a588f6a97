"""Updates and learning rates of several trials (src/train/update), compared with torch.optim for
each trial alone. Trials join and leave between the steps."""

import dataclasses
import pathlib
import random
import subprocess

import pytest
import torch
from driver import DRIVER
from rates import SCHEDULES, Schedule, torch_rates

UPDATE_DRIVER = DRIVER.with_name("update-driver")
STEPS = 50
SIZES = [48, 7, 1]
pytestmark = pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*")


@dataclasses.dataclass
class Trial:
    joins: int = 0
    leaves: int = STEPS
    lr: float = 0.01
    momentum: float = 0
    dampening: float = 0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0
    clip: float = -1
    schedule: Schedule = dataclasses.field(default_factory=Schedule)

    def words(self):
        numbers = dataclasses.astuple(dataclasses.replace(self, schedule=None))[:-1]
        return ["trial", *numbers, *self.schedule.words()]


@dataclasses.dataclass
class Run:
    kind: str
    trials: list
    factors: list  # lr, decay, eps of each tensor
    nesterov: bool = False
    operators: bool = False
    steps: int = STEPS
    steps_per_unit: float = 1


def run_driver(run, weights, gradients, folder):
    """Weights are [trials, size] of each tensor, gradients [steps][tensor]. Returns the weights at
    the end and the rates [steps, trials]."""
    how = "operators" if run.operators else "loops"
    lines = [["optimizer", run.kind, int(run.nesterov), how],
             ["steps", run.steps, run.steps_per_unit],
             *(trial.words() for trial in run.trials),
             *(["tensor", each.shape[1], *factors]
               for each, factors in zip(weights, run.factors, strict=True)), ["end"]]
    feed, results = pathlib.Path(folder) / "feed", pathlib.Path(folder) / "results"
    numbers = [*weights, *(each for step in gradients for each in step)]
    with open(feed, "wb") as file:
        for line in lines:
            file.write((" ".join(map(str, line)) + "\n").encode())
        for each in numbers:
            file.write(each.contiguous().numpy().tobytes())
    subprocess.run([str(UPDATE_DRIVER), str(feed), str(results)], check=True, timeout=120)
    found = torch.frombuffer(bytearray(results.read_bytes()), dtype=torch.float64)
    parts = found.split([each.numel() for each in weights] + [run.steps * len(run.trials)])
    return [part.view_as(each) for part, each in zip(parts, weights, strict=False)], parts[-1].view(
        run.steps, len(run.trials))


def optimizer_of(run, trial, tensors):
    groups = []
    for tensor, (lr, decay, eps) in zip(tensors, run.factors, strict=True):
        group = {"params": [tensor], "lr": trial.lr * lr,
                 "weight_decay": trial.weight_decay * decay}
        if run.kind != "sgd":
            group["eps"] = trial.eps * eps
        groups.append(group)
    if run.kind == "sgd":
        return torch.optim.SGD(groups, lr=trial.lr, momentum=trial.momentum, foreach=False,
                               dampening=trial.dampening, nesterov=run.nesterov)
    kind = torch.optim.Adam if run.kind == "adam" else torch.optim.AdamW
    return kind(groups, lr=trial.lr, betas=(trial.beta1, trial.beta2), foreach=False)


def torch_weights(run, place, weights, gradients, rates):
    """One trial alone, with these rates before factors."""
    trial = run.trials[place]
    tensors = [each[place].clone().requires_grad_() for each in weights]
    optimizer = optimizer_of(run, trial, tensors)
    for step in range(trial.joins, min(trial.leaves, run.steps)):
        for tensor, gradient in zip(tensors, gradients[step], strict=True):
            tensor.grad = gradient[place].clone()
        if trial.clip >= 0:
            torch.nn.utils.clip_grad_norm_(tensors, trial.clip, foreach=False)
        for group, (factor, _, _) in zip(optimizer.param_groups, run.factors, strict=True):
            group["lr"] = rates[step - trial.joins] * factor
        optimizer.step()
    return [each.detach() for each in tensors]


def random_schedule(draw, kind):
    # No tie between two whole numbers of steps: Python and C++ round those alike only by chance.
    return Schedule(kind=kind, gamma=draw.uniform(0.3, 1), every=draw.uniform(1, 9),
                    over=draw.uniform(4, 25), last=draw.uniform(0.01, 0.9),
                    rise=draw.uniform(0.05, 0.9), div=draw.uniform(2, 30),
                    warmup=draw.choice([0, draw.uniform(0, 6)]),
                    at=tuple(draw.uniform(1, 20) for _ in range(draw.randrange(1, 4))))


def random_trial(draw, kind, nesterov):
    joins = draw.choice([0, 0, draw.randrange(1, 40)])
    return Trial(joins=joins, leaves=draw.choice([STEPS, draw.randrange(joins + 1, STEPS + 1)]),
                 lr=10**draw.uniform(-4, -1),
                 momentum=draw.uniform(0.1, 0.99) if nesterov else draw.choice(
                     [0, draw.uniform(0, 0.99)]),
                 dampening=0 if nesterov else draw.choice([0, draw.uniform(0, 1)]),
                 beta1=draw.choice([0.0, 0.9, draw.uniform(0, 0.99)]),
                 beta2=draw.choice([0.999, draw.uniform(0.5, 0.9999)]),
                 eps=10**draw.uniform(-9, -3),
                 weight_decay=draw.choice([0, 10**draw.uniform(-4, -1)]),
                 clip=draw.choice([-1, draw.uniform(0, 20)]),
                 schedule=random_schedule(draw, draw.choice(SCHEDULES)))


def difference(found, expected):
    return ((found - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("operators", [False, True], ids=["loops", "operators"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("form", ["sgd", "nesterov", "adam", "adamw"])
def test_updates_are_those_of_torch(form, seed, operators, tmp_path):
    draw = random.Random(f"{form} {seed}")
    generator = torch.Generator().manual_seed(draw.randrange(2**32))
    nesterov, kind = form == "nesterov", "sgd" if form == "nesterov" else form
    run = Run(kind=kind, nesterov=nesterov, operators=operators, steps_per_unit=1.7,
              trials=[random_trial(draw, kind, nesterov) for _ in range(16)],
              factors=[(1, 1, 1), *((draw.uniform(0.2, 8), draw.uniform(0.2, 8), 4)
                                    for _ in SIZES[1:])])

    def numbers(scale):
        return [torch.randn(len(run.trials), size, generator=generator, dtype=torch.float64) * scale
                for size in SIZES]

    weights, gradients = numbers(1), [numbers(2) for _ in range(STEPS)]
    found, rates = run_driver(run, weights, gradients, tmp_path)
    for place, trial in enumerate(run.trials):
        own_rates = torch_rates(trial, STEPS, run.steps_per_unit)
        lived = trial.leaves - trial.joins
        expected_rates = torch.tensor(own_rates[:lived], dtype=torch.float64)
        assert difference(rates[trial.joins:trial.leaves, place], expected_rates) < 1e-12
        expected = torch_weights(run, place, weights, gradients, own_rates)
        for each, wanted in zip(found, expected, strict=True):
            assert difference(each[place], wanted) < 1e-12, trial


@pytest.mark.parametrize("steps_per_unit", [1, 3.7, 20])
def test_rates_are_those_of_torch(steps_per_unit, tmp_path):
    draw = random.Random(f"rates {steps_per_unit}")
    steps = 300
    trials = [Trial(leaves=steps, lr=10**draw.uniform(-4, 0),
                    schedule=random_schedule(draw, SCHEDULES[i % len(SCHEDULES)]))
              for i in range(60)]
    run = Run(kind="sgd", trials=trials, factors=[(1, 1, 1)], steps=steps,
              steps_per_unit=steps_per_unit)
    nothing = torch.zeros(len(trials), 1, dtype=torch.float64)
    _, rates = run_driver(run, [nothing], [[nothing]] * steps, tmp_path)
    for place, trial in enumerate(trials):
        expected = torch.tensor(torch_rates(trial, steps, steps_per_unit), dtype=torch.float64)
        # CosineAnnealingLR multiplies step by step, and gathers rounding.
        error = ((rates[:, place] - expected).abs() / expected).max()
        assert error < 1e-11, trial.schedule

"""Problems with learning curves: a space, and for each of its points the losses of 27 epochs.

Three kinds of problems are here: `recorded` (record_curves.py really trained every point of a
grid), `power laws` and `noisy quadratics`. A fourth kind is in curve_phases.py. It was not looked
at while the sampler was developed.
"""

import functools
import itertools
import json
import math
import pathlib
import random
import zlib

import numpy as np
from record_curves import CURVES, EPOCHS, values_of

ALL_EPOCHS = np.arange(1, EPOCHS + 1)
OPTIMA = pathlib.Path(__file__).resolve().parent / "curves/optima.json"


class Recorded:
    """A grid of trained configurations. The losses are those measured, with their noise."""

    kind = "recorded"

    def __init__(self, name):
        self.name = name
        self.grid = values_of(name)
        self.space = {
            key: {"choice" if isinstance(values[0], str) else "ordinal": values}
            for key, values in self.grid.items()
        }
        self.active = {}

    @functools.cached_property
    def losses(self):
        return np.load(CURVES / f"{self.name}.npz")["losses"].astype(float)

    def clean(self, params):
        index = 0
        for key, values in self.grid.items():
            index = index * len(values) + values.index(params[key])
        return self.losses[index]

    def noise(self, _params):
        return np.zeros(EPOCHS)

    @functools.cached_property
    def best(self):
        return float(self.losses.min())

    @functools.cached_property
    def middle(self):
        return float(np.median(self.losses.min(axis=1)))


class Generated:
    """Base of the generated kinds. Reads their best and middle, found once (main), from a file."""

    active = {}

    @functools.cached_property
    def _kept(self):
        return json.loads(OPTIMA.read_text())[self.name]

    @property
    def best(self):
        return self._kept["best"]

    @property
    def middle(self):
        return self._kept["middle"]


def unit_of(spec, value):
    """Where a value lies in its range, in [0, 1]."""
    low, high = spec.get("float") or spec["int"]
    if spec.get("log"):
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


class PowerLaw(Generated):
    """loss = limit + (1 - limit) (1 + epoch / scale)^-rate.

    The point decides limit, rate and scale. The limit is least at one point, in a curved valley. On
    one side of that point, trials learn quicker but end worse, so that curves cross. Trials that
    learn quickly have more noise.
    """

    kind = "power laws"

    def __init__(self, number, axes, choices, crossing, noise):
        self.name = f"power law {number}"
        self.crossing, self.level = crossing, noise
        draw = np.random.default_rng([number, 77])
        self.space = {"lr": {"float": [1e-5, 1.0], "log": True}}
        for i in range(1, axes):
            low, high = (4, 512) if i % 3 == 0 else (1e-4, 1.0)
            self.space[f"x{i}"] = {"int" if i % 3 == 0 else "float": [low, high], "log": i % 2 == 1}
        for i in range(choices):
            self.space[f"c{i}"] = {"choice": ["a", "b", "c", "d"][: 2 + i % 3]}
        self.optimum = draw.uniform(0.2, 0.8, size=axes)
        self.weight = draw.dirichlet(np.ones(axes)) * axes
        self.bend = draw.normal(0, 0.5, size=(axes, axes)) * (1 - np.eye(axes))
        self.costs = [
            np.concatenate([[0], draw.uniform(0.05, 0.4, size=3)]) for _ in range(choices)
        ]
        self.order = [draw.permutation(4) for _ in range(choices)]
        self.quick = draw.normal(size=axes)
        self.quick /= np.abs(self.quick).sum()

    def _place(self, params):
        unit = np.array([unit_of(s, params[k]) for k, s in self.space.items() if "choice" not in s])
        away = unit - self.optimum
        bent = away + self.bend @ (away**2) / len(away)
        cost = sum(
            costs[order[self.space[f"c{i}"]["choice"].index(params[f"c{i}"])] % len(costs)]
            for i, (costs, order) in enumerate(zip(self.costs, self.order, strict=True))
        )
        return float(self.weight @ bent**2) / len(away), cost, float(self.quick @ away)

    def clean(self, params):
        away, cost, quick = self._place(params)
        limit = 0.05 + 0.9 * (1 - math.exp(-6 * away - 1.5 * cost))
        rate = 0.9 * math.exp(2 * self.crossing * quick)
        scale = 1.5 * math.exp(-4 * self.crossing * quick)
        return limit + (1 - limit) * (1 + ALL_EPOCHS / scale) ** -rate

    def noise(self, params):
        _, _, quick = self._place(params)
        return np.full(EPOCHS, self.level * math.exp(2 * quick))


class NoisyQuadratic(Generated):
    """The expected loss of SGD on a quadratic with noisy gradients, computed without sampling.

    An epoch is a fixed number of samples, so smaller batches mean more steps, with more noise in
    each. Training diverges if the learning rate is too large. With a large learning rate it is
    quick at first, but the loss stays high at the end, unless the learning rate decays.
    """

    kind = "noisy quadratics"
    CAP = 3.0

    def __init__(self, number, spectrum, noise, samples, parameters, level):
        self.name = f"noisy quadratic {number}"
        self.samples, self.level = samples, level
        directions = np.arange(1, 9)
        self.curvature = directions ** -float(spectrum)
        self.gradient_noise = noise * self.curvature
        self.start = np.full(8, 1 / self.curvature.sum())  # makes the initial loss 1/2
        space = {
            "lr": {"float": [1e-3, 10.0], "log": True},
            "momentum": {"float": [0.0, 0.99]},
            "batch": {"int": [1, 256], "log": True},
            "decay": {"float": [0.003, 1.0], "log": True},
            "warm-up": {"int": [0, 9]},
            "schedule": {"choice": ["linear", "cosine", "steps"]},
        }
        self.space = {key: space[key] for key in parameters}

    def _rates(self, params):
        done = (np.arange(EPOCHS) + 0.5) / EPOCHS
        last = params.get("decay", 1.0)
        shape = {
            "linear": done,
            "cosine": 0.5 - 0.5 * np.cos(np.pi * done),
            "steps": np.floor(done * 3) / 2,
        }[params.get("schedule", "cosine")]
        rates = params["lr"] * last**shape
        warm = params.get("warm-up", 0)
        return rates * np.minimum(1, ALL_EPOCHS / (warm + 1))

    def clean(self, params):
        momentum, batch = params.get("momentum", 0.0), params.get("batch", 16)
        steps = max(1, self.samples // batch)
        # A step is v' = m v - r (h x + noise), x' = x + v'. It maps the moments (E[x^2], E[x v],
        # E[v^2], 1) of a direction linearly. `one` has the matrix of a step for each epoch and
        # direction.
        rate = self._rates(params)[:, None]
        pull = rate * self.curvature
        kick = rate**2 * self.gradient_noise / batch
        a, m = 1 - pull, momentum
        kept = np.full_like(pull, m * m)
        one = np.zeros((*pull.shape, 4, 4))
        one[:, :, 0] = np.stack([a**2, 2 * a * m, kept, kick], axis=-1)
        one[:, :, 1] = np.stack([-a * pull, m * (a - pull), kept, kick], axis=-1)
        one[:, :, 2] = np.stack([pull**2, -2 * m * pull, kept, kick], axis=-1)
        one[:, :, 3, 3] = 1
        moments = np.stack([self.start, *np.zeros((2, 8)), np.ones(8)], axis=1)
        losses = np.full(EPOCHS, self.CAP)
        with np.errstate(all="ignore"):
            for at, epoch in enumerate(np.linalg.matrix_power(one, steps)):
                moments = (epoch @ moments[:, :, None])[:, :, 0]
                loss = 0.5 * float(self.curvature @ moments[:, 0])
                if not 0 <= loss < self.CAP:
                    break  # training has diverged: the loss stays at CAP
                losses[at] = loss
        return np.log10(np.maximum(losses, 1e-5))

    def noise(self, _params):
        return np.full(EPOCHS, self.level)


ALL = ("lr", "momentum", "batch", "decay", "warm-up", "schedule")

RECORDED = [
    Recorded(name)
    for name in (
        "digits-mlp",
        "cancer-adam",
        "digits-conv",
        "text-gru",
        "digits-denoise",
        "diabetes-boosting",
    )
]
POWER_LAWS = [
    PowerLaw(1, axes=2, choices=0, crossing=0.5, noise=0.005),
    PowerLaw(2, axes=4, choices=1, crossing=1.0, noise=0.01),
    PowerLaw(3, axes=6, choices=0, crossing=1.5, noise=0.01),
    PowerLaw(4, axes=9, choices=2, crossing=1.0, noise=0.02),
]
QUADRATICS = [
    NoisyQuadratic(1, 1.0, 0.1, 256, ALL[:2], 0.02),
    NoisyQuadratic(2, 1.5, 0.5, 512, ALL[:4], 0.05),
    NoisyQuadratic(3, 1.0, 1.0, 1024, ALL, 0.05),
    NoisyQuadratic(4, 2.0, 0.3, 512, ("lr", "batch", "decay", "warm-up", "schedule"), 0.1),
]


def set_aside():
    import curve_phases

    return curve_phases.problems()


def observed(problem, params, seed):
    """The losses that a trial reports. They depend only on the problem, the point and the seed."""
    noise = problem.noise(params)
    clean = problem.clean(params)
    if not noise.any():
        return clean
    key = json.dumps([problem.name, seed, params], sort_keys=True)
    luck = np.random.default_rng(zlib.crc32(key.encode()))
    return clean + noise * luck.standard_normal(EPOCHS)


def regret(problem, loss):
    """The regret of a loss. 0 is the least loss of the problem.

    1 is the median, over points, of the loss at the point's best epoch.
    """
    return (loss - problem.best) / (problem.middle - problem.best)


def drawn(problem, luck):
    """A random point."""
    params = {}
    for name, spec in problem.space.items():
        if name in problem.active and not problem.active[name](params):
            continue
        for values in (spec.get("choice"), spec.get("ordinal")):
            if values:
                params[name] = luck.choice(values)
        if name in params:
            continue
        low, high = spec.get("float") or spec["int"]
        log = spec.get("log")
        value = low * (high / low) ** luck.random() if log else luck.uniform(low, high)
        params[name] = value if "float" in spec else min(high, max(low, round(value)))
    return params


def moved(problem, params, width, luck):
    """A random neighbour of a point, about `width` away in the unit cube."""
    near = dict(params)
    other = drawn(problem, luck)
    for name, spec in problem.space.items():
        if "choice" in spec or "ordinal" in spec:
            if luck.random() < 0.1:
                near[name] = other[name]
            continue
        low, high = spec.get("float") or spec["int"]
        unit = min(1, max(0, unit_of(spec, params[name]) + luck.gauss(0, width)))
        value = low * (high / low) ** unit if spec.get("log") else low + (high - low) * unit
        near[name] = value if "float" in spec else min(high, max(low, round(value)))
    return near


def find_best(problem):
    """Searches for the least loss of any point at any epoch ("best").

    Also returns the median, over random points, of the least loss of their curves ("middle").
    """
    luck = random.Random(problem.name)
    least = lambda params: float(problem.clean(params).min())  # noqa: E731
    points = [drawn(problem, luck) for _ in range(8000)]
    random_ones = sorted((least(params), i, params) for i, params in enumerate(points))
    middle = random_ones[len(random_ones) // 2][0]
    best = math.inf
    for loss, _, params in random_ones[:12]:
        width = 0.1
        for _ in range(1500):
            tried = moved(problem, params, width, luck)
            found = least(tried)
            width = min(0.2, width * 1.3) if found < loss else max(1e-5, width * 0.985)
            if found < loss:
                loss, params = found, tried
        best = min(best, loss)
    return {"best": best, "middle": middle}


def main():
    found = {}
    for problem in itertools.chain(POWER_LAWS, QUADRATICS):
        found[problem.name] = find_best(problem)
        print(problem.name, found[problem.name], flush=True)
    OPTIMA.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Synthetic learning curves with several phases.

A problem has a search space and, for each of its points, the loss after each of 27 epochs. The
losses of all problems come from one model of training (phased_training.py). The problems differ in
which hyperparameters can be tuned (the others keep a default), in the constants of the task (drawn
from a fixed seed), and in which phases matter most.
"""

import functools
import math

import numpy as np
from phased_training import DEFAULTS, SIZES, draw_task, train


def _value(spec, unit):
    """The value of a parameter at a place between 0 and 1."""
    for kind in ("choice", "ordinal"):
        if kind in spec:
            values = spec[kind]
            return values[min(int(unit * len(values)), len(values) - 1)]
    whole = "int" in spec
    low, high = spec["int"] if whole else spec["float"]
    start, end = (low - 0.5, high + 0.5) if whole else (low, high)
    if spec.get("log"):
        value = start * (end / start) ** unit
    else:
        value = start + (end - start) * unit
    value = round(value) if whole else value
    return min(max(value, low), high)


class PhasesProblem:
    """A task, and the hyperparameters that may be tuned for it."""

    kind = "phases"

    def __init__(self, number, space, active, fixed, emphasis):
        self.name = f"phases {number}"
        self.space = space
        self.active = active
        self._fixed = {**DEFAULTS, **fixed}
        self._seed = 7100 + number
        self._task = draw_task(np.random.default_rng(self._seed), emphasis)

    def clean(self, params):
        """The true loss after each epoch."""
        return train(self._task, {**self._fixed, **params})[0]

    def noise(self, params):
        """The standard deviation of the noise in the observed loss of each epoch.

        The noise is larger for small batches, for large learning rates and where the loss falls
        fast. It is nearly 0 once training has diverged.
        """
        params = {**self._fixed, **params}
        losses, relative, diverged = train(self._task, params)
        moving = np.abs(np.diff(losses, prepend=losses[0]))
        spread = self._task["noise"] * (
            0.5 + 0.5 * math.sqrt(64 / params["batch"]) + 0.6 * np.minimum(relative, 5.0) ** 0.5
        )
        spread = np.minimum(spread * (0.4 + 0.6 * losses) + 0.05 * moving, 0.2 * losses)
        return np.where(diverged, 1e-3, spread)

    @property
    def best(self):
        """The least true loss of any point at any epoch.

        It is found by a search, which may miss the least loss by about 1e-3 of (middle - best). A
        margin of 1e-4 of (middle - best) is subtracted, so that no loss should lie below it.
        """
        return self._extent[0]

    @property
    def middle(self):
        """The median, over random points, of the least true loss of a point's curve."""
        return self._extent[1]

    def _point(self, place):
        """The parameters at a place in the unit cube, without those that are not active."""
        params = {
            name: _value(spec, float(unit))
            for (name, spec), unit in zip(self.space.items(), place, strict=True)
        }
        return {
            name: value
            for name, value in params.items()
            if name not in self.active or self.active[name](params)
        }

    def _combination(self, place):
        """The values, at a place, of the parameters that are a choice or an ordinal."""
        point = self._point(place)
        return tuple(
            point.get(name)
            for name, spec in self.space.items()
            if "choice" in spec or "ordinal" in spec
        )

    def _least(self, place):
        return float(self.clean(self._point(place)).min())

    @functools.cached_property
    def _extent(self):
        """Returns (best, middle), from 20,000 random points and a local search from the best."""
        rng = np.random.default_rng(self._seed + 1000)
        places = rng.random((20000, len(self.space)))
        losses = np.array([self._least(place) for place in places])
        middle = float(np.median(losses))

        # A short search starts from the best 40 points, and from the best 2 points of each
        # combination of choices, up to 100 points in all. A long search continues from the best 10
        # of their results, and from the best results of up to 10 combinations among the rest.
        counts = {}
        starts = []
        for rank, index in enumerate(np.argsort(losses, kind="stable")):
            combination = self._combination(places[index])
            counts[combination] = counts.get(combination, 0) + 1
            if rank < 40 or counts[combination] <= 2:
                starts.append(index)
            if len(starts) == 100:
                break
        found = [self._descend(rng, places[index], losses[index], 300, 0.1) for index in starts]
        found.sort(key=lambda pair: pair[0])
        leaders = {}
        for loss, place in found[10:]:
            leaders.setdefault(self._combination(place), (loss, place))
        found = [
            self._descend(rng, place, loss, 2500, 0.03)
            for loss, place in found[:10] + list(leaders.values())[:10]
        ]
        least = min(loss for loss, _ in found)
        return least - 1e-4 * (middle - least), middle

    def _descend(self, rng, place, loss, tries, width):
        """Takes random steps, and keeps those that lower the loss. Returns (loss, place).

        Steps become longer after a step that helps, and shorter after one that does not.
        """
        for _ in range(tries):
            moves = rng.random(len(place)) < max(0.35, 1.5 / len(place))
            moves[rng.integers(len(place))] = True
            step = moves * rng.normal(size=len(place)) * width
            # In one try of ten, one coordinate moves anywhere: small steps may not change integers
            # and choices.
            other = np.clip(place + step, 0.0, 1.0)
            if rng.random() < 0.1:
                other = place.copy()
                other[rng.integers(len(place))] = rng.random()
            value = self._least(other)
            if value < loss:
                place, loss = other, value
                width = min(width * 1.5, 0.3)
            else:
                width = max(width * 0.96, 1e-4)
        return loss, place


def _is_sgd(params):
    return params["optimizer"] == "sgd"


def _is_step(params):
    return params["schedule"] == "step"


_MOMENTUM = {"float": [0.0, 0.99], "when": "optimizer == 'sgd'"}


def problems():
    """Returns the six problems. They have 3 to 9 hyperparameters, and differ in their phases."""
    return [
        # A wide network on little data overfits without weight decay.
        PhasesProblem(
            1,
            space={
                "lr": {"float": [1e-4, 1.0], "log": True},
                "width": {"int": [16, 1024], "log": True},
                "weight_decay": {"float": [1e-6, 1e-1], "log": True},
            },
            active={},
            fixed={"schedule": "constant", "warmup": 0},
            emphasis={
                "overfit_onset": 0.4,
                "overfit_slope": 2.5,
                "early_edge": 0.4,
                "noise": 0.4,
            },
        ),
        # Large learning rates do best, but diverge without warm-up.
        PhasesProblem(
            2,
            space={
                "lr": {"float": [1e-5, 1.0], "log": True},
                "batch": {"int": [16, 2048], "log": True},
                "optimizer": {"choice": ["sgd", "adam"]},
                "momentum": _MOMENTUM,
                "warmup": {"int": [0, 10]},
            },
            active={"momentum": _is_sgd},
            fixed={"schedule": "cosine", "width": 256},
            emphasis={"edge": 0.8, "early_edge": 1.7, "rate": 0.7, "gradient_noise": 1.5},
        ),
        # Gradient noise keeps the loss up until the learning rate drops.
        PhasesProblem(
            3,
            space={
                "lr": {"float": [1e-4, 3.0], "log": True},
                "batch": {"int": [16, 1024], "log": True},
                "schedule": {"choice": ["constant", "step", "linear"]},
                "drop_every": {"int": [2, 14], "when": "schedule == 'step'"},
                "width": {"int": [16, 512], "log": True},
                "weight_decay": {"float": [1e-6, 1e-2], "log": True},
            },
            active={"drop_every": _is_step},
            fixed={"norm": "batch"},
            emphasis={"gradient_noise": 2.5, "noise": 1.2, "edge": 1.3},
        ),
        # Deep networks have a long plateau before they learn, but reach lower losses.
        PhasesProblem(
            4,
            space={
                "lr": {"float": [1e-4, 1.0], "log": True},
                "depth": {"int": [2, 24], "log": True},
                "init": {"float": [0.05, 5.0], "log": True},
                "activation": {"choice": ["relu", "gelu", "tanh"]},
            },
            active={},
            fixed={"schedule": "linear", "warmup": 1},
            emphasis={"plateau": 3.5, "capacity_gap": 2.0, "deepest": 1.4, "rate": 1.3},
        ),
        # All phases, many hyperparameters, and much noise.
        PhasesProblem(
            5,
            space={
                "lr": {"float": [1e-5, 1.0], "log": True},
                "batch": {"int": [16, 1024], "log": True},
                "width": {"int": [16, 1024], "log": True},
                "depth": {"int": [1, 12]},
                "weight_decay": {"float": [1e-6, 1e-1], "log": True},
                "dropout": {"float": [0.0, 0.6]},
                "optimizer": {"choice": ["sgd", "adam", "rmsprop"]},
                "momentum": _MOMENTUM,
                "warmup": {"int": [0, 8]},
            },
            active={"momentum": _is_sgd},
            fixed={"schedule": "constant"},
            emphasis={
                "plateau": 1.5,
                "gradient_noise": 0.8,
                "overfit_onset": 0.5,
                "overfit_slope": 2.0,
                "early_edge": 1.3,
                "noise": 1.6,
            },
        ),
        # Sizes and batches are ordinals, augmentation reduces overfitting, and drops of the
        # learning rate matter.
        PhasesProblem(
            6,
            space={
                "lr": {"float": [1e-5, 1e-1], "log": True},
                "batch": {"ordinal": [32, 64, 128, 256, 512]},
                "size": {"ordinal": list(SIZES)},
                "norm": {"choice": ["none", "batch", "layer"]},
                "augment": {"float": [0.0, 1.0]},
                "schedule": {"choice": ["cosine", "step", "constant"]},
                "drop_factor": {"float": [0.03, 0.7], "log": True, "when": "schedule == 'step'"},
            },
            active={"drop_factor": _is_step},
            fixed={"optimizer": "adam", "drop_every": 8},
            emphasis={
                "gradient_noise": 1.5,
                "plateau": 2.0,
                "overfit_onset": 0.5,
                "overfit_slope": 3.0,
                "noise": 1.5,
            },
        ),
    ]

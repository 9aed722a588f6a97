"""Synthetic learning curves that change phase: what training looks like when it is not smooth.

A problem has a search space and, for each of its points, the loss after each of 27 epochs. One
model of training stands behind all of them. It follows two things from epoch to epoch, the
learning rate relative to the one that suits the configuration and the progress made so far, and
from these come the phases:

- warm-up and schedules scale the learning rate, and so progress and gradient noise;
- a plateau lasts until enough progress is made, then the loss drops along a power law;
- gradient noise holds the loss up in proportion to the learning rate, so a step down in the
  learning rate is a sudden step down in the loss;
- overfitting starts after some progress, sooner for more capacity and less regularisation;
- too large a learning rate diverges: the loss jumps to a cap and stays there.

The problems differ in which hyperparameters can be tuned (the others keep a default), in the
constants of the task, drawn from a fixed seed, and in which of the phases matter most.
"""

import functools
import math

import numpy as np

EPOCHS = 27

_EPOCH = np.arange(EPOCHS)
_SCHEDULES = {
    "constant": np.ones(EPOCHS),
    "cosine": 0.5 * (1 + np.cos(math.pi * _EPOCH / EPOCHS)),
    "linear": 1 - _EPOCH / EPOCHS,
}
_EARLY = np.exp(-_EPOCH / 3)
_LATE = _EPOCH / (EPOCHS - 1)
_EDGE_WIDTH = 0.14  # log10 of the learning rate over which divergence goes from slow to at once

# What a hyperparameter is where a problem does not tune it.
_DEFAULTS = {
    "batch": 128,
    "width": 128,
    "depth": 4,
    "size": None,
    "weight_decay": None,
    "dropout": 0.1,
    "augment": 0.2,
    "optimizer": "sgd",
    "momentum": 0.9,
    "schedule": "cosine",
    "drop_every": 9,
    "drop_factor": 0.2,
    "warmup": 1,
    "init": 1.0,
    "activation": "relu",
    "norm": "layer",
}

# Log10 of the learning rate that suits it, how that moves with log10 of the width, log10 of the
# weight decay that suits it, and how far it goes in an epoch: adaptive methods start faster.
_OPTIMIZERS = {
    "sgd": (0.0, -0.3, -3.6, 0.9),
    "adam": (-2.6, -0.7, -2.4, 1.25),
    "rmsprop": (-2.9, -0.6, -3.0, 1.15),
}

# How much longer the plateau is, how much of that depth adds, and what it costs in the end.
_ACTIVATIONS = {
    "relu": (1.0, 0.7, 0.02),
    "gelu": (0.8, 0.8, 0.0),
    "tanh": (1.2, 1.2, 0.03),
}

# How much longer the plateau is, how much larger a learning rate is stable (log10), what depth
# costs, and how much small batches hurt.
_NORMS = {
    "none": (1.8, -0.25, 0.10, 0.0),
    "batch": (0.6, 0.20, 0.02, 12.0),
    "layer": (0.9, 0.05, 0.03, 0.0),
}

# Width and depth.
_SIZES = {
    "tiny": (32, 2),
    "small": (64, 3),
    "medium": (128, 4),
    "large": (256, 6),
    "huge": (512, 8),
}


def _draw_task(rng, emphasis):
    """The constants of a task: drawn about what is usual, times what the problem emphasises."""

    def around(usual, spread=0.25):
        return usual * math.exp(spread * rng.uniform(-1, 1))

    task = {
        "plateau_loss": around(2.0, 0.3),  # what guessing by frequency gives
        "start_loss": around(0.6, 0.5),  # how far above that training starts
        "irreducible": around(0.15, 0.5),
        "capacity_gap": around(0.20, 0.4),  # what a larger network can still win
        "width_power": around(0.45),
        "depth_power": around(0.45),
        "lr_shift": {name: rng.uniform(-0.5, 0.5) for name in _OPTIMIZERS},
        "decay_shift": rng.uniform(-0.7, 0.7),
        "optimizer_gap": {name: rng.uniform(0.0, 0.08) for name in _OPTIMIZERS},
        "momentum_best": rng.uniform(0.7, 1.3),  # as -log10(1 - momentum)
        "critical_batch": around(200, 0.8),
        "init_best": rng.uniform(-0.3, 0.3),
        "deepest": around(9, 0.4),  # beyond this, more layers train worse
        "rate": around(1.0, 0.3),
        "power": around(1.1, 0.15),
        "plateau": around(0.8, 0.3),
        "gradient_noise": around(0.10, 0.3),
        "overfit_onset": around(10, 0.3),
        "overfit_slope": around(0.025, 0.3),
        "dropout_power": around(1.6, 0.3),
        "augment_power": around(1.0, 0.3),
        "edge": rng.uniform(0.55, 0.85),  # log10 of the largest stable relative learning rate
        "early_edge": around(0.5, 0.3),  # how much lower that is at the very start
        "sharpening": around(0.3, 0.3),  # how much lower it has become again by the end
        "noise": around(0.02, 0.2),
        "cap": rng.uniform(6.0, 12.0),
    }
    for name, factor in emphasis.items():
        task[name] *= factor
    return task


def _schedule(params):
    """The learning rate of each epoch relative to its peak."""
    if params["schedule"] == "step":
        scale = params["drop_factor"] ** (_EPOCH // params["drop_every"])
    else:
        scale = _SCHEDULES[params["schedule"]]
    return np.minimum(1.0, (_EPOCH + 1) / (params["warmup"] + 1)) * scale


def _train(task, params):
    """The losses of a configuration, its relative learning rates, and whether it has diverged."""
    batch, width, depth = params["batch"], params["width"], params["depth"]
    if params["size"] is not None:
        width, depth = _SIZES[params["size"]]
    wide, deep = width / 128, depth / 4
    optimizer = params["optimizer"]
    lr_home, lr_width, decay_home, pace = _OPTIMIZERS[optimizer]
    longer, longer_deep, act_gap = _ACTIVATIONS[params["activation"]]
    norm_longer, norm_edge, norm_depth, norm_batch = _NORMS[params["norm"]]
    init = math.log10(params["init"]) - task["init_best"]
    dropout, augment = params["dropout"], params["augment"]
    critical = task["critical_batch"]

    # The learning rate that suits: it grows with the batch until the critical batch size, where
    # the gradient is no longer noisy; wide and deep networks need a smaller one. Momentum
    # multiplies the step that SGD takes in the long run.
    lr = math.log10(params["lr"])
    momentum = 0.0
    if optimizer == "sgd":
        momentum = -math.log10(1 - params["momentum"])
        lr += momentum
        momentum -= task["momentum_best"]
    suits = (
        lr_home
        + task["lr_shift"][optimizer]
        - math.log10((1 + critical / batch) / (1 + critical / 128))
        + lr_width * math.log10(wide)
        - 0.5 * math.log10(deep)
    )
    peak = 10 ** (lr - suits)
    relative = peak * _schedule(params)

    # Progress: nearly proportional to a small learning rate, saturating for a large one. Batches
    # above the critical size make fewer steps without making better ones.
    step = relative**0.85
    pace *= task["rate"] * (128 + critical) / (batch + critical)
    pace *= math.exp(-0.35 * momentum**2) * (1 - 0.5 * dropout) * (1 - 0.35 * augment)
    progress = (2 * pace * step / (1 + step)).cumsum()

    # Plateau: deep networks, saturating activations and small initial weights wait longer before
    # the layers align; normalisation and width shorten the wait.
    wait = task["plateau"] * longer * norm_longer * deep**longer_deep * wide**-0.2
    wait *= math.exp(1.6 * max(-init, 0.0) ** 1.5)
    sharp = 0.25 + 0.08 * wait
    learnt = sharp * np.logaddexp(0.0, (progress - wait) / sharp)
    rest = (1 + learnt / 2) ** -task["power"]

    # Weight decay acts through its product with the learning rate, in part. Some regularises,
    # too much holds the weights down so that the network cannot fit.
    regular = 1 + 0.3 * peak / (1 + peak)
    regular *= (1 + task["dropout_power"] * dropout) * (1 + task["augment_power"] * augment)
    underfit = 0.0
    if params["weight_decay"] is not None:
        decay = math.log10(params["weight_decay"]) - decay_home - task["decay_shift"]
        decay = 10 ** (decay + 0.4 * max(-1.5, min(1.5, lr - suits)))
        regular *= 1 + 0.9 * math.log1p(decay)
        underfit = 0.9 * decay / (decay + 30)

    # Floor: what remains after training for ever. Dropout and augmentation cost small networks
    # more; very deep ones do not train well, least of all without normalisation; initial weights
    # that are too large leave the network near where it began.
    capacity = wide * deep**0.8
    too_deep = math.log1p((depth / task["deepest"]) ** 3)
    floor = (
        task["irreducible"]
        + task["capacity_gap"] * wide ** -task["width_power"] * deep ** -task["depth_power"]
        + underfit
        + (0.5 * dropout**2 + 0.12 * augment**2) * capacity**-0.3
        + norm_depth * too_deep
        + norm_batch * 0.1 / batch
        + act_gap
        + task["optimizer_gap"][optimizer]
        + 0.15 * max(init, 0.0) ** 2
        + 0.02 * momentum**2
    )
    guess = task["plateau_loss"]
    floor = guess * -math.expm1(-floor / guess)

    # Gradient noise: the loss bounces above the floor by what the learning rate of the moment
    # allows, so it falls when the learning rate does.
    bounce = task["gradient_noise"] * (1 + 24 / batch) * relative**0.7

    # Overfitting: once what generalises is learnt the network memorises, and does so in a
    # soft bend that ends in a line and then levels off.
    onset = task["overfit_onset"] * regular / (1.8 * capacity**0.35)
    bend = 1 + 0.12 * onset
    memorised = bend * np.logaddexp(0.0, (learnt - onset) / bend)
    slope = task["overfit_slope"] * capacity**0.3 / regular**0.7
    overfit = slope * memorised / (1 + memorised / 40)

    # Stability: a learning rate above the edge is soon fatal, one slightly below it may be in
    # time. The edge is low in the first epochs, which is why warm-up helps, and falls slowly as
    # training moves into sharper valleys, so that some runs break late.
    edge = task["edge"] + norm_edge - 0.25 * max(init, 0.0) - 0.15 * max(momentum, 0.0)
    edge -= 0.12 * math.log2(deep) if params["norm"] == "none" else 0.0
    edge = edge - task["early_edge"] * _EARLY - task["sharpening"] * _LATE
    over = (relative * 10**-edge) ** (1 / _EDGE_WIDTH)
    danger = np.minimum(over, 4.0).cumsum()

    losses = (
        guess * rest
        + (1 - rest) * (floor + bounce)
        + task["start_loss"] * (1 + max(init, 0.0)) * np.exp(-2.5 * progress)
        + overfit
        + 0.4 * np.minimum(danger, 1.0) ** 3  # it shakes before it breaks
    )
    diverged = danger > 1
    losses = np.where(diverged, task["cap"], np.minimum(losses, task["cap"]))
    return losses, relative, diverged


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
        self._fixed = {**_DEFAULTS, **fixed}
        self._seed = 7100 + number
        self._task = _draw_task(np.random.default_rng(self._seed), emphasis)

    def clean(self, params):
        """The true loss after each epoch."""
        return _train(self._task, {**self._fixed, **params})[0]

    def noise(self, params):
        """The standard deviation of what an observation adds to the loss of each epoch.

        It is larger for small batches, for large learning rates and where the loss falls fast,
        and nearly nothing once training has diverged.
        """
        params = {**self._fixed, **params}
        losses, relative, diverged = _train(self._task, params)
        moving = np.abs(np.diff(losses, prepend=losses[0]))
        spread = self._task["noise"] * (
            0.5 + 0.5 * math.sqrt(64 / params["batch"]) + 0.6 * np.minimum(relative, 5.0) ** 0.5
        )
        spread = np.minimum(spread * (0.4 + 0.6 * losses) + 0.05 * moving, 0.2 * losses)
        return np.where(diverged, 1e-3, spread)

    @property
    def best(self):
        """The least true loss of any point at any epoch.

        Found by a search, less a margin of 1e-4 of (middle - best) so that it is a lower bound;
        it is exact up to about 1e-3 of (middle - best).
        """
        return self._extent[0]

    @property
    def middle(self):
        """The median over random points of the least true loss of their curve."""
        return self._extent[1]

    def _point(self, place):
        """The parameters at a place in the unit cube, less those that are not active."""
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
        """The values at a place of the parameters that take one of a list."""
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
        """Best and middle: 20,000 random points, then a local search from the best of them."""
        rng = np.random.default_rng(self._seed + 1000)
        places = rng.random((20000, len(self.space)))
        losses = np.array([self._least(place) for place in places])
        middle = float(np.median(losses))

        # From the best 40 and the best 2 of each combination of choices, as far as 100 starts go;
        # then on from the best 10 and the best of each of the 10 best combinations.
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
        """Random steps that are kept when they help; longer after one that does."""
        for _ in range(tries):
            moves = rng.random(len(place)) < max(0.35, 1.5 / len(place))
            moves[rng.integers(len(place))] = True
            step = moves * rng.normal(size=len(place)) * width
            # Now and then one coordinate goes anywhere, for integers and choices.
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
    """The six problems: from 3 to 9 hyperparameters, each with phases of its own."""
    return [
        # A wide enough network on little data: it overfits unless its weights decay.
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
        # Large learning rates pay, if the start is gentle: warm-up and divergence.
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
        # The loss stands on gradient noise until the learning rate drops.
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
        # Deep networks stand still for long before they learn, and end lower.
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
        # A bit of everything in many dimensions, with much noise.
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
        # Sizes and batches in fixed steps, augmentation against overfitting, drops to be timed.
        PhasesProblem(
            6,
            space={
                "lr": {"float": [1e-5, 1e-1], "log": True},
                "batch": {"ordinal": [32, 64, 128, 256, 512]},
                "size": {"ordinal": list(_SIZES)},
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

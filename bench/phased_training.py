"""A model of training whose learning curves are not smooth but have phases.

It gives the loss of a configuration after each of 27 epochs. Two quantities change from epoch to
epoch: the relative learning rate (the learning rate divided by the best one for the configuration)
and the progress so far. They cause these phases:

- Warm-up and schedules scale the learning rate, and so progress and gradient noise.
- A plateau lasts until enough progress is made. Then the loss drops along a power law.
- Gradient noise adds to the loss, the more the larger the learning rate is. So a sudden drop of the
  learning rate is a sudden drop of the loss.
- Overfitting starts after some progress. It starts earlier with more capacity, and with less
  regularisation.
- Training with too large a learning rate diverges: the loss jumps to a cap and stays there.
"""

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
# The range of learning rates, as log10, in which divergence changes from slow to immediate.
_EDGE_WIDTH = 0.14

# The values of hyperparameters that a problem does not tune.
DEFAULTS = {
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

# For each optimizer: log10 of its best learning rate, how much that changes with log10 of the
# width, log10 of its best weight decay, and its progress in an epoch (adaptive methods start
# faster).
_OPTIMIZERS = {
    "sgd": (0.0, -0.3, -3.6, 0.9),
    "adam": (-2.6, -0.7, -2.4, 1.25),
    "rmsprop": (-2.9, -0.6, -3.0, 1.15),
}

# For each activation: the factor on the plateau's length, the power of the depth in that length,
# and how much it adds to the final loss.
_ACTIVATIONS = {
    "relu": (1.0, 0.7, 0.02),
    "gelu": (0.8, 0.8, 0.0),
    "tanh": (1.2, 1.2, 0.03),
}

# For each normalisation: the factor on the plateau's length, how much larger (log10) the largest
# stable learning rate is, how much depth adds to the final loss, and how much small batches add.
_NORMS = {
    "none": (1.8, -0.25, 0.10, 0.0),
    "batch": (0.6, 0.20, 0.02, 12.0),
    "layer": (0.9, 0.05, 0.03, 0.0),
}

# The width and depth for each value of `size`.
SIZES = {
    "tiny": (32, 2),
    "small": (64, 3),
    "medium": (128, 4),
    "large": (256, 6),
    "huge": (512, 8),
}


def draw_task(rng, emphasis):
    """Draws the constants of a task around usual values.

    `emphasis` has factors for some of them, by which a problem makes a phase matter more.
    """

    def around(usual, spread=0.25):
        return usual * math.exp(spread * rng.uniform(-1, 1))

    task = {
        "plateau_loss": around(2.0, 0.3),  # the loss of guessing classes by their frequency
        "start_loss": around(0.6, 0.5),  # how far above plateau_loss training starts
        "irreducible": around(0.15, 0.5),
        "capacity_gap": around(0.20, 0.4),  # how much a larger network could lower the loss
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
        "early_edge": around(0.5, 0.3),  # how much lower `edge` is at the very start
        "sharpening": around(0.3, 0.3),  # how much lower `edge` is at the end
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


def train(task, params):
    """Returns the losses of a configuration, its relative learning rates, and whether it has
    diverged. Each is an array with an entry for each epoch."""
    batch, width, depth = params["batch"], params["width"], params["depth"]
    if params["size"] is not None:
        width, depth = SIZES[params["size"]]
    wide, deep = width / 128, depth / 4
    optimizer = params["optimizer"]
    lr_home, lr_width, decay_home, pace = _OPTIMIZERS[optimizer]
    longer, longer_deep, act_gap = _ACTIVATIONS[params["activation"]]
    norm_longer, norm_edge, norm_depth, norm_batch = _NORMS[params["norm"]]
    init = math.log10(params["init"]) - task["init_best"]
    dropout, augment = params["dropout"], params["augment"]
    critical = task["critical_batch"]

    # The best learning rate (`suits`). It grows with the batch, up to the critical batch size,
    # where the gradient is no longer noisy. It is smaller for wide and deep networks. Momentum
    # multiplies the steps of SGD in the long run, so it counts as part of the learning rate.
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

    # Progress is nearly proportional to a small learning rate, and saturates for a large one.
    # Batches above the critical size mean fewer steps, and the steps are not better.
    step = relative**0.85
    pace *= task["rate"] * (128 + critical) / (batch + critical)
    pace *= math.exp(-0.35 * momentum**2) * (1 - 0.5 * dropout) * (1 - 0.35 * augment)
    progress = (2 * pace * step / (1 + step)).cumsum()

    # The plateau (`wait`) is longer for deep networks, saturating activations and small initial
    # weights. Normalisation and width shorten it.
    wait = task["plateau"] * longer * norm_longer * deep**longer_deep * wide**-0.2
    wait *= math.exp(1.6 * max(-init, 0.0) ** 1.5)
    sharp = 0.25 + 0.08 * wait
    learnt = sharp * np.logaddexp(0.0, (progress - wait) / sharp)
    rest = (1 + learnt / 2) ** -task["power"]

    # The effect of weight decay depends in part on its product with the learning rate. A moderate
    # decay regularises. With too much, the weights stay so small that the network cannot fit.
    regular = 1 + 0.3 * peak / (1 + peak)
    regular *= (1 + task["dropout_power"] * dropout) * (1 + task["augment_power"] * augment)
    underfit = 0.0
    if params["weight_decay"] is not None:
        decay = math.log10(params["weight_decay"]) - decay_home - task["decay_shift"]
        decay = 10 ** (decay + 0.4 * max(-1.5, min(1.5, lr - suits)))
        regular *= 1 + 0.9 * math.log1p(decay)
        underfit = 0.9 * decay / (decay + 30)

    # The floor is the loss after infinite training. Dropout and augmentation raise it more for
    # small networks. Very deep networks have a higher floor, most of all without normalisation. So
    # do initial weights that are too large, because the network then stays near its start.
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

    # Gradient noise keeps the loss above the floor, by an amount that depends on the present
    # learning rate. So the loss falls when the learning rate falls.
    bounce = task["gradient_noise"] * (1 + 24 / batch) * relative**0.7

    # Overfitting begins when the network has learnt what generalises and starts to memorise. The
    # added loss rises slowly at first, then linearly, and then levels off.
    onset = task["overfit_onset"] * regular / (1.8 * capacity**0.35)
    bend = 1 + 0.12 * onset
    memorised = bend * np.logaddexp(0.0, (learnt - onset) / bend)
    slope = task["overfit_slope"] * capacity**0.3 / regular**0.7
    overfit = slope * memorised / (1 + memorised / 40)

    # Stability: training diverges soon if the learning rate is above the edge, and may diverge
    # later if it is slightly below. The edge is low in the first epochs, which is why warm-up
    # helps. Later it falls slowly, as training moves into sharper valleys, so that some runs
    # diverge late.
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
        + 0.4 * np.minimum(danger, 1.0) ** 3  # the loss rises somewhat before training diverges
    )
    diverged = danger > 1
    losses = np.where(diverged, task["cap"], np.minimum(losses, task["cap"]))
    return losses, relative, diverged

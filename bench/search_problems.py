"""Problems for samplers. The best loss of each is known, so that regret can be computed.

A problem's space is written as in a study file. Conditions (`when`) and constraints are given
twice: as in a study file, and as Python functions for peers that do not have them.
"""

import dataclasses
import math
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Problem:
    name: str
    space: dict  # parameter -> its description as in a study file
    loss: Callable  # a function of the active parameters, without noise
    best: float  # the smallest possible loss
    noise: float = 0.0  # standard deviation of the noise that is added to an observation
    constraints: tuple = ()
    violation: Callable = None  # a function of the parameters: above 0 if a constraint is violated
    # Parameter -> a function of the other parameters: whether the parameter is active.
    active: dict = dataclasses.field(default_factory=dict)


def _floats(count, low, high):
    return {f"x{i}": {"float": [low, high]} for i in range(count)}


def _vector(params):
    return [params[name] for name in sorted(params, key=lambda name: int(name[1:]))]


def _sphere(params):
    return sum((x - 0.3 * ((i % 3) - 1) * 5) ** 2 for i, x in enumerate(_vector(params)))


def _ellipsoid(params):
    """Twenty parameters, only a few of which matter, as is usual in practice."""
    return sum(2.0**-i * (x - 0.6) ** 2 for i, x in enumerate(_vector(params)))


def _rosenbrock(params):
    x = _vector(params)
    return sum(
        100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:], strict=False)
    )


def _ackley(params):
    x = [value - 3.1 for value in _vector(params)]
    n = len(x)
    return (
        -20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / n))
        - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / n)
        + 20
        + math.e
    )


def _rastrigin(params):
    x = [value - 1.2 for value in _vector(params)]
    return 10 * len(x) + sum(v * v - 10 * math.cos(2 * math.pi * v) for v in x)


def _branin(params):
    x, y = _vector(params)
    return (
        (y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6) ** 2
        + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
        + 10
    )


_HARTMANN_A = [
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
]
_HARTMANN_P = [
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
]


def _hartmann(params):
    x = _vector(params)
    return -sum(
        alpha * math.exp(-sum(a * (v - p) ** 2 for a, v, p in zip(row, x, at, strict=True)))
        for alpha, row, at in zip((1.0, 1.2, 3.0, 3.2), _HARTMANN_A, _HARTMANN_P, strict=True)
    )


def _levy(params):
    w = [1 + (value - 1) / 4 for value in _vector(params)]
    middle = sum(
        (v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1]
    )
    end = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    return math.sin(math.pi * w[0]) ** 2 + middle + end


def _styblinski(params):
    return sum(v**4 - 16 * v * v + 5 * v for v in _vector(params)) / 2


_ACTIVATION = {"relu": 0.0, "gelu": 0.05, "tanh": 0.3, "sigmoid": 0.8}


def _network(params):
    """Resembles the tuning of a network: the best learning rate depends on the batch size."""
    lr = math.log10(params["lr"])
    batch = math.log2(params["batch"])
    valley = lr + 2.5 - 0.15 * (batch - 6)
    return (
        0.5 * valley**2
        + 0.3 * abs(math.log2(params["width"]) - 8)
        + 0.1 * abs(params["layers"] - 4)
        + 1.5 * (params["dropout"] - 0.2) ** 2
        + _ACTIVATION[params["activation"]]
        + (0.1 if params["norm"] == "none" else 0.0) * params["layers"]
    )


_NETWORK_SPACE = {
    "lr": {"float": [1e-5, 1.0], "log": True},
    "batch": {"int": [16, 1024], "log": True},
    "width": {"int": [8, 1024], "log": True},
    "layers": {"int": [1, 8]},
    "dropout": {"float": [0.0, 0.6], "step": 0.05},
    "activation": {"choice": list(_ACTIVATION)},
    "norm": {"choice": ["none", "batch", "layer"]},
}


def _optimizers(params):
    """Each optimizer has parameters of its own."""
    lr = math.log10(params["lr"])
    if params["optimizer"] == "sgd":
        start = 0.25 + 0.3 * (lr + 1) ** 2 + 4 * (params["momentum"] - 0.9) ** 2
        start += 0.1 * params["nesterov"]
    elif params["optimizer"] == "adam":
        start = 0.1 + 0.3 * (lr + 3) ** 2 + 3 * (params["beta"] - 0.85) ** 2
        start += 0.05 * (math.log10(params["epsilon"]) + 8) ** 2
    else:
        start = 0.6 + 0.3 * (lr + 2) ** 2
    return start + 0.05 * abs(params["layers"] - 3)


def _deep(params):
    """A network whose number of layers is a parameter. Each layer has a width of its own."""
    layers = params["layers"]
    widths = [math.log2(params[f"width{i}"]) for i in range(1, layers + 1)]
    return (
        0.5 * abs(layers - 3)
        + sum(abs(width - (9 - i)) for i, width in enumerate(widths)) / layers
        + 0.4 * (math.log10(params["lr"]) + 3) ** 2
    )


_LETTERS = ["a", "b", "c", "d", "e"]


def _discrete(params):
    """Discrete parameters only. The best value of `one` depends on that of `two`."""
    size = ["xs", "s", "m", "l", "xl"].index(params["size"])
    count = params["count"]
    one, two = _LETTERS.index(params["one"]), _LETTERS.index(params["two"])
    return (
        (size - 3) ** 2 * 0.3
        + abs(count - 7) * 0.2
        + (0.0 if one == (two + 1) % 5 else 1.0)
        + 0.3 * one
        + abs(params["step"] - 0.7) * 2
    )


def _cut(params):
    x, y = _vector(params)
    return -(math.cos((x - 0.1) * y) ** 2) - x * math.sin(3 * x + y)


def _cut_violation(params):
    x, y = _vector(params)
    return (x - 0.5) ** 2 + (y + 0.5) ** 2 - 1.0


def _budgeted(params):
    """Larger networks are better, so the best point lies on the border of a constraint."""
    return (
        4 - math.log2(params["width"]) / 4 - 0.3 * params["layers"]
        + 0.4 * (math.log10(params["lr"]) + 2.5) ** 2
        + 2 * (params["momentum"] - 0.9) ** 2
    )


def _budgeted_violation(params):
    size = params["width"] * params["layers"] - 1024
    speed = params["lr"] * params["momentum"] - 0.05
    return max(size / 1024, speed * 10)


def _sgd(name):
    return lambda params: params["optimizer"] == name


PROBLEMS = [
    Problem("branin 2", {"x0": {"float": [-5, 10]}, "x1": {"float": [0, 15]}}, _branin, 0.397887),
    Problem("hartmann 6", _floats(6, 0, 1), _hartmann, -3.32237),
    Problem("sphere 6", _floats(6, -5, 5), _sphere, 0),
    Problem("rosenbrock 4", _floats(4, -2, 2), _rosenbrock, 0),
    Problem("ackley 10", _floats(10, -10, 10), _ackley, 0),
    Problem("rastrigin 5", _floats(5, -5, 5), _rastrigin, 0),
    Problem("levy 8", _floats(8, -10, 10), _levy, 0),
    Problem("styblinski 5", _floats(5, -5, 5), _styblinski, -39.16617 * 5),
    Problem("ellipsoid 20", _floats(20, -1, 1), _ellipsoid, 0),
    Problem("network (mixed)", _NETWORK_SPACE, _network, 0.0),
    Problem(
        "discrete",
        {
            "size": {"ordinal": ["xs", "s", "m", "l", "xl"]},
            "count": {"int": [1, 12]},
            "one": {"choice": _LETTERS},
            "two": {"choice": _LETTERS},
            "step": {"float": [0.0, 1.0], "step": 0.1},
        },
        _discrete,
        0.0,
    ),
    Problem(
        "optimizers (conditional)",
        {
            "optimizer": {"choice": ["sgd", "adam", "rmsprop"]},
            "lr": {"float": [1e-5, 1.0], "log": True},
            "layers": {"int": [1, 6]},
            "momentum": {"float": [0.0, 0.99], "when": "optimizer == 'sgd'"},
            "nesterov": {"int": [0, 1], "when": "optimizer == 'sgd'"},
            "beta": {"float": [0.5, 0.999], "when": "optimizer == 'adam'"},
            "epsilon": {"float": [1e-10, 1e-3], "log": True, "when": "optimizer == 'adam'"},
        },
        _optimizers,
        0.1,
        active={
            "momentum": _sgd("sgd"),
            "nesterov": _sgd("sgd"),
            "beta": _sgd("adam"),
            "epsilon": _sgd("adam"),
        },
    ),
    Problem(
        "layers (conditional)",
        {
            "layers": {"int": [1, 5]},
            "lr": {"float": [1e-5, 1.0], "log": True},
            "width1": {"int": [8, 1024], "log": True},
            **{
                f"width{i}": {"int": [8, 1024], "log": True, "when": f"layers >= {i}"}
                for i in range(2, 6)
            },
        },
        _deep,
        0.0,
        active={
            f"width{i}": (lambda params, i=i: params["layers"] >= i) for i in range(2, 6)
        },
    ),
    Problem("hartmann 6, noisy", _floats(6, 0, 1), _hartmann, -3.32237, noise=0.15),
    Problem("network (mixed), noisy", _NETWORK_SPACE, _network, 0.0, noise=0.1),
    Problem(
        "townsend (constrained)",
        {"x0": {"float": [-2.25, 2.25]}, "x1": {"float": [-2.5, 1.75]}},
        _cut,
        -1.65952,
        constraints=("(x0 - 0.5) ** 2 + (x1 + 0.5) ** 2 <= 1",),
        violation=_cut_violation,
    ),
    Problem(
        "size (constrained)",
        {
            "lr": {"float": [1e-5, 1.0], "log": True},
            "momentum": {"float": [0.0, 0.99]},
            "width": {"int": [8, 1024], "log": True},
            "layers": {"int": [1, 12]},
        },
        _budgeted,
        -1.202348,
        constraints=("width * layers <= 1024", "lr * momentum < 0.05"),
        violation=_budgeted_violation,
    ),
]

"""Trains a bundle of trials through build/release/bin/trainer-driver, and each of them again by a
plain loop of PyTorch."""

import contextlib
import copy
import dataclasses
import itertools
import json
import math
import subprocess
from unittest import mock

import torch
import walker
from draws import Drawing
from driver import DRIVER
from rates import Schedule, torch_rates
from sluice._safetensors import TensorFile
from torch.nn import functional

TRAINER_DRIVER = DRIVER.with_name("trainer-driver")
DRAWN_PER_EPOCH = 5  # steps, of drawn batches (src/train/check/drawn_batches.h)
DRAWN_BATCH = 4
_ADAM = {"beta1": "betas.0", "beta2": "betas.1", "eps": "eps"}
# The optimizers, and the hyperparameters that a trial of each has, with their paths in a recipe.
FORMS = {
    "sgd": {"momentum": "momentum", "dampening": "dampening"},
    "nesterov": {"momentum": "momentum"},
    "adam": _ADAM,
    "adamw": _ADAM,
}
# What a schedule of each kind is said with.
_OF_SCHEDULE = {
    "constant": [], "step": ["gamma", "every"], "multi_step": ["gamma"],
    "exponential": ["gamma"], "cosine": ["over", "last"],
    "one_cycle": ["over", "last", "rise", "div"],
}

# What drops by a rate. Other operators that draw cannot be told not to.
RATES = {
    "dropout": "p", "alpha_dropout": "p", "feature_dropout": "p", "feature_alpha_dropout": "p",
    "lstm": "dropout", "gru": "dropout", "rnn_tanh": "dropout", "rnn_relu": "dropout",
    "scaled_dot_product_attention": "dropout_p",
}


@dataclasses.dataclass
class Trial:
    seed: int
    lr: float
    momentum: float = 0
    dampening: float = 0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0
    label_smoothing: float = 0
    schedule: Schedule = dataclasses.field(default_factory=Schedule)


@dataclasses.dataclass
class Bundle:
    network: str
    form: str
    trials: list
    clip: float | None = None
    loss: str = "returned"
    precision: str = "float64"
    batch: int = DRAWN_BATCH
    data: dict | None = None  # none: it is drawn
    seed: int = 0  # of the study
    settings: dict = dataclasses.field(default_factory=dict)  # others, by their paths

    def recipe(self, trial):
        files = {"inputs": [], "targets": []}
        data = {"kind": "guess", "path": "", "train": files, "validation": files, "test": files,
                "validation_fraction": 0, "test_fraction": 0, "split_seed": 0, "window": 0,
                "vocabulary": 0, "token_type": "uint16", "normalise": "nothing", "mean": [],
                "deviation": [], "crop": 0, "flip": False, **(self.data or {})}
        settings = {
            "model.network": self.network, "model.loss": self.loss, "model.rule": "standard",
            "model.readout": "keep", "train.batch": self.batch, "train.precision": self.precision,
            "train.dropout": 0, "train.optimizer": self.form, "train.lr": trial.lr,
            "train.weight_decay": trial.weight_decay,
            "train.schedule.name": trial.schedule.kind,
            "train.schedule.warmup": trial.schedule.warmup, **self.settings,
        }
        if self.form == "nesterov":
            settings.update({"train.optimizer": "sgd", "train.nesterov": "true"})
        if self.clip is not None:
            settings["train.clip_norm"] = self.clip
        if self.loss == "cross_entropy":
            settings["train.label_smoothing"] = trial.label_smoothing
        for name, path in FORMS[self.form].items():
            settings[f"train.{path}"] = getattr(trial, name)
        for name in _OF_SCHEDULE[trial.schedule.kind]:
            settings[f"train.schedule.{name}"] = getattr(trial.schedule, name)
        if trial.schedule.kind == "multi_step":
            settings.update((f"train.schedule.at.{place}", at)
                            for place, at in enumerate(trial.schedule.at))
        texts = {path: each if isinstance(each, str) else repr(each)
                 for path, each in settings.items()}
        return {"version": 1, "settings": texts, "data": data, "seed": self.seed,
                "unit": "epoch", "length": 0}


class Trained:
    """What the driver left behind."""

    def __init__(self, folder):
        self.folder = folder
        with TensorFile(folder / "batches") as file:
            self._tensors = {name: file.read(name) for name in file.tensors}
        self.losses = self._tensors["losses"]  # [steps, trials]
        self.evaluated = self._tensors.get("evaluated")  # [trials]
        self.targets = self._tensors.get("target")
        inputs = sorted(name for name in self._tensors if name.startswith("input."))
        self.inputs = [self._tensors[name] for name in inputs]

    def first(self, place):
        return self.folder / str(place) / "first"

    def last(self, place):
        return self.folder / str(place) / "last"

    def batch(self, step):
        target = None if self.targets is None else self.targets[step]
        return [each[step] for each in self.inputs], target


def train(bundle, steps, folder):
    folder.mkdir(exist_ok=True)
    (folder / "trials").write_text("".join(
        f"{trial.seed}\n{json.dumps(bundle.recipe(trial))}\n" for trial in bundle.trials))
    words = [TRAINER_DRIVER, folder / "trials", steps, folder]
    ran = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return Trained(folder)


@contextlib.contextmanager
def without_dropout(module):
    """The module drops nothing, whether it says so by attributes or calls functions."""
    for part in module.modules():
        for name, value in vars(part).items():
            if isinstance(value, float) and "drop" in name:
                setattr(part, name, 0.0)
    attend = functional.scaled_dot_product_attention

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, *rest, **options):
        return attend(query, key, value, attn_mask, 0.0, *rest, **options)

    with contextlib.ExitStack() as patches:
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
                     "feature_alpha_dropout"):
            patches.enter_context(mock.patch.object(functional, name, lambda x, *_, **__: x))
        patches.enter_context(
            mock.patch.object(functional, "scaled_dot_product_attention", attention))
        yield


def operator_of(node):
    return node["op"].split(".")[1].strip("_")


def graph_without_dropout(graph):
    graph = copy.deepcopy(graph)
    for node in graph["nodes"]:
        for argument in node["arguments"]:
            if RATES.get(operator_of(node)) == argument["name"]:
                argument["value"] = {"float": 0.0}
    return graph


@dataclasses.dataclass
class Factors:
    """What multiplies a trial's settings for one tensor."""

    lr: float = 1
    decay: float = 1
    eps: float = 1


def optimizer_of(bundle, trial, parameters, factors):
    groups = [{"params": [tensor], "lr": trial.lr, "weight_decay": trial.weight_decay * each.decay}
              for tensor, each in zip(parameters, factors, strict=True)]
    if bundle.form in ("sgd", "nesterov"):
        return torch.optim.SGD(groups, momentum=trial.momentum, dampening=trial.dampening,
                               nesterov=bundle.form == "nesterov", foreach=False)
    for group, each in zip(groups, factors, strict=True):
        group["eps"] = trial.eps * each.eps
    kind = torch.optim.Adam if bundle.form == "adam" else torch.optim.AdamW
    return kind(groups, betas=(trial.beta1, trial.beta2), foreach=False)


def plain_loop(bundle, trial, trained, loss_of, parameters, per_epoch, factors=None):
    """Trains these parameters on the batches of a bundle. `loss_of` takes the inputs and the target
    of a step. Returns the losses."""
    factors = factors or [Factors()] * len(parameters)
    optimizer = optimizer_of(bundle, trial, parameters, factors)
    losses = []
    for step, rate in enumerate(torch_rates(trial, len(trained.losses), per_epoch)):
        for group, each in zip(optimizer.param_groups, factors, strict=True):
            group["lr"] = rate * each.lr
        inputs, target = trained.batch(step)
        optimizer.zero_grad()
        loss = loss_of([each.clone() for each in inputs], target)
        loss.backward()
        if bundle.clip is not None:
            torch.nn.utils.clip_grad_norm_(parameters, bundle.clip, foreach=False)
        optimizer.step()
        losses.append(loss.item())
    return losses


def squares(outputs):
    """The loss of drawn batches."""
    return sum(each.square().mean() for each in outputs if each.is_floating_point())


def difference(ours, theirs):
    """||a - b|| / max(||b||, sqrt(n) / 10)."""
    if ours.shape != theirs.shape:
        return math.inf
    if theirs.numel() == 0:
        return 0.0
    ours, theirs = (
        (torch.view_as_real(each) if each.is_complex() else each).detach().double()
        for each in (ours, theirs)
    )
    size = max(theirs.norm().item(), math.sqrt(theirs.numel()) / 10)
    found = (ours - theirs).norm().item() / size
    return math.inf if math.isnan(found) else found


def tensors_in(folder, graph):
    """The tensors of a checkpoint by name."""
    types = {each["name"]: each["dtype"] for each in graph["parameters"]}
    with TensorFile(folder / "model.safetensors") as file:
        tensors = {name: file.read(name) for name in file.tensors}
    return {name: torch.view_as_complex(tensor) if types[name].startswith("complex") else tensor
            for name, tensor in tensors.items()}


def walked(graph, bundle, place, trained, stored, factors=None):
    """Trains a graph by walker.py, with the draws of a trial, from the trial's first checkpoint.
    Returns the differences from its last one. `stored` has tensors that checkpoints lack, and
    `factors` those of parameters by their names."""
    trial = bundle.trials[place]
    state = walker.state_of(graph, {**stored, **tensors_in(trained.first(place), graph)})
    steps = itertools.count()

    def loss_of(inputs, _):
        with Drawing(graph, trial.seed, next(steps)):
            return squares(walker.run(graph, state, inputs))

    names = [each["name"] for each in graph["parameters"]
             if each["trainable"] and each["tied_to"] is None]
    plain_loop(bundle, trial, trained, loss_of, [state[name] for name in names], DRAWN_PER_EPOCH,
               factors and [factors[name] for name in names])
    last = tensors_in(trained.last(place), graph)
    return differences(last, {name: state[name] for name in last})


def differences(ours, theirs):
    """Of two state dicts, by name."""
    assert ours.keys() == theirs.keys()
    return {name: difference(ours[name], theirs[name]) for name in ours}

"""Trainings of whole bundles (src/train/bundle), compared with a plain loop of PyTorch for each
trial. The loop begins with the trial's checkpoint before its first step, which sluice.load loads
into the module, and takes the batches that the trial had."""

import contextlib
import copy
import itertools
import json
import os
import random
import struct

import numpy
import pytest
import sluice
import torch
from corpus import FULL
from networks import NETWORKS
from oracle import build, leaves
from order import examples_of_step, varied
from rates import SCHEDULES, Schedule
from test_networks import in_double
from torch.nn.functional import cross_entropy
from trainer import (
    DRAWN_PER_EPOCH,
    FORMS,
    Bundle,
    Factors,
    Trial,
    differences,
    graph_without_dropout,
    plain_loop,
    squares,
    train,
    walked,
    without_dropout,
)

STEPS = 20
BOUND = 1e-10
BY_NAME = {network.name: network for network in NETWORKS}
SOAK = bool(os.environ.get("SLUICE_SOAK"))
pytestmark = pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*")

# The kinds of networks, and each optimizer.
CASES = [
    *(("mlp", form) for form in FORMS), ("lenet", "sgd"), ("resnet-18", "nesterov"),
    ("vit", "adamw"), ("lstm", "adam"), ("lm-tied", "adamw"),
]
if SOAK:
    CASES = [*itertools.product([name for name, _ in CASES[3:]], FORMS)]


@contextlib.contextmanager
def as_default(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@pytest.fixture
def double():
    with as_default(torch.float64):
        yield


def drawn_schedule(draw, kind):
    """Lengths are in epochs."""
    return Schedule(kind=kind, gamma=draw.uniform(0.3, 1), every=draw.uniform(0.3, 2),
                    over=draw.uniform(1, 4), last=draw.uniform(0.01, 0.9),
                    rise=draw.uniform(0.1, 0.9), div=draw.uniform(2, 30),
                    warmup=draw.choice([0, draw.uniform(0.3, 2)]),
                    at=tuple(sorted(draw.uniform(0.3, 3) for _ in range(2))))


def drawn_trials(draw, form, smoothing=False):
    """A trial for each schedule."""
    rates = (-2.5, -1.5) if form in ("sgd", "nesterov") else (-4, -2.5)
    return [
        Trial(seed=draw.randrange(2**64), lr=10**draw.uniform(*rates),
              momentum=draw.uniform(0.5, 0.95) if place or form == "nesterov" else 0,
              dampening=draw.choice([0, draw.uniform(0, 0.9)]) if form == "sgd" else 0,
              beta1=draw.uniform(0.5, 0.95), beta2=draw.uniform(0.9, 0.999),
              eps=10**draw.uniform(-8, -4), weight_decay=draw.choice([0, 10**draw.uniform(-3, -1)]),
              label_smoothing=draw.uniform(0, 0.3) if smoothing else 0,
              schedule=drawn_schedule(draw, kind))
        for place, kind in enumerate(SCHEDULES)
    ]


def drawn_bundle(subject, name, form, **options):
    draw = random.Random(f"{name} {form}")
    trials = drawn_trials(draw, form, options.get("loss") == "cross_entropy")
    clip = draw.choice([None, draw.uniform(0.05, 1)])
    return Bundle(network=subject, form=form, trials=trials, clip=clip, seed=draw.randrange(2**64),
                  **options)


def trained_plainly(make, bundle, place, trained, loss_of=None, per_epoch=DRAWN_PER_EPOCH):
    """The module of a trial after a plain loop, and the losses."""
    module = sluice.load(make(), trained.first(place)).train()
    with without_dropout(module):
        losses = plain_loop(
            bundle, bundle.trials[place], trained,
            lambda inputs, target: (loss_of or drawn_loss)(module, inputs, target),
            [each for each in module.parameters() if each.requires_grad], per_epoch)
    return module, losses


def drawn_loss(module, inputs, _):
    return squares(leaves(module(*inputs)))


def found_differences(make, bundle, trained):
    """Of each trial's last checkpoint and its plain loop, by the trial's place and the name."""
    found = {}
    for place in range(len(bundle.trials)):
        plain, losses = trained_plainly(make, bundle, place, trained)
        last = sluice.load(make(), trained.last(place))
        each = differences(last.state_dict(), plain.state_dict())
        found.update(((place, name), difference) for name, difference in each.items())
        expected = torch.tensor(losses, dtype=torch.float64)
        found[place, "losses"] = differences({"": trained.losses[:, place]}, {"": expected})[""]
    return found


def exported(case_of, network):
    """Its case. It is exported as users do, with float32 as the default."""
    with as_default(torch.float32):
        case = case_of(network)
        assert not case.refusal, case.refusal
    return case


def double_of(case, by=1):
    """Makes its module in float64, with the values that it has in float32."""

    def make():
        with as_default(torch.float32):
            return build(case.network, FULL // by).double()

    return make


def too_different(found, bound):
    return {key: difference for key, difference in found.items() if not difference <= bound}


@pytest.mark.parametrize("name, form", CASES)
def test_each_trial_is_a_plain_loop(case_of, tmp_path, double, name, form):
    case = exported(case_of, BY_NAME[name])
    bundle = drawn_bundle(case.subject, name, form)
    if name != "mlp" and not SOAK:
        bundle.trials = bundle.trials[::2]
    trained = train(bundle, STEPS, tmp_path / "trained")
    assert not too_different(found_differences(double_of(case), bundle, trained), BOUND)


@pytest.mark.parametrize("name, form", [
    ("mlp", "sgd"), ("lenet", "nesterov"), *([("vit", "adamw"), ("lstm", "adam")] if SOAK else [])])
def test_float32_is_as_exact_as_pytorch(case_of, tmp_path, name, form):
    """Rounding to float32 is a small change of every step, and how such changes grow depends on the
    network and its rates. So the bound is not a constant. It is derived from what rounding does to
    PyTorch's own loop: the distance of its float32 run to its float64 run of the same trial, in the
    tensor where it is largest. Another float32 program rounds as often, in another order. So its
    distance to the float64 run is another draw from a distribution of the same width, and a tensor
    averages over its elements. 4 times PyTorch's distance is allowed."""
    case = exported(case_of, BY_NAME[name])
    bundle = drawn_bundle(case.subject, name, form, precision="float32")
    trained = train(bundle, STEPS, tmp_path / "trained")
    wider = copy.copy(trained)
    wider.inputs = [each.double() if each.is_floating_point() else each for each in trained.inputs]
    for place in range(len(bundle.trials)):
        single, _ = trained_plainly(lambda: case.build(1), bundle, place, trained)
        with as_default(torch.float64):
            exact, _ = trained_plainly(double_of(case), bundle, place, wider)
        last = sluice.load(case.build(1), trained.last(place))
        theirs = max(differences(single.state_dict(), exact.state_dict()).values())
        ours = differences(last.state_dict(), exact.state_dict())
        assert not too_different(ours, 4 * theirs), (place, theirs)


def write_vectors(folder, examples, classes=10):
    """.npy files of vectors with a class each, for training and for validation."""
    generator = numpy.random.default_rng(5)
    folder.mkdir()
    parts = {}
    for part, count in (("train", examples), ("val", 13)):
        inputs = generator.normal(size=(count, 12)).astype("float32")
        targets = generator.integers(0, classes, size=count)
        targets[:classes] = range(classes)
        numpy.save(folder / f"x_{part}.npy", inputs)
        numpy.save(folder / f"y_{part}.npy", targets)
        parts[part] = torch.from_numpy(inputs), torch.from_numpy(targets)
    return parts


def write_idx(path, numbers):
    header = struct.pack(f">HBB{numbers.ndim}I", 0, 8, numbers.ndim, *numbers.shape)
    path.write_bytes(header + numbers.astype("uint8").tobytes())


def assert_order(trained, inputs, targets, seed, batch, vary=lambda inputs, step: inputs):
    """The batches are those that docs/data.md describes."""
    for step in range(STEPS):
        which = examples_of_step(len(inputs), batch, seed, step)
        (found,), target = trained.batch(step)
        assert torch.equal(target, targets[which]), step
        assert torch.equal(found, vary(inputs[which], step).to(found.dtype)), step


def test_trials_on_data_are_plain_loops(case_of, tmp_path, double):
    case = exported(case_of, BY_NAME["mlp"])
    parts = write_vectors(tmp_path / "data", 43)
    bundle = drawn_bundle(case.subject, "mlp", "adamw", loss="cross_entropy", batch=6,
                          data={"kind": "npy", "path": str(tmp_path / "data")})
    trained = train(bundle, STEPS, tmp_path / "trained")
    assert_order(trained, *parts["train"], bundle.seed, bundle.batch)

    for place, trial in enumerate(bundle.trials):
        def loss_of(model, inputs, target, smoothing=trial.label_smoothing):
            return cross_entropy(model(*inputs), target, label_smoothing=smoothing)

        plain, _ = trained_plainly(double_of(case), bundle, place, trained, loss_of, 43 // 6)
        last = sluice.load(double_of(case)(), trained.last(place))
        assert not too_different(differences(last.state_dict(), plain.state_dict()), BOUND)
        inputs, targets = parts["val"]
        with torch.no_grad():
            expected = cross_entropy(last.eval()(inputs.double()), targets).item()
        assert trained.evaluated[place].item() == pytest.approx(expected, rel=BOUND)


@pytest.mark.parametrize("crop, flip", [(0, False), (2, True)])
def test_images_come_in_the_order_of_the_documents(case_of, tmp_path, crop, flip):
    generator = numpy.random.default_rng(6)
    folder = tmp_path / "data"
    folder.mkdir()
    images = generator.integers(0, 256, size=(50, 16, 16))
    labels = generator.permutation(numpy.arange(50) % 10)
    write_idx(folder / "train-images-idx3-ubyte", images)
    write_idx(folder / "train-labels-idx1-ubyte", labels)
    case = exported(case_of, BY_NAME["lenet"])
    bundle = drawn_bundle(case.subject, "lenet", "sgd", loss="cross_entropy",
                          precision="float32", batch=8,
                          data={"path": str(folder), "crop": crop, "flip": flip})
    bundle.trials = bundle.trials[:1]
    trained = train(bundle, STEPS, tmp_path / "trained")
    inputs = torch.from_numpy(images.astype("float32"))[:, None] / 255
    assert_order(trained, inputs, torch.from_numpy(labels), bundle.seed, bundle.batch,
                 lambda images, step: varied(images, bundle.seed, step, crop, flip))


@pytest.mark.parametrize("form", ["nesterov", "adam", "adamw"])
def test_a_narrower_network_is_trained_by_its_factors(case_of, tmp_path, double, form):
    """Those that `sluice model shrink` prints for each parameter. It prints the network with its
    multipliers, too."""
    case = exported(case_of, BY_NAME["mlp"])
    shrunk = json.loads(case.run("shrink", "--scale", "4").stdout)
    bundle = drawn_bundle(case.subject, "mlp", form, settings={"model.rule": "mup",
                                                               "model.scale": "4"})
    trained = train(bundle, STEPS, tmp_path / "trained")
    factors = {
        each["name"]: Factors(
            lr=each["sgd_lr" if form == "nesterov" else "adam_lr"],
            decay=each["adamw_decay" if form == "adamw" else "sgd_decay"], eps=each["adam_eps"])
        for each in shrunk["parameters"]
    }
    assert any(each.lr != 1 for each in factors.values())
    graph = graph_without_dropout(in_double(shrunk["graph"]))
    for place in range(len(bundle.trials)):
        found = walked(graph, bundle, place, trained, {}, factors)
        assert not too_different(found, BOUND), place


def test_a_narrower_network_is_folded_into_its_module(case_of, tmp_path, double):
    case = exported(case_of, BY_NAME["mlp"])
    parts = write_vectors(tmp_path / "data", 43)
    bundle = drawn_bundle(case.subject, "mlp", "nesterov", loss="cross_entropy", batch=6,
                          settings={"model.rule": "mup", "model.scale": "4"},
                          data={"kind": "npy", "path": str(tmp_path / "data")})
    trained = train(bundle, STEPS, tmp_path / "trained")
    inputs, targets = parts["val"]
    for place in range(len(bundle.trials)):
        module = sluice.load(double_of(case, 4)(), trained.last(place)).eval()
        with torch.no_grad():
            expected = cross_entropy(module(inputs.double()), targets).item()
        assert trained.evaluated[place].item() == pytest.approx(expected, rel=BOUND)
    with pytest.raises(sluice.LoadError, match=r"--scale 4` prints the widths"):
        sluice.load(case.build(1), trained.last(0))


def test_a_multiplier_of_a_tied_table_is_not_folded(case_of, tmp_path):
    case = exported(case_of, BY_NAME["lm-tied"])
    bundle = drawn_bundle(case.subject, "lm-tied", "sgd",
                          settings={"model.rule": "mup", "model.scale": "4"})
    trained = train(bundle, 1, tmp_path / "trained")
    with pytest.raises(sluice.LoadError, match=r"no parameter can take the factor: .*elsewhere"):
        sluice.load(build(case.network, 2), trained.last(0))

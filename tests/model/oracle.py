"""Compares what Sluice finds in an exported network with what PyTorch and mup know about it.

Each comparison gives a list of differences, in words. The list is empty if nothing differs.
"""

import functools
import json
import math
import os
import pathlib
import subprocess
import warnings

import mup
import sluice
import torch
import walker
from corpus import FULL

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLUICE = str(pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin")) / "sluice")
SHRUNK_BY = (2, 4, 8)
SURROGATE = 4  # the scale of the narrower network that is executed
OTHER_BATCH = 3
SEED = 7


def build(network, k):
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return network.make(k).train()


def inputs_of(network, batch):
    torch.manual_seed(SEED)
    return network.inputs(batch)


def tensors_of(module):
    """Parameters and buffers by all of their names."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def shapes_of(module):
    return {name: list(tensor.shape) for name, tensor in tensors_of(module).items()}


def leaves(outputs):
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def gradients(outputs, parameters):
    """Gradients by the name of the parameter. None for a parameter without a gradient."""
    measure = sum(each.float().square().mean() for each in outputs)
    found = torch.autograd.grad(measure, list(parameters.values()), allow_unused=True)
    return dict(zip(parameters, found, strict=True))


def differing(what, ours, theirs):
    if (ours is None) != (theirs is None):
        return [f"{what}: expected {shown(theirs)}, found {shown(ours)}"]
    if ours is None:
        return []
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return [f"{what}: expected {shown(theirs)}, found {shown(ours)}"]
    if torch.equal(ours, theirs):
        return []
    if torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6, equal_nan=True):
        return []
    return [f"{what}: differs by up to {(ours - theirs).abs().max():.3g}"]


def shown(tensor):
    return "nothing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"


class Case:
    """A network, which is exported once, and what Sluice says about it."""

    surrogate_batches = (OTHER_BATCH,)

    def __init__(self, network, folder):
        self.network = network
        self.path = folder / f"{network.name}.pt2"

    @property
    def subject(self):
        """The network, as an argument of `sluice model`."""
        return str(self.archive)

    def build(self, by):
        """The module with every width divided by `by`."""
        return build(self.network, FULL // by)

    def outline(self, by):
        """The same module, if only its names and shapes are needed."""
        return self.build(by)

    def shapes(self, by):
        return shapes_of(self.outline(by))

    @functools.cached_property
    def archive(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inputs = inputs_of(self.network, self.network.batch)
            return sluice.export(build(self.network, FULL), inputs, self.path)

    def run(self, verb, *options):
        command = [SLUICE, "model", verb, self.subject, *options, "--json"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    @functools.cached_property
    def refusal(self):
        """The message with which Sluice refuses the network. Empty if Sluice accepts the
        network."""
        return "" if self._show.returncode == 0 else self._show.stderr.strip() or "no words"

    @functools.cached_property
    def graph(self):
        assert not self.refusal, self.refusal
        return json.loads(self._show.stdout)

    @functools.cached_property
    def _show(self):
        return self.run("show")

    @functools.cached_property
    def forward_differences(self):
        """Differences of a training step of the graph, at the batch size of the example and
        another."""
        found = []
        for batch in (self.network.batch, OTHER_BATCH):
            differences = self._step_differences(self.graph, 1, batch)
            found += [f"batch {batch}: {each}" for each in differences]
        return found

    @functools.cached_property
    def surrogate_differences(self):
        """Differences of a training step of the graph that `shrink` makes.

        The tensors are those of the narrower module. The rule is "standard", because it changes
        only the law by which parameters are drawn.
        """
        run = self._shrink(SURROGATE, "--rule", "standard")
        if run.returncode != 0:
            return [run.stderr.strip() or "no words"]
        graph = json.loads(run.stdout)["graph"]
        try:
            return [
                f"batch {batch}: {each}" for batch in self.surrogate_batches
                for each in self._step_differences(graph, SURROGATE, batch)
            ]
        except (RuntimeError, IndexError, ValueError) as error:
            return [f"it does not run: {str(error).splitlines()[0]}"]

    @functools.cached_property
    def _tensors(self):
        program = torch.export.load(self.archive)
        return {**program.constants, **program.state_dict}

    def _held(self, eager, by):
        """The tensors for the graph: those of the archive, or of this module if it is narrower."""
        return self._tensors if by == 1 else {**self._tensors, **tensors_of(eager)}

    def _step_differences(self, graph, by, batch):
        """Compares a training step with one of the module: outputs, gradients and changed
        buffers."""
        eager = self.build(by)
        state = walker.state_of(graph, self._held(eager, by))
        inputs = inputs_of(self.network, batch)
        torch.manual_seed(SEED)
        theirs = leaves(eager(*inputs))
        torch.manual_seed(SEED)
        ours = walker.run(graph, state, inputs)
        if len(ours) != len(theirs):
            return [f"expected {len(theirs)} outputs, found {len(ours)}"]
        found = []
        for place, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
            found += differing(f"output {place}", mine, its)
        parameters = {
            name: tensor for name, tensor in eager.named_parameters() if tensor.requires_grad
        }
        missing = [name for name in parameters if name not in state]
        if missing:
            return found + [f"no parameters {missing}"]
        their_gradients = gradients(theirs, parameters)
        our_gradients = gradients(ours, {name: state[name] for name in parameters})
        for name, gradient in their_gradients.items():
            found += differing(f"gradient of {name}", our_gradients[name], gradient)
        for name, buffer in eager.named_buffers():
            if name in state:
                found += differing(f"buffer {name}", state[name], buffer)
        return found

    @functools.cached_property
    def mup_differences(self):
        """Compares the number of widths of each trained parameter with mup's infinite
        dimensions."""
        ours = {each["name"]: each for each in self.graph["parameters"]}
        found = []
        for name, infinite in self._infinite_dims.items():
            if name not in ours or not ours[name]["trainable"]:
                found.append(f"{name}: expected a trained parameter, found none")
            elif ours[name]["widths"] != infinite:
                found.append(
                    f"{name} {ours[name]['shape']}: expected {infinite} widths, found "
                    f"{ours[name]['widths']}, [{', '.join(ours[name]['dims'])}]"
                )
        return found

    @functools.cached_property
    def _infinite_dims(self):
        """The number of infinite dimensions of each trained parameter. mup knows the first of tied
        names."""
        base, delta = self.outline(1), self.outline(2)
        shapes = mup.make_base_shapes(mup.get_shapes(base), mup.get_shapes(delta))
        trained = {name for name, tensor in base.named_parameters() if tensor.requires_grad}
        return {name: shape.ninf() for name, shape in shapes.items() if name in trained}

    @functools.cached_property
    def rate_differences(self):
        """Compares each parameter's kind and learning rates with those for its infinite dimensions.

        mup only assumes which of two dimensions is the fan-in. If the two shrink by different
        ratios, because something fixed is added to a width, both assumptions are accepted here.
        """
        run = self._shrink(SURROGATE)
        if run.returncode != 0:
            return [run.stderr.strip() or "no words"]
        full, small = self.shapes(1), self.shapes(SURROGATE)
        ours = {each["name"]: each for each in json.loads(run.stdout)["parameters"]}
        found = []
        for name, infinite in self._infinite_dims.items():
            if name not in ours:
                continue
            pairs = zip(full[name], small[name], strict=True)
            ratios = [before / after for before, after in pairs if before != after]
            if infinite == 0:
                kinds, adam, sgd = ["scalar"], [1.0], [1.0]
            elif infinite == 1:
                kinds, adam, sgd = ["input", "output"], [1.0], [1 / ratios[0]]
            elif infinite == 2:
                kinds, adam = ["hidden"], ratios
                sgd = [ratios[0] / ratios[1], ratios[1] / ratios[0]]
            else:
                continue  # mup has no rule for a parameter with three widths
            for what, expected in (("kind", kinds), ("adam_lr", adam), ("sgd_lr", sgd)):
                value = ours[name][what]
                if not any(value == each if what == "kind" else math.isclose(value, each)
                           for each in expected):
                    found.append(
                        f"{name} {full[name]}: expected {what} of {expected}, found {value}"
                    )
        return found

    @functools.cached_property
    def shape_differences(self):
        """For each scale, differences between the shapes of the shrunk network and a narrower
        module."""
        return {by: self._shape_differences(by) for by in SHRUNK_BY}

    def _shrink(self, by, *options):
        return self.run("shrink", "--scale", str(by), "--min-width", "1", *options)

    def _shape_differences(self, by):
        run = self._shrink(by)
        if run.returncode != 0:
            return [run.stderr.strip() or "no words"]
        ours = {each["name"]: each for each in json.loads(run.stdout)["parameters"]}
        full = self.shapes(1)
        return [each for small in self._narrower(by) for each in shape_changes(ours, full, small)]

    def _narrower(self, by):
        """The shapes that tensors must have: an entry for each module to compare with."""
        return [self.shapes(by)]


def shape_changes(ours, full, small):
    """Compares the shapes that `shrink` reports with those of the full and the narrower module."""
    found = [f"{name}: missing" for name in small if name not in ours]
    for name, each in ours.items():
        if name not in small:
            if each["role"] != "constant":
                found.append(f"{name}: the module has no such tensor")
            continue
        if each["from"] != full[name]:
            found.append(f"{name}: expected it to be {full[name]}, found {each['from']}")
        if each["shape"] != small[name]:
            found.append(
                f"{name} {full[name]}: expected {small[name]}, found {each['shape']}"
            )
    return found

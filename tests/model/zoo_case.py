"""Compares a network of the zoo with a PyTorch module of the same architecture."""

import functools
import json
import math

import torch
from oracle import OTHER_BATCH, SEED, SHRUNK_BY, Case, shapes_of, tensors_of
from torch import nn
from transformers.pytorch_utils import Conv1D
from zoo import Divided, Reported, Uneven


class ZooCase(Case):
    def __init__(self, network):
        self.network = network
        self.surrogate_batches = (network.batch, OTHER_BATCH)
        self._outlines = {}

    @property
    def subject(self):
        return f"zoo:{self.network.text}"

    def build(self, by):
        torch.manual_seed(SEED)
        return drawn(self.network.make(self._widths(by)).train())

    def outline(self, by):
        """The module without values, so that large modules take no memory."""
        if by not in self._outlines:
            with torch.device("meta"):
                self._outlines[by] = self.network.make(self._widths(by))
        return self._outlines[by]

    def _widths(self, by):
        return Divided(1) if by == 1 else Reported(json.loads(self._shrink(by).stdout)["widths"])

    def _held(self, eager, by):
        return tensors_of(eager)

    def _narrower(self, by):
        evenly = self._shapes_of(self._even[by]) if by in self._even else None
        return [self.shapes(by)] + ([] if evenly is None else [evenly])

    def shapes(self, by):
        return self._shapes_of(self.outline(by))

    def _shapes_of(self, module):
        return {
            name: shape for name, shape in shapes_of(module).items()
            if name not in self.network.kind.computed
        }

    @property
    def even(self):
        """The scales by which all widths of the network can be divided."""
        return tuple(self._even)

    @functools.cached_property
    def _even(self):
        found = {}
        for by in SHRUNK_BY:
            try:
                with torch.device("meta"):
                    found[by] = self.network.make(Divided(by))
            except Uneven:
                continue
        return found

    @functools.cached_property
    def tensor_differences(self):
        """Compares names, shapes, types, roles and ties of all tensors with the module's."""
        ours = {
            each["name"]: {key: each[key] for key in (
                "shape", "dtype", "role", "trainable", "persistent", "tied_to")}
            for each in self.graph["parameters"]
        }
        theirs = self._known_tensors()
        found = [f"{name}: missing" for name in theirs if name not in ours]
        for name, each in ours.items():
            if each != theirs.get(name):
                found.append(f"{name}: expected {theirs.get(name, 'none')}, found {each}")
        return found

    def _known_tensors(self):
        module, known, first = self.outline(1), {}, {}
        persistent, buffers = module.state_dict(), dict(module.named_buffers())
        for name, tensor in tensors_of(module).items():
            if name in self.network.kind.computed:
                assert name not in persistent
                continue
            known[name] = {
                "shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."),
                "role": "buffer" if name in buffers else "parameter",
                "trainable": tensor.requires_grad, "persistent": name in persistent,
                "tied_to": first.get(id(tensor)),
            }
            first.setdefault(id(tensor), name)
        return known

    @functools.cached_property
    def law_differences(self):
        """Compares the law of each tensor with the law that the zoo promises for it."""
        known, found = laws_of(self.outline(1)), []
        for each in self.graph["parameters"]:
            kind, mean, deviation = known[each["name"]]
            law = each["law"]
            if (law["kind"], law["mean"]) != (kind, mean) or not math.isclose(
                    law["deviation"], deviation, rel_tol=1e-12):
                found.append(f"{each['name']}: expected {known[each['name']]}, found {law}")
        return found


def drawn(module):
    """Draws all parameters, also gains and biases, so that no term cancels or vanishes."""
    laws = laws_of(module)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            _, mean, deviation = laws[name]
            parameter.normal_(mean, deviation or 0.1)
    return module


def laws_of(module):
    """The law of every tensor, by name: kind, mean and deviation.

    If a table is also the readout, all tables are drawn like a readout.
    """
    tables = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    reads = {id(part.weight) for part in module.modules() if isinstance(part, nn.Linear)}
    laws, by_tensor = {}, {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        tensors = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
        for name, tensor in tensors:
            law = by_tensor.setdefault(id(tensor), law_of(part, name, tensor, bool(tables & reads)))
            laws[f"{prefix}.{name}" if prefix else name] = law
    return laws


def law_of(part, name, tensor, is_tied):
    norm = isinstance(part, (nn.LayerNorm, nn.BatchNorm2d))
    if "bias" in name or name in ("running_mean", "num_batches_tracked"):
        return "constant", 0.0, 0.0
    if norm and name in ("weight", "running_var"):
        return "constant", 1.0, 0.0
    match part:
        case nn.ConvTranspose2d():
            # A pixel of the output is a sum over one in stride * stride of the kernel's pixels.
            fan_in = tensor.shape[0] * math.prod(tensor.shape[2:]) / math.prod(part.stride)
        case nn.Linear() | nn.Conv2d() | nn.LSTM() | nn.MultiheadAttention():
            fan_in = math.prod(tensor.shape[1:])
        case Conv1D():
            fan_in = tensor.shape[0]
        case _:  # a table
            fan_in = tensor.shape[-1] if is_tied else 1
    return "normal", 0.0, fan_in**-0.5

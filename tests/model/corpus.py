"""A network of the corpus, and functions that make its inputs."""

import dataclasses
from collections.abc import Callable

import torch

FULL = 8  # the width multiplier of the network that is exported


@dataclasses.dataclass(frozen=True)
class Network:
    """make(k) builds the module at width multiplier k: every width is k times a number.

    Sizes that must stay when the network is shrunk do not depend on k: inputs, outputs,
    vocabularies, kernels, tokens, the size of a head, and the sizes of values that cannot be drawn
    again.
    """

    name: str
    make: Callable[[int], torch.nn.Module]
    inputs: Callable[[int], tuple]  # of a batch of this size
    has_loss: bool = False
    batch: int = 4  # of the example inputs for the export
    hard: str = ""  # why make() keeps a size that looks like a width
    # A number in the graph that was computed from a width and that a surrogate keeps.
    baked: str = ""
    refused: str = ""  # words of the error, if Sluice refuses the network


def floats(*shape):
    return lambda batch: (torch.randn(batch, *shape),)


def integers(most, *shape):
    """Indices below `most`: tokens, or classes."""
    return lambda batch: (torch.randint(0, most, (batch, *shape)),)


def several(*inputs):
    return lambda batch: tuple(tensor for each in inputs for tensor in each(batch))

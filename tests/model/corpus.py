"""What a network of the corpus is, and the inputs they take."""

import dataclasses
from collections.abc import Callable

import torch

FULL = 8  # the width multiplier of the network that is exported


@dataclasses.dataclass(frozen=True)
class Network:
    """make(k) builds the module at width multiplier k: every width is k times a number.

    What is to keep its size when the network is shrunk does not depend on k: inputs, outputs,
    vocabularies, kernels, tokens, the size of a head, and what cannot be drawn anew.
    """

    name: str
    make: Callable[[int], torch.nn.Module]
    inputs: Callable[[int], tuple]  # of a batch of so many
    has_loss: bool = False
    batch: int = 4  # of the example that it is exported with
    hard: str = ""  # why make() keeps something that one might think a width
    baked: str = ""  # which number of the graph depends on a width, so that a surrogate keeps it
    refused: str = ""  # words of the error, for those that the program does not take


def floats(*shape):
    return lambda batch: (torch.randn(batch, *shape),)


def integers(most, *shape):
    """Indices below `most`: tokens, or classes."""
    return lambda batch: (torch.randint(0, most, (batch, *shape)),)


def several(*inputs):
    return lambda batch: tuple(tensor for each in inputs for tensor in each(batch))

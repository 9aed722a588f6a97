"""The modules that random_networks.py puts together."""

import torch
import torch.nn.functional as F
from torch import nn


class Applied(nn.Module):
    """A function of the input and of modules."""

    def __init__(self, function, *parts):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, x):
        return self.function(x, *self.parts)


class Residual(nn.Module):
    def __init__(self, inner, scaled):
        super().__init__()
        self.inner = inner
        self.scale = nn.Parameter(torch.full((1,), 0.5)) if scaled else None

    def forward(self, x):
        y = self.inner(x)
        return x + (y if self.scale is None else y * self.scale)


class Branches(nn.Module):
    """Two ways through the network, which meet again."""

    def __init__(self, parts, how, axis):
        super().__init__()
        self.parts, self.how, self.axis = nn.ModuleList(parts), how, axis

    def forward(self, x):
        one, other = (part(x) for part in self.parts)
        match self.how:
            case "cat":
                return torch.cat([one, other], self.axis)
            case "add":
                return (one + other) / 2
            case "multiply":
                return one * other.sigmoid()
        return torch.stack([one, other]).square().sum(0).add(0.1).sqrt()


class Gated(nn.Module):
    def __init__(self, axis, how):
        super().__init__()
        self.axis, self.how = axis, how

    def forward(self, x):
        half = x.shape[self.axis] // 2
        match self.how:
            case "glu":
                return F.glu(x, self.axis)
            case "chunk":
                value, gate = x.chunk(2, self.axis)
            case "split":
                value, gate = x.split([half, half], self.axis)
            case _:
                value = x.narrow(self.axis, 0, half)
                gate = x.narrow(self.axis, half, half)
        return value * F.gelu(gate)


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        return self.cell(x)[0]


class Tracked(nn.Module):
    """Divides by a running size of each channel, which it updates in place."""

    def __init__(self, width, axis):
        super().__init__()
        self.axis = axis
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("size", torch.ones(width))

    def forward(self, x):
        turned = x.transpose(self.axis, -1)
        with torch.no_grad():
            self.size.mul_(0.9).add_(turned.detach().abs().flatten(0, -2).mean(0), alpha=0.1)
        return (turned * self.gain / (self.size + 0.1)).transpose(self.axis, -1)


class Scored(nn.Module):
    """Adds learnt positions, and weighs the tokens by a learnt mixture."""

    def __init__(self, length, width):
        super().__init__()
        self.places = nn.Parameter(torch.randn(length, width) * 0.1)
        self.mixture = nn.Parameter(torch.randn(length, length) * 0.1)

    def forward(self, x):
        return self.mixture.tril().softmax(-1) @ (x + self.places)

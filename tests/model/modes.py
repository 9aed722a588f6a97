"""Networks that do something else in evaluation than in training, in ways the corpus has not."""

import torch
import torch.nn.functional as F
from corpus import Network, floats
from torch import nn


def every_dropout(k):
    """Each kind of dropout, some of them in place, and slopes that are drawn."""
    return nn.Sequential(
        nn.Conv2d(3, 4 * k, 3, padding=1), nn.RReLU(), nn.Dropout2d(0.3), nn.BatchNorm2d(4 * k),
        nn.RReLU(0.1, 0.5, inplace=True), nn.Conv2d(4 * k, 4 * k, 3),
        nn.Dropout(0.2, inplace=True), nn.SELU(), nn.FeatureAlphaDropout(0.2), nn.Flatten(),
        nn.Linear(4 * k * 36, 4 * k), nn.SELU(), nn.AlphaDropout(0.2), nn.Linear(4 * k, 5),
    )


class WrittenAfterDropout(nn.Module):
    """In evaluation dropout returns its operand itself, so that relu_ writes `h` too."""

    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 3)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        h = self.enter(x)
        return self.leave(F.relu_(self.drop(h)) + h)


class Counting(nn.Module):
    """A buffer that each call writes, and that no output depends on."""

    def __init__(self, k):
        super().__init__()
        self.fc = nn.Linear(6, 4 * k)
        self.head = nn.Linear(4 * k, 3)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(4 * k))

    def forward(self, x):
        self.calls.add_(1)
        h = self.fc(x)
        self.mean.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return self.head(F.relu(h))


class LastMean(nn.Module):
    """Each call writes a buffer and reads it afterwards, in evaluation as well."""

    def __init__(self, k):
        super().__init__()
        self.fc, self.head = nn.Linear(6, 4 * k), nn.Linear(4 * k, 3)
        self.register_buffer("mean", torch.zeros(4 * k))

    def forward(self, x):
        h = self.fc(x)
        self.mean.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return self.head(h - self.mean)


class StochasticDepth(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.enter, self.block = nn.Linear(6, 4 * k), nn.Linear(4 * k, 4 * k)
        self.leave = nn.Linear(4 * k, 3)

    def forward(self, x):
        x = self.enter(x)
        y = F.relu(self.block(x))
        if self.training:
            kept = torch.floor(0.5 + torch.rand(x.shape[0], 1))
            y = y / 0.5 * kept
        return self.leave(x + y)


class AuxiliaryOutput(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 3)
        self.auxiliary = nn.Linear(4 * k, 3)

    def forward(self, x):
        x = F.relu(self.enter(x))
        return (self.leave(x), self.auxiliary(x)) if self.training else self.leave(x)


class OwnNorm(nn.Module):
    """Statistics of its own, written by Python: of the batch in training, running ones else."""

    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 3)
        self.register_buffer("mean", torch.zeros(4 * k))

    def forward(self, x):
        x = self.enter(x)
        mean = self.mean
        if self.training:
            mean = x.mean(0)
            self.mean.lerp_(mean.detach(), 0.1)
        return self.leave(x - mean)


VECTOR = floats(6)

NETWORKS = [
    Network("every-dropout", every_dropout, floats(3, 8, 8)),
    Network("written-after-dropout", WrittenAfterDropout, VECTOR),
    Network("counting", Counting, VECTOR),
    Network("last-mean", LastMean, VECTOR),
    Network("stochastic-depth", StochasticDepth, VECTOR),
    Network("auxiliary-output", AuxiliaryOutput, VECTOR),
    Network("own-norm", OwnNorm, VECTOR),
]

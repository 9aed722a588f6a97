"""Networks that write in place: into one of several views of a tensor, and random numbers."""

import torch
import torch.nn.functional as F
from corpus import Network, floats
from torch import nn


class WritesViews(nn.Module):
    """Parts of an activation are written through views of it, and a counter through its row."""

    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(6, 2)
        self.register_buffer("seen", torch.zeros(2, 6))

    def forward(self, x):
        y = x * 2
        turned = y.t()
        y[:, 0] = y[:, 1] * 2
        y[:, 2:4].mul_(0.5)
        turned[5].sigmoid_()
        first, _, last = y.split(2, 1)
        last.add_(first)
        self.seen[1].add_(y.detach().mean(0))
        self.seen[0] += 1
        return self.leave(y) + self.enter(x).sum(1, keepdim=True), turned


class DrawsInPlace(nn.Module):
    """Noise that tensors are filled with, the draws of a Gumbel softmax, and random slopes."""

    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 5)

    def forward(self, x):
        h = F.rrelu(self.enter(x), training=True)
        h = h + torch.empty_like(h).normal_(0.5, 0.1)
        h = h * torch.zeros_like(h).uniform_(0.9, 1.2)
        h = F.rrelu(h, 0.2, 0.4, training=True, inplace=True)
        scores = self.leave(h)
        noise = -torch.empty_like(scores).exponential_().log()
        scores = scores * torch.empty_like(scores).log_normal_(0.0, 0.2)
        scores = scores + torch.empty_like(scores).cauchy_(0.5, 0.1).clamp(-3, 3)
        scores = scores / torch.empty_like(scores).geometric_(0.6)
        scores = scores + torch.zeros_like(scores).random_(5)
        return ((scores + noise) / 0.7).softmax(-1)


NETWORKS = [
    Network("writes-views", WritesViews, floats(6)),
    Network("draws-in-place", DrawsInPlace, floats(6)),
]

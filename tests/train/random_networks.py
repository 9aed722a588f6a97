"""Random networks: stacks of the usual blocks with branches, each drawn from a seed. They reach
combinations of operators that tests/model does not have."""

import random

import torch
import torch.nn.functional as F
from corpus import Network, floats, integers, several
from random_blocks import Applied, Branches, Gated, Recurrent, Residual, Scored, Tracked
from torch import nn

ACTIVATIONS = [
    nn.ReLU, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Hardswish, nn.Mish, nn.Tanh, nn.Sigmoid,
    nn.Softplus, nn.PReLU, nn.SELU, nn.Softsign, nn.Hardtanh, lambda: nn.Softmax(-1),
]
VOCABULARY = 11
CLASSES = 5


class Maker:
    """Draws blocks. `shape` is that of an example before the next block: [width], [length, width]
    or [channels, height, width]."""

    def __init__(self, seed, k):
        self.draw = random.Random(f"network {seed}")
        self.k, self.shape = k, None

    def width(self):
        return self.k * self.draw.choice([1, 1, 2])

    def any(self):
        return self.draw.choice(self.blocks(len(self.shape)))()

    def blocks(self, dims):
        common = [self.activation, self.activation, self.dropout, self.residual, self.branches,
                  self.gated, self.tracked, self.view]
        return common + {
            1: [self.linear, self.linear, self.norm, self.bilinear],
            2: [self.linear, self.norm, self.attention, self.attention, self.recurrent,
                self.convolution1d, self.transformer, self.positions],
            3: [self.convolution, self.convolution, self.norm, self.norm, self.pooling,
                self.upsampling, self.excitation],
        }[dims]

    def stack(self, most, keep=False):
        """With `keep` the shape is the same behind it."""
        shape, blocks = list(self.shape), []
        for _ in range(self.draw.randint(1, most)):
            blocks.append(self.any())
        if keep and self.shape != shape:
            if len(shape) == 3 and self.shape[1:] != shape[1:]:
                blocks.append(Applied(lambda x, size=tuple(shape[1:]): F.adaptive_avg_pool2d(
                    x, size)))
                self.shape[1:] = shape[1:]
            blocks.append(self.to_width(shape[-1] if len(shape) < 3 else shape[0]))
        return nn.Sequential(*blocks)

    def to_width(self, width):
        if len(self.shape) == 3:
            block = nn.Conv2d(self.shape[0], width, 1)
            self.shape[0] = width
        else:
            block = nn.Linear(self.shape[-1], width)
            self.shape[-1] = width
        return block

    def activation(self):
        return self.draw.choice(ACTIVATIONS)()

    def dropout(self):
        rate = self.draw.uniform(0.05, 0.4)
        return nn.Dropout2d(rate) if len(self.shape) == 3 and self.draw.random() < 0.4 else (
            self.draw.choice([nn.Dropout, nn.AlphaDropout])(rate))

    def residual(self):
        return Residual(self.stack(2, keep=True), self.draw.random() < 0.3)

    def branches(self):
        axis = 1 if len(self.shape) == 3 else -1
        parts = [self.stack(2, keep=True) for _ in range(2)]
        made = Branches(parts, self.draw.choice(["cat", "add", "multiply", "stack"]), axis)
        if made.how == "cat":
            self.shape[0 if axis == 1 else -1] *= 2
            return nn.Sequential(made, self.to_width(self.width()))
        return made

    def gated(self):
        """Half of the widths gate the other half."""
        width = self.width()
        return nn.Sequential(self.to_width(2 * width),
                             self._gate(width, 1 if len(self.shape) == 3 else -1))

    def _gate(self, width, axis):
        self.shape[0 if axis == 1 else -1] = width
        return Gated(axis, self.draw.choice(["glu", "chunk", "split", "slice"]))

    def tracked(self):
        return Tracked(self.shape[0] if len(self.shape) == 3 else self.shape[-1],
                       -3 if len(self.shape) == 3 else -1)

    def view(self):
        """Another order of the same numbers."""
        if len(self.shape) == 3:
            channels, height, width = self.shape
            return Applied(self.draw.choice([
                lambda x: x.unflatten(1, (2, channels // 2)).transpose(1, 2).flatten(1, 2),
                lambda x: x.flip(-1),
                lambda x: torch.roll(x, 1, 2),
                lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
                lambda x: F.pad(x, (1, 0, 0, 1))[..., 1:, 1:] if min(height, width) > 1 else x,
            ])) if self._keeps() else nn.Identity()
        if len(self.shape) == 2:
            return Applied(self.draw.choice([
                lambda x: torch.roll(x, 1, 1),
                lambda x: x.transpose(1, 2).softmax(-1).transpose(1, 2),
                lambda x: x.cumsum(1) / x.shape[1],
                lambda x: torch.einsum("btd,bsd->bts", x, x).softmax(-1) @ x,
                lambda x: torch.cat([x[:, 1:], x[:, :1]], 1),
                lambda x: x - x.mean(1, keepdim=True),
            ]))
        return Applied(self.draw.choice([
            lambda x: F.normalize(x, dim=-1),
            lambda x: x.flip(-1),
            lambda x: x.view(x.shape[0], 2, -1).transpose(1, 2).reshape(x.shape[0], -1),
            lambda x: x.clamp(-2, 2),
            lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5),
            lambda x: x.unflatten(-1, (4, -1)).logsumexp(1).repeat(1, 4),
        ]))

    def _keeps(self):
        """Views of images shift and flip them, where the crop above keeps neither side."""
        return min(self.shape[1:]) > 1

    def linear(self):
        width = self.width()
        made = nn.Linear(self.shape[-1], width, bias=self.draw.random() < 0.7)
        self.shape[-1] = width
        return made

    def norm(self):
        width, affine = self.shape[-1], self.draw.random() < 0.8
        if len(self.shape) == 3:
            channels = self.shape[0]
            made = [nn.BatchNorm2d(channels, affine=affine), nn.GroupNorm(2, channels),
                    nn.BatchNorm2d(channels, momentum=0.3), nn.LocalResponseNorm(3)]
            if self.shape[1] * self.shape[2] > 1:
                made.append(nn.InstanceNorm2d(channels, affine=affine))
            return self.draw.choice(made)
        if len(self.shape) == 2:
            return self.draw.choice([
                nn.LayerNorm(width), nn.LayerNorm(width, elementwise_affine=False),
                nn.RMSNorm(width),
                nn.Sequential(Applied(lambda x: x.transpose(1, 2)), nn.BatchNorm1d(width),
                              Applied(lambda x: x.transpose(1, 2)))])
        return self.draw.choice([nn.BatchNorm1d(width, affine=affine), nn.LayerNorm(width),
                                 nn.GroupNorm(2, width)])

    def bilinear(self):
        width = self.width()
        made = Applied(lambda x, at: at(x, x.tanh()), nn.Bilinear(self.shape[-1], self.shape[-1],
                                                                  width))
        self.shape[-1] = width
        return made

    def attention(self):
        width = self.shape[-1]
        if self.draw.random() < 0.5:
            return Applied(lambda x, at: at(x, x, x, need_weights=False)[0],
                           nn.MultiheadAttention(width, 2, dropout=self.draw.choice([0, 0.1]),
                                                 batch_first=True))
        causal = self.draw.random() < 0.5

        def attend(x, project, leave):
            query, key, value = (
                each.unflatten(-1, (2, -1)).transpose(1, 2) for each in project(x).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
            return leave(mixed.transpose(1, 2).flatten(2))

        return Applied(attend, nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width))

    def recurrent(self):
        both = self.draw.random() < 0.3
        width = self.width()
        made = Recurrent(self.draw.choice([nn.LSTM, nn.GRU, nn.RNN])(
            self.shape[-1], width, num_layers=self.draw.choice([1, 2]), batch_first=True,
            bidirectional=both))
        self.shape[-1] = 2 * width if both else width
        return made

    def convolution1d(self):
        width = self.width()
        made = Applied(lambda x, at: at(x.transpose(1, 2)).transpose(1, 2),
                       nn.Conv1d(self.shape[-1], width, 3, padding=1,
                                 padding_mode=self.draw.choice(["zeros", "circular"])))
        self.shape[-1] = width
        return made

    def transformer(self):
        return nn.TransformerEncoderLayer(
            self.shape[-1], 2, 2 * self.shape[-1], dropout=0.1, batch_first=True,
            norm_first=self.draw.random() < 0.5,
            activation=self.draw.choice(["relu", "gelu"]))

    def positions(self):
        return Scored(self.shape[0], self.shape[1])

    def convolution(self):
        channels, width = self.shape[0], self.width()
        kernel, stride = self.draw.choice([1, 3, 3]), self.draw.choice([1, 1, 2])
        if self.draw.random() < 0.2 and self.shape[1] <= 8:
            self.shape = [width, *(2 * each for each in self.shape[1:])]
            return nn.ConvTranspose2d(channels, width, 2, stride=2)
        groups = self.draw.choice([1, 1, 2, channels])
        if groups == channels:
            width = channels
        if min(self.shape[1:]) < 4:
            stride = 1
        mode = self.draw.choice(["zeros", "zeros", "circular"]) if kernel == 3 else "zeros"
        self.shape = [width, *((each - 1) // stride + 1 for each in self.shape[1:])]
        return nn.Conv2d(channels, width, kernel, stride, kernel // 2, groups=groups,
                         bias=self.draw.random() < 0.6, padding_mode=mode)

    def pooling(self):
        if min(self.shape[1:]) < 4:
            return nn.Identity()
        self.shape[1:] = [each // 2 for each in self.shape[1:]]
        return self.draw.choice([nn.MaxPool2d(2), nn.AvgPool2d(2), nn.LPPool2d(2, 2),
                                 nn.AdaptiveAvgPool2d(tuple(self.shape[1:])),
                                 nn.AdaptiveMaxPool2d(tuple(self.shape[1:]))])

    def upsampling(self):
        if max(self.shape[1:]) > 6:
            return nn.Identity()
        self.shape[1:] = [2 * each for each in self.shape[1:]]
        return nn.Upsample(scale_factor=2, mode=self.draw.choice(["nearest", "bilinear"]))

    def excitation(self):
        channels = self.shape[0]
        return Applied(lambda x, down, up: x * up(down(x.mean((2, 3))).relu()).sigmoid()[
            ..., None, None], nn.Linear(channels, self.k), nn.Linear(self.k, channels))

    def to_vector(self):
        """The block that ends images and sequences."""
        if len(self.shape) == 1:
            return nn.Identity()
        if len(self.shape) == 3:
            if self.draw.random() < 0.3:
                # 16 tokens: recurrent blocks take long for more.
                size = [min(4, each) for each in self.shape[1:]]
                self.shape = [size[0] * size[1], self.shape[0]]
                tokens = Applied(
                    lambda x: F.adaptive_avg_pool2d(x, size).flatten(2).transpose(1, 2))
                return nn.Sequential(tokens, self.stack(2), self.to_vector())
            channels = self.shape[0]
            self.shape = [channels]
            return Applied(self.draw.choice([lambda x: x.mean((2, 3)), lambda x: x.amax((2, 3)),
                                             lambda x: x.flatten(2).logsumexp(-1)]))
        width = self.shape[1]
        self.shape = [width]
        if self.draw.random() < 0.3:
            return Applied(lambda x, score: (score(x).softmax(1) * x).sum(1), nn.Linear(width, 1))
        return Applied(self.draw.choice([lambda x: x.mean(1), lambda x: x[:, -1],
                                         lambda x: x.max(1).values]))


class RandomNetwork(nn.Module):
    """An entry, blocks, an end that makes vectors of the examples, and a readout."""

    def __init__(self, seed, k):
        super().__init__()
        maker = Maker(seed, k)
        kind = KINDS[seed % len(KINDS)]
        maker.shape = {"image": [k, 8, 8], "sequence": [6, k], "tokens": [6, k],
                       "vector": [k]}[kind]
        self.enter = {"image": lambda: nn.Conv2d(3, k, 3, padding=1),
                      "sequence": lambda: nn.Linear(5, k),
                      "tokens": lambda: nn.Embedding(VOCABULARY, k),
                      "vector": lambda: nn.Linear(7, k)}[kind]()
        self.body = maker.stack(6)
        self.end = nn.Sequential(maker.to_vector(), maker.stack(2))
        self.readout = nn.Linear(maker.shape[0], CLASSES)
        self.aside = nn.Linear(maker.shape[0], 2) if maker.draw.random() < 0.3 else None

    def forward(self, x, target=None):
        vector = self.end(self.body(self.enter(x)))
        if target is not None:
            return F.cross_entropy(self.readout(vector), target)
        return self.readout(vector) if self.aside is None else (
            self.readout(vector), self.aside(vector).tanh())


KINDS = ["image", "sequence", "tokens", "vector"]
INPUTS = {"image": floats(3, 8, 8), "sequence": floats(6, 5), "tokens": integers(VOCABULARY, 6),
          "vector": floats(7)}


def network_of(seed):
    has_loss = seed % 5 == 3
    inputs = INPUTS[KINDS[seed % len(KINDS)]]
    if has_loss:
        inputs = several(inputs, integers(CLASSES))
    return Network(f"random-{seed}", lambda k: RandomNetwork(seed, k), inputs, has_loss=has_loss)

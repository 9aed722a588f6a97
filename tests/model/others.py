"""Networks on vectors, categories, graphs and pairs."""

import torch
import torch.nn.functional as F
from corpus import Network, floats, integers, several
from torch import nn


def mlp(k):
    return nn.Sequential(
        nn.Linear(12, 4 * k), nn.ReLU(), nn.Linear(4 * k, 7 * k), nn.Tanh(), nn.Dropout(0.2),
        nn.Linear(7 * k, 10),
    )


def mlp_norms(k):
    return nn.Sequential(
        nn.BatchNorm1d(12), nn.Linear(12, 4 * k, bias=False), nn.BatchNorm1d(4 * k), nn.Mish(),
        nn.Linear(4 * k, 4 * k), nn.LayerNorm(4 * k), nn.SELU(), nn.AlphaDropout(0.1),
        nn.Linear(4 * k, 3 * k), nn.RMSNorm(3 * k), nn.Softplus(), nn.Linear(3 * k, 1),
        nn.Flatten(0),
    )


class Functional(nn.Module):
    """Weights are parameters of the module, used by functions of several kinds."""

    def __init__(self, k):
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(3 * k, 6)), nn.Parameter(torch.zeros(3 * k))
        self.w2 = nn.Parameter(torch.randn(3 * k, 5 * k) * 0.1)
        self.w3 = nn.Parameter(torch.randn(5 * k, 2 * k) * 0.1)
        self.w4, self.b4 = nn.Parameter(torch.randn(2 * k, 4 * k)), nn.Parameter(torch.zeros(4 * k))
        self.w5 = nn.Parameter(torch.randn(4 * k, 2) * 0.1)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        x = F.relu(F.linear(x, self.w1, self.b1)) @ self.w2
        x = torch.einsum("bi,io->bo", torch.tanh(x), self.w3)
        x = torch.addmm(self.b4, x, self.w4)
        return torch.mm(x.sigmoid(), self.w5) / self.temperature.exp()


class Logs(nn.Module):
    """log_softmax and the negative log likelihood."""

    def __init__(self, k):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(9, 6 * k), nn.Linear(6 * k, 5)

    def forward(self, x, targets):
        return F.nll_loss(F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1), targets)


class TwoInputs(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.left, self.right = nn.Linear(5, 3 * k), nn.Linear(6, 4 * k)
        self.join = nn.Linear(3 * k + 4 * k + 5, 5 * k)
        self.first, self.second = nn.Linear(5 * k, 4), nn.Linear(5 * k, 1)

    def forward(self, left, right):
        x = torch.cat((F.relu(self.left(left)), self.right(right), left), dim=1)
        x = F.relu(self.join(x))
        return self.first(x), self.second(x).squeeze(-1)


class Skipping(nn.Module):
    """As in NeRF: coordinates as sines of several frequencies, which also enter the second
    layer."""

    def __init__(self, k):
        super().__init__()
        self.first = nn.Linear(3 + 3 * 2 * 4, 4 * k)
        self.second = nn.Linear(4 * k + 27, 4 * k)
        self.density, self.colour = nn.Linear(4 * k, 1), nn.Linear(4 * k + 3, 3)

    def forward(self, points, views):
        angles = points.unsqueeze(-1) * 2.0 ** torch.arange(4)
        encoded = torch.cat([points, angles.sin().flatten(1), angles.cos().flatten(1)], dim=-1)
        x = F.relu(self.first(encoded))
        x = F.relu(self.second(torch.cat([encoded, x], -1)))
        colour = torch.sigmoid(self.colour(torch.cat([x, views], -1)))
        return torch.cat([F.relu(self.density(x)), colour], -1)


class Recommender(nn.Module):
    """As in DLRM: tables of categories, and products of all pairs of features."""

    def __init__(self, k):
        super().__init__()
        width = 2 * k
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in (7, 11, 13))
        self.bottom = nn.Sequential(nn.Linear(4, 3 * k), nn.ReLU(), nn.Linear(3 * k, width))
        self.top = nn.Sequential(nn.Linear(width + 6, 5 * k), nn.ReLU(), nn.Linear(5 * k, 1))
        rows, columns = torch.tril_indices(4, 4, offset=-1)
        self.register_buffer("rows", rows)
        self.register_buffer("columns", columns)

    def forward(self, dense, categories, clicks):
        dense = self.bottom(dense)
        features = [dense] + [table(categories[:, i]) for i, table in enumerate(self.tables)]
        features = torch.stack(features, dim=1)
        products = torch.bmm(features, features.transpose(1, 2))[:, self.rows, self.columns]
        score = self.top(torch.cat([dense, products], dim=1)).squeeze(1)
        return F.binary_cross_entropy_with_logits(score, clicks)


class FactorMachine(nn.Module):
    """Squares of sums minus sums of squares, added to a deep part on all embeddings."""

    def __init__(self, k):
        super().__init__()
        self.table, self.linear = nn.Embedding(30, 3 * k), nn.Embedding(30, 1)
        self.deep = nn.Sequential(nn.Linear(4 * 3 * k, 5 * k), nn.ReLU(), nn.Linear(5 * k, 1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, fields):
        x = self.table(fields)
        pairs = (x.sum(dim=1) ** 2 - (x**2).sum(dim=1)).sum(dim=1, keepdim=True) * 0.5
        deep = self.deep(x.view(-1, x.size(1) * x.size(2)))
        return torch.sigmoid(self.bias + self.linear(fields).sum(1) + pairs + deep).squeeze(1)


class TiedAutoencoder(nn.Module):
    """The decoder uses the encoder's weight, transposed."""

    def __init__(self, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4 * k, 10) * 0.1)
        self.bias = nn.Parameter(torch.zeros(4 * k))
        self.unbias = nn.Parameter(torch.zeros(10))

    def forward(self, x):
        code = torch.tanh(F.linear(x, self.weight, self.bias))
        return F.smooth_l1_loss(F.linear(code, self.weight.t(), self.unbias), x)


class TwoTowers(nn.Module):
    """As in CLIP: the similarities of all pairs, a matrix of batch times batch."""

    def __init__(self, k):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(6, 4 * k), nn.ReLU(), nn.Linear(4 * k, 3 * k))
        self.right = nn.Sequential(nn.Linear(9, 5 * k), nn.ReLU(), nn.Linear(5 * k, 3 * k))
        self.scale = nn.Parameter(torch.tensor(2.6))

    def forward(self, left, right):
        left, right = F.normalize(self.left(left), dim=-1), self.right(right)
        right = right / right.norm(dim=-1, keepdim=True)
        logits = self.scale.exp() * left @ right.t()
        places = torch.arange(logits.size(0))
        return (F.cross_entropy(logits, places) + F.cross_entropy(logits.t(), places)) / 2


class Siamese(nn.Module):
    """One trunk for both inputs, then their difference, their product and their similarity."""

    def __init__(self, k):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 4 * k), nn.ReLU(), nn.Linear(4 * k, 3 * k))
        self.fc = nn.Linear(2 * 3 * k + 1, 1)

    def forward(self, left, right):
        left, right = self.trunk(left), self.trunk(right)
        like = F.cosine_similarity(left, right).unsqueeze(1)
        return self.fc(torch.cat([(left - right).abs(), left * right, like], dim=1))


class BilinearForm(nn.Module):
    """A parameter with three widths."""

    def __init__(self, k):
        super().__init__()
        self.left, self.right = nn.Linear(5, 2 * k), nn.Linear(6, 3 * k)
        self.form = nn.Bilinear(2 * k, 3 * k, 2 * k)
        self.fc = nn.Linear(2 * k, 3)

    def forward(self, left, right):
        return self.fc(F.relu(self.form(self.left(left), self.right(right))))


class Hyper(nn.Module):
    """One network computes the weights of another: 5 * w numbers become [5, w]."""

    def __init__(self, k):
        super().__init__()
        self.width = 3 * k
        self.hidden = nn.Linear(4, 2 * k)
        self.make_weight = nn.Linear(2 * k, 5 * self.width)
        self.make_bias = nn.Linear(2 * k, self.width)
        self.fc = nn.Linear(self.width, 2)

    def forward(self, x, condition):
        h = F.relu(self.hidden(condition))
        weight = self.make_weight(h).view(-1, 5, self.width)
        return self.fc(torch.bmm(x.unsqueeze(1), weight).squeeze(1) + self.make_bias(h))


class Maxout(nn.Module):
    """The larger unit of each pair, then the largest of three by reshape."""

    def __init__(self, k):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(7, 2 * 4 * k), nn.Linear(4 * k, 3 * 3 * k)
        self.fc3 = nn.Linear(3 * k, 2)

    def forward(self, x):
        x = self.fc1(x)
        x = x.view(x.size(0), -1, 2).max(dim=-1).values
        return self.fc3(self.fc2(x).reshape(x.size(0), 3, -1).amax(1))


class Highway(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.enter = nn.Linear(6, 4 * k)
        self.plain = nn.ModuleList(nn.Linear(4 * k, 4 * k) for _ in range(2))
        self.gates = nn.ModuleList(nn.Linear(4 * k, 4 * k) for _ in range(2))
        self.leave = nn.Linear(4 * k, 2)

    def forward(self, x):
        x = self.enter(x)
        for plain, gate in zip(self.plain, self.gates, strict=True):
            share = torch.sigmoid(gate(x))
            x = torch.lerp(x, F.relu(plain(x)), share)
        return self.leave(x)


class Dueling(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 5 * k), nn.ReLU())
        self.value = nn.Sequential(nn.Linear(5 * k, 3 * k), nn.ReLU(), nn.Linear(3 * k, 1))
        self.advantage = nn.Sequential(nn.Linear(5 * k, 4 * k), nn.ReLU(), nn.Linear(4 * k, 6))

    def forward(self, x):
        x = self.trunk(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(1, keepdim=True)


class GraphConvolution(nn.Module):
    """Products with a matrix of neighbours, then the sum over all nodes."""

    def __init__(self, k):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 4 * k, bias=False), nn.Linear(4 * k, 3 * k)
        self.own = nn.Linear(5, 3 * k)
        self.out = nn.Linear(3 * k, 2)

    def forward(self, x, neighbours):
        degrees = neighbours.abs().sum(-1, keepdim=True).clamp(min=1)
        near = neighbours / degrees
        y = near @ self.fc2(F.relu(near @ self.fc1(x))) + self.own(x)
        return self.out(y.sum(1))


class GraphAttention(nn.Module):
    """Scores for pairs of nodes, from two vectors whose size is a width."""

    def __init__(self, k):
        super().__init__()
        self.fc = nn.Linear(5, 4 * k, bias=False)
        self.left = nn.Parameter(torch.randn(4 * k, 1))
        self.right = nn.Parameter(torch.randn(4 * k, 1))
        self.out = nn.Linear(4 * k, 2)

    def forward(self, x, neighbours):
        h = self.fc(x)
        scores = F.leaky_relu(h @ self.left + (h @ self.right).transpose(1, 2), 0.2)
        scores = torch.where(neighbours > 0, scores, torch.full_like(scores, -9e15))
        return self.out(F.elu(torch.matmul(F.softmax(scores, dim=2), h)).mean(1))


class Forecast(nn.Module):
    """As in N-BEATS: each block explains a part of the past and adds to the forecast."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, width),
                                        nn.ReLU())
            self.past, self.future = nn.Linear(width, 10), nn.Linear(width, 4)

        def forward(self, x):
            x = self.layers(x)
            return self.past(x), self.future(x)

    def __init__(self, k):
        super().__init__()
        self.blocks = nn.ModuleList(self.Block(width) for width in (3 * k, 4 * k))

    def forward(self, x):
        forecast = 0
        for block in self.blocks:
            past, future = block(x)
            x, forecast = x - past, forecast + future
        return forecast


class Fixup(nn.Module):
    """Scalar biases and a scalar factor, broadcast over a width."""

    def __init__(self, k):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 4 * k, bias=False), nn.Linear(4 * k, 4 * k, bias=False)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(3))
        self.scale, self.gate = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(4 * k, 1))
        self.out = nn.Linear(4 * k, 2)

    def forward(self, x):
        x = self.fc1(x + self.biases[0])
        y = self.fc2(F.relu(x + self.biases[1])) * self.scale + self.biases[2]
        return self.out(x + y * torch.sigmoid(self.gate.squeeze(-1)))


class LowRank(nn.Module):
    """A product of two narrow matrices is added to a wide layer. The rank is a width like any
    other."""

    def __init__(self, k):
        super().__init__()
        self.enter, self.full = nn.Linear(6, 6 * k), nn.Linear(6 * k, 6 * k)
        self.down = nn.Parameter(torch.randn(6 * k, k) * 0.1)
        self.up = nn.Parameter(torch.zeros(k, 6 * k))
        self.out = nn.Linear(6 * k, 3)

    def forward(self, x):
        x = F.relu(self.enter(x))
        return self.out(self.full(x) + (x @ self.down) @ self.up * 2.0)


class Ensemble(nn.Module):
    """Three members in one batched product, each with an output of its own."""

    def __init__(self, k):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(3, 6, 4 * k) * 0.1)
        self.b1 = nn.Parameter(torch.zeros(3, 1, 4 * k))
        self.w2 = nn.Parameter(torch.randn(3, 4 * k, 2) * 0.1)

    def forward(self, x):
        h = torch.baddbmm(self.b1, x.unsqueeze(0).repeat(3, 1, 1), self.w1).relu()
        return torch.matmul(h, self.w2).unbind(0)


class Orthogonal(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 2)
        self.weight = nn.Parameter(torch.randn(4 * k, 4 * k))

    def forward(self, x):
        return self.leave(self.enter(x) @ torch.linalg.qr(self.weight)[0])


class Branching(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 2)

    def forward(self, x):
        x = self.enter(x)
        return self.leave(torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))


class Mapped(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.enter, self.leave = nn.Linear(6, 4 * k), nn.Linear(4 * k, 2)

    def forward(self, x):
        return torch.vmap(lambda each: self.leave(F.relu(self.enter(each))))(x)


VECTORS = several(floats(5), floats(6))

GRAPH = several(floats(6, 5), floats(6, 6))

NETWORKS = [
    Network("mlp", mlp, floats(12)),
    Network("mlp-norms", mlp_norms, floats(12)),
    Network("functional", Functional, floats(6)),
    Network("log-softmax", Logs, several(floats(9), integers(5)), has_loss=True),
    Network("two-inputs-two-heads", TwoInputs, VECTORS),
    Network("nerf", Skipping, several(floats(3), floats(3))),
    Network("dlrm", Recommender, several(floats(4), integers(7, 3),
                                         lambda batch: (torch.rand(batch),)), has_loss=True),
    Network("factor-machine", FactorMachine, integers(30, 4)),
    Network("tied-autoencoder", TiedAutoencoder, floats(10), has_loss=True),
    Network("two-towers", TwoTowers, several(floats(6), floats(9)), has_loss=True),
    Network("siamese", Siamese, several(floats(8), floats(8))),
    Network("bilinear", BilinearForm, VECTORS),
    Network("hyper", Hyper, several(floats(5), floats(4))),
    Network("maxout", Maxout, floats(7)),
    Network("highway", Highway, floats(6)),
    Network("dueling", Dueling, floats(4)),
    Network("graph-convolution", GraphConvolution, GRAPH),
    Network("graph-attention", GraphAttention, GRAPH),
    Network("n-beats", Forecast, floats(10)),
    Network("fixup", Fixup, floats(6)),
    Network("low-rank", LowRank, floats(6)),
    Network("ensemble", Ensemble, floats(6)),
    Network("orthogonal", Orthogonal, floats(6),
            refused="node linalg_qr (aten.linalg_qr.default): there is no rule"),
    Network("branching", Branching, floats(6),
            refused="(torch.ops.higher_order.cond): 'cond' is not supported"),
    Network("mapped", Mapped, floats(6), refused="node lazy_load_decompositions (torch._functorch"),
]

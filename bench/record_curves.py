#!/usr/bin/env python3
"""Records the learning curves in bench/curves: every point of a grid is really trained.

    record_curves.py data FILE           packs the data sets: scikit-learn's, and a licence text
    record_curves.py train FILE [NAME]   trains on them, on a GPU if there is one

The networks are small, and many configurations are trained together: the first axis of each tensor
is the configuration. Each configuration has its own initial weights, its own order of the data and
its own optimizer state, and does not influence the others. `diabetes-boosting` uses scikit-learn,
and runs on the CPU.
"""

import itertools
import math
import pathlib
import sys
import time
import zlib

import numpy as np

EPOCHS = 27
CURVES = pathlib.Path(__file__).resolve().parent / "curves"

LOG = np.geomspace
GRIDS = {
    "digits-mlp": {
        "lr": LOG(0.003, 3, 10),
        "momentum": [0.0, 0.5, 0.9, 0.97],
        "width": [8, 16, 32, 64],
        "batch": [8, 16, 32, 64],
        "decay": [1e-5, 1e-4, 1e-3, 1e-2],
    },
    "cancer-adam": {
        "lr": LOG(3e-4, 0.3, 10),
        "width": [4, 8, 16, 32],
        "batch": [4, 10, 30],
        "dropout": [0.0, 0.1, 0.3, 0.5],
        "activation": ["relu", "tanh", "sigmoid"],
        "decay": [1e-4, 1e-2],
    },
    "digits-conv": {
        "optimizer": ["sgd", "adam", "rmsprop"],
        "lr": LOG(1e-4, 1, 9),
        "channels": [2, 4, 8],
        "dropout": [0.0, 0.1, 0.3, 0.5],
        "batch": [8, 20, 50],
        "smoothing": [0.0, 0.05, 0.2],
    },
    "text-gru": {
        "optimizer": ["sgd", "adam"],
        "lr": LOG(1e-3, 3, 8),
        "width": [8, 16, 32, 64],
        "length": [8, 16, 32],
        "clip": [0.1, 1.0, 10.0],
        "batch": [4, 8, 16, 32],
    },
    "digits-denoise": {
        "lr": LOG(1e-4, 0.1, 9),
        "schedule": ["constant", "cosine", "warm-up", "steps"],
        "bottleneck": [2, 4, 8, 16],
        "width": [16, 32, 64],
        "noise": [0.05, 0.2, 0.5],
        "beta": [0.5, 0.9],
    },
    "diabetes-boosting": {
        "lr": LOG(0.005, 0.5, 8),
        "depth": [1, 2, 3, 4, 5],
        "subsample": [0.3, 0.5, 0.75, 1.0],
        "leaf": [1, 5, 15, 40],
        "features": [0.2, 0.4, 0.7, 1.0],
    },
}


def values_of(name):
    """The grid in plain numbers, rounded to three digits, as they could be in a study file."""
    return {
        key: [v if isinstance(v, (str, int)) else float(f"{v:.3g}") for v in values]
        for key, values in GRIDS[name].items()
    }


def points_of(name):
    grid = values_of(name)
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def pack(path):
    from sklearn import datasets

    order = np.random.default_rng(0).permutation
    digits, cancer, sugar = (
        load()
        for load in (datasets.load_digits, datasets.load_breast_cancer, datasets.load_diabetes)
    )
    text = pathlib.Path("/usr/share/common-licenses/GPL-3").read_text().lower()
    letters = sorted(set(text))
    packed = {"text": np.array([letters.index(c) for c in text], dtype=np.int64)}
    for name, found in {"digits": digits, "cancer": cancer, "diabetes": sugar}.items():
        turn = order(len(found.target))
        x = found.data[turn].astype(np.float32)
        packed[f"{name}_x"] = (x - x.mean(0)) / (x.std(0) + 1e-6)
        packed[f"{name}_y"] = found.target[turn]
    packed["digits_pixels"] = digits.data[order(len(digits.target))].astype(np.float32) / 16
    np.savez(path, **packed)


class Batch:
    """Configurations whose tensors have the same shapes, trained together."""

    def __init__(self, points, device, seed):
        import torch

        self.torch, self.points, self.device = torch, points, device
        self.count = len(points)
        self.draws = torch.Generator(device=device).manual_seed(seed)

    def column(self, key, rank=1):
        values = [float(point[key]) for point in self.points]
        return self.torch.tensor(values, device=self.device).reshape(-1, *[1] * (rank - 1))

    def is_one(self, key, value, rank=1):
        flags = [point[key] == value for point in self.points]
        return self.torch.tensor(flags, device=self.device).reshape(-1, *[1] * (rank - 1))

    def weights(self, *shape, scale=None):
        scale = scale if scale is not None else 1 / math.sqrt(shape[0])
        made = (
            self.torch.randn(self.count, *shape, device=self.device, generator=self.draws) * scale
        )
        return made.requires_grad_()

    def zeros(self, *shape):
        return self.torch.zeros(self.count, *shape, device=self.device, requires_grad=True)

    def rows(self, size, among):
        """For each configuration, `size` row numbers below `among`, in an order of its own.

        All rows come once before any row comes again.
        """
        passes = -(-size // among)
        keys = self.torch.rand(self.count, passes, among, device=self.device, generator=self.draws)
        return keys.argsort(-1).reshape(self.count, -1)[:, :size]

    def dropped(self, x, rate):
        keep = self.torch.rand(x.shape, device=self.device, generator=self.draws) >= rate
        return x * keep / (1 - rate)


class Optimizer:
    """SGD with momentum, Adam or RMSProp. Each configuration can use another one of them."""

    def __init__(self, batch, parameters, kind=None, momentum=None, beta=0.9, decay=None):
        self.batch, self.parameters = batch, parameters
        self.kind, self.momentum, self.beta, self.decay = kind, momentum, beta, decay
        self.first = [batch.torch.zeros_like(p) for p in parameters]
        self.second = [batch.torch.zeros_like(p) for p in parameters]
        self.steps = 0

    def step(self, loss, lr, clip=None):
        torch = self.batch.torch
        grads = torch.autograd.grad(loss.sum(), self.parameters)
        if clip is not None:
            norm = sum((g.flatten(1) ** 2).sum(1) for g in grads).sqrt()
            shrink = (clip / (norm + 1e-9)).clamp(max=1)
            grads = [g * shrink.reshape(-1, *[1] * (g.dim() - 1)) for g in grads]
        self.steps += 1
        with torch.no_grad():
            for p, g, m, v in zip(self.parameters, grads, self.first, self.second, strict=True):
                wide = lambda t, p=p: t.reshape(-1, *[1] * (p.dim() - 1))  # noqa: E731
                if self.decay is not None:
                    g = g + wide(self.decay) * p
                beta = wide(self.beta) if torch.is_tensor(self.beta) else self.beta
                momentum = wide(self.momentum) if self.momentum is not None else 0.9
                v.mul_(0.99).add_(0.01 * g * g)
                sgd = m * momentum + g
                adam = m * beta + (1 - beta) * g
                rate = wide(lr)
                if self.kind is None:
                    m.copy_(sgd)
                    p.sub_(rate * m)
                    continue
                is_sgd = wide(self.kind == 0)
                m.copy_(torch.where(is_sgd, sgd, adam))
                root = (v / (1 - 0.99**self.steps)).sqrt() + 1e-8
                by_adam = m / (1 - beta**self.steps) / root
                by_root = g / root
                kind = wide(self.kind)
                p.sub_(rate * torch.where(kind == 0, m, torch.where(kind == 1, by_adam, by_root)))


def kinds_of(batch, names=("sgd", "adam", "rmsprop")):
    return batch.torch.tensor(
        [names.index(point["optimizer"]) for point in batch.points], device=batch.device
    )


def softmax_loss(torch, scores, classes, smoothing=None):
    """The cross-entropy of each configuration: the mean over its rows."""
    logs = scores.log_softmax(-1)
    right = -logs.gather(-1, classes[..., None])[..., 0]
    if smoothing is not None:
        right = (1 - smoothing) * right - smoothing * logs.mean(-1)
    return right.mean(-1)


def epochs_of(batch, samples, size, among):
    """Yields for each epoch a list of steps. A step is `size` rows, an epoch about `samples`."""
    for _ in range(EPOCHS):
        rows = batch.rows(samples, among)
        yield [rows[:, at : at + size] for at in range(0, samples - size + 1, size)]


def digits_mlp(batch, data):
    torch = batch.torch
    x, y = data["digits_x"], data["digits_y"]
    train, held = 800, slice(800, 1797)
    width = batch.points[0]["width"]
    layers = [
        batch.weights(64, width),
        batch.zeros(1, width),
        batch.weights(width, 10),
        batch.zeros(1, 10),
    ]
    lr, decay = batch.column("lr"), batch.column("decay")
    optimizer = Optimizer(batch, layers, momentum=batch.column("momentum"), decay=decay)

    def scores(rows):
        hidden = torch.relu(rows @ layers[0] + layers[1])
        return hidden @ layers[2] + layers[3]

    for steps in epochs_of(batch, 320, batch.points[0]["batch"], train):
        for rows in steps:
            optimizer.step(softmax_loss(torch, scores(x[rows]), y[rows]), lr)
        with torch.no_grad():
            classes = y[held].expand(batch.count, -1)
            yield softmax_loss(torch, scores(x[held].expand(batch.count, -1, -1)), classes)


def cancer_adam(batch, data):
    torch = batch.torch
    x, y = data["cancer_x"], data["cancer_y"].float()
    train, held = 60, slice(60, 569)
    width = batch.points[0]["width"]
    layers = [
        batch.weights(30, width),
        batch.zeros(1, width),
        batch.weights(width, 1),
        batch.zeros(1, 1),
    ]
    bends = [torch.relu, torch.tanh, torch.sigmoid]
    bend = bends[["relu", "tanh", "sigmoid"].index(batch.points[0]["activation"])]
    kind = torch.ones(batch.count, device=batch.device)
    optimizer = Optimizer(batch, layers, kind=kind, decay=batch.column("decay"))
    lr, dropout = batch.column("lr"), batch.column("dropout", 3)

    def losses(rows, truth, training):
        hidden = bend(rows @ layers[0] + layers[1])
        hidden = batch.dropped(hidden, dropout) if training else hidden
        score = (hidden @ layers[2] + layers[3])[..., 0]
        return torch.nn.functional.softplus(score * (1 - 2 * truth)).mean(-1)

    for steps in epochs_of(batch, 60, batch.points[0]["batch"], train):
        for rows in steps:
            optimizer.step(losses(x[rows], y[rows], True), lr)
        with torch.no_grad():
            yield losses(x[held].expand(batch.count, -1, -1), y[held], False)


def patches(torch, images, side, channels):
    """The inputs of a 3 x 3 convolution at each place, as a tensor (..., places, 9 * channels)."""
    planes = images.reshape(*images.shape[:-1], channels, side, side)
    padded = torch.nn.functional.pad(planes, (1, 1, 1, 1))
    shifts = [padded[..., i : i + side, j : j + side] for i in range(3) for j in range(3)]
    return torch.cat(shifts, -3).flatten(-2).transpose(-1, -2)


def digits_conv(batch, data):
    torch = batch.torch
    x, y = data["digits_x"], data["digits_y"]
    noisy = data["digits_noisy"]
    train, held = 600, slice(600, 1797)
    wide = batch.points[0]["channels"]
    layers = [
        batch.weights(9, wide), batch.zeros(1, wide),
        batch.weights(9 * wide, 2 * wide), batch.zeros(1, 2 * wide),
        batch.weights(4 * 2 * wide, 10), batch.zeros(1, 10),
    ]  # fmt: skip
    optimizer = Optimizer(batch, layers, kind=kinds_of(batch))
    lr, dropout = batch.column("lr"), batch.column("dropout", 3)
    smoothing = batch.column("smoothing", 2)

    def pooled(rows, side, channels):
        cells = rows.reshape(*rows.shape[:2], side // 2, 2, side // 2, 2, channels)
        return cells.amax((3, 5)).reshape(*rows.shape[:2], (side // 2) ** 2, channels)

    def convolved(rows, weights, bias):
        count, images, places, inputs = rows.shape
        out = rows.reshape(count, images * places, inputs) @ weights + bias
        return torch.relu(out).reshape(count, images, places, -1)

    def scores(images, training):
        first = pooled(convolved(patches(torch, images, 8, 1), *layers[:2]), 8, wide)
        planes = first.transpose(2, 3).reshape(*first.shape[:2], -1)
        second = pooled(convolved(patches(torch, planes, 4, wide), *layers[2:4]), 4, 2 * wide)
        flat = second.reshape(*second.shape[:2], -1)
        flat = batch.dropped(flat, dropout) if training else flat
        return flat @ layers[4] + layers[5]

    for steps in epochs_of(batch, 200, batch.points[0]["batch"], train):
        for rows in steps:
            loss = softmax_loss(torch, scores(x[rows], True), noisy[rows], smoothing)
            optimizer.step(loss, lr)
        with torch.no_grad():
            wrong = [
                scores(x[held][at : at + 200].expand(batch.count, -1, -1), False).argmax(-1)
                != y[held][at : at + 200]
                for at in range(0, 1197, 200)
            ]
            yield torch.cat(wrong, 1).float().mean(-1)


def text_gru(batch, data):
    torch = batch.torch
    text = data["text"]
    letters = int(text.max()) + 1
    train, held = text[:30000], text[30000:34000].reshape(40, 100)
    width, length = batch.points[0]["width"], batch.points[0]["length"]
    size = batch.points[0]["batch"]
    layers = [
        batch.weights(letters, 3 * width, scale=1 / math.sqrt(width)), batch.zeros(1, 3 * width),
        batch.weights(width, 3 * width), batch.weights(width, letters), batch.zeros(1, letters),
    ]  # fmt: skip
    optimizer = Optimizer(batch, layers, kind=kinds_of(batch))
    lr, clip = batch.column("lr"), batch.column("clip")
    which = torch.arange(batch.count, device=batch.device)[:, None]

    def losses(rows):
        """The loss of each configuration: the mean over rows and letters."""
        state = torch.zeros(batch.count, rows.shape[1], width, device=batch.device)
        states = []
        for at in range(rows.shape[2] - 1):
            inputs = layers[0][which, rows[:, :, at]] + layers[1]
            turned = state @ layers[2]
            reset, update = torch.sigmoid((inputs + turned)[..., : 2 * width]).chunk(2, -1)
            fresh = torch.tanh(inputs[..., 2 * width :] + reset * turned[..., 2 * width :])
            state = update * state + (1 - update) * fresh
            states.append(state)
        seen = torch.stack(states, 2)
        scores = seen.flatten(1, 2) @ layers[3] + layers[4]
        return softmax_loss(torch, scores, rows[:, :, 1:].flatten(1, 2))

    steps = max(1, 1500 // (size * length))
    for _ in range(EPOCHS):
        for _ in range(steps):
            shape = (batch.count, size)
            starts = torch.randint(
                30000 - length - 1, shape, device=batch.device, generator=batch.draws
            )
            rows = train[starts[..., None] + torch.arange(length + 1, device=batch.device)]
            optimizer.step(losses(rows), lr, clip)
        with torch.no_grad():
            yield losses(held.expand(batch.count, -1, -1))


def digits_denoise(batch, data):
    torch = batch.torch
    x = data["digits_pixels"]
    train, held = 600, slice(600, 1200)
    width, waist = batch.points[0]["width"], batch.points[0]["bottleneck"]
    layers = [
        batch.weights(64, width), batch.zeros(1, width),
        batch.weights(width, waist), batch.zeros(1, waist),
        batch.weights(waist, width), batch.zeros(1, width),
        batch.weights(width, 64), batch.zeros(1, 64),
    ]  # fmt: skip
    kind = torch.ones(batch.count, device=batch.device)
    optimizer = Optimizer(batch, layers, kind=kind, beta=batch.column("beta"))
    lr, noise = batch.column("lr"), batch.column("noise", 3)
    schedules = [point["schedule"] for point in batch.points]

    def part(schedule, done):
        """The factor on the learning rate when this part (0 to 1) of the training is done."""
        cosine = 0.5 + 0.5 * math.cos(math.pi * done)
        return {
            "constant": 1.0,
            "cosine": cosine,
            "warm-up": min(1.0, done / 0.2 + 0.02) * cosine,
            "steps": 1.0 if done < 0.4 else 0.2 if done < 0.75 else 0.04,
        }[schedule]

    def rebuilt(rows):
        hidden = torch.relu(rows @ layers[0] + layers[1])
        hidden = torch.tanh(hidden @ layers[2] + layers[3])
        hidden = torch.relu(hidden @ layers[4] + layers[5])
        return torch.sigmoid(hidden @ layers[6] + layers[7])

    for epoch, steps in enumerate(epochs_of(batch, 320, 16, train)):
        now = [part(schedule, epoch / EPOCHS) for schedule in schedules]
        rate = lr * torch.tensor(now, device=batch.device)
        for rows in steps:
            clean = x[rows]
            spoilt = clean + noise * torch.randn(
                clean.shape, device=batch.device, generator=batch.draws
            )
            optimizer.step(((rebuilt(spoilt) - clean) ** 2).mean((1, 2)), rate)
        with torch.no_grad():
            yield ((rebuilt(x[held].expand(batch.count, -1, -1)) - x[held]) ** 2).mean((1, 2))


# For each network: the function that trains a Batch, the parameters that must be the same in a
# Batch, and how many configurations a Batch has at most.
NETWORKS = {
    "digits-mlp": (digits_mlp, ("width", "batch"), 400),
    "cancer-adam": (cancer_adam, ("width", "batch", "activation"), 400),
    "digits-conv": (digits_conv, ("channels", "batch"), 120),
    "text-gru": (text_gru, ("width", "length", "batch"), 100),
    "digits-denoise": (digits_denoise, ("width", "bottleneck"), 300),
}


def train_networks(name, data):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    train, alike, most = NETWORKS[name]
    tensors = {key: torch.tensor(value, device=device) for key, value in data.items()}
    tensors["digits_noisy"] = torch.where(
        torch.tensor(np.random.default_rng(1).uniform(size=1797) < 0.25, device=device),
        torch.tensor(np.random.default_rng(2).integers(10, size=1797), device=device),
        tensors["digits_y"],
    )
    points = points_of(name)
    shapes = {}
    for index, point in enumerate(points):
        shapes.setdefault(tuple(point[key] for key in alike), []).append(index)
    curves = np.full((len(points), EPOCHS), np.nan)
    for shape, mine in shapes.items():
        for at in range(0, len(mine), most):
            part = mine[at : at + most]
            seed = zlib.crc32(f"{name} {shape} {at}".encode())
            batch = Batch([points[i] for i in part], device, seed)
            for epoch, losses in enumerate(train(batch, tensors)):
                curves[part, epoch] = losses.double().cpu().numpy()
        print(f"  {name} {shape}: {len(mine)}", file=sys.stderr, flush=True)
    return curves


def boosted(point, data, seed):
    from sklearn.ensemble import GradientBoostingRegressor

    x, y = data["diabetes_x"], data["diabetes_y"].astype(float)
    y = (y - y.mean()) / y.std()
    trees = 8
    model = GradientBoostingRegressor(
        learning_rate=point["lr"],
        max_depth=point["depth"],
        subsample=point["subsample"],
        min_samples_leaf=point["leaf"],
        max_features=point["features"],
        n_estimators=EPOCHS * trees,
        random_state=seed,
    ).fit(x[:250], y[:250])
    losses = [((p - y[250:]) ** 2).mean() for p in model.staged_predict(x[250:])]
    return losses[trees - 1 :: trees]


def train_trees(name, data):
    points = points_of(name)
    return np.array([boosted(point, data, i) for i, point in enumerate(points)])


def main():
    verb, path, *names = sys.argv[1:]
    if verb == "data":
        return pack(path)
    data = dict(np.load(path))
    CURVES.mkdir(exist_ok=True)
    for name in names or GRIDS:
        start = time.monotonic()
        curves = train_networks(name, data) if name in NETWORKS else train_trees(name, data)
        worst = np.nanmax(curves[np.isfinite(curves)])
        # Where training diverged, the loss is infinite or NaN. It is recorded as the worst loss.
        curves = np.where(np.isfinite(curves), curves, worst)
        curves = np.minimum(curves, np.median(curves[:, 0]) * 10)
        np.savez_compressed(CURVES / f"{name}.npz", losses=curves.astype(np.float16))
        seconds = time.monotonic() - start
        print(f"{name}: {len(curves)} curves, {seconds:.0f} s, best {curves.min():.4f}", flush=True)


if __name__ == "__main__":
    main()

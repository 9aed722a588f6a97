"""A trial of bench/merit.py: a network learns a function of 32 variables on the trial's cores.

Each core takes a part of each batch, and the gradients of the cores are added up. So the result of
training does not depend on the number of cores. The trial saves when it is asked to leave, and a
later launch continues from there.
"""

import concurrent.futures
import os

CORES = int(os.environ.get("OMP_NUM_THREADS", "1"))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # the threads below use the cores

import numpy  # noqa: E402
import sluice  # noqa: E402

DEFAULTS = {"lr": 0.001, "momentum": 0.2, "hidden": 384}
VARIABLES = 32
TEACHERS = 64
EPOCH = 8192  # examples
HELD_OUT = 2048
BATCH = 2048
MOST_EPOCHS = 1000


def examples(count, seed):
    """Draws examples of the function that all trials learn: a fixed random network computes it."""
    teacher = numpy.random.default_rng(1)
    inner = teacher.normal(0, 1.5 / VARIABLES**0.5, (VARIABLES, TEACHERS)).astype(numpy.float32)
    outer = teacher.normal(0, 1.5 / TEACHERS**0.5, (TEACHERS, 1)).astype(numpy.float32)
    inputs = numpy.random.default_rng(seed).standard_normal((count, VARIABLES), numpy.float32)
    return inputs, numpy.tanh(inputs @ inner) @ outer


def new_weights(hidden, random):
    sizes = [(VARIABLES, hidden), (hidden, hidden), (hidden, 1)]
    weights = []
    for rows, columns in sizes:
        weights.append(random.normal(0, (2 / rows) ** 0.5, (rows, columns)).astype(numpy.float32))
        weights.append(numpy.zeros(columns, numpy.float32))
    weights[-2][:] = 0  # so that all trials begin with an error of 1
    return weights


def forward(weights, inputs):
    """Returns the inputs and the output of each layer."""
    layers = [inputs]
    for i in range(0, len(weights), 2):
        out = layers[-1] @ weights[i] + weights[i + 1]
        if i + 2 < len(weights):
            numpy.maximum(out, 0, out=out)
        layers.append(out)
    return layers


def gradient(weights, inputs, outputs):
    """The gradient of half the sum of squared errors."""
    layers = forward(weights, inputs)
    gradients = [None] * len(weights)
    back = layers[-1] - outputs
    for i in range(len(weights) - 2, -1, -2):
        below = layers[i // 2]
        gradients[i] = below.T @ back
        gradients[i + 1] = back.sum(0)
        if i > 0:
            back = back @ weights[i].T
            back *= below > 0
    return gradients


def train_epoch(weights, speeds, data, params, pool):
    inputs, outputs = data
    for start in range(0, EPOCH, BATCH):
        rows = range(start, start + BATCH)
        parts = [slice(part[0], part[-1] + 1) for part in numpy.array_split(rows, CORES)]
        done = list(pool.map(lambda part: gradient(weights, inputs[part], outputs[part]), parts))
        for weight, speed, *steps in zip(weights, speeds, *done, strict=True):
            speed *= params["momentum"]
            speed -= params["lr"] / BATCH * sum(steps)
            weight += speed


def error(weights, data):
    """The mean squared error divided by the variance of the outputs."""
    inputs, outputs = data
    return float(numpy.mean((forward(weights, inputs)[-1] - outputs) ** 2) / outputs.var())


def main():
    params = sluice.params(**DEFAULTS)
    seed = sluice.trial().seed
    weights = new_weights(params["hidden"], numpy.random.default_rng(seed))
    speeds = [numpy.zeros_like(weight) for weight in weights]
    done = 0
    saved = sluice.latest_checkpoint()
    if saved:
        with numpy.load(saved / "state.npz") as state:
            done = int(state["epoch"])
            weights, speeds = ([state[f"{kind}{i}"] for i in range(len(weights))] for kind in "ws")
    held_out = examples(HELD_OUT, 0)
    pool = concurrent.futures.ThreadPoolExecutor(CORES)
    for epoch in range(done + 1, MOST_EPOCHS + 1):
        train_epoch(weights, speeds, examples(EPOCH, [seed, epoch]), params, pool)
        sluice.report(epoch, error=error(weights, held_out), cores=CORES)
        if sluice.should_stop():
            break
    if not sluice.should_save():
        return
    with sluice.checkpoint(epoch) as folder:
        state = {f"w{i}": weight for i, weight in enumerate(weights)}
        state |= {f"s{i}": speed for i, speed in enumerate(speeds)}
        numpy.savez(folder / "state.npz", epoch=epoch, **state)


if __name__ == "__main__":
    main()

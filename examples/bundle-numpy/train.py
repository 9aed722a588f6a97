"""Trains small networks in numpy, up to 16 trials together.

The first axis of each array below is the trial. So a pass over the data costs little more for 16
trials than for one. The results of a trial are the same to the last bit, whichever trials are
trained beside it: matmul treats each slice of the first axis by itself, and all else is done
element by element.

Run by itself, the script trains one network with the defaults.
"""

import numpy as np
import sluice

DEFAULTS = {"lr": 0.1, "momentum": 0.9, "decay": 1e-4}
INPUTS, WIDTH = 4, 16
BATCH = 32
EPOCHS = 27
SAVE_EVERY = 3  # epochs; a trial is also saved when it leaves
np.seterr(over="ignore", invalid="ignore")  # a trial that diverges reports infinity or NaN


def make_data(rows, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (rows, INPUTS))
    y = np.sin(2 * x[:, :1]) * x[:, 1:2] + 0.1 * random.normal(size=(rows, 1))
    return x, y


def begin(trial):
    """The state of a new trial: arrays by name."""
    random = np.random.default_rng(trial.seed)
    weights = {
        "hidden": random.normal(size=(INPUTS, WIDTH)) / INPUTS**0.5,
        "hidden_bias": np.zeros((1, WIDTH)),
        "output": random.normal(size=(WIDTH, 1)) / WIDTH**0.5,
        "output_bias": np.zeros((1, 1)),
    }
    speeds = {f"{name}_speed": np.zeros_like(weights[name]) for name in weights}
    return {**weights, **speeds, "epoch": np.array(0)}


def load(trial):
    saved = trial.latest_checkpoint()
    if not saved:
        return begin(trial)
    with np.load(saved / "state.npz") as state:
        return dict(state)


def save(trial, state):
    with trial.checkpoint(int(state["epoch"])) as folder:
        np.savez(folder / "state.npz", **state)


def stack(states):
    return {name: np.stack([state[name] for state in states]) for name in states[0]}


def unstack(stacked, count):
    return [{name: stacked[name][place] for name in stacked} for place in range(count)]


def predict(weights, x):
    """x has the shape (trials, rows, inputs), or (rows, inputs) if all trials see the same rows."""
    hidden = np.tanh(x @ weights["hidden"] + weights["hidden_bias"])
    return hidden, hidden @ weights["output"] + weights["output_bias"]


def gradients(weights, x, y):
    """The gradients of the mean squared error."""
    hidden, predicted = predict(weights, x)
    error = 2 * (predicted - y) / BATCH  # (trials, rows, 1)
    back = error @ np.swapaxes(weights["output"], 1, 2) * (1 - hidden**2)
    rows = np.ones((1, BATCH))  # rows @ a is the sum over the rows of a
    return {
        "hidden": np.swapaxes(x, 1, 2) @ back,
        "hidden_bias": rows @ back,
        "output": np.swapaxes(hidden, 1, 2) @ error,
        "output_bias": rows @ error,
    }


def column(trials, name):
    """A parameter of each trial, in the shape (trials, 1, 1)."""
    return np.array([trial.params[name] for trial in trials])[:, None, None]


def train_epoch(trials, states, x, y):
    """One pass over the data. For each trial, its seed and epoch alone decide the order of rows."""
    stacked = stack(states)
    stacked["epoch"] = stacked["epoch"] + 1
    lr, momentum, decay = (column(trials, name) for name in DEFAULTS)
    orders = np.stack(
        [
            np.random.default_rng([trial.seed, int(epoch)]).permutation(len(x))
            for trial, epoch in zip(trials, stacked["epoch"], strict=True)
        ]
    )
    for first in range(0, len(x) - BATCH + 1, BATCH):
        rows = orders[:, first : first + BATCH]  # (trials, batch)
        for name, gradient in gradients(stacked, x[rows], y[rows]).items():
            speed = momentum * stacked[f"{name}_speed"] + gradient + decay * stacked[name]
            stacked[f"{name}_speed"] = speed
            stacked[name] = stacked[name] - lr * speed
    return unstack(stacked, len(trials))


def losses(states, x, y):
    _, predicted = predict(stack(states), x)
    squares = (predicted - y) ** 2
    return (np.ones((1, len(x))) @ squares / len(x))[:, 0, 0]


def main():
    train, test = make_data(1024, seed=1), make_data(512, seed=2)
    states = {}  # by trial
    with sluice.bundle(capacity=16, **DEFAULTS) as bundle:
        for step in bundle:
            for trial in step.left:
                state = states.pop(trial)
                if trial.should_save():
                    save(trial, state)
            for trial in step.joined:
                states[trial] = load(trial)
            if not step.trials:
                continue
            trained = train_epoch(step.trials, [states[trial] for trial in step.trials], *train)
            found = losses(trained, *test)
            for trial, state, loss in zip(step.trials, trained, found, strict=True):
                states[trial] = state
                epoch = int(state["epoch"])
                trial.report(epoch, loss=loss)
                if epoch % SAVE_EVERY == 0 or epoch >= EPOCHS:
                    save(trial, state)
                if epoch >= EPOCHS:
                    del states[trial]
                    bundle.finish(trial)


if __name__ == "__main__":
    main()

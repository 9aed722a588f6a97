"""Trains small networks on Fashion-MNIST, up to 16 trials together, with torch.func.

Run by itself, the script trains one network with the defaults. The data is in Debian's package
dataset-fashion-mnist.

All trials go through the data in the same order, so that each batch is read once for all of them.
The last digits of a trial's results may depend on how many trials are trained beside it. The reason
is that PyTorch chooses the order of a sum by the sizes of whole tensors.
"""

import gzip
import os

import sluice
import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
DEFAULTS = {"lr": 0.1, "momentum": 0.9, "smoothing": 0.0}
CAPACITY = 16  # how many trials are trained together at most
WIDTH = 32
BATCH = 128
EPOCHS = 9
SAVE_EVERY = 3  # epochs; a trial is also saved when it leaves


def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))


NETWORK = build()  # only its structure is used, with the weights of the trials


def read_idx(name, header_bytes):
    with gzip.open(os.path.join(FOLDER, name)) as file:
        return torch.frombuffer(bytearray(file.read()[header_bytes:]), dtype=torch.uint8)


def read_split(name):
    images = read_idx(f"{name}-images-idx3-ubyte.gz", 16).view(-1, 28, 28)
    labels = read_idx(f"{name}-labels-idx1-ubyte.gz", 8)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    return images[order].float().sub_(72.9).div_(90.0), labels[order].long()


class Member:
    """The state of one trial."""

    def __init__(self, trial):
        torch.manual_seed(trial.seed)
        self.network = build()
        self.speeds = {name: torch.zeros_like(p) for name, p in self.network.named_parameters()}
        self.epoch = 0
        saved = trial.latest_checkpoint()
        if saved:
            state = torch.load(saved / "state.pt")
            self.network.load_state_dict(state["network"])
            self.speeds = state["speeds"]
            self.epoch = state["epoch"]

    def save(self, trial):
        state = {
            "network": self.network.state_dict(),
            "speeds": self.speeds,
            "epoch": self.epoch,
        }
        with trial.checkpoint(self.epoch) as folder:
            torch.save(state, folder / "state.pt")


class Together:
    """The states of several trials, stacked: the first axis of each tensor is the trial."""

    def __init__(self, trials, members):
        self.trials = trials
        self.members = members
        self.weights, _ = stack_module_state([member.network for member in members])
        self.speeds = {
            name: torch.stack([member.speeds[name] for member in members]) for name in self.weights
        }

    def train_epoch(self, images, labels):
        lr, momentum, smoothing = (self.column(name) for name in DEFAULTS)
        gradients = vmap(grad(loss), in_dims=(0, 0, None, None))
        for rows in range(0, len(images) - BATCH + 1, BATCH):
            batch = images[rows : rows + BATCH], labels[rows : rows + BATCH]
            found = gradients(self.weights, smoothing, *batch)
            with torch.no_grad():
                for name, weight in self.weights.items():
                    each = (-1, *[1] * (weight.dim() - 1))  # the shape of one number for each trial
                    speed = self.speeds[name].mul_(momentum.view(each)).add_(found[name])
                    weight.sub_(lr.view(each) * speed)

    def accuracies(self, images, labels):
        with torch.no_grad():
            scores = vmap(predict, in_dims=(0, None))(self.weights, images)
            return (scores.argmax(2) == labels).float().mean(1).tolist()

    def give_back(self):
        """Writes the trained tensors back to the states of the trials."""
        for place, member in enumerate(self.members):
            weights = {name: self.weights[name][place] for name in self.weights}
            member.network.load_state_dict(weights)
            member.speeds = {name: self.speeds[name][place].clone() for name in self.speeds}

    def column(self, name):
        return torch.tensor([trial.params[name] for trial in self.trials])


def predict(weights, images):
    return functional_call(NETWORK, weights, (images,))


def loss(weights, smoothing, images, labels):
    """Cross-entropy with smoothed labels.

    PyTorch's own cross-entropy takes the smoothing only as a number. Here it is a tensor.
    """
    logs = predict(weights, images).log_softmax(1)
    right = logs.gather(1, labels[:, None]).mean()
    return -(1 - smoothing) * right - smoothing * logs.mean()


def main():
    train, test = read_split("train"), read_split("t10k")
    members = {}  # by trial
    with sluice.bundle(capacity=CAPACITY, **DEFAULTS) as bundle:
        for step in bundle:
            for trial in step.left:
                member = members.pop(trial)
                if trial.should_save():
                    member.save(trial)
            for trial in step.joined:
                members[trial] = Member(trial)
            if not step.trials:
                continue
            together = Together(step.trials, [members[trial] for trial in step.trials])
            together.train_epoch(*train)
            together.give_back()
            for trial, accuracy in zip(step.trials, together.accuracies(*test), strict=True):
                member = members[trial]
                member.epoch += 1
                trial.report(member.epoch, accuracy=accuracy)
                if member.epoch % SAVE_EVERY == 0 or member.epoch >= EPOCHS:
                    member.save(trial)
                if member.epoch >= EPOCHS:
                    del members[trial]
                    bundle.finish(trial)


if __name__ == "__main__":
    main()

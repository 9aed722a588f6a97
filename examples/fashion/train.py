"""Trains a small network on Fashion-MNIST. The data is in Debian's package dataset-fashion-mnist.

Run by itself, it trains once with the defaults. Under `sluice tune study.yaml`, each process runs
one trial after another, so that it imports PyTorch and reads the data only once.
"""

import gzip
import os

import sluice
import torch
from torch import nn

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
DEFAULTS = {"lr": 0.1, "momentum": 0.9, "width": 64, "depth": 2, "batch": 64, "activation": "relu"}
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


def read_idx(name, header_bytes):
    with gzip.open(os.path.join(FOLDER, name)) as file:
        return torch.frombuffer(bytearray(file.read()[header_bytes:]), dtype=torch.uint8)


def read_split(name):
    images = read_idx(f"{name}-images-idx3-ubyte.gz", 16).view(-1, 28, 28)
    labels = read_idx(f"{name}-labels-idx1-ubyte.gz", 8)
    return images.float().sub_(72.9).div_(90.0), labels.long()


def build(params):
    layers = [nn.Flatten()]
    inputs = 28 * 28
    for _ in range(params["depth"]):
        layers += [nn.Linear(inputs, params["width"]), ACTIVATIONS[params["activation"]]()]
        inputs = params["width"]
    return nn.Sequential(*layers, nn.Linear(inputs, 10))


def train_epoch(model, optimizer, images, labels, batch):
    for rows in torch.randperm(len(images)).split(batch):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
        optimizer.step()


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def run(trial, train, test):
    params = {**DEFAULTS, **trial.params}
    torch.manual_seed(trial.seed)
    model = build(params)
    optimizer = torch.optim.SGD(model.parameters(), lr=params["lr"], momentum=params["momentum"])
    first = 1
    saved = trial.latest_checkpoint()
    if saved:
        state = torch.load(os.path.join(saved, "state.pt"))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1
    for epoch in range(first, 10):
        train_epoch(model, optimizer, *train, params["batch"])
        with trial.checkpoint(epoch) as folder:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "epoch": epoch,
            }
            torch.save(state, os.path.join(folder, "state.pt"))
        trial.report(epoch, accuracy=accuracy(model, *test))
        if trial.should_stop():
            break


def main():
    train = read_split("train")
    test = read_split("t10k")
    for trial in sluice.trials():
        run(trial, train, test)


if __name__ == "__main__":
    main()

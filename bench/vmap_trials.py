"""The trials of vmap_bench.py: the network and the data of examples/bundle-fashion.

    vmap_trials.py alone|warm|bundle EPOCHS FILE

alone: the process trains one trial and ends. warm: the process trains one trial after another.
bundle: the process trains all trials together, with the example's own code. Each process adds a
line to FILE.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples/bundle-fashion"))

import sluice  # noqa: E402
import torch  # noqa: E402

import train as example  # noqa: E402


def train_one(trial, train, test, epochs):
    """Trains one network like a plain PyTorch program, without torch.func."""
    torch.manual_seed(trial.seed)
    params = trial.params
    network = example.build()
    optimizer = torch.optim.SGD(
        network.parameters(), lr=params["lr"], momentum=params["momentum"], fused=True
    )
    loss = torch.nn.CrossEntropyLoss(label_smoothing=params["smoothing"])
    images, labels = train
    for epoch in range(1, epochs + 1):
        for rows in range(0, len(images) - example.BATCH + 1, example.BATCH):
            chosen = slice(rows, rows + example.BATCH)
            optimizer.zero_grad()
            loss(network(images[chosen]), labels[chosen]).backward()
            optimizer.step()
        with torch.no_grad():
            right = network(test[0]).argmax(1) == test[1]
        trial.report(epoch, accuracy=right.float().mean().item())
        if epoch % example.SAVE_EVERY == 0 or epoch == epochs:
            state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
            with trial.checkpoint(epoch) as folder:
                torch.save(state, folder / "state.pt")


def main():
    way, epochs, started = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(started, "a") as file:
        file.write(f"{way}\n")
    if way == "bundle":
        example.CAPACITY, example.EPOCHS = 64, epochs
        return example.main()
    data = example.read_split("train"), example.read_split("t10k")
    for trial in sluice.trials() if way == "warm" else [sluice.trial()]:
        train_one(trial, *data, epochs)


if __name__ == "__main__":
    main()

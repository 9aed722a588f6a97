"""Prints how many steps a second 16 trials of examples/bundle-fashion take, all together, with
torch.func.vmap: the steps alone, without the start, tests and checkpoints."""

import importlib.util
import pathlib
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRIALS = 16


def main():
    width, seconds, threads = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    spec = importlib.util.spec_from_file_location(
        "example", ROOT / "examples/bundle-fashion/train.py"
    )
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.torch.set_num_threads(threads)
    example.WIDTH = width
    example.NETWORK = example.build()
    images, labels = example.read_split("train")
    trials = [
        types.SimpleNamespace(
            seed=seed,
            params={"lr": 0.001 * (seed + 1), "momentum": 0.9, "smoothing": 0.0},
            latest_checkpoint=lambda: None,
        )
        for seed in range(TRIALS)
    ]
    together = example.Together(trials, [example.Member(trial) for trial in trials])
    batches = 50
    rows = batches * example.BATCH
    together.train_epoch(images[:rows], labels[:rows])
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        together.train_epoch(images[:rows], labels[:rows])
        steps += batches * TRIALS
    print(f"{steps / (time.perf_counter() - begin):.1f}")


if __name__ == "__main__":
    main()

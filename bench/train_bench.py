#!/usr/bin/env python3
"""Trains 16 trials of small networks together, one after another, and in two processes."""

import os
import pathlib
import statistics
import subprocess
import sys

import bench_house as bench

TRIALS = 16
NETWORKS = {
    "MLP of width 32": "zoo:mlp,hidden=32,layers=1",
    "MLP of width 64": "zoo:mlp,hidden=64,layers=1",
    "MLP of width 256": "zoo:mlp,hidden=256,layers=1",
    "LeNet": "zoo:lenet",
}
WIDTHS_OF_VMAP = {"MLP of width 32": 32, "MLP of width 64": 64, "MLP of width 256": 256}

ABOUT = """
# Sixteen trials in one program

Steps a second of all trials together (batches of 128 of Fashion-MNIST, SGD with momentum, float32)
on two cores, in five ways, by the loop of `sluice-trainer` (`bench/train_speed.cc`):

- one after another: one trial alone, on two cores;
- two processes, a trial each, on a core each;
- fused: 16 trials stacked in one program, on two cores;
- chosen: 16 trials as the trainer chooses, on two cores: in stacks of some width, one after another
  with both cores or side by side with a core each;
- vmap: the step of `examples/bundle-fashion` with 16 trials (`bench/vmap_speed.py`), on two cores.

The bars: chosen is at least 0.95 of the better of the first two, twice as fast on the MLP of width
32, and no slower than vmap.
"""


def together(*commands):
    """Runs programs side by side. Returns the sum of their speeds, and how the last one stacked."""
    started = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in commands]
    told = [each.communicate()[0].split() for each in started]
    if any(each.returncode for each in started):
        sys.exit(f"failed: {commands}")
    width, workers = (told[-1] + ["", ""])[1:3]
    arranged = f"{width}, side by side" if workers not in ("", "1") else width
    return sum(float(each[0]) for each in told), arranged


def measured(name, data, options):
    """A row of the table."""
    width = WIDTHS_OF_VMAP.get(name)

    def ours(trials, stacked, threads):
        program = [bench.PROGRAMS / "train_speed", data, NETWORKS[name]]
        return list(map(str, [*program, trials, stacked, options.seconds, threads]))

    def alone():
        return together(ours(1, 1, 2))

    def apart():
        return together(ours(1, 1, 1), ours(1, 1, 1))

    def fused():
        return together(ours(TRIALS, TRIALS, 2))

    def chosen():
        return together(ours(TRIALS, 0, 2))

    def vmap():
        program = [bench.PYTHON, bench.ROOT / "bench/vmap_speed.py", width, options.seconds, 2]
        return together(list(map(str, program)))

    ways = [alone, apart, fused, chosen] + ([vmap] if width else [])
    found = bench.rounds(options.rounds, *ways)
    speeds = [[each[0] for each in way] for way in found]

    def ratio(others):
        pairs = zip(speeds[3], others, strict=True)
        return statistics.median(mine / other for mine, other in pairs)

    unfused = ratio([max(pair) for pair in zip(speeds[0], speeds[1], strict=True)])
    beside_vmap = ratio(speeds[4]) if width else None
    holds = unfused >= (2 if name == "MLP of width 32" else 0.95)
    if width:
        holds = holds and beside_vmap >= 1
    widths = sorted({each[1] for each in found[3]})
    cells = [bench.spread(way) for way in speeds] + [""] * (5 - len(ways))
    beside = f"{beside_vmap:.2f}" if width else ""
    return [name, *cells, " or ".join(widths), f"{unfused:.2f}", beside, bench.verdict(holds)]


def unpacked(folder):
    """The data that FASHION_MNIST names, as plain files."""
    fashion = pathlib.Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
    if (fashion / "train-images-idx3-ubyte").exists():
        return fashion
    data = folder / "data"
    command = [bench.BINARIES / "sluice", "data", "import", fashion, "--output", data]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return data


def main():
    options = bench.arguments(__doc__, rounds=5, seconds=3)
    with bench.house() as house:
        facts = [bench.machine(house.folder), bench.versions("torch")]
        data = unpacked(house.folder)
        rows = [measured(name, data, options) for name in NETWORKS]
    facts.append(
        f"rounds: {options.rounds}, each with all ways in turn, {options.seconds} s each; medians "
        "(lowest to highest); ratios are medians of the ratios within each round"
    )
    header = ["network", "one after another", "two processes", "fused", "chosen", "vmap",
              "width chosen", "chosen / better of the first two", "chosen / vmap", "the bars"]
    bench.write_page("train", ABOUT, facts, bench.table(header, rows))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains 64 small networks in three ways: a process for each, `sluice.trials()`, and a bundle."""

import json
import statistics

import bench_house as bench

TRIALS = 64
BAR = 4

ABOUT = """
# Many small networks in one process

64 trials of the network of `examples/bundle-fashion` (784 inputs, 32 hidden units, 10 outputs) on
Fashion-MNIST, on two cores, by `sluice tune`, in three ways:

- a process for each trial, two at a time, a core each;
- two processes with `sluice.trials()`, which train one trial after the other, a core each;
- the example itself: one process that trains all 64 by `torch.func.vmap` on two cores (`fuse: 64`).

The first two train as a plain PyTorch program does, without `torch.func`. Times are those of the
whole `tune`: the start of Python, imports, reading the data, training, tests and checkpoints are
all included. The bar: the bundle is at least 4 times as fast as a process for each trial.
"""

STUDY = """
study: vmap
program: {program}
space:
  lr: {{float: [1e-3, 1.0], log: true}}
  momentum: {{float: [0.0, 0.95]}}
  smoothing: {{float: [0.0, 0.2]}}
objective: {{maximize: accuracy}}
sampler: random
trials: {trials}
seed: 7
"""
APART = "resources: {cpus: 1}\nparallelism: 2\n"
TOGETHER = f"resources: {{cpus: 2}}\npolicy: hydro\nfuse: {TRIALS}\n"


def run(way, epochs, how, processes):
    """Runs the study. Returns wall seconds, CPU seconds, and the median accuracy of the trials."""
    with bench.house() as house:
        started = house.folder / "started"
        program = [bench.PYTHON, bench.ROOT / "bench/vmap_trials.py", way, epochs, started]
        text = STUDY.format(program=json.dumps(list(map(str, program))), trials=TRIALS) + how
        seconds, _ = house.run("tune", house.write("study.yaml", text), "-q")
        cpu_seconds = house.cpu_seconds
        found = len(started.read_text().splitlines())
        assert found == processes, f"{way}: {processes} processes expected, {found} found"
        lines = house.run("export", "--format", "jsonl", "--reports")[1].splitlines()
        reports = [json.loads(line) for line in lines]
        assert len(reports) == TRIALS * epochs, f"{way}: {len(reports)} reports"
        last = [each["metrics"]["accuracy"] for each in reports if each["work"] == epochs]
    return seconds, cpu_seconds, statistics.median(last)


def main():
    options = bench.arguments(__doc__, rounds=5, epochs=1)

    def alone():
        return run("alone", options.epochs, APART, TRIALS)

    def warm():
        return run("warm", options.epochs, APART, 2)

    def bundle():
        return run("bundle", options.epochs, TOGETHER, 1)

    with bench.house() as house:
        facts = [bench.machine(house.folder)]
    facts.append(bench.versions("torch"))
    facts.append(
        f"rounds: {options.rounds}, each with the three ways in turn; epochs of a trial: "
        f"{options.epochs}; medians (lowest to highest)"
    )
    facts.append("times as fast: the ratio within each round")
    ways = bench.rounds(options.rounds, alone, warm, bundle)
    seconds = [[each[0] for each in way] for way in ways]

    def row(name, index, bar=None):
        ratios = [one / other for one, other in zip(seconds[0], seconds[index], strict=True)]
        times = bench.spread(ratios, 1) if index else ""
        holds = bench.verdict(statistics.median(ratios) >= bar) if bar else ""
        cpu_seconds = bench.spread([each[1] for each in ways[index]], 1)
        accuracy = f"{statistics.median(each[2] for each in ways[index]):.3f}"
        return [name, bench.spread(seconds[index], 1), times, holds, cpu_seconds, accuracy]

    rows = [
        row("a process for each trial", 0),
        row("`sluice.trials()`", 1),
        row("one process, `torch.func.vmap`", 2, bar=BAR),
    ]
    header = ["", "seconds", "times as fast", "the bar", "seconds of CPU time", "median accuracy"]
    bench.write_page("vmap", ABOUT, facts, bench.table(header, rows))


if __name__ == "__main__":
    main()

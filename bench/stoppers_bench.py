#!/usr/bin/env python3
"""How much training each stopper needs until some trial is good enough, beside Optuna's pruners."""

import math
import statistics
import subprocess
import sys

import bench_house as bench
import numpy
from scipy import stats

EPOCHS = 81
CURVES = 800  # more than any stopper needs
GOAL_SHARE = 0.02  # the part of all configurations that reach the goal if trained to the end

ABOUT = """
# Stoppers

Random search runs one trial at a time, until some report reaches the goal. The table counts the
epochs of training until then.

Learning curves are power laws with noise, a + b * epoch^-c, where a = 0.05 + 0.6 u^1.5, b is from
0.2 to 1 and c from 0.15 to 1.2. The numbers u (from 0 to 1), b and c are uniform and independent.
So curves cross: a slow start says little about the end. The noise is normal, with a standard
deviation of 0.005. The goal is the loss that 2 % of configurations reach in 81 epochs without
noise.

Every stopper sees the same configurations in the same order. The full budget is 81 epochs, the
reduction factor 3, and the first rung 1 epoch; `median` begins after 5 complete trials. Our paused
trials continue where they were; Optuna never resumes a trial. Optuna's Hyperband draws the bracket
of a trial at random; ours fills one bracket after another and begins with the one that stops trials
earliest.
"""

OURS = ["none", "median", "percentile:25", "patience", "asha", "asha-promotion", "sha", "hyperband"]
PAIRS = {  # our stopper -> Optuna's pruner of the same kind
    "median": "MedianPruner",
    "asha": "SuccessiveHalvingPruner",
    "hyperband": "HyperbandPruner",
}


def draw(random, count):
    """Draws configurations. Returns their final losses without noise, and their noisy curves."""
    a = 0.05 + 0.6 * random.uniform(size=count) ** 1.5
    b = random.uniform(0.2, 1.0, size=count)
    c = random.uniform(0.15, 1.2, size=count)
    epochs = numpy.arange(1, EPOCHS + 1)
    clean = a[:, None] + b[:, None] * epochs[None, :] ** -c[:, None]
    return clean[:, -1], clean + random.normal(0, 0.005, size=clean.shape)


def play_ours(house, curves, goal):
    path = house.folder / "curves"
    path.write_bytes(curves.tobytes())
    words = [bench.PROGRAMS / "play_stopper", path, CURVES, EPOCHS, repr(float(goal)), *OURS]
    lines = subprocess.check_output([str(word) for word in words], text=True).splitlines()
    return {name: tuple(map(int, numbers)) for name, *numbers in map(str.split, lines)}


def pruners():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return {
        "MedianPruner": optuna.pruners.MedianPruner(n_startup_trials=5),
        "SuccessiveHalvingPruner": optuna.pruners.SuccessiveHalvingPruner(
            min_resource=1, reduction_factor=3
        ),
        "HyperbandPruner": optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=EPOCHS, reduction_factor=3
        ),
    }


def play_peer(seed, pruner, curves, goal):
    import optuna

    study = optuna.create_study(
        study_name=f"seed {seed}",  # Optuna's Hyperband chooses brackets by a hash of this name
        sampler=optuna.samplers.RandomSampler(seed=seed),
        pruner=pruner,
    )
    total = 0
    for curve in curves:
        trial = study.ask()
        state = optuna.trial.TrialState.COMPLETE
        for epoch, value in enumerate(curve.tolist(), start=1):
            total += 1
            if value <= goal:
                return total, trial.number + 1, 1
            trial.report(value, epoch)
            if epoch < EPOCHS and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        complete = state == optuna.trial.TrialState.COMPLETE
        study.tell(trial, value if complete else None, state=state)
    return total, len(curves), 0


def interval(values):
    """Returns the mean, and half the width of its 95 % interval."""
    if len(values) < 2:
        return values[0], math.nan
    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), error * float(stats.t.ppf(0.975, len(values) - 1))


def ratio(ours, theirs):
    """The geometric mean of the pairs' ratios, with its 95 % interval."""
    middle, half = interval([math.log(a / b) for a, b in zip(ours, theirs, strict=True)])
    return (
        f"{math.exp(middle):.2f} ({math.exp(middle - half):.2f} to {math.exp(middle + half):.2f})"
    )


def main():
    options = bench.arguments(__doc__, seeds=30)
    ends, _ = draw(numpy.random.default_rng(2**32), 100_000)
    goal = float(numpy.quantile(ends, GOAL_SHARE))
    results = {}
    with bench.house() as house:
        facts = [
            bench.machine(house.folder),
            bench.versions(*([] if options.no_peers else ["optuna", "numpy"])),
            f"seeds 0 to {options.seeds - 1}, {CURVES} configurations each; the goal is {goal:.4f}",
        ]
        for seed in range(options.seeds):
            _, curves = draw(numpy.random.default_rng(seed), CURVES)
            played = play_ours(house, curves, goal)
            if not options.no_peers:
                for name, pruner in pruners().items():
                    played[name] = play_peer(seed, pruner, curves, goal)
            for name, outcome in played.items():
                results.setdefault(name, []).append(outcome)
            print(f"  seed {seed}: {played}", file=sys.stderr, flush=True)

    work = {name: [outcome[0] for outcome in outcomes] for name, outcomes in results.items()}
    rows = []
    for name, outcomes in results.items():
        middle, half = interval(work[name])
        trials, _ = interval([outcome[1] for outcome in outcomes])
        rows.append(
            [
                name if name in OURS else f"Optuna's {name}",
                f"{middle:,.0f} ± {half:,.0f}",
                f"{trials:,.0f}",
                sum(1 for outcome in outcomes if not outcome[2]) or "",
                ratio(work[name], work["none"]),
            ]
        )
    parts = [
        bench.table(["stopper", "epochs to the goal", "trials", "missed", "beside none"], rows)
    ]
    if not options.no_peers:
        pairs = [
            [ours, f"Optuna's {peer}", ratio(work[ours], work[peer])]
            for ours, peer in PAIRS.items()
        ]
        parts.append(bench.table(["ours", "theirs", "epochs, ours to theirs"], pairs))
    parts.append(
        "Epochs are means with their 95 % intervals. Ratios are geometric means over pairs with "
        "the same seed, with their 95 % intervals. `missed` counts the seeds in which all "
        "configurations were used up before the goal was reached; all their epochs are counted."
    )
    bench.write_page("stoppers", ABOUT, facts, *parts)


if __name__ == "__main__":
    main()

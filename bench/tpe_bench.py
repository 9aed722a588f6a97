#!/usr/bin/env python3
"""CPU time of one proposal of TPE and its result after many trials, beside Optuna and rustuna."""

import random
import statistics
import subprocess
import time
import warnings

import bench_house as bench

AXES = 20
ALONE = 100_000  # trials; with so many, only Sluice is measured

ABOUT = f"""
# TPE: the time of a proposal

CPU milliseconds of one proposal and its result, in a study that has {AXES} float parameters and the
given number of complete trials with random points. All three use multivariate TPE. Optuna and
rustuna keep their trials in memory. Our sampler is called as the controller calls it: it observes
that a trial runs, observes the trial's end, and proposes.
"""


def loss_of(values):
    return sum((value - 0.5) ** 2 for value in values)


def ask_and_tell_ms(study, trials, finish):
    names = [f"x{i}" for i in range(AXES)]
    start = time.process_time()
    for _ in range(trials):
        trial = study.ask()
        finish(trial, loss_of([trial.suggest_float(name, 0, 1) for name in names]))
    return (time.process_time() - start) / trials * 1e3


def fill(package, study, trials):
    luck = random.Random(1)
    laws = {f"x{i}": package.distributions.FloatDistribution(0, 1) for i in range(AXES)}
    create = package.trial.create_trial if hasattr(package.trial, "create_trial") else None
    create = create or package.create_trial
    for _ in range(trials):
        params = {name: luck.random() for name in laws}
        study.add_trial(
            create(params=params, distributions=laws, value=loss_of(params.values()))
        )


def optuna_study(trials):
    import optuna

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=1, multivariate=True)
    study = optuna.create_study(sampler=sampler)
    fill(optuna, study, trials)
    return study, study.tell


def rustuna_study(trials):
    import rustuna

    sampler = rustuna.samplers.TPESampler(seed=1, multivariate=True)
    study = rustuna.create_study(sampler=sampler)
    fill(rustuna, study, trials)
    return study, lambda trial, loss: study.tell(trial.number, loss)


def sluice_ms(trials):
    words = [bench.PROGRAMS / "ask_tell", "tpe", "1", "--speed", trials, AXES]
    return float(subprocess.check_output([str(word) for word in words]))


def main():
    options = bench.arguments(__doc__, rounds=5, asks=20)
    rows, holds = [], []
    for trials, optuna_bar, rustuna_bar in ((1_000, 50, 5), (10_000, 100, 5)):
        peers = [] if options.no_peers else [optuna_study(trials), rustuna_study(trials)]

        def sluice(trials=trials):
            return sluice_ms(trials)

        def optuna(peers=peers):
            return ask_and_tell_ms(peers[0][0], options.asks, peers[0][1])

        def rustuna(peers=peers):
            return ask_and_tell_ms(peers[1][0], options.asks, peers[1][1])

        measured = bench.rounds(options.rounds, sluice, *([optuna, rustuna] if peers else []))
        ours = statistics.median(measured[0])
        row = [f"{trials:,}", bench.spread(measured[0], 3)]
        for values, bar in zip(measured[1:], (optuna_bar, rustuna_bar), strict=True):
            ratio = statistics.median(values) / ours
            holds.append(ratio >= bar)
            row.append(
                f"{bench.spread(values, 1)}: {ratio:,.0f}x (bar {bar}x: {bench.verdict(holds[-1])})"
            )
        rows.append(row + [""] * (4 - len(row)))
    few = [sluice_ms(100) for _ in range(options.rounds)]
    rows.insert(0, ["100", bench.spread(few, 3), "", ""])
    alone = [sluice_ms(ALONE) for _ in range(options.rounds)]
    rows.append([f"{ALONE:,}", bench.spread(alone, 3), "", ""])
    packages = [] if options.no_peers else ["optuna", "rustuna"]
    with bench.house() as house:
        facts = [bench.machine(house.folder), bench.versions(*packages)]
    bench.write_page(
        "tpe",
        ABOUT,
        facts,
        bench.table(["trials", "Sluice, ms", "Optuna, ms", "rustuna, ms"], rows),
    )


if __name__ == "__main__":
    main()

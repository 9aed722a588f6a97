#!/usr/bin/env python3
"""Checks whether real runs of policies on two cores rank the policies as the simulator does.

    bench/merit.py [--runs 5] [--seeds 200] [--quick]

Three short studies are run first, to measure what the simulator must know. `sluice plan` then
predicts the result of each policy, and each policy is run for real. The page shows predictions and
real results side by side.

The exit status is 1 in three cases: two policies that the simulation puts more than a tenth apart
have the opposite order in the real runs; no two policies are that far apart; a run did not finish.

--quick makes everything smaller and writes no page. It only shows that the script works: its exit
status means nothing.
"""

import argparse
import dataclasses
import itertools
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time

import bench_house as bench
import merit_calibration as calibration

CORES = 2
APART = 0.10  # pairs are judged if they differ by more than this in the simulation
LIMIT_SECONDS = 240  # a real run that takes longer counts as not finished

ABOUT = """
# Order of merit: real runs beside their simulation

Trials are real programs (`bench/merit_trial.py`: a network in numpy learns a function of 32
variables, on one core or on two), run by `sluice tune` on two cores. The same run of the script
first ran three studies, which measured what the simulator must know of the trials. No figure is
typed in, and the simulation gets the study files of the real runs. The real runs of the policies
have the same seeds and alternate, so all policies have the same trials and the same noise of the
machine. The sizes of the studies were chosen so that the simulator tells the policies apart: the
rungs, the deadline, and a space in which all trials are of similar merit.
"""

TRIALS = """\
program: [{python}, {program}]
space:
  lr: {{float: [0.0007, 0.0014], log: true}}
  momentum: {{float: [0, 0.3]}}
  hidden: {{int: [320, 512], step: 64}}
objective: {{minimize: error}}
sampler: random
retries: 0
"""


@dataclasses.dataclass(frozen=True)
class Contender:
    """A policy, and the stopper that it is run with."""

    policy: str
    stopper: str

    @property
    def label(self):
        return f"{self.policy}, {self.stopper}"


@dataclasses.dataclass(frozen=True)
class Contest:
    """A study that all contenders run, and the figure by which they are compared."""

    name: str
    figure: str  # a key of `sluice plan --json`; smaller is better
    measure: str
    contenders: list
    lines: str  # lines of the study file


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two contenders, and how much they differ."""

    better: str  # the contender that is better in the simulation
    worse: str
    simulated: float  # by how much the figure of `worse` is larger in the simulation (0.1: 10 %)
    real: float  # the same in the real runs
    chance: float  # the probability that as many simulated runs have this order

    @property
    def agrees(self):
        return self.real > 0


def contests(quick):
    elastic = f"resources: {{cpus: [1, {CORES}]}}\n"
    rungs = "budget: {min: 4, max: 36, eta: 3}\ntrials: 9\n"
    deadline = "budget: {min: 3, max: 200, eta: 4}\ntrials: 200\ndeadline: 24s\n"
    if quick:
        rungs = "budget: {min: 1, max: 4, eta: 2}\ntrials: 4\n"
        deadline = "budget: {min: 1, max: 200, eta: 4}\ntrials: 200\ndeadline: 8s\n"
    widening = ["fifo", "fluid-static", "fluid-dynamic", "confluence"]
    in_time = [("fifo", "asha"), ("hypersched", "asha-pausing"), ("confluence", "none")]
    return [
        Contest(
            name="rungs",
            figure="makespan",
            measure="makespan, in seconds",
            contenders=[Contender(policy, "sha") for policy in widening],
            lines=elastic + rungs,
        ),
        Contest(
            name="deadline",
            figure="best_at_deadline",
            measure="error at the deadline",
            contenders=[Contender(*each) for each in in_time],
            lines=elastic + deadline,
        ),
    ]


def study_text(name, lines, contender, seed=None):
    program = TRIALS.format(python=bench.PYTHON, program=bench.ROOT / "bench/merit_trial.py")
    own = f"study: {name}\npolicy: {contender.policy}\nstopper: {contender.stopper}\n"
    return own + program + lines + ("" if seed is None else f"seed: {seed}\n")


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def calibrate(house, quick):
    """Runs three studies, and returns the workload that is measured from them.

    In the first, trials run side by side on one core each. In the second, each trial has all cores.
    In the third, trials are paused and resumed.
    """
    epochs, trials = (10, 4) if quick else (60, 6)
    ways = {
        "narrow": ("none", f"resources: {{cpus: 1}}\nbudget: {{max: {epochs}}}\n"),
        "wide": ("none", f"resources: {{cpus: {CORES}}}\nbudget: {{max: {epochs // 6 + 3}}}\n"),
        "moved": ("sha", "resources: {cpus: 1}\nbudget: {min: 3, max: 12, eta: 2}\n"),
    }
    for name, (stopper, lines) in ways.items():
        lines += f"trials: {trials}\n"
        house.write(f"{name}.yaml", study_text(name, lines, Contender("fifo", stopper), seed=1))
        house.run("tune", f"{name}.yaml", "-q")
        say(f"calibrated: {name}")
    store = calibration.Store(house.store)
    return calibration.workload(*(store.launches(name) for name in ways), CORES)


def simulate(house, contest, workload, seeds):
    """Returns each contender's figure for each seed, and the assumptions of `sluice plan`."""
    values, assumptions = {}, []
    for contender in contest.contenders:
        # All contenders have the same study name: it decides the curves, so trials are the same.
        house.write("plan.yaml", study_text(contest.name, contest.lines, contender))
        flags = ["--like", "narrow", "--policy", contender.policy, "--seeds", seeds]
        flags += ["--workload", json.dumps(workload), "--json"]
        plan = json.loads(house.run("plan", "plan.yaml", *flags)[1])
        [forecast] = plan["policies"]
        values[contender.label] = forecast[contest.figure]["over_seeds"]["values"]
        assumptions = plan["assumptions"]
    return values, assumptions


def tune(house, file):
    """Runs `sluice tune`. Returns the seconds it took, or None if it had to be ended."""
    command = [str(bench.SLUICE), "tune", file, "-q"]
    environment = {**os.environ, "SLUICE_STORE": str(house.store)}
    quiet = subprocess.DEVNULL
    begun = time.monotonic()
    run = subprocess.Popen(command, cwd=house.folder, env=environment, stdout=quiet, stderr=quiet)
    try:
        run.wait(LIMIT_SECONDS)
        return time.monotonic() - begun
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)  # trials save and leave
        run.wait()
        return None


def run_for_real(house, contest, contender, run):
    """Runs a contender once. Returns its figure, or None if the run did not finish."""
    name = f"{contest.name}-{contender.policy}-{run}"
    house.write(f"{name}.yaml", study_text(name, contest.lines, contender, seed=1000 + run))
    seconds = tune(house, f"{name}.yaml")
    store = calibration.Store(house.store)
    study = store.study(name)
    figure = seconds if contest.figure == "makespan" else store.best_at_deadline(name)
    finished = seconds is not None and study["finished"] and not study["failed"]
    finished = finished and math.isfinite(figure)
    ending = f"{figure:.4g}" if finished else f"did not finish: {study}"
    say(f"run {run}: {contest.name}, {contender.label}: {ending}")
    return figure if finished else None


def chance_of_order(better, worse, runs):
    """The probability that `runs` simulated runs, paired by seed, have the same order as all."""
    draws = random.Random(0)
    differences = [b - a for a, b in zip(better, worse, strict=True)]
    times = 4000
    return sum(sum(draws.choices(differences, k=runs)) > 0 for _ in range(times)) / times


def judge(simulated, real):
    """The pairs that differ by more than `APART` in the simulation, by the means."""
    pairs = []
    for both in itertools.combinations(simulated, 2):
        if not all(real[label] for label in both):
            continue
        better, worse = sorted(both, key=lambda label: statistics.mean(simulated[label]))
        more = [statistics.mean(of[worse]) / statistics.mean(of[better]) - 1
                for of in (simulated, real)]
        if more[0] > APART:
            chance = chance_of_order(simulated[better], simulated[worse], len(real[better]))
            pairs.append(Pair(better, worse, *more, chance))
    return pairs


def is_fine(pairs, real, runs):
    """Whether a contest passes. It fails if there is no pair to judge."""
    finished = all(len(each) == runs for each in real.values())
    return finished and bool(pairs) and all(pair.agrees for pair in pairs)


def part_of_page(contest, simulated, real, runs):
    rows = []
    for label, values in real.items():
        figures = [statistics.mean(simulated[label])]
        figures += [statistics.mean(values), statistics.median(values)] if values else []
        cells = [f"{figure:.4g}" for figure in figures] + ["-"] * (3 - len(figures))
        told = " ".join(f"{value:.4g}" for value in values)
        rows.append([label, *cells, told, f"{len(values)} of {runs}"])
    head = ["policy, stopper", "simulated mean", "real mean", "median", "real runs", "finished"]
    pairs = judge(simulated, real)
    judged = "No pair is so far apart."
    if pairs:
        lines = [
            [f"{each.better} before {each.worse}", f"{each.simulated:+.0%}", f"{each.real:+.0%}",
             f"{each.chance:.0%}", "agrees" if each.agrees else "**disagrees**"]
            for each in pairs
        ]
        judged = bench.table(["pair", "simulated", "real", "chance", "order"], lines)
    title = f"## {contest.name.capitalize()}: {contest.measure}"
    text = "\n\n".join([title, f"```yaml\n{contest.lines}```", bench.table(head, rows), judged])
    return text, is_fine(pairs, real, runs)


def run_all(house, contested, runs):
    """Returns the figures of the runs that finished: contest -> label -> figures."""
    real = {each.name: {one.label: [] for one in each.contenders} for each in contested}
    for run in range(1, runs + 1):
        for contest in contested:
            for contender in contest.contenders:
                figure = run_for_real(house, contest, contender, run)
                if figure is not None:
                    real[contest.name][contender.label].append(figure)
    return real


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="real runs of each policy")
    parser.add_argument("--seeds", type=int, default=200, help="simulated runs of each policy")
    parser.add_argument("--quick", action="store_true", help="small studies, and no page")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < CORES:
        raise SystemExit(f"expected {CORES} cores, found {len(cores)}")
    os.sched_setaffinity(0, cores[:CORES])
    with bench.house() as house:
        facts = [bench.machine(house.folder), bench.versions("numpy")]
        contested = contests(options.quick)
        workload = calibrate(house, options.quick)
        plans = {each.name: simulate(house, each, workload, options.seeds) for each in contested}
        real = run_all(house, contested, options.runs)
    for each in plans[contested[0].name][1]:
        if each["key"] != "ends_after":
            facts.append(f"measured: {each['what']} {each['value']}")
    facts.append(f"the curve, as measured: `{json.dumps(workload['curve'])}`")
    facts.append(f"{options.seeds} simulated runs of each policy, {options.runs} real ones")
    parts, fine = [], True
    for each in contested:
        part, holds = part_of_page(each, plans[each.name][0], real[each.name], options.runs)
        parts.append(part)
        fine = fine and holds
    parts.append(
        f"The pairs are those that differ by more than {APART:.0%} in the simulation, the better "
        "one first. Simulated, real: by how much the figure of the other one is larger, by the "
        "means. Chance: the probability that as many simulated runs, paired by seed, have that "
        "order. The bar: all runs finish, all pairs agree, and there is a pair in each part: "
        f"{bench.verdict(fine)}."
    )
    if options.quick:
        print("\n\n".join(["\n".join(facts), *parts]))
    else:
        bench.write_page("merit", ABOUT, facts, *parts)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()

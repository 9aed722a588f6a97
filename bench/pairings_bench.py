#!/usr/bin/env python3
"""How good the points are that samplers find under each stopper, beside Optuna's pairings."""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import statistics
import sys
import warnings

import bench_house as bench
import curve_problems
from pairing_runs import SPENT, STOPPERS, OptunaRun, Simulator, pruner, regrets

DEFAULT = "tpe"
OURS = ("tpe", "bohb", "random")
PEER = "Optuna"
LEVEL = 0.05  # the level of significance
MARGIN = 1.05  # times the mean regret of the best pairing
PARALLEL = (1, 8)

ABOUT = f"""
# Samplers under stoppers

The tables show the regret of the best report of any trial at any epoch, as the search saw it, after
{SPENT[-1]:,} epochs of training in all. A regret of 0 is the least loss there is. A regret of 1 is
the median, over the points of the space, of the loss at a point's best epoch. Where reports are
noisy, the true loss counts. The full budget is 27 epochs, the reduction factor is 3, and the first
rung is at 1 epoch. Trials differ in speed. Our searches are played by the simulator
(`play_search.cc`): the engine, samplers and stoppers of production in virtual time. Optuna's
sampler is its multivariate TPE with a constant liar, under its pruner of the same kind where it has
one.

The bars, for each stopper: `{DEFAULT}`, the default, is not worse than the better of `bohb` and
`random`, nor than Optuna's pairing (Wilcoxon's signed-rank test over problem and seed, paired,
after Holm's correction over all tests of this page at {LEVEL:.0%}), and its mean regret is at most
{MARGIN - 1:.0%} above that of the best sampler under the same stopper.
"""

KINDS = {
    "seen": (
        "pairings",
        "The problems: six grids of small networks and trees that were trained for real "
        "(`record_curves.py`), four families of power laws whose curves cross, and four noisy "
        "quadratics, which are SGD with its schedules, exactly (`curve_problems.py`). The sampler "
        "was worked on with these in sight.",
    ),
    "set-aside": (
        "pairings-set-aside",
        "The problems: six with curves that change phase (`curve_phases.py`: plateaus, warm-up, "
        "overfitting, divergence). They were written without knowledge of the sampler. Their "
        "results were looked at once, after the work on the sampler was done.",
    ),
    "all": (
        "pairings-all",
        "The problems: all of [pairings.md](pairings.md), which were in sight while the sampler "
        "was worked on, and of [pairings-set-aside.md](pairings-set-aside.md), which were not.",
    ),
}


def problems_of(kind):
    if kind == "set-aside":
        return curve_problems.set_aside()
    return [
        *curve_problems.RECORDED,
        *curve_problems.POWER_LAWS,
        *curve_problems.QUADRATICS,
    ]


def cases_of(kind):
    """The problems, each as (kind, index among the problems of that kind)."""
    kinds = ["seen", "set-aside"] if kind == "all" else [kind]
    return [(one, index) for one in kinds for index in range(len(problems_of(one)))]


_process = {}  # objects that a process of the pool keeps for its next runs


def run_one(task):
    kind, index, seed, parallel, sampler, stopper = task
    warnings.simplefilter("ignore")
    if kind not in _process:
        _process[kind] = problems_of(kind)
    problem = _process[kind][index]
    if sampler == PEER:
        bests, _ = OptunaRun(problem, stopper, seed).run(parallel)
    else:
        if "simulator" not in _process:
            _process["simulator"] = Simulator()
        bests, _ = _process["simulator"].run(problem, sampler, stopper, parallel, seed)
    return task, regrets(problem, bests)


def run_all(tasks, kept):
    """Runs the tasks that the file `kept` does not have yet, and adds their results to it.

    Returns all results. A task always gives the same result, so it need not be run twice.
    """
    results = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            task, values = json.loads(line)
            results[tuple(task)] = values
    missing = [task for task in tasks if task not in results]
    with kept.open("a") as file, concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for count, (task, values) in enumerate(pool.map(run_one, missing, chunksize=8)):
            results[task] = values
            print(json.dumps([task, values]), file=file, flush=True)
            if count % 200 == 0:
                print(f"  {count} of {len(missing)} runs", file=sys.stderr, flush=True)
    return results


def worse_p(ours, theirs):
    """The p-value of "ours is worse", by a paired test."""
    from scipy.stats import wilcoxon

    if ours == theirs:
        return 1.0
    return float(wilcoxon(ours, theirs, alternative="greater").pvalue)


def holm(tests):
    """Which keys of {key: p} are significant at LEVEL after Holm's correction."""
    found = set()
    for rank, (key, p) in enumerate(sorted(tests.items(), key=lambda item: item[1])):
        if p > LEVEL / (len(tests) - rank):
            break
        found.add(key)
    return found


class Page:
    """The tables of the page, for a kind of problems and a number of seeds."""

    def __init__(self, kind, seeds, samplers, results):
        self.cases = cases_of(kind)
        self.seeds, self.results, self.samplers = seeds, results, samplers

    def has(self, sampler, stopper):
        return sampler != PEER or pruner(stopper) is not None

    def regrets(self, parallel, sampler, stopper, cases=None):
        """The regret of each run, ordered by problem and seed."""
        return [
            self.results[(*case, seed, parallel, sampler, stopper)][-1]
            for case, seed in itertools.product(cases or self.cases, range(self.seeds))
        ]

    def mean(self, *which):
        return statistics.mean(self.regrets(*which))

    def rivals(self, parallel, stopper):
        """The better of our other samplers, and Optuna if it has such a pruner."""
        others = [sampler for sampler in self.samplers if sampler not in (DEFAULT, PEER)]
        better = min(others, key=lambda sampler: self.mean(parallel, sampler, stopper))
        peer = [PEER] if PEER in self.samplers and self.has(PEER, stopper) else []
        return [better, *peer]

    def tests(self):
        return {
            (parallel, stopper, rival): worse_p(
                self.regrets(parallel, DEFAULT, stopper), self.regrets(parallel, rival, stopper)
            )
            for parallel, stopper in itertools.product(PARALLEL, STOPPERS)
            for rival in self.rivals(parallel, stopper)
        }

    def section(self, parallel, tests, worse):
        rows, held = [], True
        for stopper in STOPPERS:
            means = {
                sampler: self.mean(parallel, sampler, stopper)
                for sampler in self.samplers
                if self.has(sampler, stopper)
            }
            above = means[DEFAULT] / min(means.values()) - 1
            mine = {key: p for key, p in tests.items() if key[:2] == (parallel, stopper)}
            least = min(mine, key=mine.get)
            worse_than = [key[2] for key in mine if key in worse]
            held = held and not worse_than and above <= MARGIN - 1
            rows.append(
                [
                    stopper,
                    *(f"{means[name]:.3f}" if name in means else "" for name in self.samplers),
                    f"{above:+.0%}",
                    f"{mine[least]:.2g} ({least[2]})",
                    f"**worse than {', '.join(worse_than)}**" if worse_than else "not worse",
                ]
            )
        title = "one trial at a time" if parallel == 1 else f"{parallel} trials at once"
        header = ["stopper", *self.samplers, f"{DEFAULT} above the best", "least p", "after Holm"]
        bar = f"Not worse, and at most {MARGIN - 1:.0%} above the best: {bench.verdict(held)}."
        return f"## {title}\n\n{bench.table(header, rows)}\n\n{bar}"

    def by_problem(self, parallel):
        rows = []
        for kind, index in self.cases:
            case = (kind, index)
            cells = [
                " / ".join(
                    f"{statistics.mean(self.regrets(parallel, sampler, stopper, [case])):.3f}"
                    for sampler in self.samplers
                    if self.has(sampler, stopper)
                )
                for stopper in STOPPERS
            ]
            rows.append([problems_of(kind)[index].name, *cells])
        title = f"## Each problem, {parallel} at a time"
        about = f"Means: {' / '.join(self.samplers)}, without the last where it has no such pruner."
        return f"{title}\n\n{about}\n\n{bench.table(['problem', *STOPPERS], rows)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="seen", help="of problems")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--no-peers", action="store_true", help="measure Sluice alone")
    parser.add_argument("--keep", type=pathlib.Path, help="a file of runs, to go on with")
    options = parser.parse_args()
    name, problems = KINDS[options.kind]
    samplers = OURS if options.no_peers else (*OURS, PEER)
    tasks = [
        (*case, seed, parallel, sampler, stopper)
        for seed in range(options.seeds)
        for case in cases_of(options.kind)
        for parallel, sampler, stopper in itertools.product(PARALLEL, samplers, STOPPERS)
        if sampler != PEER or pruner(stopper) is not None
    ]
    with bench.house() as house:
        facts = [
            bench.machine(house.folder),
            bench.versions("numpy", "scipy", *([] if options.no_peers else ["optuna"])),
            f"{options.seeds} seeds",
        ]
        results = run_all(tasks, options.keep or house.folder / "runs")
    page = Page(options.kind, options.seeds, samplers, results)
    tests = page.tests()
    worse = holm(tests)
    bench.write_page(
        name,
        ABOUT + "\n" + problems,
        facts,
        *(page.section(parallel, tests, worse) for parallel in PARALLEL),
        *(page.by_problem(parallel) for parallel in PARALLEL),
    )


if __name__ == "__main__":
    main()

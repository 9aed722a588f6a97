#!/usr/bin/env python3
"""Compares the regret of our TPE with that of Optuna's, on problems whose best point is known."""

import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import statistics
import sys

import bench_house as bench
from search_problems import PROBLEMS
from search_runs import OptunaSearch, SluiceSearch, best_by_trial

HORIZONS = (50, 100, 200)
LEVEL = 0.05

ABOUT = f"""
# TPE: what it finds

The tables show the normalised regret of the point that looks best to the search: mean and standard
deviation over the seeds, after {HORIZONS[0]}, {HORIZONS[1]} and {HORIZONS[2]} trials, one trial at
a time and eight at once. A regret of 0 is the best point of the problem, and 1 is the median of
random points. Smaller is better. Where observations are noisy, the true loss of the point counts.
Optuna's sampler is its multivariate TPE with a constant liar. It uses groups where parameters are
conditional, and `constraints_func` where there are constraints. Optuna learns only after a trial
that its point violates a constraint; ours never proposes such a point.

The last columns say whether the difference could be chance. "least p" is the smallest p-value over
the three numbers of trials (two-sided Mann-Whitney test). "after Holm" is the verdict after Holm's
correction over all problems and numbers of trials, at {LEVEL:.0%}.
"""


def run_one(task):
    index, seed, parallel, name = task
    problem = PROBLEMS[index]
    if name == "optuna":
        import warnings

        warnings.simplefilter("ignore")
        search = OptunaSearch(problem, seed)
    else:
        search = SluiceSearch(problem, seed, name)
    curve = best_by_trial(problem, search, HORIZONS[-1], parallel, seed)
    search.close()
    return task, [curve[trials - 1] for trials in HORIZONS]


def scale_of(problem):
    """The median regret of random points."""
    search = SluiceSearch(problem, 12345, "random")
    losses = [problem.loss(search.ask()[1]) for _ in range(1001)]
    search.close()
    return statistics.median(losses) - problem.best


def run_all(tasks, kept):
    """Runs the tasks, without those of Optuna whose results are in the file `kept`.

    A run of Optuna always gives the same result, so it need not be run twice. Ours are run again.
    """
    results = {}
    if kept and kept.exists():
        for line in kept.read_text().splitlines():
            task, values = json.loads(line)
            results[tuple(task)] = values
    missing = [task for task in tasks if task not in results]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for count, (task, values) in enumerate(pool.map(run_one, missing, chunksize=4)):
            results[task] = values
            if count % 50 == 0:
                print(f"  {count} of {len(missing)} runs", file=sys.stderr, flush=True)
    if kept:
        peers = [(task, results[task]) for task in tasks if task[3] == "optuna"]
        kept.write_text("".join(json.dumps(item) + "\n" for item in peers))
    return results


def paired_interval(differences):
    """The mean and its 95 % interval, by the normal law: there are enough differences."""
    mean = statistics.mean(differences)
    half = 1.96 * statistics.stdev(differences) / math.sqrt(len(differences))
    return mean, mean - half, mean + half


def holm(tests):
    """Which of (p, key) are significant at LEVEL after Holm's correction."""
    found = set()
    for rank, (p, key) in enumerate(sorted(tests)):
        if p > LEVEL / (len(tests) - rank):
            break
        found.add(key)
    return found


def judge(name, ours, theirs, tests):
    from scipy.stats import mannwhitneyu

    for h, _ in enumerate(HORIZONS):
        a, b = [run[h] for run in ours], [run[h] for run in theirs]
        p = 1.0 if a == b else mannwhitneyu(a, b).pvalue
        tests.append((p, (name, h, statistics.mean(a) < statistics.mean(b))))


def section(parallel, seeds, results, scales):
    ours_of, theirs_of, tests = {}, {}, []
    for index, problem in enumerate(PROBLEMS):

        def regrets(search, index=index, problem=problem):
            runs = [results[(index, seed, parallel, search)] for seed in range(seeds)]
            return [[(v - problem.best) / scales[index] for v in run] for run in runs]

        ours_of[index], theirs_of[index] = regrets("tpe"), regrets("optuna")
        judge(problem.name, ours_of[index], theirs_of[index], tests)
    significant = holm(tests)
    rows = []
    for index, problem in enumerate(PROBLEMS):

        def shown(runs):
            means = (statistics.mean(run[h] for run in runs) for h in range(3))
            spreads = (statistics.stdev(run[h] for run in runs) for h in range(3))
            return " / ".join(f"{m:.3f} ± {s:.3f}" for m, s in zip(means, spreads, strict=True))

        mine = [key for key in significant if key[0] == problem.name]
        verdict = {(): "no difference"}.get(tuple(mine)) or ", ".join(
            f"{'better' if better else '**worse**'} at {HORIZONS[h]}"
            for _, h, better in sorted(mine, key=lambda key: key[1])
        )
        least = min(p for p, key in tests if key[0] == problem.name)
        rows.append(
            [problem.name, shown(ours_of[index]), shown(theirs_of[index]), f"{least:.3g}", verdict]
        )
    worse = [key for key in significant if not key[2]]
    lines, held = [], not worse
    for h, trials in enumerate(HORIZONS):
        pairs = [
            ours_of[index][seed][h] - theirs_of[index][seed][h]
            for index, seed in itertools.product(range(len(PROBLEMS)), range(seeds))
        ]
        mean, low, high = paired_interval(pairs)
        held = held and low <= 0
        lines.append(f"- at {trials}: {mean:+.4f}, 95 % interval [{low:+.4f}, {high:+.4f}]")
    title = "one trial at a time" if parallel == 1 else f"{parallel} trials at once"
    header = ["problem", "Sluice", "Optuna", "least p", "after Holm"]
    overall = "Sluice minus Optuna, over all problems and seeds:\n\n" + "\n".join(lines)
    bar = f"Not wholly worse, and no problem worse after Holm's correction: {bench.verdict(held)}."
    return f"## {title}\n\n{bench.table(header, rows)}\n\n{overall}\n\n{bar}"


def main():
    options = bench.arguments(__doc__, seeds=20)
    kept = os.environ.get("SLUICE_BENCH_KEEP")  # a file for the peers' runs
    tasks = [
        (index, seed, parallel, name)
        for seed in range(options.seeds)
        for parallel in (1, 8)
        for index in range(len(PROBLEMS))
        for name in ("tpe", "optuna")
    ]
    results = run_all(tasks, kept and pathlib.Path(kept))
    scales = [scale_of(problem) for problem in PROBLEMS]
    with bench.house() as house:
        facts = [bench.machine(house.folder), bench.versions("optuna"), f"{options.seeds} seeds"]
    bench.write_page(
        "search",
        ABOUT,
        facts,
        *(section(parallel, options.seeds, results, scales) for parallel in (1, 8)),
    )


if __name__ == "__main__":
    main()

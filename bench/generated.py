#!/usr/bin/env python3
"""Compares our own policy with the published ones on generated scenarios.

    bench/generated.py             runs 200 scenarios, 20 seeds each; writes the page
    bench/generated.py --show 17   prints the scenario file number 17

The page is bench/results/generated.md. The scenarios come from generated_scenarios.py, which can
make any number of them. Results on the first 1,000 were known when policies were changed. So use
`--first 1001` for scenarios that have influenced no policy.

On each scenario the script runs `confluence` and every published policy that can carry the scenario
out, all with the same seeds. It compares `confluence` with the published policy that has the best
mean, by the scenario's goal. SLUICE_BIN_DIR names the folder of the binaries to use (default:
build/release/bin).
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import generated_scenarios

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARIES = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin"))
PAGE = ROOT / "bench/results/generated.md"
COUNT = 200
LIMIT_S = 300  # a command that takes longer is taken to hang
OURS = "confluence"
REFUSES = "refuses"
PUBLISHED = [
    "fifo",
    "fifo-none",
    "lpt",
    "fluid-static",
    "fluid-dynamic",
    "hypersched",
    "hypersack-ff",
    "hypersack-ffd",
    "hypersack-wf",
    "hypersack-wfd",
    "hydro",
]
INTRODUCTION = """\
Policies on {count} scenarios that are drawn at random, numbers {first} to {last} of
`generated_scenarios.py`: clusters, studies, stoppers, widths, times and failures. The mix and the
ranges were fixed before `confluence` ran on any of them, and none was taken out.

- **The goal** of a scenario is the makespan, the error at the deadline, or the time to the target.
  The error is one minus the accuracy, or the loss. A policy without any report before the deadline
  counts as an untrained model. The time to the target is measured from a study's arrival until a
  trial reaches the target, or until the study ends without reaching it. It is the mean over the
  studies.
- **The published policies** are `fifo`, `lpt`, `fluid-*`, `hypersched`, `hypersack-*` (without the
  reference `-mip`) and `hydro`. Each runs on the scenarios that it can carry out. In scenarios with
  a deadline, `hypersched` runs with its own stopper `asha-pausing`, `confluence` without a stopper,
  and the others with the scenario's stopper. As `confluence` has no stopper there, `fifo` is also
  run without one (`fifo-none`).
- **The verdicts** compare `confluence` with the published policy that has the best mean, by paired
  differences and their 95 % interval (Student's t). The verdict is "equal" if the interval contains
  0. The same seeds choose the best published policy and compare it, which favours that policy: of
  several equal policies, the luckiest is chosen. Where two policies are truly equal, one scenario
  in forty comes out worse by chance, and one in forty better.
"""


class NotCarriedOut(Exception):
    """Raised with the reason if a policy does not carry a scenario out."""


def simulate(path, policy, seeds):
    """Runs `sluice simulate` with one policy. Returns its results."""
    flags = ["--json", "--policy", policy, "--seeds", str(seeds)]
    command = [BINARIES / "sluice", "simulate", path, *flags]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotCarriedOut(f"hangs: no answer within {LIMIT_S} s") from None
    if f"the policy {policy} " in answer.stderr and "take another policy" in answer.stderr:
        raise NotCarriedOut(REFUSES)
    if answer.returncode != 0:
        raise NotCarriedOut(f"ends with status {answer.returncode}: {answer.stderr[-300:].strip()}")
    whole = json.loads(answer.stdout)
    if whole["left_out"]:
        raise NotCarriedOut(f"leaves out {whole['left_out']}")
    return whole["policies"][0]


def measured(drawn, run):
    """The value of a run by the scenario's goal, for each seed. Smaller is better."""
    if drawn["goal"] == "makespan":
        return run["makespan_seconds"]["values"]
    if drawn["goal"] == "time-to-target":
        return run["job_completion_seconds"]["values"]
    (study,) = drawn["studies"]
    maximizes = "maximize" in study["objective"]
    curve = study["workload"]["curve"]
    untrained = curve["start"] if isinstance(curve, dict) else 0 if maximizes else 2
    values = run["studies"][0]["best_at_deadline"]["values"]
    values = [untrained if value is None else value for value in values]
    return [1 - value for value in values] if maximizes else values


def student(freedom):
    """The 97.5 % quantile of Student's t, by the expansion of Cornish and Fisher.

    It is accurate enough from 4 degrees of freedom on.
    """
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = [
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    ]
    return sum(term / freedom**power for power, term in enumerate(terms))


def compare(ours, theirs):
    """Returns the mean change, half the width of its 95 % interval, and the verdict.

    The first two are relative to their mean.
    """
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    scale = statistics.fmean(theirs)
    change = statistics.fmean(differences)
    half = student(len(ours) - 1) * statistics.stdev(differences) / len(ours) ** 0.5
    if abs(change) <= max(half, 1e-9 * scale):
        return change / scale, half / scale, "equal"
    return change / scale, half / scale, "better" if change < 0 else "worse"


def examine(number, seeds):
    """Runs all policies on one scenario, and compares ours with the best published one."""
    drawn = generated_scenarios.draw(number)
    values, refusals = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"generated-{number}.yaml"
        path.write_text(generated_scenarios.text(number))
        for policy in [*PUBLISHED, OURS]:
            if policy == "fifo-none" and "policies" not in drawn:
                continue
            try:
                values[policy] = measured(drawn, simulate(path, policy, seeds))
            except NotCarriedOut as why:
                refusals[policy] = str(why)
    row = {
        "number": number,
        "family": generated_scenarios.family(number),
        "features": generated_scenarios.features(drawn),
        "goal": drawn["goal"],
        "values": values,
        "refusals": refusals,
    }
    published = [policy for policy in PUBLISHED if policy in values]
    best = min(published, key=lambda policy: statistics.fmean(values[policy]))
    row["best"], row["theirs"] = best, statistics.fmean(values[best])
    if OURS in values:
        row["ours"] = statistics.fmean(values[OURS])
        row["change"], row["half"], row["verdict"] = compare(values[OURS], values[best])
    else:
        row["verdict"] = "worse"
    return row


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def ratio(changes):
    """The geometric mean of the ratios ours / theirs, shown as a relative change."""
    logs = [math.log(max(1e-6, 1 + change)) for change in changes]
    return f"{math.expm1(statistics.fmean(logs)):+.1%}" if logs else "-"


def counted(name, rows):
    verdicts = collections.Counter(row["verdict"] for row in rows)
    much = sum(row["verdict"] == "worse" and row.get("change", 1) > 0.02 for row in rows)
    changes = [row["change"] for row in rows if "change" in row]
    return [
        name,
        len(rows),
        *[verdicts[verdict] for verdict in ("better", "equal", "worse")],
        much,
        ratio(changes),
    ]


def amount(row, value):
    return f"{value:.4f}" if row["goal"] == "error-at-deadline" else f"{value / 60:.1f} min"


def line_of(row):
    cells = [row["number"], row["family"], row["best"], amount(row, row["theirs"])]
    if "ours" not in row:
        return [*cells, "-", row["refusals"][OURS], "worse", row["features"]]
    change = f"{row['change']:+.1%} ± {row['half']:.1%}"
    return [*cells, amount(row, row["ours"]), change, row["verdict"], row["features"]]


LINE = ["number", "family", "best published", "", OURS, "change", "verdict", "what it has"]


def against_each(rows):
    lines = []
    for policy in PUBLISHED:
        both = [row for row in rows if policy in row["values"] and OURS in row["values"]]
        pairs = [compare(row["values"][OURS], row["values"][policy]) for row in both]
        verdicts = collections.Counter(verdict for _, _, verdict in pairs)
        counts = [verdicts[verdict] for verdict in ("better", "equal", "worse")]
        best = sum(row["best"] == policy for row in rows)
        lines.append([policy, len(both), *counts, ratio([change for change, *_ in pairs]), best])
    return lines


def summary(rows):
    names = list(dict.fromkeys(generated_scenarios.FAMILIES))
    by_family = [(name, [row for row in rows if row["family"] == name]) for name in names]
    counts = [counted(name, members) for name, members in by_family if members]
    verdicts = ["better", "equal", "worse"]
    headings = ["family", "scenarios", *verdicts, "worse by more than 2 %", "mean change"]
    parts = [table(headings, [*counts, counted("**all**", rows)])]
    parts.append(f"`{OURS}` against each policy alone, where that can carry the scenario out:\n")
    headings = ["policy", "scenarios", *verdicts, "mean change", "is the best published on"]
    parts.append(table(headings, against_each(rows)))
    worse = [row for row in rows if row["verdict"] == "worse"]
    worse.sort(key=lambda row: -row.get("change", math.inf))
    parts.append(f"The worst {min(10, len(worse))}:\n")
    parts.append(table(LINE, map(line_of, worse[:10])))
    failed = [
        f"- {row['number']}, `{policy}` {why}"
        for row in rows
        for policy, why in row["refusals"].items()
        if why != REFUSES
    ]
    failed_text = "\n".join(failed) if failed else "- none"
    parts.append(
        "Policies that accepted a scenario and then failed to carry it out (policies that lack "
        f"what they need refuse a scenario, and are not listed):\n\n{failed_text}\n"
    )
    return "\n".join(parts)


def page(rows, seeds):
    revision = subprocess.run(
        [BINARIES / "sluice", "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    first = rows[0]["number"]
    flags = f"--seeds {seeds}" if first == 1 else f"--first {first} --seeds {seeds}"
    command = f"    $ bench/generated.py {flags}\n\n`{revision}`, seeds 1 to {seeds}.\n"
    whole = table(LINE, map(line_of, rows))
    return "\n".join(
        [
            "# Generated scenarios\n",
            command,
            INTRODUCTION.format(count=len(rows), first=first, last=first + len(rows) - 1),
            summary(rows),
            "## All of them\n",
            "`bench/generated.py --show NUMBER > s.yaml`, then `sluice simulate s.yaml --policy "
            f"POLICY,{OURS} --seeds {seeds}`, for each of these lines.\n",
            whole,
        ]
    )


def chosen(words):
    """'3,7,20-29' as numbers."""
    numbers = []
    for word in words.split(","):
        first, _, last = word.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--show", type=int, metavar="I", help="print scenario I, nothing else")
    parser.add_argument("--only", type=chosen, metavar="I,J,K-L", help="these alone; no page")
    parser.add_argument("--first", type=int, default=1, metavar="I", help="begin with scenario I")
    parser.add_argument("--count", type=int, default=COUNT, help="so many; no page unless 200")
    parser.add_argument("--seeds", type=int, default=20, help="at least 5")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at once")
    parser.add_argument("--raw", type=pathlib.Path, metavar="FILE", help="a JSON line for each too")
    asked = parser.parse_args()
    if asked.show is not None:
        print(generated_scenarios.text(asked.show), end="")
        return
    if asked.seeds < 5:
        parser.error("expected at least 5 seeds for an interval")
    numbers = asked.only or range(asked.first, asked.first + asked.count)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        for row in pool.map(lambda number: examine(number, asked.seeds), numbers):
            rows.append(row)
            print(*line_of(row), sep="; ", file=sys.stderr, flush=True)
            if asked.raw:
                with asked.raw.open("a") as raw:
                    raw.write(json.dumps(row) + "\n")
    if asked.only or asked.count != COUNT:
        print(summary(rows))
        return
    PAGE.write_text(page(rows, asked.seeds))
    print(f"{PAGE.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()

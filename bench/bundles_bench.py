#!/usr/bin/env python3
"""One process for many trials: durable reports a second, and how long a join takes."""

import json
import statistics

import bench_house as bench
import reports_bench

TRIALS = 64  # in the process that reports
BESIDE = 16  # in the process that trials join and leave
REPORTS_BAR = 50_000
JOINS_BAR = 1.1  # times the duration of a warm start

ABOUT = """
# One process for many trials

**Reports.** A C++ program (`bundle_sender.cc`) that `sluice tune` started carries 64 trials. Once
all have joined, it reports for each in turn, as fast as the windows let it: client, socket, codec,
engine, ledger (SQLite, synchronous FULL), acknowledgement. The clock runs from the first report
made to the last acknowledgement heard. The bar: at least 50,000 a second in all, also with every
sync delayed to 4 ms.

**Joins.** A Python program that does no work reports once for each trial. The time is measured from
the end of a trial to the first report of the next trial in the same process. That next trial is a
warm start with `sluice.trials()`, and a join with `sluice.bundle()`. First, both run with the same
study file, one trial at a time. Then a bundle has 16 trials: one leaves, and the other 15 stay
while the next one joins. The process looks for the new trial every 0.1 ms. The bar: a join takes no
longer than a warm start. Rounds differ by more than a tenth, so up to a tenth more counts as equal.
"""

REPORTS = """
study: reports
program: ["{sender}", "{trials}", "{reports}"]
space: {{x: {{float: [0, 1]}}}}
objective: {{minimize: loss}}
trials: {trials}
policy: hydro
fuse: {trials}
resources: {{cpus: 2}}
environment: {{LD_PRELOAD: ""}}
"""

JOINS = """
study: joins
program: {program}
space: {{x: {{float: [0, 1]}}}}
objective: {{minimize: loss}}
trials: {trials}
resources: {{cpus: 2}}
policy: hydro
fuse: {at_once}
"""

# WARM and BUNDLE write the times between trials to a file, in seconds. After its report, a trial
# goes on for a moment, so that the report is on disk before the trial ends.
WARM = """
import json, sys, time
import sluice

gaps, ended = [], None
for trial in sluice.trials():
    trial.report(1, loss=trial.params["x"])
    if ended:
        gaps.append(time.monotonic() - ended)
    time.sleep(0.01)
    ended = time.monotonic()
with open(sys.argv[1], "w") as file:
    json.dump(gaps, file)
"""

# A trial ends when the bundle is full again. When the last trial has joined, all trials end.
BUNDLE = """
import json, sys, time
import sluice

trials, capacity = int(sys.argv[2]), int(sys.argv[3])
gaps, ended, joined = [], None, 0
with sluice.bundle(capacity=capacity) as bundle:
    for step in bundle:
        for trial in step.joined:
            joined += 1
            trial.report(1, loss=trial.params["x"])
            if ended:
                gaps.append(time.monotonic() - ended)
        if joined == trials:
            for trial in step.trials:
                bundle.finish(trial)
        elif len(step.trials) == capacity:
            time.sleep(0.01)
            ended = time.monotonic()
            bundle.finish(step.trials[0])
        else:
            time.sleep(0.0001)  # instead of training the others
with open(sys.argv[1], "w") as file:
    json.dump(gaps, file)
"""


def bundle_rate(reports, **environment):
    """Returns reports a second, and microseconds of CPU time for each report."""
    text = REPORTS.format(sender=bench.PROGRAMS / "bundle_sender", trials=TRIALS, reports=reports)
    rate, _, cpu_us = reports_bench.rates(text, TRIALS * reports, printing=1, **environment)
    return rate, cpu_us


def gap_ms(script, trials, at_once):
    """The median time from the end of a trial to the first report of the next."""
    with bench.house() as house:
        gaps = house.folder / "gaps"
        program = [bench.PYTHON, house.write("joins.py", script), gaps, trials, at_once]
        text = JOINS.format(
            program=json.dumps(list(map(str, program))), trials=trials, at_once=at_once
        )
        house.run("tune", house.write("study.yaml", text), "-q")
        found = json.loads(gaps.read_text())
    assert len(found) == trials - at_once, f"{len(found)} times of {trials} trials"
    return statistics.median(found) * 1e3


def main():
    options = bench.arguments(__doc__, rounds=5, reports=5_000, joins=200)

    def plain():
        return bundle_rate(options.reports)

    def slow_disk():
        return bundle_rate(options.reports, LD_PRELOAD=str(bench.SHIM), SLUICE_FAULT_SYNC_MS="4")

    def warm():
        return gap_ms(WARM, options.joins, 1)

    def join_alone():
        return gap_ms(BUNDLE, options.joins, 1)

    def join_beside():
        return gap_ms(BUNDLE, options.joins, BESIDE)

    with bench.house() as house:
        facts = [bench.machine(house.folder)]
    facts.append(bench.versions())
    facts.append(
        f"medians of {options.rounds} rounds (lowest to highest); {options.reports:,} reports a "
        f"trial; a round's join is the median of {options.joins} trials"
    )
    measurements = [plain, slow_disk, warm, join_alone, join_beside]
    fast, slow, warm_ms, alone_ms, beside_ms = bench.rounds(options.rounds, *measurements)

    def reports_row(name, values):
        rates, cpu_us = zip(*values, strict=True)
        holds = bench.verdict(statistics.median(rates) >= REPORTS_BAR)
        return [name, bench.spread(rates), holds, bench.spread(cpu_us, 1)]

    def joins_row(name, values):
        ratio = statistics.median(join / start for join, start in zip(values, warm_ms, strict=True))
        return [name, bench.spread(values, 2), f"{ratio:.2f}", bench.verdict(ratio <= JOINS_BAR)]

    bench.write_page(
        "bundles",
        ABOUT,
        facts,
        bench.table(
            ["64 trials in one process", "reports a second", "the bar", "CPU time a report, µs"],
            [reports_row("Sluice", fast), reports_row("Sluice, every sync 4 ms", slow)],
        ),
        bench.table(
            ["the next trial", "ms", "of a warm start, within each round", "the bar"],
            [
                ["warm start", bench.spread(warm_ms, 2), "", ""],
                joins_row("join, one trial at a time", alone_ms),
                joins_row(f"join, {BESIDE - 1} others in the process", beside_ms),
            ],
        ),
    )


if __name__ == "__main__":
    main()

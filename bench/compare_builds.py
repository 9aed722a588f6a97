#!/usr/bin/env python3
"""Compares another checkout's build with this one's: reports, starts, and their instructions.

    python3 bench/compare_builds.py --other CHECKOUT [--rounds 10]

Both checkouts must be built (`setup/build tests`), and this one also with `setup/build bench`. The
two builds are measured in alternation.
"""

import argparse
import compileall
import contextlib
import functools
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile

import bench_house as bench

SENDERS = 8
SPAWNED = 2
MOST_SLOWER_REPORTS = 0.05
MOST_SLOWER_START = 0.10
MOST_LONGER_START_MS = 0.2

ABOUT = """
# Two builds compared

Two builds are measured in alternating rounds: that of another checkout ("the other") and that of
this one.

- Reports: 8 native programs report at the same time, as fast as the window lets them. The clock
  runs from the first report made to the last acknowledgement heard. Then one Python program reports
  alone, with the package of the checkout. Its clock runs over the whole of `sluice tune`.
- Starts: the time of the whole `sluice tune`, divided by its trials. A trial is a native program
  that prints one result, or a Python program that reports once.
- Instructions, counted by callgrind, of the controller and of the launchers: a study is compared
  with one twice as long. The difference is divided by the number of launches or reports that the
  longer study has more. Not every valgrind knows pidfds, so bench/valgrind_pidfd.c replaces them.
"""

STUDY = """
study: builds
program: {program}
space: {{x: {{float: [0, 1]}}}}
objective: {{minimize: loss}}
sampler: random
trials: {trials}
parallelism: {parallelism}
resources: {{cpus: {cpus:.3f}}}
"""

PYTHON_REPORTS = """
import sys
import sluice

trial = sluice.trial()
for work in range(1, int(sys.argv[1]) + 1):
    trial.report(work, loss=1.0 / work)
"""

PYTHON_START = """
import sluice

sluice.report(1, loss=sluice.params()["x"])
"""


class Unmeasured(Exception):
    """No trial could be run under callgrind."""


class Build:
    def __init__(self, name, root):
        self.name = name
        self.root = pathlib.Path(root).resolve()
        self.sluice = self.root / "build/release/bin/sluice"
        if not self.sluice.exists():
            raise SystemExit(f"{self.sluice} is not there: run setup/build tests in {root}")
        compileall.compile_dir(self.root / "python/sluice", quiet=1)  # as after a first start
        words = ["git", "-C", self.root, "describe", "--always", "--dirty", "--exclude=*"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        self.commit = done.stdout.strip()

    @contextlib.contextmanager
    def study(self, program, trials, parallelism):
        """A house with a study file, in which this build's `sluice` runs."""
        bench.SLUICE = self.sluice
        with bench.house() as house:
            text = STUDY.format(
                program=json.dumps([str(word) for word in program]),
                trials=trials,
                parallelism=parallelism,
                cpus=int(os.cpu_count() * 1000 / parallelism) / 1000,
            )
            house.write("study.yaml", text)
            house.write("reports.py", PYTHON_REPORTS)
            house.write("start.py", PYTHON_START)
            yield house

    def tune(self, house):
        return house.run("tune", "study.yaml", "-q", PYTHONPATH=str(self.root / "python"))[0]

    def native_reports(self, reports):
        """Reports a second, all senders together."""
        program = [bench.PROGRAMS / "sender", reports]
        with self.study(program, SENDERS, SENDERS) as house:
            self.tune(house)
            times = [json.loads(house.run("logs", trial)[1]) for trial in range(1, SENDERS + 1)]
            check_reports(house, SENDERS * reports)
        begin = min(each["first_ns"] for each in times)
        return SENDERS * reports / (max(each["last_ns"] for each in times) - begin) * 1e9

    def python_reports(self, reports):
        """Reports a second, over the whole run of `tune`."""
        with self.study([bench.PYTHON, "reports.py", reports], 1, 1) as house:
            seconds = self.tune(house)
            check_reports(house, reports)
        return reports / seconds

    def native_start(self, trials):
        """Milliseconds for each trial."""
        return self.start_ms([bench.PROGRAMS / "trivial"], trials)

    def python_start(self, trials):
        return self.start_ms([bench.PYTHON, "start.py"], trials)

    def start_ms(self, program, trials):
        with self.study(program, trials, SPAWNED) as house:
            seconds = self.tune(house)
            check_reports(house, trials)
        return seconds / trials * 1e3

    def instructions(self, program, trials, parallelism):
        """Returns the instructions of the controller, and those of all launchers together."""
        with self.study(program, trials, parallelism) as house:
            words = [
                "valgrind",
                "--tool=callgrind",
                "--trace-children=yes",
                "--trace-children-skip=*/trivial,*/sender,/bin/sh,/usr/bin/*",
                f"--callgrind-out-file={house.folder}/callgrind.%p",
                str(self.sluice),
                "tune",
                "study.yaml",
                "-q",
            ]
            environment = {
                **os.environ,
                "SLUICE_STORE": str(house.store),
                "LD_PRELOAD": str(pidfd_shim()),
            }
            subprocess.run(
                words, cwd=house.folder, env=environment, check=False, capture_output=True
            )
            with contextlib.closing(sqlite3.connect(house.store)) as database:
                if not database.execute("SELECT count(*) FROM reports").fetchone()[0]:
                    raise Unmeasured
            counted = {"sluice": 0, "sluice-launcher": 0}
            for path in house.folder.glob("callgrind.*"):
                name, count = read_callgrind(path)
                counted[name] += count
        return counted["sluice"], counted["sluice-launcher"]


@functools.cache
def pidfd_shim():
    """Compiles bench/valgrind_pidfd.c, a library that makes pidfds work under valgrind."""
    library = pathlib.Path(tempfile.mkdtemp(prefix="sluice-bench-")) / "valgrind_pidfd.so"
    source = pathlib.Path(__file__).with_name("valgrind_pidfd.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def read_callgrind(path):
    """The program's name and how many instructions it ran."""
    name, count = "", 0
    for line in path.read_text().splitlines():
        if line.startswith("cmd:"):
            name = pathlib.Path(line.split()[1]).name
        if line.startswith(("summary:", "totals:")):
            count = int(line.split()[1])
    return name, count


def check_reports(house, count):
    with contextlib.closing(sqlite3.connect(house.store)) as database:
        kept = database.execute("SELECT count(*) FROM reports").fetchone()[0]
    assert kept == count, f"{kept} reports of {count} are on disk"


def cost(build, options):
    """Returns the instructions of a launch (controller, launcher) and of a report (controller)."""
    few, many = options.launches, 2 * options.launches
    trivial = [bench.PROGRAMS / "trivial"]
    short = build.instructions(trivial, few, SPAWNED)
    long = build.instructions(trivial, many, SPAWNED)
    launch = [(b - a) / (many - few) for a, b in zip(short, long, strict=True)]
    few, many = options.counted_reports, 2 * options.counted_reports
    short = build.instructions([bench.PROGRAMS / "sender", few], 1, 1)
    long = build.instructions([bench.PROGRAMS / "sender", many], 1, 1)
    report = (long[0] - short[0]) / (many - few)
    return launch[0], launch[1], report


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--other", required=True, help="the other checkout, built")
    for name, value in {
        "rounds": 10,
        "reports": 20_000,
        "python-reports": 5_000,
        "starts": 200,
        "python-starts": 40,
        "launches": 50,
        "counted-reports": 2_000,
    }.items():
        parser.add_argument("--" + name, type=int, default=value)
    return parser.parse_args()


def main():
    options = read_options()
    builds = [Build("other", options.other), Build("this", bench.ROOT)]
    with bench.house() as house:
        facts = [bench.machine(house.folder)]
    facts.append(f"the other: {builds[0].commit}; this: {builds[1].commit}")
    facts.append(f"medians of {options.rounds} rounds (lowest to highest)")
    kinds = [
        ("reports a second, 8 native programs", "native_reports", options.reports),
        ("reports a second, a Python program", "python_reports", options.python_reports),
        ("ms a start, native", "native_start", options.starts),
        ("ms a start, Python", "python_start", options.python_starts),
    ]

    def measurement(build, method, size):
        def measure():
            return getattr(build, method)(size)

        measure.__name__ = f"{build.name} {method}"
        return measure

    values = bench.rounds(
        options.rounds,
        *(measurement(build, method, size) for _, method, size in kinds for build in builds),
    )
    rows = []
    for index, (what, method, _) in enumerate(kinds):
        other, this = values[2 * index], values[2 * index + 1]
        before, after = statistics.median(other), statistics.median(this)
        if method.endswith("reports"):
            holds = after >= before * (1 - MOST_SLOWER_REPORTS)
            bar = "at most 5 % fewer"
            texts = [bench.spread(other), bench.spread(this)]
        else:
            holds = after <= max(before * (1 + MOST_SLOWER_START), before + MOST_LONGER_START_MS)
            bar = "at most 10 % or 0.2 ms longer"
            texts = [bench.spread(other, 2), bench.spread(this, 2)]
        rows.append([what, *texts, f"{after / before:.3f}", f"{bar}: {bench.verdict(holds)}"])
    try:
        before, after = (cost(build, options) for build in builds)
    except Unmeasured:
        before = after = ()
    for what, old, new in zip(
        [
            "instructions of a launch, controller",
            "instructions of a launch, launcher",
            "instructions of a report, controller",
        ],
        before,
        after,
        strict=False,
    ):
        rows.append([what, f"{old:,.0f}", f"{new:,.0f}", f"{new / old:.3f}", ""])
    bench.write_page(
        "builds", ABOUT, facts, bench.table(["", "the other", "this", "ratio", "the bar"], rows)
    )


if __name__ == "__main__":
    main()

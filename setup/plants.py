"""Switches on one planted bug after another, and says which seed finds the bug.

    python setup/plants.py SLUICE_FAULTS [--quick | --record] [--seeds N] [--jobs N] [NAME...]

SLUICE_FAULTS is the program sluice-faults of a build with planted bugs (cmake --preset planted). A
bug is found if a checker reports a problem, or a broken invariant ends the program. A hunt tries
the seeds from 0 on. With --quick, the first few seeds are those from the one that found the bug
last (tests/sim/plants.txt). If none of them finds the bug, a short hunt follows, because any change
to the simulation may move a bug to other seeds.
--record writes the seeds that find the bugs to tests/sim/plants.txt.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

RECORDED = pathlib.Path(__file__).resolve().parent.parent / "tests" / "sim" / "plants.txt"
QUICK_SEEDS = 20
QUICK_HUNT = 300


@dataclasses.dataclass
class Find:
    found: bool
    how: str
    seed: int = -1
    seconds: float = 0


def hunt(program, bug, first, seeds):
    """Tries `seeds` seeds from `first` on. Ends at the seed that finds the bug.

    `bug` is the words of its line in the list: its name, and the options that the hunt needs.
    """
    command = [program, "--plant", *bug, "--seed", str(first), "--seeds", str(seeds)]
    start = time.monotonic()
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = time.monotonic() - start
    if run.returncode == 0:
        return Find(False, f"not found by {seeds} seeds from {first} on", seconds=seconds)
    for line in run.stdout.splitlines():
        told = re.match(r"seed (\d+): ", line)
        if told or "broken invariant" in line:
            return Find(True, line, int(told[1]) if told else -1, seconds)
    how = f"exit status {run.returncode}: {run.stdout[-300:]}"
    return Find(False, how, seconds=seconds)


def hunt_quickly(program, bug, recorded):
    if bug[0] in recorded:
        find = hunt(program, bug, recorded[bug[0]], QUICK_SEEDS)
        if find.found:
            return find
    return hunt(program, bug, 0, QUICK_HUNT)


def read_recorded():
    if not RECORDED.exists():
        return {}
    lines = [line.split() for line in RECORDED.read_text().splitlines()]
    return {words[0]: int(words[1]) for words in lines if words and not words[0].startswith("#")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    listed = subprocess.run([options.program, "--plants"], check=True, stdout=subprocess.PIPE,
                            text=True).stdout.splitlines()
    bugs = [line.split() for line in listed]
    bugs = [bug for bug in bugs if not options.names or bug[0] in options.names]
    recorded = read_recorded()

    def look(bug):
        if options.quick:
            return hunt_quickly(options.program, bug, recorded)
        return hunt(options.program, bug, 0, options.seeds)

    missed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for bug, find in zip(bugs, pool.map(look, bugs), strict=True):
            missed += not find.found
            print(f"{bug[0]:20} {find.how} ({find.seconds:.1f} s)", flush=True)
            if find.seed >= 0:
                recorded[bug[0]] = find.seed
    print(f"{len(bugs) - missed} of {len(bugs)} planted bugs were found")
    if options.record:
        names = [line.split()[0] for line in listed]
        lines = [f"{name} {recorded[name]}" for name in names if name in recorded]
        RECORDED.write_text("# A seed that finds each planted bug, as setup/plants.py --record "
                            "found it.\n" + "\n".join(lines) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

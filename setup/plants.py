"""Switches on each planted bug in turn, and says which seed finds it.

    python setup/plants.py SLUICE_FAULTS [--seeds N] [--jobs N] [NAME...]

SLUICE_FAULTS is the program of a build with planted bugs (cmake --preset planted). A bug is found
by a problem that a checker tells, or by a broken invariant that ends the program.
"""

import argparse
import concurrent.futures
import re
import subprocess
import sys


def hunt(program, bug, seeds):
    """Returns whether it was found, and how."""
    command = [program, "--plant", bug, "--seeds", str(seeds)]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode == 0:
        return False, f"not found by {seeds} seeds"
    for line in run.stdout.splitlines():
        if re.match(r"seed \d+: ", line) or "broken invariant" in line:
            return True, line
    return False, f"exit status {run.returncode}: {run.stdout[-300:]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    listed = subprocess.run([options.program, "--plants"], check=True, stdout=subprocess.PIPE,
                            text=True).stdout.split()
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bugs = options.names or listed
        hunts = [pool.submit(hunt, options.program, bug, options.seeds) for bug in bugs]
        for bug, result in zip(bugs, hunts, strict=True):
            found, how = result.result()
            missed += not found
            print(f"{bug:20} {how}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} planted bugs were found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

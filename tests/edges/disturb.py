"""Runs studies, disturbs them at random in every way that the list of edges names, and checks them.

    python tests/edges/disturb.py --count 1000 --seed 1 [--jobs 2] [--seconds S] [--keep FOLDER]
    python tests/edges/disturb.py --again 1.17

`--count` disturbances are made in all, a few in each study. Each study prints a line: its seed,
what it ran, what was done to it. A study that breaks a promise says which, and its folder is kept;
`--again SEED` draws the same study and the same disturbances (the instants differ). Exits with 1 if
any study broke a promise.

After its disturbances each study is left alone and must come to its end. Then holds:

- every trial is complete, with the right value of each epoch once. Not so a trial that spoiled its
  own files, nor one without the package whose output met a full disk: that one says so in its note;
- no two launches of a trial were ever at work at once, and no stranger's report counts;
- no command and no controller crashed, and no command ended with an error and without a word;
- nothing of it runs, neither at its end nor after a second Ctrl-C; if its last controller was
  killed, at the end of the next command that starts a controller;
- `sluice doctor` and its replay say ok.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from disturbed import Broken, Disturbed  # noqa: E402
from house import SLUICE  # noqa: E402

MOST_BROKEN = 25  # then something else is wrong, or all is known


class Tally:
    """What all studies came to. Studies of several threads add to it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.studies = 0
        self.broken = []
        self.disturbances = collections.Counter()

    def add(self, study, why, seconds):
        with self.lock:
            self.studies += 1
            self.disturbances.update(re.sub(r" [0-9.]+( s)?$", "", said) for said in study.done)
            done = "; ".join(study.done) or "nothing"
            end = "ok" if why is None else f"BROKEN: {why}"
            print(f"{study.seed} [{study.title()}] {done}: {end} ({seconds:.1f} s)", flush=True)
            if why is not None:
                self.broken.append(study.seed)

    def count(self):
        with self.lock:
            return sum(self.disturbances.values())


def run_study(root, seed, tally):
    study = Disturbed(root, seed)
    why = None
    try:
        study.run()
    except Broken as error:
        why = str(error)
    except (AssertionError, OSError, ValueError, sqlite3.Error) as error:
        why = f"{type(error).__name__}: {error}"
    except subprocess.SubprocessError as error:
        why = f"{type(error).__name__}: {error}"
    finally:
        study.close(keeps=why is not None)
    tally.add(study, why, time.monotonic() - study.begin)


def work_off(options, root, tally, numbers, until):
    while (
        tally.count() < options.count
        and time.monotonic() < until
        and len(tally.broken) < MOST_BROKEN
    ):
        run_study(root, f"{options.seed}.{next(numbers)}", tally)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=100, help="disturbances in all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1, help="studies at once")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no study after")
    parser.add_argument("--keep", default="", help="where the folders of broken studies stay")
    parser.add_argument("--again", default="", help="the seed of one study, to run it again")
    return parser.parse_args()


def main():
    options = read_options()
    if not os.path.exists(SLUICE):
        sys.exit(f"{SLUICE} is not there: build it, or set SLUICE_BIN_DIR")
    root = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="sluice-disturb-"))
    root.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    if options.again:
        run_study(root, options.again, tally)
    else:
        numbers, until = iter(range(1, 10**9)), time.monotonic() + options.seconds
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            threads = [
                pool.submit(work_off, options, root, tally, numbers, until)
                for _ in range(options.jobs)
            ]
            for thread in threads:
                thread.result()
    for name, count in sorted(tally.disturbances.items()):
        print(f"{count:6} {name}")
    print(
        f"{tally.studies} studies, {tally.count()} disturbances, {len(tally.broken)} broken"
        + (f", kept in {root}: {' '.join(tally.broken)}" if tally.broken else "")
    )
    if not tally.broken and not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints how long each room and each program took to build, and its units, from ninja's log.

    python bench/build_times.py build/release build/fuzz ...

If an output was built several times, the last build counts. The log has the wall-clock time of each
command, so other work on the machine makes the times longer.
"""

import collections
import pathlib
import re
import sys

TARGET = re.compile(r"(?:.*/)?CMakeFiles/([\w-]+)\.dir/")


def last_times(folder):
    """Returns a dict: output -> (start, end) of its last build, in seconds."""
    times = {}
    for line in (pathlib.Path(folder) / ".ninja_log").read_text().splitlines():
        if not line.startswith("#"):
            start, end, _, output, _ = line.split("\t")
            times[output] = int(start) / 1000, int(end) / 1000
    return times


def target_of(output):
    match = TARGET.match(output)
    return match.group(1).removeprefix("sluice_") if match else "links, archives and lists of tests"


def main():
    for folder in sys.argv[1:]:
        seconds, units = collections.Counter(), collections.Counter()
        for output, (start, end) in last_times(folder).items():
            seconds[target_of(output)] += end - start
            units[target_of(output)] += 1
        print(f"\n## {folder}\n\n| room or target | units | core seconds |\n|---|---:|---:|")
        for target, took_s in seconds.most_common():
            print(f"| {target} | {units[target]} | {took_s:.1f} |")
        print(f"| all | {units.total()} | {seconds.total():.1f} |")


if __name__ == "__main__":
    main()

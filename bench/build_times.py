"""What each room and each program of a build took, from ninja's log: core seconds and units.

    python bench/build_times.py build/release build/fuzz ...

A folder that was built in several goes counts each output's last time. The log has wall-clock times
of each command, so other work on the machine counts in.
"""

import collections
import pathlib
import re
import sys

TARGET = re.compile(r"(?:.*/)?CMakeFiles/([\w-]+)\.dir/")


def last_times(folder):
    """Output -> (start, end) in seconds."""
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

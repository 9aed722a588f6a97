"""Runs clang-tidy over the compiled sources that changed since they last passed.

    python setup/tidy.py BUILD_FOLDER [PREFIX...]    (such as: build/release src/engine/)

When a source passes, its stamp in BUILD_FOLDER/tidy is renewed. The source is not checked again as
long as the source, all headers that it includes, and .clang-tidy are older than the stamp.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def headers_of(build):
    """Returns a dict: object file -> the files that its compilation has read, as ninja knows."""
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    deps = {}
    target = ""
    for line in listing.splitlines():
        if line.startswith("    "):
            deps[target].append(build / line.strip())  # an absolute path stays as it is
        elif ":" in line:
            target = line.split(":")[0]
            deps[target] = []
    return deps


def is_clean(stamp, inputs):
    if not stamp.exists():
        return False
    passed_at = stamp.stat().st_mtime_ns
    return all(path.exists() and path.stat().st_mtime_ns < passed_at for path in inputs)


def tidy(build, source):
    """Returns the time of the start, the exit status and the findings."""
    # libstdc++ 12 uses functions that it declares deprecated (in std::stable_sort).
    command = ["clang-tidy-19", "--quiet", "--extra-arg=-Wno-deprecated-declarations",
               "-p", str(build), str(source)]
    if source.name.endswith("_test.cc"):
        # Following every path through the macros of tests takes most of the time and finds nothing.
        command.insert(1, "--checks=-clang-analyzer-*")
    start = time.time()
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True)
    return start, run.returncode, run.stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    prefixes = tuple(sys.argv[2:]) or ("src/", "apps/", "tests/", "bench/")
    deps = headers_of(build)
    work = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        name = os.path.relpath(source, ROOT)
        stamp = build / "tidy" / name
        command = shlex.split(entry["command"])
        read = deps.get(command[command.index("-o") + 1])
        clean = read is not None and is_clean(stamp, [source, ROOT / ".clang-tidy", *read])
        if name.startswith(prefixes) and source.suffix == ".cc" and not clean:
            work[source] = stamp
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (source, stamp), (start, status, output) in zip(
                work.items(), pool.map(lambda source: tidy(build, source), work), strict=True):
            if status == 0:
                stamp.parent.mkdir(parents=True, exist_ok=True)
                stamp.touch()
                os.utime(stamp, (start, start))  # so that an edit made during the run is newer
            else:
                failed += 1
                print(output.strip() or f"clang-tidy could not read {source}", flush=True)
    print(f"clang-tidy: {len(work)} sources looked at, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

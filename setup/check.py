"""Runs the test suites, prints which tests fail, and ends with one line: N passed, N failed.

    python setup/check.py [--room ROOM] [--preset PRESET] [--fuzz-seconds S] [--jobs N]

ROOM is a folder of src, or rig, contract, python, oracle, fused, conversations, e2e, edges,
includes, lean, fuzz, or plants. If PRESET is not release, only the C++ tests of that preset's
build are run. Passing tests print nothing.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTEST_SUITES = {
    "includes": "tests/includes_test.py",
    "lean": "tests/lean",
    "python": "python/tests",
    "oracle": "tests/model",
    "fused": "tests/train",
    "conversations": "tests/client",
    "e2e": "tests/e2e",
    "edges": "tests/edges",
}
# Suites whose tests run in parallel. The tests of `oracle` do not: they share exported networks.
PARALLEL_SUITES = ("conversations", "e2e", "python", "edges", "fused")
CTEST_NOISE = re.compile(
    r"^\s*(Start\s+\d+:|\d+/\d+ Test\s+#\d+:.*(Passed|\*\*\*Skipped)|Test project |Internal ctest|"
    r"Total Test time|Errors while running|\d+% tests passed|Label Time Summary|$)"
)


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def stream(command, noise=None, env=None):
    """Runs a command. Prints its output, without lines that match `noise`. Returns its status."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace",
    )
    for line in process.stdout:
        if not (noise and noise.match(line)):
            print(line, end="", flush=True)
    return process.wait()


def read_junit(path, status):
    """Counts the cases in a JUnit file.

    If the runner failed (status) and the file has no failed case, one failed case is counted.
    """
    tally = Tally()
    if path.exists():
        for case in ElementTree.parse(path).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                tally.failed += 1
            elif case.find("skipped") is not None:
                tally.skipped += 1
            else:
                tally.passed += 1
    if status != 0 and tally.failed == 0:
        tally.failed = 1
    return tally


def fresh(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def run_ctest(preset, room, jobs):
    build = ROOT / "build" / preset
    report = fresh(build / "report-ctest.xml")
    command = [
        "ctest", "--test-dir", str(build), "-j", str(jobs), "--output-on-failure",
        "--timeout", "300", "--no-tests=ignore", "--output-junit", str(report),
    ]
    if room:
        command += ["-R", rf"^([a-z]+_)*{re.escape(room)}_"]
    return read_junit(report, stream(command, CTEST_NOISE))


def run_pytest(name, jobs):
    report = fresh(ROOT / "build" / f"report-{name}.xml")
    command = [
        sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider",
        f"--junit-xml={report}", PYTEST_SUITES[name],
    ]
    if name in PARALLEL_SUITES:
        command += ["-n", str(jobs), "--dist", "worksteal"]
    noise = re.compile(r"^([.s]+ +\[ *\d+%\]|bringing up nodes.*|"
                       r"\d+ (passed|skipped).* in .*|- generated xml.*|$)")
    status = stream(command, noise)
    return Tally() if status == 5 else read_junit(report, status)  # 5: a suite without tests


def run_fuzzer(binary, seconds):
    """Runs a fuzz target. Returns the output if it found a bug, else an empty text."""
    name = binary.name.removesuffix("_fuzz")
    grown = ROOT / "build" / "fuzz" / "corpus" / name
    crashes = ROOT / "build" / "fuzz" / "crashes"
    grown.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(parents=True, exist_ok=True)
    command = [
        str(binary), f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
        f"-artifact_prefix={crashes}/{name}-", "-verbosity=0", str(grown),
    ]
    seeds = ROOT / "tests" / "fuzz" / "corpus" / name
    if seeds.is_dir():
        command.append(str(seeds))
    words = ROOT / "tests" / "fuzz" / f"{name}.dict"
    if words.exists():
        command.append(f"-dict={words}")
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1",
               UBSAN_OPTIONS="print_stacktrace=1",
               ASAN_SYMBOLIZER_PATH=shutil.which("llvm-symbolizer-19") or "")
    run = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace")
    return "" if run.returncode == 0 else run.stdout[-6000:] or f"exit status {run.returncode}"


def run_fuzzers(seconds, jobs):
    sources = sorted((ROOT / "tests" / "fuzz").glob("*_fuzz.cc"))
    binaries = [ROOT / "build" / "fuzz" / "bin" / source.stem for source in sources]
    tally = Tally()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outputs = pool.map(lambda binary: run_fuzzer(binary, seconds), binaries)
        for binary, output in zip(binaries, outputs, strict=True):
            if output:
                tally.failed += 1
                print(f"{binary.name} failed:\n{output}", flush=True)
            else:
                tally.passed += 1
    return tally


def run_plants(jobs):
    """Looks for each planted bug from the seed that found it last. Prints which are not found."""
    program = ROOT / "build" / "planted" / "bin" / "sluice-faults"
    command = [sys.executable, "setup/plants.py", str(program), "--quick", "--jobs", str(jobs)]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    counts = re.search(r"^(\d+) of (\d+) planted bugs were found$", run.stdout, re.MULTILINE)
    if run.returncode != 0:
        print(run.stdout, end="", flush=True)
    if not counts:
        return Tally(failed=1)
    return Tally(passed=int(counts[1]), failed=int(counts[2]) - int(counts[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--room", default="")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--fuzz-seconds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    room = options.room

    suites = []
    if room not in PYTEST_SUITES and room not in ("fuzz", "plants"):
        suites.append(("C++", lambda: run_ctest(options.preset, room, options.jobs)))
    if options.preset == "release":
        for name, path in PYTEST_SUITES.items():
            if room in ("", name) and (ROOT / path).exists():
                suites.append((name, lambda name=name: run_pytest(name, options.jobs)))
        if room in ("", "fuzz"):
            suites.append(("fuzz", lambda: run_fuzzers(options.fuzz_seconds, options.jobs)))
        if room in ("", "plants"):
            suites.append(("plants", lambda: run_plants(options.jobs)))

    total = Tally()
    for name, run in suites:
        start = time.monotonic()
        tally = run()
        total.add(tally)
        skipped = f", {tally.skipped} skipped" if tally.skipped else ""
        seconds = time.monotonic() - start
        print(f"{name}: {tally.passed} passed, {tally.failed} failed{skipped} ({seconds:.1f} s)",
              flush=True)
    if room and total.passed + total.failed + total.skipped == 0:
        print(f"no tests are known of '{room}'")
        return 1
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

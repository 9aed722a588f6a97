"""Code that the benchmarks share: runs `sluice` on a store of its own, and writes result pages."""

import argparse
import contextlib
import importlib.metadata
import os
import pathlib
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARIES = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/bench/bin"))
SLUICE = BINARIES / "sluice"
SHIM = BINARIES.parent / "lib/libfault_shim.so"
PROGRAMS = ROOT / "build/bench/bin"  # sender, trivial, big_store
PYTHON = ROOT / ".venv/bin/python"
RESULTS = ROOT / "bench/results"


def _cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class House:
    """A folder with a store and study files, in which `sluice` is run."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.store = self.folder / "s.db"
        self.cpu_seconds = 0.0  # the CPU time of the last run()

    def run(self, *words, check=True, **environment):
        """Runs a verb of `sluice` to its end. Returns the seconds it took, and its output."""
        command = [str(SLUICE), *map(str, words)]
        before = _cpu_of_children()
        start = time.monotonic()
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**os.environ, "SLUICE_STORE": str(self.store), **environment},
            check=False,
        )
        seconds = time.monotonic() - start
        self.cpu_seconds = _cpu_of_children() - before
        if check and done.returncode != 0:
            raise SystemExit(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return seconds, done.stdout

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


@contextlib.contextmanager
def house():
    """A new House in the checkout, and so on the disk: a user's store is not in memory either."""
    (ROOT / "build").mkdir(exist_ok=True)
    folder = tempfile.mkdtemp(prefix="b", dir=ROOT / "build")
    try:
        yield House(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sync_ms(folder, times=50):
    """The median time of one synced write of 4 KiB. A commit takes at least as long."""
    path = pathlib.Path(folder) / "sync"
    took_ms = []
    with open(path, "wb", buffering=0) as file:
        for _ in range(times):
            file.write(b"x" * 4096)
            start = time.monotonic()
            os.fdatasync(file.fileno())
            took_ms.append((time.monotonic() - start) * 1e3)
    path.unlink()
    return statistics.median(took_ms)


def arguments(description, **defaults):
    """Reads the command line. Each default becomes a flag that takes a whole number."""
    parser = argparse.ArgumentParser(description=description)
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=value)
    parser.add_argument("--no-peers", action="store_true", help="measure Sluice alone")
    return parser.parse_args()


def rounds(times, *measurements):
    """Runs each measurement once in a round, for `times` rounds. Returns their values.

    Other load on the machine then affects all measurements alike.
    """
    values = [[] for _ in measurements]
    for turn in range(times):
        for measure, into in zip(measurements, values, strict=True):
            into.append(measure())
            note = f"  round {turn + 1}: {measure.__name__}: {into[-1]}"
            print(note, file=sys.stderr, flush=True)
    return values


def spread(values, digits=0):
    """The median, with the lowest and the highest value."""
    middle = f"{statistics.median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def verdict(holds):
    return "holds" if holds else "**fails**"


def _cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def machine(folder):
    """Describes the machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = platform.release().split("-")[0]
    return (
        f"{os.cpu_count()} cores ({_cpu_model()}), {memory:.0f} GiB of memory, Linux {system}; "
        f"a synced 4 KiB write takes {sync_ms(folder):.2f} ms; "
        f"load {os.getloadavg()[0]:.1f} before the run (idle: 0)"
    )


def versions(*packages):
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    parts = [f"Sluice at {commit}", f"Python {platform.python_version()}"]
    parts += [f"{name} {importlib.metadata.version(name)}" for name in packages]
    return ", ".join(parts)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def write_page(name, about, facts, *parts):
    """Writes bench/results/NAME.md: `about` with its title, the command, the facts, the results."""
    command = " ".join([f"bench/{pathlib.Path(sys.argv[0]).name}", *sys.argv[1:]])
    head = [about.strip(), f"`python3 {command}`, {time.strftime('%Y-%m-%d')}"]
    page = "\n\n".join(head + ["\n".join(f"- {fact}" for fact in facts), *parts]) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page)
    print(page)

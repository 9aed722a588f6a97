"""A seed is the same world on every compiler: `sluice-faults --digests`."""

import subprocess

import pytest
from house import BINARIES, ROOT

PINNED = ROOT / "tests/sim/digests.txt"
CLANG = ROOT / "build/planted/bin/sluice-faults"  # with no bug switched on


def digests(program, *words):
    run = subprocess.run([program, "--digests", *words], check=True, text=True,
                         stdout=subprocess.PIPE)
    return run.stdout


def test_worlds_are_those_that_are_written_down():
    """A change to the worlds, or to what is digested, asks for a new file: the command below writes
    it. GCC and clang give the same; if they do not, a draw depends on the compiler (two in the
    arguments of one call, say)."""
    command = "build/release/bin/sluice-faults --digests --seeds 12 --events 1000"
    assert digests(BINARIES / "sluice-faults", *command.split()[2:]) == PINNED.read_text(), (
        f"renew: {command} > tests/sim/digests.txt")


def test_gcc_and_clang_make_the_same_worlds():
    if not CLANG.exists():
        pytest.skip("no build of the second compiler: make plants makes one")
    made = CLANG.stat().st_mtime
    sources = [path for folder in ("src", "tests/sim", "tests/rig")
               for path in (ROOT / folder).rglob("*")
               if path.suffix in (".h", ".cc") and not path.stem.endswith("_test")]
    if any(path.stat().st_mtime > made for path in sources):
        pytest.skip("the second compiler's build is older than the sources: make plants")
    words = ("--seeds", "20", "--events", "2000")
    assert digests(CLANG, *words) == digests(BINARIES / "sluice-faults", *words)

"""`sluice-trainer check` at the command line."""

import os
import pathlib
import re
import subprocess

import pytest

BIN = os.environ.get("SLUICE_BIN_DIR", pathlib.Path(__file__).parents[2] / "build/release/bin")
TRAINER = pathlib.Path(BIN) / "sluice-trainer"
NETWORK = "zoo:mlp,in=12,hidden=64"


def check(*words, memory=None):
    limit = [] if memory is None else ["prlimit", f"--data={memory}"]
    command = [*limit, TRAINER, "check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_network_is_checked_and_plotted(tmp_path):
    told = check(NETWORK, "--svg", tmp_path / "plot.svg")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("fused       equal: largest difference ")
    assert "\ncoordinates alike: sizes at widths 1/1, 1/2, 1/4, 1/8 follow " in told.stdout
    assert (tmp_path / "plot.svg").read_text().endswith("</svg>\n")


def test_what_differs_fails():
    wide = "zoo:mlp,in=16,hidden=256,layers=3"
    told = check(wide, "--rule", "standard", "--keep-readout", "--without", "fused")
    assert told.returncode == 1
    assert told.stdout.startswith("coordinates differ: ")


def test_what_the_memory_does_not_suffice_for_is_unchecked():
    told = check("zoo:mlp,in=64,hidden=1024,layers=3", memory=200 << 20)
    assert told.returncode == 0, told.stderr
    for name in ("fused      ", "coordinates"):
        assert re.search(f"^{name} unchecked: .*not enough memory", told.stdout, re.MULTILINE)


@pytest.mark.parametrize("words, message", [
    ([], "expected a network, found none"),
    ([NETWORK, "other"], "expected one network, found 'other' after it"),
    ([NETWORK, "--fast"], "expected a flag of check, found '--fast'"),
    ([NETWORK, "--svg"], "expected a value after --svg"),
    ([NETWORK, "--optimizer", "lion"], "--optimizer: expected sgd, adam or adamw, found 'lion'"),
    ([NETWORK, "--scale", "0.5"], "--scale: expected a number from 1 to 1000000, found '0.5'"),
    ([NETWORK, "--without", "all"],
     "--without: expected forward, fused or coordinates, found 'all'"),
    ([NETWORK, "--svg", "x.svg", "--without", "coordinates"],
     "--svg: expected coordinates to be checked; remove --without"),
])
def test_wrong_usage(words, message):
    told = check(*words)
    assert told.returncode == 2
    assert told.stderr == f"sluice-trainer: check: {message}; see check --help\n"


def test_a_network_that_is_not_there_fails(tmp_path):
    told = check(tmp_path / "net.pt2")
    assert told.returncode == 1
    assert str(tmp_path / "net.pt2") in told.stderr


def test_help_is_printed():
    told = check("--help")
    assert told.returncode == 0
    assert "coordinates" in told.stdout

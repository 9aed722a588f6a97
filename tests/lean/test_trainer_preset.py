"""The preset `trainer`: sluice-trainer from the headers that travel and a PyTorch."""

import importlib.util
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "setup" / "lean_headers"


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="there is no PyTorch in this Python"
)
def test_it_needs_the_headers_that_travel_and_pytorch(tmp_path):
    """Configures only: to compile the room is left to the release build."""
    carried, build = tmp_path / "carried", tmp_path / "build"
    subprocess.run([HEADERS, "--copy", carried], check=True)
    there = {path.name for path in (carried / "include").iterdir()}
    assert there == {"fmt", "nlohmann", "xxh3.h", "xxhash.h"}
    nothing_else = {
        "FIND_ROOT_PATH": carried,
        "FIND_ROOT_PATH_MODE_INCLUDE": "ONLY",
        "FIND_ROOT_PATH_MODE_PACKAGE": "ONLY",
        "PREFIX_PATH": "/",
    }
    subprocess.run(
        ["cmake", "--preset", "trainer", "-B", build]
        + [f"-DCMAKE_{name}={value}" for name, value in nothing_else.items()],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "sluice-trainer"],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
    of_room = next(line for line in commands.splitlines() if "sluice_train_0.cc.o " in line)
    includes = re.findall(r"-isystem (\S+)", of_room)
    assert [path for path in includes if not path.endswith("torch/include")] == [
        str(carried / "include")
    ]


def test_what_copies_headers_says_how_it_is_called():
    said = subprocess.run([HEADERS, "--copy"], text=True, stderr=subprocess.PIPE)
    assert said.returncode == 2
    assert "expected nothing, or --copy FOLDER" in said.stderr

"""Every client holds the conversations of tests/conversations as they are written."""

import os
import pathlib
import sys

import pytest
from conversation import Conversation, Mismatch, Player

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build" / "release" / "bin"))
CPP_DRIVER = BINARIES / "client-driver"
PYTHON_DRIVER = pathlib.Path(__file__).with_name("driver.py")
FILES = sorted((ROOT / "tests" / "conversations").glob("*.txt"))


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    return {**kept, "PYTHONPATH": str(ROOT / "python")}


def play(path, driver, tmp_path):
    Player(Conversation(path), [str(word) for word in driver], tmp_path, environment()).play()


def test_there_are_conversations_of_both_versions():
    assert {Conversation(path).version for path in FILES} == {1, 2}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_python(path, tmp_path):
    play(path, [sys.executable, PYTHON_DRIVER], tmp_path)


@pytest.mark.parametrize("path", [each for each in FILES if Conversation(each).version == 2],
                         ids=lambda path: path.stem)
def test_cpp(path, tmp_path):
    if not CPP_DRIVER.exists():
        pytest.fail(f"{CPP_DRIVER} is not built: make test ROOM=conversations")
    play(path, [CPP_DRIVER], tmp_path)


WRONG = [
    ("another value", 'worker: {"type":"report","trial":7,"launch":1,"seq":1,"work":1,'
                      '"values":{"loss":0.6}}'),
    ("another order", 'worker: {"type":"report","trial":7,"launch":1,"seq":2,"work":2,'
                      '"values":{"loss":0.25}}'),
    ("a file that is there", "folder: 7.1 no conversations"),
    ("another end", "process: exit 3"),
]


@pytest.mark.parametrize("line", [line for _, line in WRONG], ids=[name for name, _ in WRONG])
def test_a_client_that_does_something_else_is_found(line, tmp_path):
    path = tmp_path / "wrong.txt"
    path.write_text('version: 1\nterms: {"lease_ms":500}\n'
                    "program: report 7 1 loss=0.5\nprogram: report 7 2 loss=0.25\n"
                    'socket: accept\nworker: {"type":"hello","version":1,"reuse":false,"trial":7,'
                    f'"launch":1}}\nprogram: carried\nanswer: error\n{line}\n')
    with pytest.raises(Mismatch, match="wrong.txt:9"):
        play(path, [sys.executable, PYTHON_DRIVER], tmp_path)

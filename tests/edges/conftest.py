"""The house of each test here, and what watches that a test leaves nothing running."""

import pathlib
import signal
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "e2e"))

from edges import Edge, read_bytes  # noqa: E402

# In the background or under nohup these signals are ignored; programs would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.has_passed = outcome.get_result().passed


def check_out(edge, request):
    """Ends what the test left running, and fails a test that passed and left something.

    The controller is no child of the test: if it was at fault, its log says so.
    """
    is_done = all(process.poll() is not None for process in edge.started)
    left = edge.wait_gone(3.0) if is_done and getattr(request.node, "has_passed", False) else []
    log = read_bytes(edge.files / "run/controller.log").decode(errors="replace")
    edge.close()
    assert not left, f"the test left running: {left}"
    assert "broken invariant" not in log, f"a controller has found itself at fault: {log}"


@pytest.fixture
def edge(tmp_path, request):
    edge = Edge(tmp_path)
    yield edge
    check_out(edge, request)


@pytest.fixture
def edges(tmp_path, request):
    """Makes several houses, each in a folder of its own."""
    made = []

    def make(name):
        made.append(Edge(tmp_path / name))
        return made[-1]

    yield make
    for edge in made:
        check_out(edge, request)

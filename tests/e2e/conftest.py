import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from house import House  # noqa: E402
from sweeps import Sweeps  # noqa: E402

# Whoever runs the tests in the background, or under nohup, ignores these, and programs inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def house(tmp_path):
    house = House(tmp_path)
    yield house
    house.close()


@pytest.fixture
def sweeps(house):
    return Sweeps(house)

import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from house import House  # noqa: E402
from sweeps import Sweeps  # noqa: E402

# In the background or under nohup these signals are ignored; programs would inherit that.
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

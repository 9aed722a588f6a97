import json

import pytest
from controller import Controller, Launch
from sweep_trial import CHOSEN, STAND_IN


@pytest.fixture
def controller(tmp_path):
    made = Controller(tmp_path / "controller.sock")
    yield made
    made.go_away()


@pytest.fixture
def launch(tmp_path, controller):
    """Starts scripts under the controller. At the end, kills scripts that still run."""
    launches = []

    def start(script, **options):
        launches.append(Launch(tmp_path, options.pop("under", controller), script, **options))
        return launches[-1]

    yield start
    for one in launches:
        one.kill()


@pytest.fixture
def trial(tmp_path, launch):
    """Starts a script as a trial of a sweep whose metric is accuracy."""

    def start(script, **options):
        params = tmp_path / "params.json"
        params.write_text(json.dumps(options.pop("params", CHOSEN)))
        path = options.pop("path", STAND_IN)
        return launch(script, PYTHONPATH=path, SLUICE_PARAMS=str(params), **options)

    return start

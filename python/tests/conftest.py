import pytest
from controller import Controller, Launch


@pytest.fixture
def controller(tmp_path):
    made = Controller(tmp_path / "controller.sock")
    yield made
    made.go_away()


@pytest.fixture
def launch(tmp_path, controller):
    """Starts scripts under the controller, and ends those a failed test leaves behind."""
    launches = []

    def start(script, **options):
        launches.append(Launch(tmp_path, options.pop("under", controller), script, **options))
        return launches[-1]

    yield start
    for one in launches:
        one.kill()

"""What a machine with a GPU must do; elsewhere these tests skip themselves and say why."""

import ctypes
import json
import sys

import pytest
from house import python_program


def has_gpu():
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    count = ctypes.c_uint()
    return (
        nvml.nvmlInit_v2() == 0
        and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
        and count.value > 0
    )


pytestmark = pytest.mark.skipif(not has_gpu(), reason="no NVIDIA GPU on this machine")

STUDY = """
study: gpu
program: {program}
space: {{x: {{int: [0, 99]}}}}
objective: {{minimize: loss}}
trials: {trials}
{more}
"""

SEES = """
import os, torch, sluice
for trial in sluice.trials():
    trial.set_attribute("visible", os.environ["CUDA_VISIBLE_DEVICES"])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.ones(64, 64, device=device) * trial.params["x"]
    trial.report(1, loss=float(x.mean()), devices=torch.cuda.device_count())
"""


def prepare(house, trials, more):
    script = house.write("trial.py", SEES)
    house.write(
        "study.yaml", STUDY.format(program=python_program(script), trials=trials, more=more)
    )


def test_doctor_names_the_gpu(house):
    checks = house.json("doctor")["checks"]
    assert any(check["check"] == "gpu" and "GPU-" in check["found"] for check in checks)


def test_trial_gets_its_own_gpu(house):
    prepare(house, 4, "resources: {gpus: 1}")
    house.run("tune", "study.yaml", "-q", seconds=300)
    assert set(house.states().values()) == {"complete"}
    assert {metrics["devices"] for _, _, metrics in house.reports()} == {1}
    visible = {
        json.loads(text)["visible"] for (text,) in house.query("SELECT attributes FROM trials")
    }
    assert all(uuid.startswith("GPU-") for uuid in visible)


def test_halves_share_a_gpu(house):
    prepare(house, 6, "resources: {gpus: 0.5, cpus: 1}\nparallelism: 2")
    house.run("tune", "study.yaml", "-q", seconds=300)
    assert set(house.states().values()) == {"complete"}
    [(uuid,)] = house.query("SELECT DISTINCT json_extract(attributes, '$.visible') FROM trials")
    assert uuid.startswith("GPU-")


def test_trial_without_gpus_sees_none(house):
    prepare(house, 1, "resources: {gpus: 0}")
    house.run("tune", "study.yaml", "-q", seconds=300)
    assert [metrics["devices"] for _, _, metrics in house.reports()] == [0]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))

"""`bench/generated.py`: scenarios that follow from their number, and that the simulator takes."""

import collections
import subprocess
import sys

import pytest
from house import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import generated  # noqa: E402
import generated_scenarios  # noqa: E402


def shown(number):
    command = [sys.executable, ROOT / "bench/generated.py", "--show", str(number)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_scenario_follows_from_its_number():
    """In another process too; and the families come in the same mix in any ten."""
    assert shown(5) == generated_scenarios.text(5) == generated_scenarios.text(5)
    assert len({generated_scenarios.text(number) for number in range(1, 201)}) == 200
    families = [generated_scenarios.family(number) for number in range(1, 201)]
    goals = collections.Counter(name.split(",")[0] for name in families)
    assert goals == {"makespan": 120, "deadline": 40, "target": 40}
    assert sorted(families[:10]) == sorted(families[93:103])


@pytest.mark.parametrize("number", range(1, 11))
def test_a_scenario_is_carried_out(house, number):
    path = house.write("generated.yaml", generated_scenarios.text(number))
    drawn = generated_scenarios.draw(number)
    result = house.json("simulate", path, "--policy", "fifo,confluence", "--seeds", 1)
    assert result["goal"] == drawn["goal"]
    assert result["left_out"] == []
    for run in result["policies"]:
        assert [study["study"] for study in run["studies"]] == [
            study["study"] for study in drawn["studies"]
        ]
        assert all(study["failed"]["mean"] == 0 for study in run["studies"])
        (value,) = generated.measured(drawn, run)
        assert value > 0


def test_verdicts_are_of_pairs():
    """What the seeds have in common does not count; what a pair differs by does."""
    base = [100.0, 200.0, 300.0, 400.0, 500.0]
    above = [value + more for value, more in zip(base, [4, 5, 6, 5, 5], strict=True)]
    assert generated.compare(above, base)[2] == "worse"
    assert generated.compare(base, above)[2] == "better"
    assert generated.compare(base, base)[2] == "equal"
    around = [value + more for value, more in zip(base, [4, -5, 6, -5, 5], strict=True)]
    change, half, verdict = generated.compare(around, base)
    assert verdict == "equal" and change == pytest.approx(1 / 300)
    # 1 +- 2.776 * 5.523 / sqrt(5) seconds of 300
    assert half == pytest.approx(2.776 * 5.523 / 5**0.5 / 300, rel=0.01)


def test_no_model_at_the_deadline_is_an_untrained_one():
    curve = {"start": 0.1, "best": 0.9}
    study = {"objective": {"maximize": "accuracy"}, "workload": {"curve": curve}}
    drawn = {"goal": "error-at-deadline", "studies": [study]}
    run = {"studies": [{"best_at_deadline": {"values": [0.75, None]}}]}
    assert generated.measured(drawn, run) == [0.25, 0.9]

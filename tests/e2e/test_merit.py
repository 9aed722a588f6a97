"""bench/merit.py on canned numbers: what it measures of studies that ran, and how it judges."""

import math
import os
import sys

import pytest
from house import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import merit  # noqa: E402
import merit_calibration as calibration  # noqa: E402

SEED = 1  # the first of two trials is the better one


def launch(trial, number, seconds, works, began=None, ended=None):
    reports = [(second, work, 1.0) for second, work in zip(seconds, works, strict=True)]
    return calibration.Launch(trial, number, reports, began, ended)


def curve(start, limit, half, works=60):
    return [(work, limit + (start - limit) / (1 + work / half)) for work in range(1, works + 1)]


def test_the_speed_up_is_that_of_the_same_trials():
    narrow = [launch(1, 1, [2, 6], [1, 5]), launch(2, 1, [2, 10], [1, 5])]
    wide = [launch(1, 1, [1, 3], [1, 5]), launch(2, 1, [1, 6], [1, 5])]
    wide.append(launch(3, 1, [1, 9], [1, 2]))  # not in the other
    assert calibration.speed_up(narrow, wide) == pytest.approx(math.sqrt(2 * 1.6))


def test_saving_and_restoring_are_told_from_working_and_starting():
    first = launch(1, 1, [1.5, 2.5, 3.5], [1, 2, 3], ended=3.75)
    # One of two seconds: half a start, half a restore, a unit of work.
    again = launch(1, 2, [12, 13], [4, 5], began=10, ended=13.25)
    never_resumed = launch(2, 1, [1.4, 2.4], [1, 2], began=0, ended=2.65)
    narrow = [launch(1, 1, [1.5, 2.5], [1, 2], began=0)]
    moved = [first, again, never_resumed]
    assert calibration.save_seconds(moved) == pytest.approx(0.25)
    assert calibration.restore_seconds(narrow, moved) == pytest.approx(0.5)
    quicker = [launch(1, 1, [2.5, 3.5], [1, 2], began=0)]
    assert calibration.restore_seconds(quicker, moved) == 0, "never less than nothing"


def test_a_curve_is_found_again():
    halves = [10, 20, 40]
    found = calibration.fit_curve([curve(1.0, 0.1, half) for half in halves])
    assert found["start"] == pytest.approx(1.0, abs=0.06)
    assert found["best"] == pytest.approx(0.1, abs=0.06)
    assert found["half_work"] == pytest.approx(20, rel=0.25)
    assert found["crossing"] == pytest.approx(math.sqrt(12) / 8, rel=0.25), "an octave of deviation"
    assert found["noise"] < 0.001


def test_noise_is_that_of_single_reports():
    shaken = [(work, 0.5 + (0.01 if work % 2 else -0.01)) for work in range(1, 101)]
    # Second differences are four times as large as what alternates, and those of independent noise
    # have six times its variance.
    assert calibration.noise([shaken]) == pytest.approx(0.04 / math.sqrt(6))


def test_a_machine_without_any_speed_up_has_none():
    narrow = [
        calibration.Launch(trial, 1, [(i, i, error) for i, error in curve(1, 0, 5 * trial)], 0, 61)
        for trial in (1, 2)
    ]
    slower = [launch(trial, 1, [0, 20], [1, 11]) for trial in (1, 2)]
    moved = [launch(1, 1, [1, 2], [1, 2], ended=2.1)]
    moved.append(launch(1, 2, [11, 12], [3, 4], began=10, ended=12.1))
    measured = calibration.workload(narrow, slower, moved, cores=2)
    assert measured["widths"] == [[1, 1], [2, 1.0]]
    assert measured["save"] == "100ms" and measured["restore"] == "0ms"


SIMULATED = {"slow": [20.0, 22.0], "near": [19.0, 21.0], "quick": [15.0, 16.0]}


def test_pairs_that_are_far_apart_are_judged_and_no_others():
    real = {"slow": [30.0, 31.0], "near": [35.0, 36.0], "quick": [24.0, 25.0]}
    pairs = merit.judge(SIMULATED, real)
    assert [(pair.better, pair.worse) for pair in pairs] == [("quick", "slow"), ("quick", "near")]
    assert all(pair.agrees and pair.chance == 1 for pair in pairs)
    assert pairs[0].simulated == pytest.approx(21 / 15.5 - 1)
    assert pairs[0].real == pytest.approx(30.5 / 24.5 - 1)
    assert merit.is_fine(pairs, real, runs=2)


def test_an_order_that_is_turned_round_is_no_agreement():
    real = {"slow": [30.0, 31.0], "near": [35.0, 36.0], "quick": [32.0, 32.0]}
    pairs = merit.judge(SIMULATED, real)
    assert [pair.agrees for pair in pairs] == [False, True]
    assert not merit.is_fine(pairs, real, runs=2)
    contest = merit.Contest("rungs", "makespan", "makespan", [], "trials: 9\n")
    page, fine = merit.part_of_page(contest, SIMULATED, real, runs=2)
    assert not fine and page.count("**disagrees**") == 1


def test_a_run_that_does_not_finish_is_no_agreement():
    for missing in ([24.0], []):
        real = {"slow": [30.0, 31.0], "near": [35.0, 36.0], "quick": missing}
        pairs = merit.judge(SIMULATED, real)
        assert all(pair.agrees for pair in pairs)
        assert not merit.is_fine(pairs, real, runs=2)


def test_where_nobody_is_told_apart_nothing_is_shown():
    simulated = {"one": [20.0, 21.0], "other": [20.0, 22.0]}
    assert merit.judge(simulated, simulated) == []
    assert not merit.is_fine([], simulated, runs=2)


def test_chance_says_how_much_so_many_runs_can_tell():
    worse = [1.0, 1.0, 1.0, -2.9]  # one run in four turns it round
    assert merit.chance_of_order([0.0] * 4, worse, runs=1) == pytest.approx(0.75, abs=0.03)
    assert merit.chance_of_order([0.0] * 4, [0.1] * 4, runs=5) == 1


def test_both_worlds_get_the_same_study_and_runs_differ_in_their_seed():
    contender = merit.Contender("confluence", "sha")
    plan = merit.study_text("rungs", "trials: 9\n", contender)
    assert merit.study_text("rungs", "trials: 9\n", contender, seed=1001) == plan + "seed: 1001\n"


@pytest.mark.parametrize("quick", [False, True])
def test_its_studies_are_good(house, quick):
    for contest in merit.contests(quick):
        for contender in contest.contenders:
            text = merit.study_text(contest.name, contest.lines, contender, seed=1)
            house.write("study.yaml", text)
            house.run("check", "study.yaml")


@pytest.mark.skipif(os.cpu_count() < 2, reason="needs two cores")
def test_a_trial_learns_the_same_on_two_cores_and_from_its_checkpoint(house):
    ways = {
        "whole": ("none", "resources: {cpus: 1}\n"),
        "paused": ("sha", "resources: {cpus: 2}\n"),  # one at a time, so that the first waits
    }
    errors = {}
    for name, (stopper, lines) in ways.items():
        lines += "budget: {min: 1, max: 2, eta: 2}\ntrials: 2\n"
        text = merit.study_text(name, lines, merit.Contender("fifo", stopper), seed=SEED)
        house.write("study.yaml", text)
        house.run("tune", "study.yaml", "-q")
        launches = calibration.Store(house.store).launches(name)
        errors[name] = {
            (each.trial, work): error for each in launches for _, work, error in each.reports
        }
    [again] = [each for each in launches if each.number == 2]
    assert again.trial == 1 and [work for _, work, _ in again.reports] == [2]
    for key, error in errors["paused"].items():
        assert error == pytest.approx(errors["whole"][key], rel=1e-3)

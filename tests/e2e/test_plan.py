"""`sluice plan`: what it predicts, where its figures come from, what it advises, and bad input."""

import json
import os
import re
import time

import pytest
from house import ROOT, python_program

PAGE = (ROOT / "docs/plan.md").read_text()
ONE_BOX = ROOT / "scenarios/one-box.yaml"

STUDY = """\
study: planned
program: ./train {args}
space:
  lr: {float: [1e-4, 1], log: true}
objective: {maximize: accuracy}
stopper: asha
budget: {max: 9}
trials: 24
"""

TWO_BOXES = """\
clusters:
  small: [{cpus: 4}]
  large: [{cpus: 16, devices: {kind: A100, count: 8}}]
"""

POLICIES = """
fifo lpt fluid-static fluid-dynamic hypersched hypersack-ff hypersack-ffd hypersack-wf
hypersack-wfd hypersack-mip hydro
""".split()


@pytest.fixture
def study(house):
    return house.write("study.yaml", STUDY)


def source(plan, key):
    [found] = [each for each in plan["assumptions"] if each["key"] == key]
    return found["from"]


def value(plan, key):
    [found] = [each for each in plan["assumptions"] if each["key"] == key]
    return found["value"]


def mean(plan, policy, figure="makespan"):
    [found] = [each for each in plan["policies"] if each["policy"] == policy]
    return found[figure]["over_seeds"]["mean"]


def test_every_policy_is_planned_or_left_out_with_a_reason(house, study):
    plan = house.json("plan", study, "--unit-time", "30s")
    known = [each["policy"] for each in plan["policies"] + plan["left_out"]]
    assert set(known) >= set(POLICIES) and len(known) == len(set(known))
    [left] = [each for each in plan["left_out"] if each["policy"] == "hypersched"]
    assert "add 'deadline: 30m'" in left["reason"]
    assert all(each["reason"] for each in plan["left_out"])
    assert plan["seeds"] == 20 and plan["makespan_in"] == "seconds"
    assert plan["cluster"] == "this machine" and plan["cpus"] >= 1
    for each in plan["policies"]:
        low, high = each["makespan"]["forecast"]
        over = each["makespan"]["over_seeds"]
        assert low < over["mean"] < high and len(over["values"]) == 20
        # One run more is less certain than the mean of all.
        assert high - low > 2 * over["half_width"]
        assert each["complete"]["over_seeds"]["mean"] >= 1
        ended = zip(
            each["complete"]["over_seeds"]["values"],
            each["stopped"]["over_seeds"]["values"],
            strict=True,
        )
        assert all(a + b == 24 for a, b in ended)
    assert not house.store.exists(), "nothing is stored"


def test_a_plan_for_people(house, study):
    shown = house.run(
        "plan", study, "--unit-time", "30s", "--policy", "fifo,lpt,hypersched"
    ).stdout
    assert re.search(r"^a unit of work takes +30s +given$", shown, re.MULTILINE)
    assert re.search(r"^a start takes +10s +assumed$", shown, re.MULTILINE)
    assert re.search(
        r"^policy +makespan +core-hours +complete +stopped$", shown, re.MULTILINE
    )
    assert re.search(
        r"^fifo +[\dhms ]+ \([\dhms ]+ to [\dhms ]+\) ", shown, re.MULTILINE
    )
    assert "left out, hypersched: " in shown
    assert (
        "advised: policy: fifo, as the study file has it\nfifo is the simplest" in shown
    )


def test_the_same_plan_twice(house, study):
    words = ("plan", study, "--unit-time", "30s", "--seeds", 7, "--json")
    assert house.run(*words).stdout == house.run(*words).stdout


def test_without_a_time_one_trial_is_the_unit(house, study):
    # Four at once of twelve that take the same time.
    text = STUDY.replace("stopper: asha\n", "").replace("trials: 24", "trials: 12")
    house.write("twelve.yaml", text)
    house.write("small.yaml", TWO_BOXES)
    words = ("plan", "twelve.yaml", "--on", "small.yaml", "--workload", "{spread: 0}")
    plan = house.json(*words)
    assert plan["makespan_in"] == "trials" and plan["device_time_in"] == "core-trials"
    assert mean(plan, "fifo") == pytest.approx(3)
    assert mean(plan, "fifo", "device_time") == pytest.approx(12)
    shown = house.run(*words).stdout
    assert "makespan in trials" in shown and "--unit-time D gives hours" in shown
    timed = house.json(*words, "--unit-time", "10s", "--start-up", "5s")
    assert mean(timed, "fifo") == pytest.approx(3 * 95)
    assert mean(timed, "fifo", "device_time") == pytest.approx(12 * 95 / 3600)


def test_a_policy_that_is_better_is_advised_with_the_numbers(house):
    """Wide trials at the end: what Fluid is for."""
    text = STUDY.replace("stopper: asha\n", "").replace("trials: 24", "trials: 9")
    house.write("wide.yaml", text + "resources: {gpus: [1, 8]}\n")
    house.write("large.yaml", TWO_BOXES)
    words = (
        "plan",
        "wide.yaml",
        "--on",
        "large.yaml",
        "--cluster",
        "large",
        "--unit-time",
        "5m",
    )
    words += ("--policy", "fifo,lpt,fluid-static,fluid-dynamic")
    plan = house.json(*words)
    advised = plan["advised"]
    assert advised["policy"].startswith("fluid") and advised["baseline"] == "fifo"
    [best] = [each for each in plan["policies"] if each["policy"] == advised["policy"]]
    assert best["gain"]["standing"] == "better"
    assert best["gain"]["mean"] > best["gain"]["half_width"] > 0
    pairs = zip(
        next(p for p in plan["policies"] if p["policy"] == "fifo")["makespan"][
            "over_seeds"
        ]["values"],
        best["makespan"]["over_seeds"]["values"],
        strict=True,
    )
    gains = [fifo - other for fifo, other in pairs]
    assert best["gain"]["mean"] == pytest.approx(sum(gains) / len(gains))
    ratio = mean(plan, "fifo") / mean(plan, advised["policy"])
    assert advised["why"][0].startswith(
        f"{advised['policy']} ends {ratio:.2g}x sooner than fifo"
    )
    assert "excludes zero" in advised["why"][0]
    shown = house.run(*words).stdout
    assert f"advised: policy: {advised['policy']} (the study file has fifo)" in shown
    assert value(plan, "widths") == "5.6 times as quick as one"


def test_what_tune_refuses_is_not_advised(house):
    text = STUDY.replace("trials: 24", "trials: 40").replace("stopper: asha\n", "")
    house.write("light.yaml", text + "resources: {cpus: 1, gpus: 1, memory: 4GiB}\n")
    words = ("plan", "light.yaml", "--unit-time", "30s", "--on", ONE_BOX)
    plan = house.json(*words, "--policy", "fifo,lpt,hypersack-wfd")
    [packed] = [each for each in plan["policies"] if each["policy"] == "hypersack-wfd"]
    assert not packed["can_run"] and "MPS" in packed["refused"]
    assert plan["advised"]["policy"] in ("fifo", "lpt")
    done = house.run(*words, "--policy", "hypersack-wfd,hypersack-ff", check=False)
    assert done.returncode == 1
    assert "no policy that was to be compared can carry this study out" in done.stderr
    assert done.stderr.count("MPS servers") == 2


def test_what_only_the_simulator_can_do_is_said_where_it_is_better(house):
    """Few trials, and the quick GPUs are not the first."""
    text = STUDY.replace("trials: 24", "trials: 4").replace("stopper: asha\n", "")
    house.write("few.yaml", text + "resources: {cpus: 1, gpus: 1, memory: 4GiB}\n")
    house.write(
        "mixed.yaml",
        "nodes:\n  - {name: old, devices: {kind: V100, count: 4}}\n"
        "  - {name: new, devices: {kind: H100, count: 4}}\n",
    )
    words = ("plan", "few.yaml", "--unit-time", "30s", "--on", "mixed.yaml")
    words += ("--policy", "fifo,hypersack-wfd")
    plan = house.json(*words)
    assert plan["advised"]["policy"] == "fifo"
    ratio = mean(plan, "fifo") / mean(plan, "hypersack-wfd")
    assert ratio > 3
    assert plan["advised"]["why"][1] == (
        f"hypersack-wfd ends {ratio:.2g}x sooner, but it is only simulated yet: "
        "'sluice tune' refuses it."
    )
    assert "* only simulated yet, hypersack-wfd: " in house.run(*words).stdout


def test_a_profile_tells_times_and_shares(house):
    text = STUDY + "resources: {cpus: 1, gpus: 1, memory: 4GiB}\n"
    house.write("light.yaml", text + "profile: {A100: {unit_time: 30s, gpus: 0.3}}\n")
    plan = house.json("plan", "light.yaml", "--on", ONE_BOX, "--policy", "fifo")
    assert (
        source(plan, "unit_time") == "study file"
        and source(plan, "busy") == "study file"
    )
    assert (value(plan, "unit_time"), value(plan, "busy")) == (
        "30s on A100",
        "30 % of a GPU",
    )


def test_a_deadline_is_judged_by_what_was_reached(house):
    late = house.write("late.yaml", STUDY + "deadline: 5m\n")
    plan = house.json("plan", late, "--unit-time", "30s")
    assert (
        plan["advised"]["by"] == "best_at_deadline" and plan["deadline_seconds"] == 300
    )
    assert "hypersched" in [each["policy"] for each in plan["policies"]]
    for each in plan["policies"]:
        assert 0.1 < each["best_at_deadline"]["over_seeds"]["mean"] < 0.94
        assert each["makespan"]["over_seeds"]["mean"] <= 300
    assert any("do not expect them in your study" in note for note in plan["notes"])
    assert (
        "accuracy at deadline" in house.run("plan", late, "--unit-time", "30s").stdout
    )
    # More time than any policy needs.
    lax = house.write("lax.yaml", STUDY + "deadline: 2d\n")
    plan = house.json("plan", lax, "--unit-time", "30s")
    assert plan["advised"]["by"] == "makespan"
    assert "All end before the deadline" in plan["advised"]["why"][-1]


TRAIN = """\
import time
import sluice

time.sleep(0.3)
params = sluice.params()
for epoch in range(1, 10):
    time.sleep(0.05)
    limit = 0.9 - 0.5 * params["lr"]
    sluice.report(epoch, accuracy=limit + (0.1 - limit) / (1 + epoch / 3))
    if sluice.should_stop():
        break
"""


@pytest.fixture
def ran(house):
    """A study that ran, and how long that took."""
    program = python_program(house.write("train.py", TRAIN))
    text = STUDY.replace("./train {args}", program).replace("trials: 24", "trials: 16")
    house.write("ran.yaml", text)
    began = time.monotonic()
    house.run("tune", "ran.yaml", "-q")
    return time.monotonic() - began


def test_an_earlier_study_tells_times_and_curves(house, ran):
    before = house.store.read_bytes()
    plan = house.json("plan", "ran.yaml")
    for key in ("unit_time", "spread", "start_up", "report_every", "curve"):
        assert source(plan, key) == "measured in study planned", key
    assert source(plan, "ends_after") == "study file"
    unit = float(value(plan, "unit_time").rstrip("s"))
    start = float(value(plan, "start_up").rstrip("s"))
    assert 0.05 <= unit < 0.1 and 0.3 <= start < 1.5
    curve = value(plan, "curve")
    start, best, half = map(
        float, re.match(r"from (\S+) to (\S+), half way at (\S+)", curve).groups()
    )
    assert (start, half) == (pytest.approx(0.1, abs=0.05), pytest.approx(3, rel=0.4))
    assert 0.75 < best < 1
    # The run took about as long as predicted; a machine under load is slower.
    assert 0.5 < ran / mean(plan, "fifo") < 2
    assert house.store.read_bytes() == before
    # A given value goes before a measured one. Another study counts only when it is named.
    given = house.json("plan", "ran.yaml", "--unit-time", "30s")
    assert source(given, "unit_time") == "given"
    assert source(given, "start_up") == "measured in study planned"
    other = house.write("other.yaml", STUDY.replace("study: planned", "study: other"))
    assert house.json("plan", other)["makespan_in"] == "trials"
    assert source(house.json("plan", other, "--like", "planned"), "unit_time") == (
        "measured in study planned"
    )


def test_an_earlier_study_that_does_not_fit(house, ran):
    steps = house.write("steps.yaml", STUDY.replace("{max: 9}", "{max: 9, unit: step}"))
    done = house.run("plan", steps, "--like", "planned", check=False)
    assert done.returncode == 2
    assert (
        "--like: study 'planned' counts work in epoch, and this one in step"
        in done.stderr
    )
    # A study that only has the same name does not count: the plan says so, and assumes values.
    plan = house.json("plan", steps)
    assert (
        plan["makespan_in"] == "trials" and "counts work in epoch" in plan["notes"][-1]
    )
    loss = house.write(
        "loss.yaml", STUDY.replace("maximize: accuracy", "minimize: loss")
    )
    plan = house.json("plan", loss)
    assert source(plan, "unit_time") == "measured in study planned"
    assert source(plan, "curve") == "assumed"
    assert any("another objective" in note for note in plan["notes"])


def test_more_trials_take_longer(house, study):
    words = ("plan", study, "--unit-time", "30s", "--policy", "fifo")
    few, many = house.json(*words), house.json(*words, "--trials", 96)
    assert many["trials"] == 96 and mean(many, "fifo") > 2 * mean(few, "fifo")
    assert many["advised"]["why"] == ["fifo is the only policy that was compared."]


def test_one_seed_has_no_range(house, study):
    plan = house.json("plan", study, "--unit-time", "30s", "--seeds", 1)
    assert plan["policies"][0]["makespan"]["forecast"] == [None, None]
    assert plan["advised"]["policy"] == "fifo"


@pytest.mark.parametrize(
    ("more", "words", "status", "said"),
    [
        ("", ["--policy", "fofi"], 2, "--policy: expected one of fifo,"),
        ("", ["--unit-time", "fast"], 2, "--unit-time: expected a duration"),
        ("", ["--start-up", "9s"], 2, "give --unit-time 30s, the time of a unit of work"),
        ("", ["--workload", "{spred: 1}"], 2, "did you mean 'spread'"),
        ("", ["--like", "nobody"], 2, "--like: "),
        ("", ["--on", "none.yaml"], 2, "none.yaml"),
        ("", ["--cluster", "large"], 2, "expected --on"),
        ("", ["--seeds", "0"], 2, "from 1 to 10000"),
        ("", ["--unit-tme", "1s"], 2, "did you mean '--unit-time'"),
        ("deadline: 30m\n", [], 2, "the study has a deadline"),
        ("deadline: 2020-01-01T00:00:00Z\n", ["--unit-time", "1s"], 2, "has passed"),
        ("resources: {gpus: 64}\n", [], 1, "on this machine a trial needs 64 GPUs"),
        ("trails: 3\n", [], 2, "did you mean 'trials'"),
        (
            "",
            ["--policy", "hypersched"],
            1,
            "hypersched: the policy hypersched is after",
        ),
    ],
)
def test_bad_input(house, more, words, status, said):
    house.write("study.yaml", STUDY + more)
    done = house.run("plan", "study.yaml", *words, check=False)
    assert done.returncode == status, done.stderr
    assert said in done.stderr and done.stdout == ""
    assert all(line.startswith("sluice: ") for line in done.stderr.splitlines())


def test_a_store_that_cannot_be_read_is_said(house, study):
    house.store.write_text("no database\n" * 1000)
    plan = house.json("plan", study)
    assert any(str(house.store) in note for note in plan["notes"])
    assert house.run("plan", study, "--like", "planned", check=False).returncode == 1


def test_the_examples_of_the_page(house, ran):
    """Each command of docs/plan.md, less other programs."""
    lines = re.findall(r"^    \$ sluice (plan .*)$", PAGE, re.MULTILINE)
    assert len(lines) >= 4
    house.write("study.yaml", STUDY.replace("planned", "fashion"))
    os.symlink(ROOT / "scenarios", house.folder / "scenarios")
    for line in lines:
        words = re.split(r" [|>]", line)[0].replace("fashion", "planned").split()
        assert json.loads(
            house.run(*words, *([] if "--json" in words else ["--json"])).stdout
        )

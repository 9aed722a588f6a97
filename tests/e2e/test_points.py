"""Points of the user's own: enqueued from the study file, by hand and from files."""

import json
import random
import signal
import subprocess

import pytest
from house import wait_until
from points import QUICK, params, prepare, refused

# Waits for the file `go`, then reports.
WAITS = [
    "sh",
    "-c",
    ": > started; while ! test -e go; do sleep 0.01; done; echo '{{\"loss\": 0.5}}'",
]


def enqueued(house, study="mine"):
    """The numbers of the trials that are marked `enqueued`."""
    return [t["trial"] for t in house.json("trials", study) if t["note"] == "enqueued"]


def test_points_of_the_study_file_come_first(house):
    prepare(
        house,
        more="enqueue: [{lr: 0.01, width: 64, act: relu}, {act: 3, lr: 0.1}, {width: 16.0, lr: ~}]",
    )
    assert "3 points" in house.run("check", "study.yaml").stdout
    house.run("tune", "study.yaml", "-q")
    tried = params(house)
    assert tried[0] == {"lr": 0.01, "width": 64, "act": "relu"}
    assert tried[1]["act"] == 3 and tried[1]["lr"] == 0.1 and tried[1]["width"] in (16, 32, 48, 64)
    assert tried[2]["width"] == 16 and 1e-4 <= tried[2]["lr"] <= 0.1
    assert len(tried) == 4
    assert enqueued(house) == [1, 2, 3]
    # The same seed fills the same gaps.
    house.run("tune", "study.yaml", "-q", "--name", "again")
    assert params(house, "again") == tried
    house.run("tune", "study.yaml", "-q", "--name", "other", "--seed", "6")
    assert params(house, "other")[0] == tried[0] and params(house, "other")[2] != tried[2]


def test_a_grid_is_tried_whole_beside_points_of_its_own(house):
    house.write(
        "study.yaml",
        "study: g\nprogram: " + json.dumps(QUICK) + "\nspace: {n: {int: [1, 3]}}\n"
        "objective: {minimize: loss}\nsampler: grid\nenqueue: [{n: 3}]\n",
    )
    house.run("tune", "study.yaml", "-q")
    assert [p["n"] for p in params(house, "g")] == [3, 1, 2, 3]


@pytest.mark.parametrize(
    "points, message",
    [
        ("{lr: 0.1}", "study.yaml:14: enqueue: expected a list of points, found {lr: 0.1}"),
        ("[{lr: 2}]", "enqueue[0].lr: expected a number in [0.0001, 0.1], found 2"),
        ("[{}, {width: 17}]", "enqueue[1].width: expected a whole number in [16, 64] in steps of"),
        ("[{act: sigmoid}]", "enqueue[0].act: expected one of relu, tanh, 3, found \"sigmoid\""),
        ("[{l: 0.1}]", "enqueue[0].l: no parameter of the study has this name"),
        ("[{widht: 16}]", "no parameter of the study has this name (did you mean 'width'?)"),
        ("[0.1]", "enqueue[0]: expected"),
        ("[{lr: [1]}]", "enqueue[0].lr: expected"),
    ],
)
def test_bad_points_in_the_study_file(house, points, message):
    prepare(house, more=f"enqueue: {points}")
    assert message in refused(house, "tune", "study.yaml")
    assert not house.store.exists()


def test_enqueue_while_the_study_runs(house):
    prepare(house, program=WAITS, trials=6)
    tuning = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: "running" in house.states().values(), what="a running trial")
    said = house.run("enqueue", "mine", "lr=0.01", "width=64", "act=tanh").stdout
    assert said == "mine: 1 point enqueued; tried when there is room\n"
    told = house.json("enqueue", "mine", "act=3", "lr=1e-2")
    assert told == {
        "study": "mine",
        "enqueued": 1,
        "known": 0,
        "waiting": 2,
        "room": 5,
        "at_once": True,
        "then": None,
    }
    again = house.run("enqueue", "mine", "lr=0.01", "width=64", "act=tanh").stdout
    assert "3 in the queue (1 was tried or enqueued before)" in again
    house.write("go", "")
    assert tuning.wait(timeout=60) == 0
    tried = params(house)
    assert len(tried) == 6
    assert tried[1] == {"lr": 0.01, "width": 64, "act": "tanh"} == tried[3]
    assert tried[2]["act"] == 3 and tried[2]["lr"] == 0.01
    assert enqueued(house) == [2, 3, 4]
    assert house.json("doctor", "--replay", "mine")


def test_more_points_than_the_running_study_has_room_for(house):
    prepare(house, program=WAITS, trials=2)
    tuning = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: "running" in house.states().values(), what="a running trial")
    house.write("points.jsonl", '{"lr": 0.01}\n{"lr": 0.02}\n')
    said = house.run("enqueue", "mine", "--file", "points.jsonl").stdout
    assert "the study makes 1 trial more, then 'sluice resume mine --trials 3' tries the rest" in (
        said
    )
    house.write("go", "")
    assert tuning.wait(timeout=60) == 0
    assert [p["lr"] for p in params(house)][1:] == [0.01]
    house.run("resume", "mine", "--trials", 3, "-q")
    assert [p["lr"] for p in params(house)][1:] == [0.01, 0.02]


def test_enqueue_after_the_end(house):
    prepare(house, trials=2)
    house.run("tune", "study.yaml", "-q")
    said = house.run("enqueue", "mine", "lr=0.01", "width=64", "act=relu").stdout
    assert said == (
        "mine: 1 point enqueued; tried when the study is resumed: sluice resume mine --trials 3\n"
    )
    assert house.json("status", "mine")["state"] == "finished"
    refusal = house.run("resume", "mine", "-q", check=False)
    assert refusal.returncode == 1
    assert "more trials by --trials N, N above 2; 3 tries all that is enqueued" in refusal.stderr
    house.run("resume", "mine", "--trials", 3, "-q")
    assert params(house)[2] == {"lr": 0.01, "width": 64, "act": "relu"}
    assert enqueued(house) == [3]


def test_enqueue_while_nobody_runs_an_interrupted_study(house):
    prepare(house, program=WAITS, trials=3)
    tuning = house.start("tune", "study.yaml", "-q")
    wait_until((house.folder / "started").exists, what="a program that runs")
    tuning.send_signal(signal.SIGKILL)
    tuning.wait()
    said = house.run("enqueue", "mine", "lr=0.01").stdout
    assert said.endswith("tried when the study is resumed: sluice resume mine\n")
    assert house.states() == {1: "running"}  # what runs is left alone
    house.write("go", "")
    house.run("resume", "mine", "-q")
    assert params(house)[1]["lr"] == 0.01
    assert len(params(house)) == 3
    assert house.json("trials", "mine")[0]["launches"] == 1


def test_enqueue_into_a_stopped_study(house):
    prepare(house, program=WAITS, trials=3)
    tuning = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: "running" in house.states().values(), what="a running trial")
    house.run("stop", "mine")
    tuning.wait(timeout=60)
    assert house.run("enqueue", "mine", "lr=0.01").stdout.endswith(": sluice resume mine\n")
    house.write("go", "")
    house.run("resume", "mine", "-q")
    assert params(house)[1]["lr"] == 0.01


def test_points_from_files(house):
    prepare(house, trials=1)
    house.run("tune", "study.yaml", "-q")
    house.write(
        "points.jsonl",
        '{"lr": 0.01, "width": 16, "act": "relu"}\n\n{"act": null, "lr": 0.02}\r\n{}\n',
    )
    house.write("points.csv", '\ufeffact,lr\n"tanh",0.03\n3,\n')
    assert house.json("enqueue", "mine", "--file", "points.jsonl")["enqueued"] == 3
    told = house.json("enqueue", "mine", "--file", "points.csv")
    assert (told["enqueued"], told["waiting"]) == (2, 5)
    assert told["then"] == "sluice resume mine --trials 6"
    house.run("resume", "mine", "--trials", 6, "-q")
    tried = params(house)
    assert tried[1] == {"lr": 0.01, "width": 16, "act": "relu"}
    assert tried[2]["lr"] == 0.02
    assert (tried[4]["act"], tried[4]["lr"]) == ("tanh", 0.03)
    assert tried[5]["act"] == 3


BAD_FILES = [
    ("a.jsonl", '{"lr": 0.01}\n{"lr": 7}\n', "a.jsonl:2: lr: expected a number in [0.0001, 0.1]"),
    ("a.jsonl", '{"lr": 0.01}\nlr=1\n', "a.jsonl:2: expected a JSON object"),
    ("a.jsonl", "[1]\n", "a.jsonl:1: expected a JSON object"),
    ("a.jsonl", '{"rl": 0.01}\n', "a.jsonl:1: rl: no parameter of the study has this name"),
    ("a.jsonl", "\n \n", "a.jsonl: expected at least one point, found none"),
    ("a.csv", "lr,what\n0.1,3\n", "a.csv:1: what: no parameter of the study has this name"),
    ("a.csv", "lr,lr\n0.1,0.1\n", "a.csv:1: lr: expected one column, found two"),
    ("a.csv", "lr,act\n0.1\n", "a.csv:2: expected 2 fields as in the header, found 1"),
    ("a.csv", "lr\n0.1\nx\n", 'a.csv:3: lr: expected a number in [0.0001, 0.1], found "x"'),
    ("a.csv", "lr\n", "a.csv: expected at least one point, found none"),
]


@pytest.mark.parametrize("name, text, message", BAD_FILES)
def test_bad_files_of_points_change_nothing(house, name, text, message):
    prepare(house, trials=1)
    house.run("tune", "study.yaml", "-q")
    before = house.query("SELECT count(*) FROM events")
    house.write(name, text)
    assert message in refused(house, "enqueue", "mine", "--file", name)
    assert house.query("SELECT count(*) FROM events") == before


@pytest.mark.parametrize(
    "words, message",
    [
        (["mine"], "expected either values such as lr=0.1 or --file FILE, found neither"),
        ([], "enqueue: expected the name of a study"),
        (["lr=0.1"], "expected the name of a study before the values of a point, found 'lr=0.1'"),
        (["mine", "lr"], "expected a parameter and its value such as lr=0.1, found 'lr'"),
        (["mine", "=1"], "expected a parameter and its value such as lr=0.1, found '=1'"),
        (["mine", "lr=0.1", "lr=0.1"], "lr: expected one value, found two"),
        (["mine", "lr=2"], "lr: expected a number in [0.0001, 0.1], found 2"),
        (["mine", "lr=fast"], 'lr: expected a number in [0.0001, 0.1], found "fast"'),
        (["mine", "lr=nan"], "lr: expected a number in [0.0001, 0.1]"),
        (["mine", "width=17"], "width: expected a whole number in [16, 64] in steps of 16"),
        (["mine", "widht=16"], "widht: no parameter of the study has this name (did you mean"),
        (["mine", "lr=0.1", "--file", "x"], "--file FILE, found both"),
        (["mine", "--file", "no"], "no: no such file"),
        (["mine", "--file", "."], "expected a file of points, found a folder"),
        (["mein", "lr=0.1"], "no study 'mein'"),
    ],
)
def test_bad_words(house, words, message):
    prepare(house, trials=1)
    house.run("tune", "study.yaml", "-q")
    assert message in refused(house, "enqueue", *words)
    assert house.query("SELECT count(*) FROM events WHERE kind = 'points_enqueued'") == [(0,)]


def test_too_many_points_for_one_message(house):
    prepare(house, program=WAITS, trials=2)
    tuning = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: "running" in house.states().values(), what="a running trial")
    house.write("points.jsonl", '{"lr": 0.012345678901234567}\n' * 50_000)
    assert "at most 1 MiB of points at once" in refused(
        house, "enqueue", "mine", "--file", "points.jsonl"
    )
    house.write("go", "")
    assert tuning.wait(timeout=60) == 0
    # Without a controller the points are written to the store; but the queue has a bound, too.
    assert house.json("enqueue", "mine", "--file", "points.jsonl")["waiting"] == 50_000
    house.run("enqueue", "mine", "--file", "points.jsonl")
    full = house.run("enqueue", "mine", "lr=0.1", check=False)
    assert full.returncode == 1
    assert "expected at most 100000 points in the queue of 'mine'" in full.stderr


def test_killed_controller_tries_every_enqueued_point_once_in_order(house):
    prepare(house, trials=30, more="retries: 0")
    chance = random.Random("enqueue and kill")
    words = ["tune", "study.yaml", "-q"]
    given = []
    for number in range(10):
        process = house.start(*words)
        wait_until(lambda: house.query("SELECT 1 FROM studies"), what="the study")
        point = {"lr": round(0.001 * (number + 1), 4), "width": 32, "act": "relu"}
        values = [f"{name}={value}" for name, value in point.items()]
        # A controller that is just beginning or ending does not answer.
        wait_until(
            lambda values=values: (
                house.run("enqueue", "mine", *values, check=False).returncode == 0
            ),
            what="the queue to take a point",
        )
        given.append(point)
        try:
            process.wait(timeout=chance.uniform(0.0, 0.1))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        words = ["resume", "mine", "-q"]
    house.run("resume", "mine", "-q", "--trials", 60)
    marked = set(enqueued(house))
    assert [p for number, p in enumerate(params(house), 1) if number in marked] == given
    assert set(house.states().values()) == {"complete"} and len(house.states()) == 60
    house.run("doctor", "--replay", "mine")

"""Studies that train the best trial of another study, their leader."""

import json
import signal
import sys

import pytest
from house import wait_until
from test_many_studies import await_reports, await_state, reports_of, state_of

STUDY = """
study: {name}
program: {program}
space: {space}
objective: {{minimize: loss}}
parallelism: 1
resources: {{cpus: 1}}
seed: 3
backoff: 1ms
timeouts: {{grace: 500ms}}
{more}
"""

# Trial n of a search has the value x of its point: the loss is the distance to 500. What is slow
# waits for a file.
TRAIN = """
import pathlib, sys, time
import sluice
x, gate = int(sys.argv[1]), sys.argv[2]
latest = sluice.latest_checkpoint()
done = int((latest / "epoch").read_text()) if latest else 0
for epoch in range(done + 1, 4):
    sluice.report(epoch, loss=abs(x - 500) + (3 - epoch) / 10)
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    while gate != "-" and epoch == 2 and not pathlib.Path(gate).exists():
        time.sleep(0.02)
"""

SEARCH = "trials: {}"
FOLLOW = "transfer: {}"
SPACE = "{x: {int: [0, 999]}}"


class Studies:
    """Studies of a house. A gate is a file for which the trials of a study wait."""

    def __init__(self, house):
        self.house = house
        house.write("train.py", TRAIN)

    def prepare(self, name, more, gate="-", space=SPACE):
        path = "-" if gate == "-" else str(self.house.folder / gate)
        program = [sys.executable, str(self.house.folder / "train.py"), "{x}", path]
        text = STUDY.format(name=name, program=json.dumps(program), space=space, more=more)
        return self.house.write(f"{name}.yaml", text)

    def open(self, gate):
        self.house.write(gate, "")

    def tune(self, name, more, **options):
        self.prepare(name, more, **options)
        self.house.run("tune", f"{name}.yaml", "--detach")

    def refused(self, name, more, **options):
        """What tune and check say of a study that neither takes."""
        self.prepare(name, more, **options)
        before = self.house.query("SELECT count(*) FROM events")
        tuned = self.house.run("tune", f"{name}.yaml", code=1).stderr
        checked = self.house.run("check", f"{name}.yaml", code=1).stderr
        assert tuned.splitlines()[-1] == checked.splitlines()[-1]
        assert self.house.query("SELECT count(*) FROM events") in (before, [])
        assert state_of(self.house, name) is None if before else not self.house.store.exists()
        return tuned

    def awaited(self, name):
        """What status says that the study waits for."""
        for line in self.house.run("status", name).stdout.splitlines():
            if line.startswith("waits for"):
                return line.removeprefix("waits for").strip()
        return None

    def trials(self, name):
        return self.house.json("trials", name)

    def best(self, name):
        return self.house.json("best", name)["params"]["x"]

    def trained(self, name):
        return [trial["params"]["x"] for trial in self.trials(name)]

    def assert_sound(self, *names):
        for name in names:
            for check in self.house.json("doctor", "--replay", name)["checks"]:
                assert check["state"] == "ok", (name, check)


@pytest.fixture
def studies(house):
    return Studies(house)


def await_no_controller(house):
    wait_until(lambda: house.controller() is None, what="the end of the controller")


def test_the_best_is_trained_when_its_search_has_ended(house, studies):
    """The leader is looked on at to its end, and no further, although it stays for its follower."""
    studies.prepare("small", SEARCH.format(5), gate="search")
    leader = house.start("tune", "small.yaml", "-q")
    await_reports(house, "small")
    studies.prepare("target", FOLLOW.format("small"), gate="train")
    follower = house.start("tune", "target.yaml", "-q")
    wait_until(lambda: state_of(house, "target") == "running", what="the follower to begin")
    assert studies.awaited("target") == "small (0/5 trials)"
    studies.open("search")
    out, err = leader.communicate(timeout=60)
    assert leader.returncode == 0, out + err
    await_reports(house, "target")
    assert state_of(house, "small") == "finished" and follower.poll() is None
    assert studies.awaited("target") is None
    said = house.run("pause", "small", check=False)
    assert said.returncode == 1 and "'small' does not run: there is nothing to pause" in said.stderr
    studies.open("train")
    out, err = follower.communicate(timeout=60)
    assert follower.returncode == 0, out + err
    assert studies.trained("target") == [studies.best("small")]
    [trial] = studies.trials("target")
    assert trial["state"] == "complete" and trial["work"] == 3
    await_no_controller(house)
    studies.assert_sound("small", "target")


def test_a_search_that_has_ended_long_before(house, studies):
    studies.prepare("small", SEARCH.format(3))
    house.run("tune", "small.yaml", "-q")
    await_no_controller(house)
    studies.prepare("target", FOLLOW.format("small"))
    studies.prepare("larger", FOLLOW.format("target"))
    assert "target" in house.run("check", "target.yaml").stdout
    house.run("tune", "target.yaml", "-q")
    await_no_controller(house)
    house.run("tune", "larger.yaml", "-q")  # of one that follows itself
    assert studies.trained("larger") == studies.trained("target") == [studies.best("small")]
    studies.assert_sound("small", "target", "larger")


def test_what_is_refused(house, studies):
    said = studies.refused("target", FOLLOW.format("small"))
    assert "target.yaml:11: transfer: expected a study 'small'" in said
    assert "tune 'small' first" in said
    studies.prepare("small", SEARCH.format(2))
    house.run("tune", "small.yaml", "-q")
    assert "did you mean 'small'" in studies.refused("target", FOLLOW.format("smal"))
    for space, why in (
        ("{x: {int: [0, 99]}}", "'x' has another range"),
        ("{x: {int: [0, 999]}, y: {int: [0, 1]}}", "only it has 'y'"),
    ):
        said = studies.refused("target", FOLLOW.format("small"), space=space)
        assert "transfer: expected the space of study 'small'" in said and why in said
    studies.prepare("target", FOLLOW.format("small"))
    own = house.run("tune", "target.yaml", "--name", "small", "--replace", code=1)
    assert "expected the name of another study" in own.stderr
    assert state_of(house, "small") == "finished", "nothing was replaced"
    more = house.run("tune", "target.yaml", "--trials", 3, check=False)
    assert more.returncode == 2 and "--trials: expected nothing beside 'transfer'" in more.stderr
    judged = studies.prepare("judged", FOLLOW.format("small") + "\nstopper: asha\nbudget: {max: 9}")
    said = house.run("tune", judged, check=False)
    assert said.returncode == 2
    assert "judged.yaml:12: stopper: expected nothing beside 'transfer'" in said.stderr


def test_a_circle_is_refused(house, studies):
    studies.prepare("one", SEARCH.format(1))
    house.run("tune", "one.yaml", "-q")
    studies.prepare("two", FOLLOW.format("one"))
    house.run("tune", "two.yaml", "-q")
    house.run("delete", "one", "--yes")
    assert "found a circle: one -> two -> one" in studies.refused("one", FOLLOW.format("two"))
    said = house.run("resume", "two", code=1).stderr
    assert "transfer: expected a study 'one'" in said


def test_a_leader_is_not_deleted_from_under_its_follower(house, studies):
    studies.tune("small", SEARCH.format(2), gate="search")
    studies.tune("target", FOLLOW.format("small"), gate="train")
    for words in (["delete", "small", "--yes"], ["tune", "small.yaml", "--replace"]):
        said = house.run(*words, code=1).stderr
        assert "study 'small' is needed by study 'target'" in said
        assert "'sluice stop target'" in said and "'sluice delete target'" in said
    assert state_of(house, "small") == "running", "nothing was killed"
    studies.open("search")
    await_reports(house, "target")
    house.run("delete", "small", "--yes", code=1)
    said = house.run("enqueue", "target", "x=7", code=1).stderr
    assert "enqueue points in 'small'" in said
    house.run("delete", "target", "--yes")
    house.run("delete", "small", "--yes")
    assert house.json("studies") == []
    await_no_controller(house)


def test_a_follower_waits_for_a_leader_that_is_paused(house, studies):
    studies.prepare("small", SEARCH.format(3), gate="search")
    leader = house.start("tune", "small.yaml", "-q")
    await_reports(house, "small")
    studies.tune("target", FOLLOW.format("small"))
    leader.send_signal(signal.SIGINT)
    assert leader.wait(30) == 130
    assert state_of(house, "small") == "paused" and state_of(house, "target") == "running"
    assert studies.awaited("target") == "small, which is paused"
    studies.open("search")
    house.run("resume", "small", "-q")
    await_state(house, "target", "finished")
    assert studies.trained("target") == [studies.best("small")]
    await_no_controller(house)
    studies.assert_sound("small", "target")


def test_a_leader_that_is_stopped_while_it_is_paused(house, studies):
    """It ends in the store alone. Its follower is told all the same."""
    studies.tune("small", SEARCH.format(3), gate="search")
    await_reports(house, "small")
    studies.tune("target", FOLLOW.format("small"))
    house.run("pause", "small")
    await_state(house, "small", "paused")
    house.run("stop", "small")
    await_state(house, "target", "finished")
    assert studies.trained("target") == [studies.best("small")]
    studies.assert_sound("small", "target")


def test_a_leader_that_has_finished_gets_more_trials(house, studies):
    """It stays for its follower, and goes on. Afterwards its new best is trained."""
    studies.tune("small", SEARCH.format(2))
    await_state(house, "small", "finished")
    studies.tune("target", FOLLOW.format("small"), gate="train")
    await_reports(house, "target")
    studies.open("train")
    house.run("resume", "small", "--trials", 12, "-q")
    assert len(studies.trials("small")) == 12
    await_state(house, "target", "finished")
    assert studies.trained("target")[-1] == studies.best("small")
    # The same once both are done.
    house.run("resume", "small", "--trials", 14, "-q")
    said = house.run("resume", "target", "--trials", 14, check=False).stderr
    assert "leave out --trials" in said
    house.run("resume", "target", "-q")
    assert studies.trained("target")[-1] == studies.best("small")
    studies.assert_sound("small", "target")


def test_a_killed_trial_of_a_kept_leader_can_be_retried(house, studies):
    studies.tune("small", SEARCH.format(2), gate="search")
    await_reports(house, "small")
    house.run("stop", "small", "--trial", 1)
    studies.open("search")
    await_state(house, "small", "finished")
    studies.tune("target", FOLLOW.format("small"), gate="train")
    await_reports(house, "target")
    assert house.json("retry", "1", "--study", "small")["at_once"]
    wait_until(lambda: studies.trials("small")[0]["state"] == "complete", what="the retried trial")
    studies.open("train")
    await_state(house, "target", "finished")
    assert studies.trained("target")[-1] == studies.best("small")
    studies.assert_sound("small", "target")


@pytest.mark.parametrize("policy", ["hydro", "confluence"])
def test_an_eager_policy_trains_the_best_so_far(house, studies, policy):
    """Once half of the search is over, beside it; and what is replaced has ended as stopped."""
    points = [100, 200, 300, 400, 450, 499, 0, 1]
    more = f"trials: {len(points)}\nenqueue: [{', '.join(f'{{x: {x}}}' for x in points)}]"
    studies.prepare("small", more)
    text = (house.folder / "small.yaml").read_text()
    house.write("small.yaml", text.replace("train.py", "gated.py"))
    # Each trial of the search waits for its own file.
    house.write(
        "gated.py",
        "import pathlib, sys, time\nimport sluice\nx = int(sys.argv[1])\n"
        f"gate = pathlib.Path({str(house.folder)!r}) / f'go-{{x}}'\n"
        "while not gate.exists():\n    time.sleep(0.02)\n"
        "sluice.report(3, loss=abs(x - 500))\n",
    )
    house.run("tune", "small.yaml", "--detach")
    studies.tune("target", FOLLOW.format("small") + f"\npolicy: {policy}\n", gate="train")
    for x in points[:4]:
        studies.open(f"go-{x}")
    await_reports(house, "target")
    assert studies.trained("target") == [400] and state_of(house, "small") == "running"
    studies.open("go-450")
    studies.open("go-499")
    wait_until(lambda: studies.trained("target")[-1] == 499, what="a new best in training")
    for x in points[6:]:
        studies.open(f"go-{x}")
    studies.open("train")
    await_state(house, "target", "finished")
    *replaced, last = studies.trials("target")
    assert last["state"] == "complete" and last["params"]["x"] == 499
    assert replaced and all(trial["state"] == "stopped" for trial in replaced)
    assert all("study 'small' has a better trial" in trial["note"] for trial in replaced)
    studies.assert_sound("small", "target")


def test_a_search_without_a_result_ends_its_follower(house, studies):
    studies.prepare("small", SEARCH.format(1) + "\nretries: 0")
    text = (house.folder / "small.yaml").read_text()
    house.write("small.yaml", text.replace("train.py", "missing.py").replace("study: small", ""))
    house.write("missing.py", "raise SystemExit('no data')")
    house.run("tune", "small.yaml", "-q", check=False)
    studies.prepare("target", FOLLOW.format("small"))
    done = house.run("tune", "target.yaml", check=False)
    assert done.returncode == 1
    assert "the study that it transfers from has no result" in done.stdout + done.stderr
    assert state_of(house, "target") == "finished"
    house.run("delete", "small", "--yes")


def test_a_controller_that_is_killed_while_both_are_open(house, studies):
    """In the search, and while the best is trained. The next one goes on with both."""
    studies.tune("small", SEARCH.format(4), gate="search")
    await_reports(house, "small")
    studies.prepare("target", FOLLOW.format("small"), gate="train")
    follower = house.start("tune", "target.yaml", "--plain")
    wait_until(lambda: state_of(house, "target") == "running", what="the follower to begin")
    for gate, name in (("search", "target"), ("train", None)):
        first = house.controller()
        assert house.kill_controller()
        wait_until(lambda first=first: house.controller() not in (None, first), what="another one")
        studies.open(gate)
        if name is not None:
            await_reports(house, name)
    out, err = follower.communicate(timeout=60)
    assert follower.returncode == 0, out + err
    assert len(studies.trials("small")) == 4
    assert studies.trained("target") == [studies.best("small")]
    works = [work for _, work, _ in reports_of(house, "target")]
    assert works == [1, 2, 3]
    await_no_controller(house)
    studies.assert_sound("small", "target")

"""One process that works on one trial after another."""

import json

from controller import assignment

LOOP = """
import sluice
for trial in sluice.trials():
    assert sluice.trial() is trial
    trial.report(1, accuracy=trial.number)
    print(trial.number, sluice.params()["lr"])
"""


WORK_UNTIL_STOPPED = """
import sluice
for trial in sluice.trials():
    work = 0
    while not trial.should_stop():
        work += 1
        trial.report(work, accuracy=1)
"""


def test_trial_after_trial(tmp_path, controller, launch):
    controller.assignments = [
        assignment(tmp_path, trial=8, params={"lr": 0.2}),
        assignment(tmp_path, trial=9, launch=2, params={"lr": 0.3}),
    ]
    assert launch(LOOP).end() == ["7 0.1", "8 0.2", "9 0.3"]
    assert controller.heard[0]["reuse"] is True
    for trial, number in ((7, 1), (8, 1), (9, 2)):
        assert controller.kinds(trial, number) == ["report", "done"]
    assert len(controller.of_type("ready")) == 3
    assert controller.connections == 1


def test_reuse_is_said_again_when_the_loop_comes_late(tmp_path, controller, launch):
    process = launch("import sluice\nsluice.set_attribute('early', 1)" + LOOP)
    process.end()
    assert [hello["reuse"] for hello in controller.of_type("hello")] == [False, True]
    assert controller.kinds(7) == ["attributes", "report", "done"]


def test_a_paused_trial_is_left_as_paused(tmp_path, controller, launch):
    controller.verdicts = {2: {"type": "pause"}, 3: {"type": "stop", "why": "complete"}}
    controller.assignments = [assignment(tmp_path, trial=8, target=3)]
    process = launch(WORK_UNTIL_STOPPED, assign={"target": 2})
    process.end()
    assert not process.is_marked_paused()
    # When trial 8 reports work 2, this controller answers pause again. If the script hears that in
    # time, it leaves trial 8 as paused, otherwise as done at work 3.
    assert controller.kinds(7)[-1] == "paused"
    assert controller.kinds(8)[-1] in ("paused", "done")


def test_a_trial_left_for_a_lost_lease_is_not_done(controller, launch):
    controller.terms["lease_ms"] = 300
    process = launch(WORK_UNTIL_STOPPED, assign={"target": 2})
    controller.wait(lambda: controller.works() == [1, 2])
    controller.go_away()
    process.end()
    assert process.spooled()[-1]["type"] == "paused"


def test_an_error_ends_the_process(controller, launch):
    process = launch(LOOP + "    raise KeyError('bad')\n")
    process.end(status=1)
    assert "KeyError: 'bad'" in process.errors
    assert controller.kinds(7) == ["report"]


def test_break_leaves_the_trial_to_the_end_of_the_process(controller, launch):
    launch(LOOP + "    break\n").end()
    assert controller.kinds(7) == ["report"]


def test_with_trial_reports_the_failure_and_goes_on(tmp_path, controller, launch):
    controller.assignments = [assignment(tmp_path, trial=8)]
    process = launch(
        """
import sluice
for trial in sluice.trials():
    with trial:
        trial.report(1, accuracy=1)
        if trial.number == 7:
            raise ValueError("diverged \\udc80")
try:
    trial.report(2, accuracy=1)
except RuntimeError as error:
    print(error)
print(trial.should_stop())
"""
    )
    assert process.end() == ["trial 8 is over: it takes no more report", "True"]
    assert "ValueError: diverged" in process.errors
    assert controller.kinds(7) == ["report", "failed"]
    first, *where, last = controller.results[7, 1][2]["reason"].splitlines()
    assert first == last == "ValueError: diverged ?"
    assert "line 7, in <module>" in where[-1]
    assert controller.kinds(8) == ["report", "done"]


def test_with_trial_in_a_plain_script_lets_the_error_through(controller, launch):
    launch("import sluice\nwith sluice.trial(): 1 / 0").end(status=1)
    assert not controller.of_type("failed")


def test_stopped_in_with_trial_goes_on(tmp_path, controller, launch):
    controller.verdicts = {1: {"type": "stop", "why": "stopped"}}
    controller.assignments = [assignment(tmp_path, trial=8, target=1)]
    launch(
        """
import sluice
for trial in sluice.trials():
    with trial:
        trial.report(1, accuracy=1)
        trial.stop_if_asked()
        print("never")
""",
        assign={"target": 1},
    ).end()
    assert controller.kinds(7) == controller.kinds(8) == ["report", "done"]


def test_a_verdict_right_behind_the_assignment_is_heard(tmp_path, controller, launch):
    class AndStop(list):
        def pop(self, _):
            stop = {"type": "stop", "trial": 8, "launch": 1, "why": "study"}
            lines = [json.dumps(each) + "\n" for each in (list.pop(self, 0), stop)]
            controller._connection.sendall("".join(lines).encode())  # both arrive together
            return stop

    controller.verdicts = {1: {"type": "stop", "why": "complete"}}
    controller.assignments = AndStop([assignment(tmp_path, trial=8, target=3)])
    launch(WORK_UNTIL_STOPPED, assign={"target": 1}).end()
    assert controller.kinds(8) == ["done"]


def test_a_second_loop_fails_the_trial_the_first_one_left(tmp_path, controller, launch):
    controller.assignments = [assignment(tmp_path, trial=8)]
    launch(
        """
import sluice
while True:
    try:
        for trial in sluice.trials():
            if trial.number == 7: raise ValueError
        break
    except ValueError:
        pass
"""
    ).end()
    assert controller.kinds(7) == ["failed"]
    assert controller.kinds(8) == ["done"]


def test_an_idle_worker_is_found_again(tmp_path, controller, launch):
    class Later(list):
        """Keeps the worker waiting: pop() gives a message that the worker ignores."""

        def pop(self, _):
            return {"type": "hold"}

    controller.assignments = Later([1])
    process = launch(LOOP)
    controller.wait(lambda: controller.of_type("ready"))
    controller.drop()
    controller.wait(lambda: len(controller.of_type("ready")) == 2)
    hello = controller.of_type("hello")[1]
    assert hello["reuse"] is True
    assert "trial" not in hello
    controller.assignments = []
    controller.send(**assignment(tmp_path, trial=8))
    process.end()
    assert controller.kinds(8) == ["report", "done"]


def test_last_words_not_acknowledged_are_said_again_under_the_trials_name(controller, launch):
    controller.acks = False
    controller.assignments = type("Hold", (list,), {"pop": lambda *_: {"type": "hold"}})([1])
    process = launch(LOOP)
    controller.wait(lambda: controller.of_type("ready"))
    controller.drop()
    controller.wait(lambda: len(controller.of_type("ready")) == 2)
    assert controller.of_type("hello")[1]["trial"] == 7
    assert controller.repeated == 2
    controller.ack_all()
    controller.send(type="exit")
    process.end()


def test_an_idle_worker_leaves_when_its_lease_is_lost(controller, launch):
    controller.terms["lease_ms"] = 300
    controller.assignments = type("Hold", (list,), {"pop": lambda *_: {"type": "hold"}})([1])
    process = launch(LOOP)
    controller.wait(lambda: controller.of_type("ready"))
    controller.go_away()
    assert process.end() == ["7 0.1"]


def test_defaults_lie_under_the_parameters(tmp_path, controller, launch):
    controller.assignments = [assignment(tmp_path, trial=8, params={"momentum": 0.5})]
    process = launch(
        """
import sluice
for trial in sluice.trials(lr=1.0, momentum=0.9):
    print(trial.params["lr"], trial.params["momentum"])
"""
    )
    assert process.end() == ["0.1 0.9", "1.0 0.5"]

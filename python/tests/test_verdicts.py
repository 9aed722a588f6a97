"""The controller's verdicts reach should_stop(), and should_stop() never waits for ever."""

import time

import pytest

UNTIL_STOPPED = """
import sluice
epoch = 0
while not sluice.should_stop():
    epoch += 1
    sluice.report(epoch, accuracy=epoch)
print(epoch)
"""


def test_a_target_is_waited_at_and_a_budget_goes_on(controller, launch):
    controller.verdicts = {
        3: {"type": "budget", "target": 9},
        9: {"type": "stop", "why": "complete"},
    }
    process = launch(UNTIL_STOPPED, assign={"target": 3})
    assert process.end() == ["9"]
    assert not process.is_marked_paused()
    assert controller.works() == list(range(1, 10))


def test_pause(controller, launch):
    controller.verdicts = {3: {"type": "pause"}}
    process = launch(UNTIL_STOPPED, assign={"target": 3})
    assert process.end() == ["3"]
    assert process.is_marked_paused()


def test_a_pause_that_was_not_asked_for_is_no_pause(controller, launch):
    controller.verdicts = {3: {"type": "pause"}}
    process = launch("import sluice\nsluice.report(3, accuracy=1)\ninput()")
    controller.wait(lambda: controller.works() == [3])
    process.say()
    process.end()
    assert not process.is_marked_paused()


def test_the_verdict_may_come_late(controller, launch):
    process = launch(UNTIL_STOPPED, assign={"target": 3})
    controller.wait(lambda: controller.works() == [1, 2, 3])
    controller.send(type="budget", launch=1, target=4)
    controller.wait(lambda: controller.works() == [1, 2, 3, 4])
    controller.send(type="stop", launch=1, why="stopped")
    assert process.end() == ["4"]


SAVES = """
import sluice
for epoch in range(1, 100):
    sluice.report(epoch, loss=1)
    if sluice.should_stop():
        break
    assert sluice.should_save()
print(sluice.should_save())
"""


@pytest.mark.parametrize(
    ("verdict", "saves"),
    [
        ({"type": "stop", "why": "stopped"}, False),
        ({"type": "stop", "why": "complete"}, True),
        ({"type": "stop", "why": "study"}, True),
        ({"type": "pause"}, True),
    ],
)
def test_who_is_stopped_for_good_need_not_save(controller, launch, verdict, saves):
    controller.verdicts = {2: verdict}
    assert launch(SAVES, assign={"target": 2}).end() == [str(saves)]


def test_a_stop_is_heard_without_a_target(controller, launch):
    process = launch(UNTIL_STOPPED)
    controller.wait(lambda: len(controller.works()) > 5)
    controller.send(type="stop", launch=1, why="timeout")
    process.end()


def test_words_to_another_launch_are_not_ours(controller, launch):
    process = launch(UNTIL_STOPPED, assign={"launch": 2, "target": 2})
    controller.wait(lambda: controller.works(launch=2) == [1, 2])
    controller.send(type="stop", launch=1, why="stopped")
    controller.send(type="stop", launch=2, trial=8, why="stopped")
    controller.send(type="budget", launch=2, target=3)
    controller.wait(lambda: controller.works(launch=2) == [1, 2, 3])
    controller.send(type="stop", launch=2, trial=7, why="stopped")
    assert process.end() == ["3"]


def test_unknown_messages_and_keys_are_ignored(controller, launch):
    process = launch(UNTIL_STOPPED, assign={"target": 2, "novelty": {"a": [1]}})
    controller.wait(lambda: controller.works() == [1, 2])
    controller.send(type="sing", launch=1)
    controller.send(type="stop", launch=1, why="stopped", novelty=[1, 2])
    assert process.end() == ["2"]


def test_a_lost_lease_stops_the_trial_and_spools(controller, launch):
    controller.terms["lease_ms"] = 300
    process = launch(UNTIL_STOPPED, assign={"target": 3})
    controller.wait(lambda: controller.works() == [1, 2, 3])
    controller.acks = False
    started = time.monotonic()
    controller.go_away()
    assert process.end() == ["3"]
    assert 0.2 < time.monotonic() - started < 10
    assert process.is_marked_paused()


def test_a_lost_lease_keeps_what_was_not_acknowledged(controller, launch):
    controller.terms["lease_ms"] = 300
    controller.acks = False
    process = launch(UNTIL_STOPPED + "sluice.report(4, accuracy=1)", assign={"target": 3})
    controller.wait(lambda: controller.works() == [1, 2, 3])
    controller.go_away()
    process.end()
    assert [one["work"] for one in process.spooled()] == [1, 2, 3, 4]
    assert "not heard for 0.3 s" in process.errors


def test_a_full_window_does_not_outlast_the_lease(controller, launch):
    controller.terms.update(lease_ms=300, window=2)
    controller.go_away()
    process = launch("import sluice\nfor i in range(9): sluice.report(i, accuracy=1)")
    process.end()
    assert len(process.spooled()) == 9


def test_a_controller_that_never_answers_hello_costs_the_lease(controller, launch):
    controller.terms["lease_ms"] = 300
    controller.welcomes = controller.acks = False
    process = launch(UNTIL_STOPPED, assign={"target": 1})
    assert process.end() == ["1"]
    assert len(process.spooled()) == 1


def test_a_verdict_after_a_new_connection(controller, launch):
    process = launch(UNTIL_STOPPED, assign={"target": 3})
    controller.wait(lambda: controller.works() == [1, 2, 3])
    controller.drop()
    controller.wait(lambda: len(controller.of_type("hello")) == 2)
    controller.send(type="stop", launch=1, why="complete")
    assert process.end() == ["3"]


def test_a_refused_launch_stops_and_does_not_come_back(controller, launch):
    controller.refusal = "launch 1 was given up"
    process = launch(UNTIL_STOPPED, assign={"target": 1})
    process.end()
    assert controller.connections == 1


def test_stop_if_asked_ends_the_process_quietly(controller, launch):
    controller.verdicts = {2: {"type": "stop", "why": "stopped"}}
    process = launch(
        """
import sluice
for epoch in range(1, 100):
    sluice.report(epoch, accuracy=1)
    sluice.stop_if_asked()
""",
        assign={"target": 2},
    )
    assert process.end() == []
    assert process.errors == ""

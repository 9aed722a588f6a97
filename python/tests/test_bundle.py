"""One process with several trials at the same time: how the trials join and leave."""

from bundles import COMPLETE, STEPS, ended
from controller import member


def test_trials_join_and_leave(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, number, target=2) for number in (8, 9, 10, 11)]
    controller.verdicts = {2: COMPLETE}
    process = launch(STEPS, assign={"target": 2}, SLUICE_WORKER="7.1")
    lines = process.end()
    assert controller.heard[0] == {
        "type": "hello",
        "version": 2,
        "worker": "7.1",
        "pid": process.process.pid,
        "client": "python 0.1.0",
        "study": "s",
        "capacity": 4,
        "several_shapes": False,
        "launches": [{"trial": 7, "launch": 1}],
        "ended": [],
    }
    for number in (7, 8, 9, 10, 11):
        assert controller.kinds(number) == ["report", "report", "done"]
        assert controller.works(number) == [1, 2]
    assert ended(lines) == [7, 8, 9, 10, 11]
    assert controller.connections == 1
    assert not controller.gaps
    assert not process.is_marked_paused()
    assert not process.spooled()
    assert not controller.of_type("ready")


def test_a_step_has_the_trials_in_the_order_in_which_they_joined(tmp_path, controller, launch):
    controller.dismisses = False
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    for number in (9, 8):
        controller.send(**member(tmp_path, number, target=1))
    controller.send(type="budget", trial=7, launch=1, target=2)
    controller.wait(lambda: controller.works() == [1, 2] and controller.works(8) == [1])
    controller.send(type="budget", trial=7, launch=1, target=3)
    controller.send(type="budget", trial=8, launch=1, target=2)
    controller.send(type="pause", trial=9, launch=1)
    controller.wait(lambda: controller.works() == [1, 2, 3] and controller.works(8) == [1, 2])
    controller.send(type="stop", trial=7, launch=1, why="stopped")
    controller.send(type="stop", trial=8, launch=1, why="study")
    controller.wait(lambda: controller.kinds(8)[-1] == "done")
    controller.send(type="exit")
    lines = process.end()
    # The two trials at the end leave in one step or in two, as their messages arrive.
    assert [line for line in lines if line != "[] False"][:5] == [
        "[7] True",
        "[7, 9, 8] True",
        "left 9 True",
        "[] True",
        "[7, 8] True",
    ]
    assert [line for line in lines[5:] if "left" in line] == ["left 7 False", "left 8 True"]
    assert controller.kinds(9) == ["report", "paused"]
    assert controller.kinds(7)[-1] == "done"
    assert not process.is_marked_paused()


def test_a_step_waits_for_every_verdict(tmp_path, controller, launch):
    controller.terms["lease_ms"] = 400
    controller.assignments = [member(tmp_path, 8, target=9)]
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1] and controller.works(8) == [1])
    # Three heartbeats take long enough: a step that did not wait would have begun by then.
    controller.wait(lambda: len(controller.of_type("heartbeat")) >= 3)
    assert controller.works(8) == [1]
    controller.send(type="budget", trial=7, launch=1, target=2)
    controller.wait(lambda: controller.works() == [1, 2] and controller.works(8) == [1, 2])
    process.kill()


def test_a_step_does_not_change_while_nothing_changes(controller, launch):
    controller.verdicts = {3: COMPLETE}
    lines = launch(STEPS, assign={"target": 3}).end()
    assert lines == ["[7] True", "[7] False", "[7] False", "left 7 True", "[] True"]


def test_a_trial_that_is_told_to_leave_before_its_first_step_is_not_shown(
    tmp_path, controller, launch
):
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    controller.send(**member(tmp_path, 8))
    controller.send(type="pause", trial=8, launch=1)
    controller.send(type="stop", trial=7, launch=1, why="complete")
    assert process.end() == ["[7] True", "left 7 True", "[] True"]
    assert controller.kinds(8) == ["paused"]


# A step takes until the script gets a line of input.
SLOW = STEPS + """
        if step.trials:
            input()
"""


def test_a_trial_has_left_before_the_others_train_on(tmp_path, controller, launch):
    """Otherwise it could stay for longer than the grace period, and the process be killed."""
    process = launch(SLOW, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    controller.send(**member(tmp_path, 8, target=1))
    controller.send(type="stop", trial=7, launch=1, why="stopped")
    process.say()
    controller.wait(lambda: controller.works(8) == [1])  # the script is in the next step
    assert controller.kinds(7) == ["report", "done"]
    controller.send(type="stop", trial=8, launch=1, why="complete")
    process.say()
    assert process.end() == [
        "[7] True",
        "left 7 False",
        "[] True",
        "[8] True",
        "left 8 True",
        "[] True",
    ]


def test_a_trial_leaves_while_others_wait_for_their_verdicts(tmp_path, controller, launch):
    controller.dismisses = False
    controller.assignments = [member(tmp_path, 8, target=9)]
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1] and controller.works(8) == [1])
    controller.send(type="pause", trial=8, launch=1)
    controller.wait(lambda: controller.kinds(8) == ["report", "paused"])
    assert controller.works() == [1]
    controller.send(**member(tmp_path, 9, target=1))
    controller.send(type="stop", trial=7, launch=1, why="complete")
    controller.wait(lambda: controller.works(9) == [1])
    assert controller.kinds() == ["report", "done"]
    process.kill()


def test_a_new_trial_that_is_told_to_leave_does_so_during_a_step(tmp_path, controller, launch):
    process = launch(SLOW, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    controller.send(**member(tmp_path, 8))
    controller.send(type="pause", trial=8, launch=1)
    controller.wait(lambda: controller.kinds(8) == ["paused"])
    controller.send(type="stop", trial=7, launch=1, why="complete")
    process.say()
    assert process.end() == ["[7] True", "left 7 True", "[] True"]


def test_an_assignment_that_is_repeated_changes_nothing(tmp_path, controller, launch):
    controller.dismisses = False
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    controller.send(**member(tmp_path, 7))
    controller.send(type="stop", trial=7, launch=1, why="complete")
    controller.wait(lambda: controller.kinds() == ["report", "done"])
    controller.send(**member(tmp_path, 7))  # as if the controller did not know yet that 7 has left
    controller.send(type="exit")
    assert process.end() == ["[7] True", "left 7 True", "[] True"]
    assert controller.kinds() == ["report", "done"]


def test_a_trial_beyond_the_capacity_is_handed_back(tmp_path, controller, launch):
    process = launch(STEPS.replace("capacity=4", "capacity=1"), assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    controller.send(**member(tmp_path, 8))
    controller.wait(lambda: controller.kinds(8) == ["released"])
    controller.send(type="stop", trial=7, launch=1, why="complete")
    assert process.end() == ["[7] True", "left 7 True", "[] True"]


SHRINKS = """
import sluice
with sluice.bundle(capacity=4) as bundle:
    for step in bundle:
        if len(step.trials) == 4:
            print([trial.number for trial in bundle.shrink(2)], bundle.capacity)
        elif len(step.trials) == 2 and step.changed and bundle.capacity == 2:
            print([trial.number for trial in step.trials])
            for trial in step.trials:
                bundle.finish(trial)
"""


def test_shrink_hands_the_newest_trials_back(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, number) for number in (8, 9, 10)]
    assert launch(SHRINKS).end() == ["[9, 10] 2", "[7, 8]"]
    for number in (9, 10):
        assert controller.kinds(number) == ["released"]
    for number in (7, 8):
        assert controller.kinds(number) == ["done"]
    # The new capacity is sent after the trials were handed back.
    told = [each["type"] for each in controller.heard if each["type"] != "heartbeat"]
    assert told[:4] == ["hello", "released", "released", "capacity"]
    assert controller.of_type("capacity") == [{"type": "capacity", "capacity": 2}] + [
        {"type": "capacity", "capacity": 0}
    ]


def test_a_trial_that_leaves_anyway_is_not_counted_by_shrink(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, number) for number in (8, 9)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=3) as bundle:
    for step in bundle:
        if step.left:
            print([trial.number for trial in bundle.shrink(2)])
            break
        if len(step.trials) == 3 and step.changed:
            step.trials[0].report(1, accuracy=1)
""",
        assign={"target": 1},
    )
    controller.wait(lambda: controller.works() == [1])
    controller.send(type="stop", trial=7, launch=1, why="complete")
    assert process.end() == ["[]"]
    assert controller.kinds(7) == ["report", "done"]
    assert controller.kinds(8) == controller.kinds(9) == ["paused"]


# Trains one step, as soon as the bundle has two trials, and leaves the bundle.
LEAVES = """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        if len(step.trials) == 2:
            train()
            break
"""


def test_trials_go_on_elsewhere_if_the_script_leaves_the_block(tmp_path, controller, launch):
    """Trial 8 has reported nothing. It is paused all the same, which is no failure."""
    controller.assignments = [member(tmp_path, 8)]
    process = launch(LEAVES.replace("train()", "step.trials[0].report(1, accuracy=1)"))
    process.end()
    assert controller.kinds() == ["report", "paused"]
    assert controller.kinds(8) == ["paused"]
    assert controller.heard[-1] == {"type": "capacity", "capacity": 0}
    assert not process.is_marked_paused()


def test_a_script_that_reports_nothing_hands_its_trials_back(tmp_path, controller, launch):
    """The controller takes that for a failure, or it would start the script again for ever."""
    controller.assignments = [member(tmp_path, 8)]
    process = launch(LEAVES.replace("train()", "pass"))
    process.end()
    assert controller.kinds() == controller.kinds(8) == ["released"]
    assert controller.heard[-1] == {"type": "capacity", "capacity": 0}
    assert not process.is_marked_paused()


def test_reports_of_work_that_was_reported_before_are_nothing_new(tmp_path, controller, launch):
    """A script that leaves without a checkpoint would report the same work for ever."""
    controller.assignments = [member(tmp_path, 8, work=3)]
    process = launch(LEAVES.replace("train()", "step.trials[1].report(3, accuracy=1)"))
    process.end()
    assert controller.kinds() == ["released"]
    assert controller.kinds(8) == ["report", "released"]


def test_a_trial_that_comes_after_the_block_was_left_is_paused(tmp_path, controller, launch):
    controller.acks = False  # the process waits for them before it ends
    process = launch(LEAVES.replace("== 2", "== 1").replace("train()", "pass"))
    controller.wait(lambda: controller.of_type("capacity"))
    controller.send(**member(tmp_path, 8))
    controller.wait(lambda: controller.kinds(8) == ["paused"])
    controller.ack_all()
    process.end()


def test_an_error_leaves_the_trials_to_the_end_of_the_process(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        for trial in step.trials:
            trial.report(1, accuracy=1)
        1 / 0
"""
    )
    process.end(status=1)
    assert controller.kinds() == ["report"]
    assert "released" not in controller.kinds(8)
    assert not process.is_marked_paused()


def test_one_trial_fails_and_the_others_go_on(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, number) for number in (8, 9)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=3) as bundle:
    for step in bundle:
        if len(step.trials) == 3 and step.changed:
            try:
                raise ValueError("diverged")
            except ValueError as error:
                bundle.fail(step.trials[1], error)
            bundle.fail(step.trials[2], "no memory")
            with step.trials[0] as trial:
                trial.report(1, accuracy=1)
        elif len(step.trials) == 1 and step.changed and trial is not None:
            with step.trials[0] as trial:
                raise KeyError("bad")
    """.replace("for step in bundle:", "trial = None\n    for step in bundle:")
    )
    process.end()
    assert controller.kinds() == ["report", "failed"]
    assert controller.kinds(8) == controller.kinds(9) == ["failed"]
    assert controller.results[8, 1][1]["reason"].startswith("ValueError: diverged")
    assert controller.results[9, 1][1]["reason"] == "no memory"
    assert controller.results[7, 1][2]["reason"].startswith("KeyError: 'bad'")
    assert "ValueError: diverged" in process.errors


def test_profile(controller, launch):
    launch(
        """
import sluice
with sluice.bundle(capacity=2, several_shapes=True) as bundle:
    for step in bundle:
        trial = step.trials[0]
        bundle.profile(trial, trials=16, bytes=8 << 30, work_per_second=2.5)
        bundle.profile(trial, trials=1, work_per_second=3)
        bundle.finish(trial)
        break
"""
    ).end()
    assert controller.heard[0]["several_shapes"] is True
    first, second = controller.of_type("profile")
    assert (first["trials"], first["bytes"], first["work_per_second"]) == (16, 8 << 30, 2.5)
    assert second["work_per_second"] == 3 and "bytes" not in second


def test_checkpoints_of_each_trial(tmp_path, controller, launch):
    for number in (7, 8):
        latest = tmp_path / "checkpoints" / str(number) / "latest"
        latest.mkdir(parents=True)
        (latest / "state").write_text(str(number))
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        for trial in step.joined:
            print((trial.latest_checkpoint() / "state").read_text())
        if len(step.trials) == 2:
            for trial in step.trials:
                with trial.checkpoint(4) as folder:
                    (folder / "state").write_text(f"{trial.number} at 4")
                bundle.finish(trial)
"""
    )
    assert sorted(process.end()) == ["7", "8"]
    for number in (7, 8):
        state = tmp_path / "checkpoints" / str(number) / "latest" / "state"
        assert state.read_text() == f"{number} at 4"
        assert controller.kinds(number) == ["saved", "done"]

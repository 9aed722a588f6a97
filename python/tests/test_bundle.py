"""One process, several trials at once."""

import json

import pytest
from controller import member

STEPS = """
import sluice
with sluice.bundle(capacity=4) as bundle:
    epochs = {}
    for step in bundle:
        for trial in step.left:
            print("left", trial.number, trial.should_save(), flush=True)
            del epochs[trial.number]
        for trial in step.joined:
            epochs[trial.number] = trial.work
        print([trial.number for trial in step.trials], step.changed, flush=True)
        for trial in step.trials:
            epochs[trial.number] += 1
            trial.report(epochs[trial.number], accuracy=trial.params["lr"])
"""
COMPLETE = {"type": "stop", "why": "complete"}


def ended(lines):
    """How often each trial was told to leave."""
    left = [int(line.split()[1]) for line in lines if line.startswith("left")]
    return sorted(left)


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
    assert process.end() == [
        "[7] True",
        "[7, 9, 8] True",
        "left 9 True",
        "[7, 8] True",
        "left 7 False",
        "left 8 True",
        "[] True",
    ]
    assert controller.kinds(9) == ["report", "paused"]
    assert controller.kinds(7)[-1] == "done"
    assert not process.is_marked_paused()


def test_a_step_waits_for_every_verdict(tmp_path, controller, launch):
    controller.terms["lease_ms"] = 400
    controller.assignments = [member(tmp_path, 8, target=9)]
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1] and controller.works(8) == [1])
    # In the time between two heartbeats another step would have begun.
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


def test_each_trial_has_its_own_numbers_and_folder(tmp_path, controller, launch):
    assign = member(tmp_path, 8, launch=3, target=1)
    (tmp_path / "8.3" / "conversations").write_bytes(b"..")
    controller.assignments = [assign]
    controller.verdicts = {1: COMPLETE}
    launch(STEPS, assign={"target": 1}).end()
    assert list(controller.results[8, 3]) == [(2 << 40) + 1, (2 << 40) + 2]
    assert list(controller.results[7, 1]) == [1, 2]
    assert (tmp_path / "8.3" / "acknowledged").read_text() == f"{(2 << 40) + 2:020d}\n"
    assert (tmp_path / "launch" / "acknowledged").read_text() == f"{2:020d}\n"
    assert (tmp_path / "8.3" / "conversations").read_bytes() == b"..."


def test_the_window_counts_for_each_trial(tmp_path, controller, launch):
    controller.terms["window"] = 2
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    step = next(bundle)
    while len(step.trials) < 2:
        step = next(bundle)
    input()
    for work in (1, 2):
        for trial in step.trials:
            trial.report(work, accuracy=1)
    print("said", flush=True)
    step.trials[0].report(3, accuracy=1)
    print("acknowledged", flush=True)
""",
    )
    controller.wait(lambda: len(controller.carried) == 2)
    controller.acks = False
    process.say()
    assert process.process.stdout.readline() == "said\n"
    controller.wait(lambda: controller.works() == [1, 2] and controller.works(8) == [1, 2])
    controller.ack_all()
    assert process.end() == ["acknowledged"]


def test_a_broken_connection_loses_and_doubles_nothing(tmp_path, controller, launch):
    controller.acks = False
    controller.assignments = [member(tmp_path, number) for number in (8, 9)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=3) as bundle:
    for step in bundle:
        if len(step.trials) < 3:
            continue
        for trial in step.trials:
            trial.report(1, accuracy=1)
        bundle.finish(step.trials[2])
        input()
        for trial in step.trials[:2]:
            trial.report(2, accuracy=1)
            bundle.finish(trial)
"""
    )
    controller.wait(lambda: controller.kinds(9) == ["report", "done"])
    controller.drop()
    controller.wait(lambda: controller.repeated == 4)
    hello = controller.of_type("hello")[1]
    assert hello["launches"] == [{"trial": 7, "launch": 1}, {"trial": 8, "launch": 1}]
    assert hello["ended"] == [{"trial": 9, "launch": 1}]
    controller.ack_all()
    process.say()
    process.end()
    assert not controller.gaps
    for number in (7, 8):
        assert controller.kinds(number) == ["report", "report", "done"]


def test_an_assignment_that_is_repeated_changes_nothing(tmp_path, controller, launch):
    controller.dismisses = False
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.works() == [1])
    controller.send(**member(tmp_path, 7))
    controller.send(type="stop", trial=7, launch=1, why="complete")
    controller.wait(lambda: controller.kinds() == ["report", "done"])
    controller.send(**member(tmp_path, 7))  # sent before the controller knew that it had left
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
    # The capacity falls after the trials were handed back.
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
    assert controller.kinds(8) == controller.kinds(9) == ["released"]


def test_leaving_the_block_hands_the_trials_back(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        if len(step.trials) == 2:
            break
"""
    )
    process.end()
    assert controller.kinds() == controller.kinds(8) == ["released"]
    assert controller.heard[-1] == {"type": "capacity", "capacity": 0}
    assert not process.is_marked_paused()


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


def test_a_refused_trial_is_dropped_and_the_others_go_on(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        for trial in step.left:
            print("left", trial.number, trial.should_save(), flush=True)
        if len(step.trials) == 2 and step.changed:
            print("both", flush=True)
            input()
            for trial in step.trials:
                with trial.checkpoint(1) as folder:
                    (folder / "state").touch()
                trial.report(1, accuracy=1)
        elif step.left:
            for trial in step.trials:
                bundle.finish(trial)
"""
    )
    assert process.process.stdout.readline() == "both\n"
    controller.carried.remove((8, 1))
    controller.send(type="refuse", trial=8, launch=1, reason="launch 1 was given up")
    process.process.stderr.readline()  # what the package says of the refusal
    process.say()
    assert process.end() == ["left 8 False"]
    assert controller.kinds(8) == []
    assert controller.kinds(7) == ["saved", "report", "done"]
    assert (tmp_path / "checkpoints" / "7" / "latest" / "state").exists()
    assert not (tmp_path / "checkpoints" / "8" / "latest").exists()


def test_a_lost_lease_makes_all_leave(tmp_path, controller, launch):
    controller.terms["lease_ms"] = 300
    controller.assignments = [member(tmp_path, 8, target=1)]
    process = launch(STEPS, assign={"target": 9})
    controller.wait(lambda: controller.works(8) == [1])
    controller.go_away()
    lines = process.end()
    assert ended(lines) == [7, 8]
    assert process.spooled()[-1]["type"] == "paused"
    assert process.spooled(tmp_path / "8.1")[-1]["type"] == "paused"


def test_a_refused_connection_makes_all_leave(controller, launch):
    controller.refusal = "no worker '7.1' is known"
    process = launch(STEPS)
    assert process.end() == []
    assert controller.connections == 1
    assert [one["type"] for one in process.spooled()] == ["paused"]


def test_without_a_controller_the_bundle_trains_on(controller, launch):
    controller.go_away()
    controller.terms["lease_ms"] = 500
    process = launch(STEPS)
    assert "[7] False" in process.end()
    kinds = [one["type"] for one in process.spooled()]
    assert kinds[-1] == "paused"
    assert set(kinds[:-1]) == {"report"}


def test_an_empty_bundle_is_found_again(tmp_path, controller, launch):
    controller.dismisses = False
    controller.verdicts = {1: COMPLETE}
    process = launch(STEPS, assign={"target": 1})
    controller.wait(lambda: controller.kinds() == ["report", "done"])
    controller.drop()
    controller.wait(lambda: len(controller.of_type("hello")) == 2)
    hello = controller.of_type("hello")[1]
    assert hello["launches"] == []
    controller.dismisses = True
    controller.send(**member(tmp_path, 8, target=1))
    process.end()
    assert controller.kinds(8) == ["report", "done"]


def test_an_older_controller_gives_one_trial_at_a_time(tmp_path, controller, launch):
    controller.refused_versions = (2,)
    controller.assignments = [member(tmp_path, number, target=1) for number in (8, 9)]
    controller.verdicts = {1: COMPLETE}
    process = launch(STEPS.replace("        print([", "        bundle.shrink(3)\n        print(["),
                     assign={"target": 1})
    lines = process.end()
    assert [line for line in lines if line.startswith("[") and line != "[] True"] == [
        "[7] True",
        "[8] True",
        "[9] True",
    ]
    assert [hello["version"] for hello in controller.of_type("hello")] == [2, 1]
    assert controller.of_type("hello")[1]["reuse"] is True
    for number in (7, 8, 9):
        assert controller.kinds(number) == ["report", "done"]
    assert not controller.of_type("capacity")


def test_an_older_controller_gets_trials_back_as_paused(controller, launch):
    controller.refused_versions = (2,)
    script = """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        bundle.profile(step.trials[0], trials=1, bytes=8)
        break
"""
    launch(script).end()
    assert controller.kinds() == ["paused"]


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


def test_a_checkpoint_puts_only_its_own_reports_on_disk(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        if len(step.trials) == 2:
            input()
            for trial in step.trials:
                trial.report(1, accuracy=1)
            with step.trials[1].checkpoint(1) as folder:
                pass
            print("saved", flush=True)
            input()
            break
"""
    )
    controller.wait(lambda: len(controller.carried) == 2)
    controller.acks = False
    process.say()
    assert process.process.stdout.readline() == "saved\n"
    assert not process.spooled()
    assert [one["type"] for one in process.spooled(tmp_path / "8.1")] == ["report"]
    controller.ack_all()
    process.say()
    process.end()


def test_while_no_controller_listens_each_trial_has_its_spool(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        if len(step.trials) == 2:
            input()
            for trial in step.trials:
                trial.report(1, accuracy=1)
            input()
"""
    )
    controller.wait(lambda: len(controller.carried) == 2)
    controller.go_away()
    process.say()
    process.wait_until(lambda: process.spooled() and process.spooled(tmp_path / "8.1"))
    process.kill()
    assert [(one["trial"], one["seq"]) for one in process.spooled()] == [(7, 1)]
    assert [(one["trial"], one["seq"]) for one in process.spooled(tmp_path / "8.1")] == [(8, 1)]


def test_threads_report_while_trials_join_and_leave(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, number) for number in range(8, 40)]
    process = launch(
        """
import sluice, threading
def work(trial):
    for epoch in range(1, 51):
        trial.report(epoch, accuracy=1)
with sluice.bundle(capacity=8) as bundle:
    for step in bundle:
        threads = [threading.Thread(target=work, args=(trial,)) for trial in step.trials]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        for trial in step.trials:
            bundle.finish(trial)
"""
    )
    process.end()
    for number in range(7, 40):
        assert controller.works(number) == list(range(1, 51))
        assert controller.kinds(number)[-1] == "done"
    assert not controller.gaps


def test_a_forked_child_of_a_bundle_is_silent(tmp_path, controller, launch):
    controller.verdicts = {1: COMPLETE}
    process = launch(
        """
import os, sys, sluice
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        for trial in step.trials:
            child = os.fork()
            if child == 0:
                trial.report(1, accuracy=2)
                print(trial.should_stop(), len(list(bundle)))
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            trial.report(1, accuracy=1)
""",
        assign={"target": 1},
    )
    assert process.end() == ["False 0"]
    assert controller.kinds() == ["report", "done"]
    assert controller.results[7, 1][1]["values"] == {"accuracy": 1}


def test_a_signal_handler_may_report(controller, launch):
    process = launch(
        """
import itertools, signal, sluice
count = itertools.count(1)
with sluice.bundle(capacity=2) as bundle:
    for step in bundle:
        [trial] = step.trials
        def handle(*_):
            trial.set_attribute("handled", next(count))
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        for epoch in range(1000):
            trial.report(epoch, accuracy=1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        trial.set_attribute("total", next(count))
        bundle.finish(trial)
        break
"""
    )
    process.end()
    handled = [one["attributes"] for one in controller.of_type("attributes")]
    [total] = [one["total"] for one in handled if "total" in one]
    assert sorted(one["handled"] for one in handled if "handled" in one) == list(range(1, total))
    assert len(controller.works()) == 1000


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sluice.bundle(capacity=0)", "ValueError: capacity: expected a number from 1 to 4096"),
        ("sluice.bundle(capacity='4')", "TypeError: capacity: expected an integer, found '4'"),
        ("sluice.bundle(5000)", "ValueError: capacity: expected a number from 1 to 4096"),
        ("sluice.bundle(2)\nsluice.bundle(2)", "expected one bundle in a process"),
        ("sluice.report(1, a=1)\nsluice.bundle(2)", "expected before the first report"),
        ("for _ in sluice.trials(): sluice.bundle(2)", "not beside sluice.trials()"),
        ("sluice.bundle(2)\nlist(sluice.trials())", "this process has a bundle"),
        ("sluice.bundle(2)\nsluice.report(1, a=1)", "call the methods of its trials"),
        ("for step in sluice.bundle(2): pass", "expected `with sluice.bundle(...) as bundle:`"),
    ],
)
@pytest.mark.parametrize("is_by_hand", [False, True])
def test_wrong_calls(controller, launch, script, words, is_by_hand):
    process = launch(f"import sluice\n{script}", **({"SLUICE_TRIAL_FILE": ""} if is_by_hand else {}))
    process.end(status=1)
    assert words in process.errors


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("trial.report(1, a=1)", "RuntimeError: trial 7 is over: it takes no more report"),
        ("trial.checkpoint(1).__enter__()", "RuntimeError: trial 7 is over: it takes no checkpoint"),
        ("bundle.finish(trial)", "RuntimeError: trial 7 has left the bundle already"),
        ("bundle.fail(trial, 'why')", "RuntimeError: trial 7 has left the bundle already"),
        ("bundle.fail(7, 'why')", "TypeError: trial: expected a trial of the bundle, found 7"),
        ("bundle.profile(trial, trials=1)", "RuntimeError: trial 7 has left the bundle already"),
    ],
)
def test_a_trial_that_has_left_takes_nothing_more(controller, launch, script, words):
    process = launch(
        f"""
import sluice
with sluice.bundle(2) as bundle:
    for step in bundle:
        [trial] = step.trials
        bundle.finish(trial)
        {script}
"""
    )
    process.end(status=1)
    assert words in process.errors


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("bundle.shrink(0)", "ValueError: capacity: expected a number from 1 to 4096, found 0"),
        ("bundle.shrink(3)", "ValueError: capacity: expected at most the present 2, found 3"),
        ("bundle.profile(trial, trials=0)", "trials: expected a number from 1 to 4096, found 0"),
        ("bundle.profile(trial, trials=1, bytes=-1)", "bytes: expected 0 <= bytes < 2**53"),
        ("bundle.profile(trial, trials=1, bytes=0.5)", "bytes: expected an integer, found 0.5"),
        (
            "bundle.profile(trial, trials=1, work_per_second=float('nan'))",
            "work_per_second: expected a finite number of at least 0, found nan",
        ),
        ("trial.report(1, a='b')", "a: expected a number, found 'b'"),
    ],
)
def test_wrong_arguments(controller, launch, script, words):
    process = launch(
        f"""
import sluice
with sluice.bundle(2) as bundle:
    for step in bundle:
        [trial] = step.trials
        {script}
"""
    )
    process.end(status=1)
    assert words in process.errors


def test_defaults_lie_under_the_parameters(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8, params={"momentum": 0.5})]
    process = launch(
        """
import sluice
with sluice.bundle(2, lr=1.0, momentum=0.9) as bundle:
    for step in bundle:
        for trial in step.joined:
            print(trial.params["lr"], trial.params["momentum"])
        if len(step.trials) == 2:
            break
"""
    )
    assert sorted(process.end()) == ["0.1 0.9", "1.0 0.5"]


BY_HAND = """
import sluice
with sluice.bundle(capacity=16, lr=0.1) as bundle:
    for step in bundle:
        for trial in step.joined:
            epoch = 0
            print(trial.params, trial.latest_checkpoint(), bundle.capacity)
        epoch += 1
        for trial in step.trials:
            trial.report(epoch, loss=1 / epoch)
            with trial.checkpoint(epoch) as folder:
                (folder / "epoch").write_text(str(epoch))
            bundle.profile(trial, trials=1)
            bundle.shrink(3)
            if epoch == 2:
                bundle.finish(trial)
print(json.dumps(step.changed))
"""


def test_by_hand_the_bundle_has_one_trial(launch):
    process = launch("import json" + BY_HAND, SLUICE_TRIAL_FILE="")
    assert process.end() == [
        "{'lr': 0.1} None 16",
        "epoch 1  loss=1",
        "epoch 2  loss=0.5",
        json.dumps(False),
    ]


def test_by_hand_an_error_of_a_trial_is_raised(launch):
    process = launch(
        """
import sluice
with sluice.bundle(capacity=16) as bundle:
    for step in bundle:
        bundle.fail(step.trials[0], ValueError("diverged"))
""",
        SLUICE_TRIAL_FILE="",
    )
    process.end(status=1)
    assert "ValueError: diverged" in process.errors


def test_another_rank_steps_on_until_it_is_told_to_stop(controller, launch):
    process = launch(
        """
import sluice
with sluice.bundle(capacity=16) as bundle:
    for number, step in enumerate(bundle):
        for trial in step.trials:
            trial.report(1, loss=1)
        if number == 3:
            break
print(number)
""",
        RANK="1",
    )
    assert process.end() == ["3"]
    assert controller.connections == 0

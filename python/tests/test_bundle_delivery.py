"""The reports of each trial of a bundle arrive once and in order, even if connections break."""

from bundles import COMPLETE, STEPS, ended
from controller import member


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


def test_a_refused_trial_is_dropped_and_the_others_go_on(tmp_path, controller, launch):
    controller.assignments = [member(tmp_path, 8)]
    process = launch(
        """
import sluice
with sluice.bundle(capacity=2) as bundle:
    left = []
    for step in bundle:
        left += step.left
        for trial in step.left:
            print("left", trial.number, trial.should_save(), flush=True)
        if len(step.trials) == 2 and step.changed:
            print("both", flush=True)
            input()
            for trial in step.trials:
                with trial.checkpoint(1) as folder:
                    (folder / "state").touch()
                trial.report(1, accuracy=1)
        elif left:
            for trial in step.trials:
                bundle.finish(trial)
"""
    )
    assert process.process.stdout.readline() == "both\n"
    controller.carried.remove((8, 1))
    controller.send(type="refuse", trial=8, launch=1, reason="launch 1 was given up")
    process.process.stderr.readline()  # the package prints a line when it has heard the refusal
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

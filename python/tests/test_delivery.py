"""Each report reaches the controller once and in order, even if connections break."""

import json

import pytest
from controller import Controller

COUNT_TO_TEN = """
import sluice
for epoch in range(1, 11):
    sluice.report(epoch, accuracy=epoch / 10)
"""


def test_a_script_says_hello_and_reports(controller, launch):
    process = launch(COUNT_TO_TEN, SLUICE_WORKER="7.1")
    process.end()
    hello = controller.heard[0]
    pid = process.process.pid
    assert hello == {
        "worker": "7.1",
        "type": "hello",
        "version": 1,
        "pid": pid,
        "client": "python 0.1.0",
        "reuse": False,
        "study": "s",
        "trial": 7,
        "launch": 1,
    }
    assert controller.heard[1] == {
        "type": "report",
        "trial": 7,
        "launch": 1,
        "seq": 1,
        "work": 1,
        "values": {"accuracy": 0.1},
    }
    assert controller.works() == list(range(1, 11))
    assert not process.spooled()


def test_every_kind_of_message(controller, launch):
    launch(
        """
import sluice
sluice.set_attribute("params", 61706)
sluice.set_attribute("host", "ü")
sluice.set_attribute("big", True)
sluice.report(1, {"val/acc": 1, "loss": float("nan")}, up=float("inf"), down=-float("inf"))
(sluice.checkpoint_dir() / "model").write_bytes(b"x" * 24)
sluice.saved(1)
"""
    ).end()
    results = controller.results[7, 1]
    assert [results[seq]["attributes"] for seq in (1, 2, 3)] == [
        {"params": 61706},
        {"host": "ü"},
        {"big": True},
    ]
    assert results[4]["values"] == {
        "val/acc": 1,
        "loss": "NaN",
        "up": "Infinity",
        "down": "-Infinity",
    }
    assert (results[5]["type"], results[5]["work"], results[5]["bytes"]) == ("saved", 1, 24)


def test_report_does_not_wait_for_the_acknowledgement(controller, launch):
    controller.acks = False
    process = launch(COUNT_TO_TEN + "print('reported', flush=True)")
    assert process.process.stdout.readline() == "reported\n"
    controller.wait(lambda: len(controller.works()) == 10)
    assert process.process.poll() is None  # at its end the process waits for acknowledgements
    controller.ack_all()
    process.end()
    assert not process.spooled()


def test_report_waits_at_a_full_window(controller, launch):
    controller.terms["window"] = 4
    controller.acks = False
    process = launch(COUNT_TO_TEN)
    controller.wait(lambda: len(controller.works()) == 4)
    controller.ack_all()
    process.end()
    assert controller.works() == list(range(1, 11))


def test_a_broken_connection_loses_and_doubles_nothing(controller, launch):
    controller.acks = False
    process = launch(COUNT_TO_TEN + "input()\nsluice.report(11, accuracy=1)")
    controller.wait(lambda: len(controller.works()) == 10)
    controller.drop()
    controller.wait(lambda: controller.repeated == 10)
    controller.acks = True
    process.say()
    controller.drop()
    controller.wait(lambda: len(controller.works()) == 11)
    controller.ack_all()
    process.end()
    assert controller.works() == list(range(1, 12))
    assert not controller.gaps
    hellos = controller.of_type("hello")
    assert len(hellos) >= 2
    assert all(hello["trial"] == 7 for hello in hellos)


def test_many_drops_in_the_middle_of_reports(controller, launch):
    process = launch(
        """
import sluice
for epoch in range(3000):
    sluice.report(epoch, accuracy=1)
input()
"""
    )
    for count in range(200, 2000, 300):
        controller.wait(lambda count=count: len(controller.works()) > count)
        controller.drop()
    controller.wait(lambda: len(controller.works()) == 3000)
    process.say()
    process.end()
    delivered = controller.works() + [one["work"] for one in process.spooled()]
    assert sorted(set(delivered)) == list(range(3000))
    assert not controller.gaps


def test_the_next_controller_is_found(tmp_path, controller, launch):
    controller.acks = False
    process = launch(COUNT_TO_TEN + "input()")
    controller.wait(lambda: len(controller.works()) == 10)
    controller.go_away()
    successor = Controller(controller.path)
    successor.wait(lambda: len(successor.works()) == 10)
    process.say()
    process.end()
    assert successor.heard[0]["type"] == "hello"
    successor.go_away()


def test_without_a_controller_results_are_spooled(controller, launch):
    controller.go_away()
    process = launch(COUNT_TO_TEN)
    process.end()
    spooled = process.spooled()
    assert [one["work"] for one in spooled] == list(range(1, 11))
    assert [one["seq"] for one in spooled] == list(range(1, 11))
    assert spooled[0] == {
        "type": "report",
        "trial": 7,
        "launch": 1,
        "seq": 1,
        "work": 1,
        "values": {"accuracy": 0.1},
    }


@pytest.mark.parametrize("ending, status", [("raise SystemExit(3)", 3), ("1 / 0", 1)])
def test_results_are_spooled_however_the_interpreter_ends(controller, launch, ending, status):
    controller.go_away()
    process = launch(COUNT_TO_TEN + ending)
    process.end(status)
    assert len(process.spooled()) == 10


def test_only_what_was_not_acknowledged_is_spooled(controller, launch):
    process = launch(COUNT_TO_TEN + "input()\nsluice.report(11, accuracy=1)")
    controller.wait(lambda: len(controller.works()) == 10)
    controller.acks = False
    process.say()
    controller.wait(lambda: len(controller.works()) == 11)
    controller.go_away()
    process.end()
    spooled = [one["work"] for one in process.spooled()]
    assert spooled[-1] == 11


def test_a_silent_controller_is_waited_for_only_so_long(controller, launch):
    controller.terms["lease_ms"] = 300
    controller.acks = False
    process = launch(COUNT_TO_TEN)
    process.end()
    assert len(process.spooled()) == 10


def test_heartbeats_while_the_script_computes(controller, launch):
    controller.terms["lease_ms"] = 200
    process = launch("import sluice\nsluice.report(1, accuracy=1)\ninput()")
    controller.wait(lambda: len(controller.of_type("heartbeat")) >= 6)
    process.say()
    process.end()


def test_the_lease_of_the_welcome_counts(tmp_path, launch):
    controller = Controller(tmp_path / "other.sock", lease_ms=60_000)
    process = launch(
        "import sluice\ninput()\nsluice.report(1, accuracy=1)\ninput()", under=controller
    )
    controller.terms["lease_ms"] = 200
    process.say()
    controller.wait(lambda: len(controller.of_type("heartbeat")) >= 3)
    process.say()
    process.end()
    controller.go_away()


def test_a_message_larger_than_the_sockets_buffer(controller, launch):
    launch(
        """
import sluice
sluice.set_attribute("notes", "x" * 1_000_000)
try:
    sluice.set_attribute("notes", "x" * (1 << 20))
except ValueError as error:
    print(error)
sluice.report(1, accuracy=1)
"""
    ).end()
    results = controller.results[7, 1]
    assert len(results[1]["attributes"]["notes"]) == 1_000_000
    assert results[2]["work"] == 1


def test_too_large_an_attribute_says_how_large(launch):
    process = launch("import sluice\nsluice.set_attribute('notes', 'x' * (1 << 20))")
    process.end(status=1)
    assert "ValueError: a message holds at most 1048576 bytes" in process.errors


def test_reports_from_several_threads(controller, launch):
    launch(
        """
import sluice, threading
def work(number):
    for count in range(100):
        sluice.set_attribute(f"{number}", count)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    ).end()
    heard = [one["attributes"] for one in controller.of_type("attributes")]
    assert len(controller.results[7, 1]) == 800
    for number in range(8):
        assert [one[str(number)] for one in heard if str(number) in one] == list(range(100))


def test_a_signal_handler_may_report_at_any_instant(controller, launch):
    launch(
        """
import itertools, signal, sluice
handled = itertools.count()
armed = True
def handle(*_):
    sluice.set_attribute("handled", next(handled))
    signal.setitimer(signal.ITIMER_REAL, 0.0005 if armed else 0)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005)
for epoch in range(3000):
    sluice.report(epoch, accuracy=1)
armed = False
signal.setitimer(signal.ITIMER_REAL, 0)
sluice.set_attribute("total", next(handled))
"""
    ).end()
    assert len(controller.works()) == 3000
    handled = [one["attributes"].get("handled") for one in controller.of_type("attributes")]
    handled = [one for one in handled if one is not None]
    total = next(
        one["attributes"]["total"]
        for one in controller.of_type("attributes")
        if "total" in one["attributes"]
    )
    assert sorted(handled) == list(range(total))
    assert not controller.gaps


def test_a_socket_in_a_deep_folder(tmp_path, launch):
    folder = tmp_path / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    (tmp_path / "near").symlink_to(folder)
    controller = Controller(tmp_path / "near" / "s")
    controller.path = str(folder / "s")
    launch(COUNT_TO_TEN, under=controller).end()
    assert controller.works() == list(range(1, 11))
    controller.go_away()


def test_a_report_survives_sigkill_right_after_it(controller, launch):
    launch("import os, sluice\nsluice.report(1, accuracy=1)\nos.kill(os.getpid(), 9)").end(
        status=-9
    )
    controller.wait(lambda: controller.works() == [1])


def test_spooling_appends(tmp_path, controller, launch):
    controller.go_away()
    (tmp_path / "launch").mkdir()
    (tmp_path / "launch" / "spool.jsonl").write_text(json.dumps({"seq": 0}) + "\n")
    process = launch(COUNT_TO_TEN)
    process.end()
    assert [one["seq"] for one in process.spooled()] == list(range(11))

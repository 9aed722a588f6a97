"""`sluice watch --all`: all studies that run, those that come, and how they end."""

import json
import os
import re
import signal

from house import wait_until
from many_studies import await_reports, await_state, prepare, reports_of, state_of


def start(house, *names, **options):
    for name in names:
        prepare(house, name, **options)
        house.run("tune", f"{name}.yaml", "--detach")


def watch(house, *words):
    """Looks on, and has shown something when this returns."""
    process = house.start("watch", "--all", *words)
    first = os.read(process.stdout.fileno(), 1 << 16)
    process.seen = first.decode()
    return process


def end_of(process, seconds=60):
    """Waits for its end, which must be a success. Returns all that it has printed."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, out + err
    return process.seen + out


def lines_of(text, study):
    """What was said of a study, without the time: "runs: ...", ": new best: ..."."""
    found = [re.fullmatch(rf"\[[^]]+\] {study}(.*)", line) for line in text.splitlines()]
    return [match[1] for match in found if match]


def test_all_are_followed_to_the_last(house):
    """Also a study that comes later; the controller ends while nothing is lost of what it did."""
    start(house, "one", trials=6)
    process = watch(house)
    start(house, "two", trials=2)
    text = end_of(process)
    assert "\x1b" not in text
    for name, trials in (("one", 6), ("two", 2)):
        assert state_of(house, name) == "finished"
        lines = lines_of(text, name)
        assert lines[0].startswith(" runs: ") and f"/{trials} trials" in lines[0], text
        assert lines[-1].startswith(f" finished: {trials}/{trials} trials (100%)"), text
        assert lines[-1].endswith("all trials done"), text
        assert all(line.startswith(": new best: loss ") for line in lines[1:-1]), text
    assert len(lines_of(text, "two")) > 2, "a new best value was told"


def test_json_is_what_one_study_has(house):
    start(house, "one", "two", trials=3, seconds=0.3)
    alone = house.start("watch", "one", "--json")
    text = end_of(watch(house, "--json"))
    objects = [json.loads(line) for line in text.splitlines()]
    assert {one["event"] for one in objects} == {"progress"}
    first = json.loads(alone.communicate(timeout=60)[0].splitlines()[0])
    for name in ("one", "two"):
        mine = [one for one in objects if one["study"] == name]
        assert len(mine) >= 2 and {one["state"] for one in mine[:-1]} == {"running"}
        assert mine[-1]["state"] == "finished" and mine[-1]["trials"]["complete"] == 3
        assert all(list(one) == list(first) for one in mine)


def test_ctrl_c_changes_no_study(house):
    start(house, "one", "two", trials=60)
    process = watch(house)
    process.send_signal(signal.SIGINT)
    text = end_of(process)
    assert "finished" not in text and "paused" not in text
    assert [state_of(house, name) for name in ("one", "two")] == ["running"] * 2
    for name in ("one", "two"):
        house.run("pause", name, "--kill")


def test_a_pause_and_its_end_are_told(house):
    """A paused study is over for now, comes again when it is resumed, and may be deleted."""
    start(house, "one", "two", trials=60)
    process = watch(house)
    objects = watch(house, "--json")
    await_reports(house, "one", "two")
    house.run("pause", "one")
    await_state(house, "one", "paused")
    reports = len(reports_of(house, "one"))
    house.run("resume", "one", "--detach")
    wait_until(lambda: len(reports_of(house, "one")) > reports, what="a report")
    house.run("stop", "one")
    await_state(house, "one", "finished")
    house.run("delete", "two", "--yes")
    text = end_of(process)
    said = [line.split(":")[0] for line in lines_of(text, "one") if not line.startswith(":")]
    assert said == [" runs", " paused", " runs", " finished"], text
    assert lines_of(text, "one")[-1].endswith(", stopped"), text
    states = [json.loads(line) for line in end_of(objects).splitlines()]
    states = [one["state"] for one in states if one.get("study") == "one"]
    assert "paused" in states and states[-1] == "finished"


def test_a_name_and_all_together_are_refused(house):
    said = house.run("watch", "one", "--all", code=2)
    assert "watch: expected the name of a study or --all, not both" in said.stderr


def test_nothing_runs(house):
    """A study that has no controller does not run, whether it is finished or interrupted."""
    prepare(house, "one", trials=1)
    house.run("tune", "one.yaml", "-q")
    said = house.run("watch", "--all").stdout
    assert said == "no study runs: 'sluice studies' lists all\n"
    start(house, "two", trials=60)
    await_reports(house, "two")
    house.kill_controller()
    said = house.json("watch", "--all")
    assert said["event"] == "message" and said["message"].startswith("no study runs")
    assert state_of(house, "two") == "interrupted" and house.controller() is None


def test_a_controller_that_is_killed_is_followed_by_another(house):
    start(house, "one", "two", trials=6)
    process = watch(house)
    await_reports(house, "one", "two")
    first = house.controller()
    assert house.kill_controller()
    wait_until(lambda: house.controller() not in (None, first), what="another controller")
    text = end_of(process)
    assert f"has died (process {first} was killed): another one takes over" in text
    for name in ("one", "two"):
        assert [line for line in lines_of(text, name) if line.startswith(" finished: 6/6")], text


def test_after_three_deaths_nothing_is_tried_again(house):
    start(house, "one", "two", trials=200)
    process = watch(house)
    await_reports(house, "one", "two")
    before = None
    for _ in range(3):
        known = before
        before = wait_until(
            lambda known=known: house.controller() not in (None, known) and house.controller(),
            what="a controller",
        )
        # It runs the studies again, so the command looks on at it.
        wait_until((house.files / "run/controller.sock").exists, what="its socket")
        reports = len(house.reports())
        wait_until(lambda reports=reports: len(house.reports()) > reports, what="a report")
        assert house.kill_controller()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "has died 3 times within a minute: process" in err
    assert "'sluice resume one' goes on" in err
    assert house.controller() is None

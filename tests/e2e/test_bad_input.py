"""Bad input and bad places: the user is told what is wrong, and nothing is lost or half made."""

import json
import os
import socket
import sqlite3
import subprocess
import sys

import pytest
from house import ROOT, SHIM, VERBS, wait_until

GOOD = """
study: good
program: [sh, -c, 'echo "{{\\"loss\\": {x}}}"']
space: {x: {int: [0, 99]}}
objective: {minimize: loss}
trials: 4
seed: 1
"""

# Holds a store as an earlier sluice did while it ran a study.
HOLDER = """
import fcntl, os, struct, sys, time
lock = open(sys.argv[1], "r+")
fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhlli", fcntl.F_WRLCK, 0, 0, 0, 0))
lock.truncate(0)
lock.write(f"{os.getpid()} tuning 'good'\\n")
lock.flush()
print("held", flush=True)
time.sleep(600)
"""


def refused(house, *words, code, **environment):
    done = house.run(*words, check=False, **environment)
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trials: 4", "trails: 4", "study.yaml:6: trails: unknown key"),
        ("trials: 4", "trials: many", "study.yaml:6: trials: expected"),
        ("[0, 99]", "[9, 2]", "study.yaml:4: x: expected low < high, found [9, 2]"),
        ("{int: [0, 99]}", "{choice: []}", "study.yaml:4: x: "),
        ("minimize", "minimise", "study.yaml:5: objective"),
    ],
)
def test_study_file(house, old, new, message):
    house.write("study.yaml", GOOD.replace(old, new))
    for verb in ("check", "tune"):
        assert message in refused(house, verb, "study.yaml", code=2)
    assert not house.store.exists() and not house.files.exists()


def test_unknown_key_suggests_the_nearest(house):
    house.write("study.yaml", GOOD.replace("trials: 4", "trails: 4"))
    assert "did you mean 'trials'?" in refused(house, "tune", "study.yaml", code=2)


def test_missing_program(house):
    house.write("study.yaml", GOOD.replace("[sh, -c,", "[no-such-program, -c,"))
    message = refused(house, "tune", "study.yaml", code=2)
    assert "no-such-program" in message
    assert not house.store.exists()


def test_program_that_prints_no_result(house):
    house.write("study.yaml", GOOD.replace("echo", "true") + "retries: 3\n")
    house.run("tune", "study.yaml", "-q", code=1)
    assert set(house.states().values()) == {"failed"}
    assert {n for (n,) in house.query("SELECT note FROM trials")} == {
        "ended without reporting 'loss'"
    }
    assert {n for (n,) in house.query("SELECT launch FROM trials")} == {1}, (
        "trying again would give the same"
    )


def output_study(*lines):
    text = "; ".join(f"echo '{line}'" for line in lines).replace("{", "{{").replace("}", "}}")
    return GOOD.replace("""'echo "{{\\"loss\\": {x}}}"'""", json.dumps(text)).replace(
        "trials: 4", "trials: 1"
    )


def test_metric_that_is_missing_or_no_number(house):
    house.write(
        "study.yaml",
        output_study(
            '{"loss": 3, "epoch": 1}', '{"loss": "low", "epoch": 2}', '{"epoch": 3, "sluice": 1}'
        ),
    )
    house.run("tune", "study.yaml", "-q")
    assert [(work, m) for _, work, m in house.reports()] == [(1, {"loss": 3.0}), (3, {})]
    assert house.query("SELECT best_value FROM trials") == [(3.0,)]
    notes = " ".join(
        body for (body,) in house.query("SELECT body FROM events WHERE kind = 'trial_noted'")
    )
    assert "expected a number, found" in notes


def test_report_going_backwards(house):
    house.write(
        "study.yaml",
        output_study(
            '{"loss": 3, "epoch": 2}', '{"loss": 1, "epoch": 1}', '{"loss": 2, "epoch": 3}'
        ),
    )
    house.run("tune", "study.yaml", "-q")
    assert [work for _, work, _ in house.reports()] == [2, 3]
    [(note,)] = house.query("SELECT note FROM trials")
    assert note == "a report at epoch 1 came after one at 2: it was left out"


def test_duplicate_name(house):
    house.write("study.yaml", GOOD)
    house.run("tune", "study.yaml", "-q")
    before = house.reports()
    message = refused(house, "tune", "study.yaml", code=1)
    assert "a study 'good' is in" in message and "sluice resume good" in message
    assert house.reports() == before


def test_two_tunes_of_one_study(house):
    house.write("study.yaml", GOOD.replace("echo", "sleep 300; echo"))
    process = house.start("tune", "study.yaml", "-q")
    wait_until(
        lambda: house.query("SELECT 1 FROM trials WHERE state = 'running'"), what="a running trial"
    )
    message = refused(house, "tune", "study.yaml", code=1)
    assert "a study 'good' is in" in message and "sluice watch good" in message
    assert house.json("status")["name"] == "good", "readers are not kept out"
    house.run("stop")
    process.communicate(timeout=30)


def test_a_controller_of_another_version(house):
    """It answers, but lends the pen to nobody but its like."""
    house.write("study.yaml", GOOD.replace("echo", "sleep 300; echo"))
    process = house.start("tune", "study.yaml", "-q")
    wait_until(
        lambda: house.query("SELECT 1 FROM trials WHERE state = 'running'"), what="a running trial"
    )
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(house.files / "run/controller.sock"))
        ask = {"type": "ask", "verb": "lend", "study": "", "trial": 0, "version": "99.1"}
        other.sendall(json.dumps(ask).encode() + b"\n")
        answer = json.loads(other.makefile().readline())
    assert not answer["ok"]
    assert f"(process {house.controller()}), and this is sluice 99.1: let its" in answer["message"]
    house.run("stop")
    process.communicate(timeout=30)


def test_an_earlier_sluice_runs_a_study(house):
    """It ran one study, in the process of its command."""
    house.write("study.yaml", GOOD)
    house.run("tune", "study.yaml", "-q")
    [lock] = house.files.glob("run/lock-*")
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        house.write("other.yaml", GOOD.replace("study: good", "study: other"))
        for words in (["tune", "other.yaml"], ["enqueue", "good", "x=1"], ["delete", "good", "-y"]):
            message = refused(house, *words, code=1)
            assert f"in use by process {holder.pid} (tuning 'good')" in message
    finally:
        holder.kill()
        holder.communicate()


def test_store_that_is_none(house):
    house.write("study.yaml", GOOD)
    house.store.write_bytes(b"not a database, but long enough to be looked at" * 50)
    before = house.store.read_bytes()
    for words in (["tune", "study.yaml"], ["studies"], ["resume", "good"]):
        assert "this file is not a Sluice store" in refused(house, *words, code=1)
    assert house.store.read_bytes() == before


def test_store_of_something_else(house):
    house.write("study.yaml", GOOD)
    with sqlite3.connect(house.store) as database:
        database.execute("CREATE TABLE mine (x)")
    before = house.store.read_bytes()
    assert "an SQLite file of something else" in refused(house, "tune", "study.yaml", code=1)
    assert house.store.read_bytes() == before


def test_store_that_is_damaged(house):
    house.write("study.yaml", GOOD.replace("trials: 4", "trials: 200"))
    house.run("tune", "study.yaml", "-q")
    with sqlite3.connect(house.store) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged = bytearray(house.store.read_bytes())
    damaged[4096 : len(damaged) // 2] = os.urandom(len(damaged) // 2 - 4096)
    house.store.write_bytes(damaged)
    message = refused(house, "trials", "good", code=1)
    assert "damaged" in message or "unknown state" in message


def test_newer_schema_is_refused_and_not_touched(house):
    house.write("study.yaml", GOOD)
    house.run("tune", "study.yaml", "-q")
    with sqlite3.connect(house.store) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA user_version = 99")
    before = house.store.read_bytes()
    for words in (
        ["tune", "study.yaml"],
        ["status"],
        ["resume", "good"],
        ["delete", "good", "--yes"],
    ):
        message = refused(house, *words, code=1)
        assert "written by a newer Sluice (schema 99; this one knows 4)" in message
    assert house.store.read_bytes() == before


def test_folder_without_locks(house):
    house.write("study.yaml", GOOD)
    message = refused(
        house, "tune", "study.yaml", code=1, LD_PRELOAD=SHIM, SLUICE_FAULT_NOLOCKS="1"
    )
    assert "without the locks a store needs (a network folder?)" in message


def test_unwritable_folder(house):
    house.write("study.yaml", GOOD)
    message = refused(house, "tune", "study.yaml", "--store", "/proc/no/store.db", code=1)
    assert "/proc/no/store" in message and "--store" in message


def test_disk_full_loses_nothing(house):
    house.write("study.yaml", GOOD.replace("trials: 4", "trials: 60") + "retries: 0\n")
    full = house.run(
        "tune",
        "study.yaml",
        "-q",
        check=False,
        LD_PRELOAD=SHIM,
        SLUICE_FAULT_UNDER=str(house.store),
        SLUICE_FAULT_NOSPACE_AFTER="400000",
    )
    assert full.returncode == 1
    assert "the disk is full; nothing that was acknowledged is lost" in full.stderr
    before = house.reports()
    assert 0 < len(before) < 60
    house.run("resume", "good", "-q")
    assert house.reports()[: len(before)] == before
    assert len(house.reports()) == 60
    assert set(house.states().values()) == {"complete"}


def test_resources_this_machine_lacks(house):
    house.write("study.yaml", GOOD + "resources: {gpus: 64}\n")
    assert "needs 1 cpus and 64 gpus" in refused(house, "tune", "study.yaml", code=1)
    assert not house.store.exists()


def test_unknown_names(house):
    house.write("study.yaml", GOOD)
    assert "no store here yet" in refused(house, "status", code=2)
    house.run("tune", "study.yaml", "-q")
    assert "no study 'goof'" in refused(house, "status", "goof", code=2)
    assert "did you mean 'good'?" in refused(house, "best", "goof", code=2)
    assert "has no trial 9" in refused(house, "logs", "9", code=2)
    assert "did you mean 'status'?" in refused(house, "statsu", code=2)


def test_documentation_names_every_verb():
    text = (ROOT / "docs/commands.md").read_text()
    for verb in VERBS:
        assert f"sluice {verb}" in text

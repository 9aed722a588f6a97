"""A store of schema 1, as the first Sluice left it: its controller and two trials were killed.

Made by tuning before.yaml, which is in it, in /tmp, and killing everything in the middle.
"""

import json
import pathlib
import sqlite3
import subprocess
import sys
import tarfile

import pytest
from house import ROOT, wait_until

READERS = [
    ["status", "before"],
    ["studies"],
    ["trials", "before"],
    ["best", "before"],
    ["logs", "1", "--study", "before"],
    ["export", "before"],
    ["doctor"],
]


@pytest.fixture
def old(house):
    with tarfile.open(ROOT / "tests/stores/schema-1.tar.gz") as store:
        store.extractall(house.folder)
    house.store = house.folder / "before.db"
    house.files = house.folder / "before.files"
    return house


def schema(house):
    return house.query("PRAGMA user_version")[0][0]


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_is_read_as_it_is(old, words):
    before = old.store.read_bytes()
    done = old.run(*words)
    assert done.stdout
    assert old.store.read_bytes() == before
    assert schema(old) == 1


def test_goes_on_with_what_it_knows(old):
    reported = old.reports()
    old.run("resume", "before", "-q")
    assert schema(old) == 4
    assert set(old.states().values()) == {"complete"} and len(old.states()) == 8
    assert old.reports()[: len(reported)] == reported
    keys = [(trial, work) for trial, work, _ in old.reports()]
    assert sorted(keys) == [(trial, work) for trial in range(1, 9) for work in range(1, 5)]
    assert old.query("SELECT sum(failures) FROM trials") == [(0,)]
    assert json.loads(old.run("doctor", "--json").stdout)["ok"]
    assert "same state" in old.run("doctor", "--replay", "before").stdout


@pytest.mark.parametrize(
    "words", [["stop", "before"], ["enqueue", "before", "x=1"], ["delete", "before", "--yes"]],
    ids=lambda words: words[0],
)
def test_is_brought_forward_by_what_writes_first(old, words):
    old.run(*words)
    assert schema(old) == 4
    assert old.run("doctor").returncode == 0
    if words[0] == "delete":
        assert not (old.files / "studies/before").exists()


def test_what_damages_an_old_store_is_found(old):
    with sqlite3.connect(old.store) as store:
        store.execute("UPDATE trials SET best_value = 0 WHERE trial = 2")
    done = old.run("doctor", check=False)
    assert done.returncode == 1
    assert "trial 2: best value is 0, but its events give" in done.stdout


def test_a_launch_that_an_older_controller_started_is_adopted(old):
    """The launch's claim does not say in which folder it was made, and its program has no mark."""
    launch = old.files / "studies/before/trials/5/launch-1"
    script = (
        "import json, time\n"
        "for epoch in (3, 4):\n"
        "    time.sleep(0.5)\n"
        "    print(json.dumps(dict(epoch=epoch, loss=1.0)), flush=True)\n"
        "time.sleep(0.5)\n"
        f"open({str(launch / 'exit')!r}, 'w').write('0 0 0 \\n')\n"
    )
    with open(launch / "stdout", "ab") as output:
        program = subprocess.Popen([sys.executable, "-c", script], stdout=output)
    stat = pathlib.Path(f"/proc/{program.pid}/stat").read_text()
    start = stat.rsplit(")", 1)[1].split()[19]
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (launch / "claim").write_text(f"{program.pid} {start} {boot} {launch}\n")
    resumed = old.start("resume", "before", "-q")
    wait_until(lambda: (5, 4) in [(t, w) for t, w, _ in old.reports()], what="its last report")
    assert old.query("SELECT launch FROM trials WHERE trial = 5") == [(1,)]
    program.wait()
    resumed.wait(timeout=60)
    assert resumed.returncode == 0
    assert old.query("SELECT state, work, launch FROM trials WHERE trial = 5") == [
        ("complete", 4, 1)
    ]

"""Point 11: `sluice doctor` sees damage that SQLite does not see, and says what is wrong."""

import json
import os
import shutil
import signal
import sqlite3

import pytest
from edges import wait_until

DAMAGED = ["trials", "studies", "reports", "events"]


def make(edge, kind="plain", **settings):
    """A finished study of a few trials."""
    settings = {"trials": 4, "epochs": 3, "pause": 1, **settings}
    edge.study(kind, **settings)
    edge.run("tune", "study.yaml", "-q")


def examine(edge, *words):
    """(exit status, what is not ok) of the doctor."""
    done = edge.run("doctor", *words, "--json", check=False)
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, [check for check in checks if check["state"] != "ok"]


def assert_healthy(edge):
    code, wrong = examine(edge)
    assert code == 0, wrong


def assert_ill(edge, *words):
    """The doctor exits with 1 and says what is wrong, with each of the words."""
    code, wrong = examine(edge)
    said = edge.unplaced(json.dumps(wrong))
    assert code == 1, f"doctor says ok: {wrong}"
    assert wrong, "exit 1, and everything is ok"
    for word in words:
        assert word in said, f"{word!r} is not in {said}"
    plain = edge.run("doctor", check=False)
    assert plain.returncode == 1 and plain.stdout + plain.stderr


def damage(edge, sql, *values):
    with sqlite3.connect(edge.store, timeout=10) as database:
        changed = database.execute(sql, values).rowcount
    database.close()
    assert changed == 1, f"{changed} rows were changed by: {sql}"


def columns(edge, table):
    return [row[1] for row in edge.query(f"PRAGMA table_info({table})")]


# Healthy stores.


@pytest.mark.parametrize("kind", ["plain", "package", "warm"])
def test_finished_study_is_healthy(edge, kind):
    make(edge, kind)
    assert_healthy(edge)
    assert edge.run("doctor", "--replay", "edge").returncode == 0


@pytest.mark.parametrize(
    "stopper", ["asha", "asha-promotion", "hyperband", "{name: pbt, mutate: [x]}", "median"]
)
def test_stopped_and_paused_trials_are_healthy(edge, stopper):
    budget = "budget: {min: 1, max: 4, eta: 2}"
    make(edge, "package", trials=6, epochs=4, more=f"stopper: {stopper}\n{budget}")
    assert_healthy(edge)


def test_study_with_failures_is_healthy(edge):
    edge.study(["sh", "-c", 'echo "{{\\"loss\\": {x}}}"; exit $(({x} % 2))'], trials=6, retries=1)
    edge.run("tune", "study.yaml", "-q")
    assert_healthy(edge)
    edge.run("retry", 1, check=False)
    assert_healthy(edge)


def test_empty_and_missing_stores_are_healthy(edge):
    assert_healthy(edge)
    make(edge)
    edge.run("delete", "edge", "--yes")
    assert_healthy(edge)


def test_store_is_healthy_at_every_stage(edge):
    """While it runs, after a kill, with the trial's end not read yet, resumed, enqueued, moved."""
    edge.study("package", trials=3, gates="3:go")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(6)
    assert_healthy(edge)
    edge.kill(controller)
    assert_healthy(edge)
    victim = edge.processes("program")[0]
    victim.signal(signal.SIGKILL)
    assert_healthy(edge)
    edge.open_gate()
    edge.await_notes("end", 2)
    wait_until(lambda: not edge.children(), what="the end of what ran")
    assert_healthy(edge)
    edge.run("resume", "edge", "-q")
    assert_healthy(edge)
    edge.run("enqueue", "edge", "x=7")
    assert_healthy(edge)
    edge.run("resume", "edge", "--trials", 5, "-q")
    assert_healthy(edge)
    edge.assert_never_twice()


def test_interrupted_study_is_healthy(edge):
    edge.study("package", trials=3, gates="3:go")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(6)
    edge.interrupt(controller, times=2)
    edge.finish(controller, 130)
    assert_healthy(edge)


def test_several_studies_are_healthy_and_one_that_is_ill_is_named(edge):
    for name in ("one", "two", "three"):
        edge.study("plain", trials=2, epochs=2, pause=1, name=name)
        edge.run("tune", "study.yaml", "-q")
    assert_healthy(edge)
    [(two,)] = edge.query("SELECT id FROM studies WHERE name = 'two'")
    damage(edge, "UPDATE trials SET state = 'failed' WHERE trial = 2 AND study = ?", two)
    assert_ill(edge, "two")


def test_copied_store_is_healthy(edges):
    """A backup of a finished study, with its files, is a store like any other."""
    original, copy = edges("original"), edges("copy")
    make(original)
    for path in [*original.folder.glob("store.db*"), original.files]:
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy.folder / path.name)
    assert_healthy(copy)


# Rows that were changed.

ROWS = {
    "state": "UPDATE trials SET state = 'failed' WHERE trial = 2",
    "value": "UPDATE trials SET value = value + 1 WHERE trial = 2",
    "best value": "UPDATE trials SET best_value = best_value - 1 WHERE trial = 2",
    "work": "UPDATE trials SET work = work - 1 WHERE trial = 2",
    "failures": "UPDATE trials SET failures = failures + 1 WHERE trial = 2",
    "note": "UPDATE trials SET note = 'nothing to see' WHERE trial = 2",
    "params": "UPDATE trials SET params = json_set(params, '$.x', 1000) WHERE trial = 2",
    "trial gone": "DELETE FROM trials WHERE trial = 2",
    "best trial": "UPDATE studies SET best = best % 4 + 1",
    "not finished": "UPDATE studies SET finished = 0",
    "ending": "UPDATE studies SET ending = 'stopped'",
    "study gone": "DELETE FROM studies",
}


@pytest.mark.parametrize("what", ROWS)
def test_row_that_disagrees_with_the_events(edge, what):
    make(edge)
    damage(edge, ROWS[what])
    assert_ill(edge, "edge")


REPORTS = {
    "deleted": "DELETE FROM reports WHERE trial = 2 AND work = 2",
    "last deleted": "DELETE FROM reports WHERE trial = 2 AND work = 3",
    "last of all deleted": "DELETE FROM reports WHERE seq = (SELECT max(seq) FROM reports)",
    "metrics": (
        "UPDATE reports SET metrics = replace(metrics, ':', ':1') WHERE trial = 2 AND work = 2"
    ),
    "work": "UPDATE reports SET work = 7 WHERE trial = 2 AND work = 3",
    "another trial's": "UPDATE reports SET trial = 3, work = 9 WHERE trial = 2 AND work = 3",
}


@pytest.mark.parametrize("what", REPORTS)
def test_report_that_was_changed(edge, what):
    make(edge)
    damage(edge, REPORTS[what])
    assert_ill(edge, "edge")


def test_report_that_was_added(edge):
    """A row like the others, with a number that is free."""
    make(edge)
    names = columns(edge, "reports")
    others = {"seq": "(SELECT max(seq) + 1000 FROM reports)", "work": "99"}
    kept = ", ".join(others.get(name, name) for name in names)
    into = f"INSERT INTO reports ({', '.join(names)})"
    damage(edge, f"{into} SELECT {kept} FROM reports WHERE trial = 2 AND work = 3")
    assert_ill(edge, "edge")


def body_of(edge):
    """The column of `events` that holds what happened."""
    names = columns(edge, "events")
    [name] = [name for name in names if name in ("body", "data", "payload", "event")]
    return name


def events_with_digits(edge):
    """(seq, body) of events whose body has a digit that can become another."""
    body = body_of(edge)
    rows = edge.query(f"SELECT seq, {body} FROM events ORDER BY seq")
    return [(seq, text) for seq, text in rows if any(digit in str(text) for digit in "2345678")]


def change_digit(content):
    """Another content of the same length, still JSON: the last digit from 2 to 8 grows by one."""
    is_text = isinstance(content, str)
    text = bytearray(content.encode() if is_text else content)
    for place in reversed(range(len(text))):
        if chr(text[place]) in "2345678":
            text[place] += 1
            break
    return text.decode() if is_text else bytes(text)


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_event_whose_body_was_changed(edge, where):
    make(edge)
    rows = events_with_digits(edge)
    seq, text = {"first": rows[0], "middle": rows[len(rows) // 2], "last": rows[-1]}[where]
    damage(edge, f"UPDATE events SET {body_of(edge)} = ? WHERE seq = ?", change_digit(text), seq)
    assert_ill(edge, "edge")


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_event_that_is_gone(edge, where):
    make(edge)
    order = [seq for (seq,) in edge.query("SELECT seq FROM events ORDER BY seq")]
    seq = {"first": order[0], "middle": order[len(order) // 2], "last": order[-1]}[where]
    damage(edge, "DELETE FROM events WHERE seq = ?", seq)
    assert_ill(edge)


def test_events_that_changed_places(edge):
    make(edge)
    body = body_of(edge)
    rows = edge.query(f"SELECT seq, kind, {body} FROM events ORDER BY seq")
    kinds = [kind for _, kind, _ in rows]
    kind = max(set(kinds), key=kinds.count)
    same = [(seq, text) for seq, each, text in rows if each == kind]
    (one, first), (two, second) = next(
        (a, b) for a, b in zip(same, same[1:], strict=False) if a[1] != b[1]
    )
    damage(edge, f"UPDATE events SET {body} = ? WHERE seq = ?", second, one)
    damage(edge, f"UPDATE events SET {body} = ? WHERE seq = ?", first, two)
    assert_ill(edge)


def changed(content):
    """Something else of the same kind."""
    if content is None:
        return 1
    if content in (0, 1):
        return 1 - content
    if isinstance(content, (int, float)):
        return content + 1
    if isinstance(content, bytes):
        return content[:-1] + bytes([content[-1] ^ 1]) if content else b"\x01"
    return change_digit(content) if change_digit(content) != content else content + "x"


def key_of(edge, table, values):
    """A condition that names one row by its primary key, whatever that is."""
    names = [row[1] for row in edge.query(f"PRAGMA table_info({table})") if row[5] > 0]
    return " AND ".join(f"{name} = {values[name]}" for name in names)


@pytest.mark.parametrize("table", DAMAGED)
def test_every_column_is_watched(edge, table):
    """Each column in turn is changed in one row, looked at, and put back."""
    make(edge, "package")
    assert_healthy(edge)
    unseen = []
    names = columns(edge, table)
    rows = edge.query(f"SELECT {', '.join(names)} FROM {table}")
    before = dict(zip(names, rows[len(rows) // 2], strict=True))
    for name in names:
        after = {**before, name: changed(before[name])}
        there, back = key_of(edge, table, before), key_of(edge, table, after)
        try:
            damage(edge, f"UPDATE {table} SET {name} = ? WHERE {there}", after[name])
        except sqlite3.IntegrityError:
            continue  # SQLite itself sees it
        if examine(edge)[0] == 0:
            unseen.append(f"{name}: {before[name]!r} became {after[name]!r}")
        damage(edge, f"UPDATE {table} SET {name} = ? WHERE {back}", before[name])
    assert_healthy(edge)
    assert not unseen, "doctor says ok, although " + "; ".join(unseen)


# A store that is older than its files.


def keep_aside(edge, name="older.db"):
    """A copy of the store, as it is now, in one file."""
    with sqlite3.connect(edge.store, timeout=10) as database:
        with sqlite3.connect(edge.folder / name) as aside:
            database.backup(aside)
        aside.close()
    database.close()
    return edge.folder / name


def put_back(edge, aside, how):
    for path in edge.folder.glob("store.db-*"):
        path.unlink()
    if how == "copied over":  # the same file, older content
        with open(edge.store, "r+b") as file:
            file.truncate()
            file.write(aside.read_bytes())
    else:
        os.replace(aside, edge.store)


@pytest.mark.parametrize("how", ["copied over", "replaced"])
@pytest.mark.parametrize("kind", ["plain", "package"])
def test_store_that_is_older_than_its_files(edge, kind, how):
    """Trials 3 to 6 have launch folders that the older store knows nothing of."""
    make(edge, kind, trials=2)
    aside = keep_aside(edge)
    edge.run("resume", "edge", "--trials", 6, "-q")
    assert_healthy(edge)
    put_back(edge, aside, how)
    assert_ill(edge, "older")


def test_store_that_is_older_than_a_later_launch(edge):
    """The trial is the same, its second launch is unknown."""
    edge.study("package", gates="3:go")
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(2)
    edge.interrupt(controller, times=1)
    edge.finish(controller, 130)
    aside = keep_aside(edge)
    edge.open_gate()
    edge.run("resume", "edge", "-q")
    assert edge.launches() == [1, 2]
    put_back(edge, aside, "copied over")
    assert_ill(edge, "older")


def test_store_that_is_older_than_what_it_acknowledged(edge):
    """The same launch: its worker was told that more reports are on disk than there are."""
    edge.study("package", gates="3:go", epochs=6)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(2)
    edge.kill(controller)
    aside = keep_aside(edge)
    edge.open_gate()
    edge.run("resume", "edge", "-q")
    edge.assert_complete()
    assert edge.launches() == [1]
    put_back(edge, aside, "copied over")
    assert_ill(edge, "older")


def test_doctor_changes_nothing(edge):
    """The doctor looks at a damaged store, and leaves it as it was."""
    make(edge)
    damage(edge, ROWS["state"])
    edge.run("doctor", check=False)
    before = edge.store.read_bytes()
    for _ in range(2):
        assert_ill(edge)
    assert edge.store.read_bytes() == before

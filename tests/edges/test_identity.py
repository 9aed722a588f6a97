"""Point 4: a store has one controller, whatever name it is called by."""

import os
import pathlib
import random
import shutil
import time

import pytest
from edges import IS_SOAK, is_alive, wait_until
from stores import join, soak_only, start


def other_names(edge, kind):
    """Another path to the store of the house."""
    name = edge.folder / "other.db"
    if kind == "link":
        name.symlink_to(edge.store)
    elif kind == "relative link":
        name.symlink_to("store.db")
    elif kind == "link to a link":
        (edge.folder / "between.sqlite").symlink_to("store.db")
        name.symlink_to("between.sqlite")
    elif kind == "link elsewhere":
        (edge.folder / "elsewhere").mkdir()
        name = edge.folder / "elsewhere/other.db"
        name.symlink_to(edge.store)
    elif kind == "linked folder":
        (edge.folder / "folder").symlink_to(edge.folder)
        name = edge.folder / "folder/store.db"
    else:
        (edge.folder / "a").mkdir()
        name = pathlib.Path("a/../store.db")
    return str(name)


NAMES = ["link", "relative link", "link to a link", "link elsewhere", "linked folder", "dots"]


def controllers_seen(edge):
    """How many controllers have taken the store up."""
    [(count,)] = edge.query("SELECT count(*) FROM events WHERE kind = 'controller_started'")
    return count


def assert_one_controller(edge, pid):
    """No process but this one runs the studies of the store."""
    found = [process.pid for process in edge.processes("controller")]
    assert found == [pid] == [edge.controller()], (found, pid, edge.controller())


@pytest.mark.parametrize("kind", NAMES)
def test_another_name_is_the_same_store(edge, kind):
    first = start(edge)
    pid = edge.controller()
    name = other_names(edge, kind)
    second = join(edge, "--store", name)
    status = edge.run("status", "edge", "--store", name).stdout
    assert f"pid {pid}" in status, status
    assert_one_controller(edge, pid)
    edge.open_gate()
    edge.finish(first)
    edge.finish(second)
    edge.assert_complete(2)
    assert edge.launches(1) == edge.launches(2) == [1]


@pytest.mark.parametrize("kind", NAMES)
def test_study_that_runs_is_deleted_by_another_name(edge, kind):
    """What runs is ended by the one controller, and its files are those that go."""
    first = start(edge)
    name = other_names(edge, kind)
    edge.run("delete", "edge", "--yes", "--store", name)
    edge.assert_nothing_left(3)
    first.communicate(timeout=40)
    assert first.returncode != 0, "the study is gone, and did not end well"
    assert edge.query("SELECT 1 FROM studies") == []
    assert not (edge.files / "studies/edge").exists()


@pytest.mark.parametrize("kind", NAMES)
def test_controller_by_another_name_is_followed_by_one_of_the_first(edge, kind):
    """A controller by another name is killed; one by the file's own name adopts its trials."""
    edge.study("plain", name="first", epochs=1)
    edge.run("tune", "study.yaml", "-q")
    edge.study("package", trials=2, gates="2:go")
    name = other_names(edge, kind)
    first = edge.start("tune", "study.yaml", "-q", "--store", name)
    edge.await_reports(1 + 2)
    pid = edge.controller()
    second = join(edge)
    assert_one_controller(edge, pid)
    edge.kill(first)  # and its controller: the command that is left starts another
    edge.await_controller(second)
    assert edge.controller() != pid
    edge.open_gate()
    edge.finish(second)
    assert edge.launches(1) == edge.launches(2) == [1]
    assert not edge.notes("twice")
    rows = edge.run("export", "edge", "--reports").stdout.splitlines()
    assert len(rows) == 1 + 12


def test_store_that_is_made_by_a_link(edge):
    """The link names a file that is not there yet."""
    edge.study("package", trials=2, gates="2:go")
    name = other_names(edge, "link elsewhere")
    first = edge.start("tune", "study.yaml", "-q", "--store", name)
    edge.await_notes("report", 2)
    assert edge.store.exists() and not edge.store.is_symlink()
    edge.await_reports(2)
    pid = edge.controller()
    second = join(edge)
    assert_one_controller(edge, pid)
    edge.open_gate()
    edge.finish(first)
    edge.finish(second)
    edge.assert_complete(2)


def test_two_names_resumed_at_once(edge):
    """Both find no controller and start one: one of the two has the store, and both look on."""
    edge.kill(start(edge))
    seen = controllers_seen(edge)
    name = other_names(edge, "link")
    pair = [edge.start("resume", "edge", "-q", "--store", each) for each in (edge.store, name)]
    heard = "SELECT 1 FROM events WHERE kind = 'study_resumed'"
    wait_until(
        lambda: any(each.poll() is not None for each in pair) or len(edge.query(heard)) == 2,
        what="the controller that has heard of both",
    )
    assert_one_controller(edge, edge.controller())
    edge.open_gate()
    for each in pair:
        edge.finish(each)
    assert controllers_seen(edge) == seen + 1
    edge.assert_complete(2)
    assert edge.launches(1) == edge.launches(2) == [1]
    assert edge.run("doctor", "--replay", "edge").returncode == 0


def run_at(edge, store, *words, check=True):
    return edge.run(*words, "--store", store, check=check)


def files_of(edge, store):
    """The files folder of a store: where the output of its trial lies."""
    best = edge.json("best", "edge", "--store", store)
    text = str(best)
    found = [path for path in edge.folder.glob("*.files") if f"{path}/" in text]
    assert len(found) == 1, f"{store}: {text}"
    return found[0]


PAIRS = [
    ("a.db", "a.sqlite"),
    ("exp.1", "exp.2"),
    ("a.sqlite", "a.sqlite.db"),
    ("a", "a.db"),
    ("run.v1.db", "run.v2.db"),
    (".hidden", ".hidden.db"),
]


@pytest.mark.parametrize("names", PAIRS, ids=" ".join)
def test_stores_with_one_stem_share_nothing(edge, names):
    """Each has a folder of its own, or the second is refused with a word about the folder."""
    edge.study("package", trials=2, epochs=2, pause=1)
    one, two = names
    run_at(edge, one, "tune", "study.yaml", "-q")
    done = run_at(edge, two, "tune", "study.yaml", "-q", check=False)
    if done.returncode != 0:
        assert done.returncode in (1, 2) and ".files" in done.stderr, done.stderr
        assert names not in (("a.db", "a.sqlite"), ("exp.1", "exp.2")), "these two must both work"
        return
    folders = [files_of(edge, one), files_of(edge, two)]
    assert folders[0] != folders[1], f"both keep their files in {folders[0]}"
    run_at(edge, two, "delete", "edge", "--yes")
    assert (folders[0] / "studies/edge/trials/1/launch-1/stdout").exists()
    assert len(list(folders[0].glob("studies/edge/trials/*/checkpoint"))) == 2
    trials = edge.json("trials", "edge", "--store", one)
    assert [trial["state"] for trial in trials] == ["complete", "complete"]
    run_at(edge, one, "resume", "edge", "--trials", "3", "-q")


def test_names_of_files_folders(edge):
    edge.study("plain", epochs=1, pause=1)
    for store, files in (
        ("a.db", "a.files"),
        ("a.sqlite", "a.sqlite.files"),
        ("exp.1", "exp.1.files"),
    ):
        run_at(edge, store, "tune", "study.yaml", "-q")
        assert files_of(edge, store).name == files


@pytest.mark.parametrize("names", PAIRS[:2], ids=" ".join)
def test_stores_with_one_stem_run_at_once(edge, names):
    """Two stores, two locks, two sockets: neither is in the way of the other."""
    edge.study("package", trials=2, gates="2:go")
    pair = []
    for name in names:
        pair.append(edge.start("tune", "study.yaml", "-q", "--store", name))
        edge.await_notes("report", 2 * len(pair))
    edge.open_gate()
    for each in pair:
        edge.finish(each)
    for name in names:
        states = [trial["state"] for trial in edge.json("trials", "edge", "--store", name)]
        assert states == ["complete", "complete"]
        rows = run_at(edge, name, "export", "edge", "--reports").stdout.splitlines()
        assert len(rows) == 1 + 12


def test_files_folder_of_another_store_is_not_taken(edge):
    """The store goes, its folder stays; a new store of that name does not act on what is there."""
    controller = start(edge, "plain", trials=1)
    edge.kill(controller)
    programs = edge.processes("program")
    for path in edge.folder.glob("store.db*"):
        path.rename(edge.folder / f"kept-{path.name}")
    edge.study("plain", epochs=2, pause=1)
    done = edge.run("tune", "study.yaml", "-q", check=False)
    assert [process.pid for process in programs if not is_alive(process.pid)] == []
    if done.returncode == 0:
        assert edge.states() == {1: "complete"}
        assert [work for _, work, _ in edge.reports()] == [1, 2]
    else:
        assert done.returncode in (1, 2) and "store.files" in done.stderr, done.stderr
    edge.open_gate()


@pytest.mark.parametrize("verb", ["resume", "stop", "delete", "tune", "enqueue"])
@pytest.mark.parametrize("which", ["store.db", "hard.db"])
def test_hard_links_are_refused(edge, verb, which):
    controller = start(edge, trials=1)
    edge.kill(controller)
    os.link(edge.store, edge.folder / "hard.db")
    words = {
        "resume": ["resume", "edge", "-q"],
        "stop": ["stop", "edge"],
        "delete": ["delete", "edge", "--yes"],
        "tune": ["tune", "study.yaml", "-q", "--name", "second"],
        "enqueue": ["enqueue", "edge", "x=1"],
    }[verb]
    refused = edge.run(*words, "--store", edge.folder / which, check=False, seconds=20)
    assert refused.returncode in (1, 2), (refused.returncode, refused.stdout, refused.stderr)
    assert "link" in edge.unplaced(refused.stderr), refused.stderr
    assert edge.processes("program"), "a refused command ended what runs"
    (edge.folder / "hard.db").unlink()
    for path in edge.folder.glob("hard.db*"):
        path.unlink()
    edge.open_gate()
    edge.run("resume", "edge", "-q")
    edge.assert_complete()
    assert edge.launches() == [1]


def test_hard_link_made_while_a_controller_runs(edge):
    controller = start(edge)
    os.link(edge.store, edge.folder / "hard.db")
    refused = edge.run("resume", "edge", "-q", "--store", "hard.db", check=False, seconds=20)
    assert refused.returncode in (1, 2), refused.stderr
    assert "link" in edge.unplaced(refused.stderr), refused.stderr
    (edge.folder / "hard.db").unlink()
    edge.open_gate()
    controller.communicate(timeout=40)
    edge.run("resume", "edge", "-q", check=False)
    edge.assert_complete(2)


def locks(edge):
    return [
        path
        for path in (edge.files / "run").rglob("*")
        if "lock" in path.name and path.is_file() and not path.is_symlink()
    ]


def take_lock_away(edge, how):
    found = locks(edge)
    if not found and how != "folder":
        pytest.skip("the lock is not a file below STORE.files/run")
    if how == "folder":
        shutil.rmtree(edge.files / "run")
    elif how == "folder moved":
        (edge.files / "run").rename(edge.files / "run-moved")
    for path in found:
        if how == "removed":
            path.unlink()
        elif how == "moved":
            path.rename(path.with_name("aside"))
        elif how == "replaced":
            fresh = path.with_name("fresh")
            shutil.copy(path, fresh)
            fresh.rename(path)


def ends_of(commands, seconds=40):
    """Waits until all have ended; returns the exit status and the output of each."""
    return [
        (each.returncode, out + err)
        for each in commands
        for out, err in [each.communicate(timeout=seconds)]
    ]


def await_second(edge, second):
    """Waits until the command has been told no, or a controller has written down that it came.

    The first controller cannot write this down: it ends, and says so. The next one can.
    """
    heard = "SELECT 1 FROM events WHERE kind = 'study_resumed'"
    wait_until(
        lambda: second.poll() is not None or edge.query(heard), what="the second controller"
    )


@pytest.mark.parametrize("how", ["removed", "moved", "replaced", "folder", "folder moved"])
@pytest.mark.parametrize("kind", ["package", "plain"])
def test_removed_lock_admits_no_second_controller(edge, how, kind):
    """The first controller ends at its next commit, with an error, before another writes.

    The command that looks on goes on with the other. The second command does so too, or is told.
    """
    first = start(edge, kind, epochs=8)
    pid = edge.controller()
    take_lock_away(edge, how)
    second = edge.start("resume", "edge", "-q")
    await_second(edge, second)
    edge.open_gate()
    said = ends_of([first, second])
    codes = [code for code, _ in said]
    assert codes[0] == 0 and codes[1] in (0, 1), said
    assert all(text.strip() for code, text in said if code != 0), said
    assert codes[1] == 0 or "removed or replaced" in said[1][1], said
    wait_until(lambda: not is_alive(pid), seconds=5, what="the end of the first controller")
    assert controllers_seen(edge) == 1, "one has followed the first, which had no lock any more"
    both = edge.query("SELECT seq FROM events INTERSECT SELECT seq FROM reports")
    assert not both, f"two controllers gave the numbers {both}"
    edge.assert_complete(2, epochs=8)
    rows = edge.run("export", "edge", "--reports").stdout.splitlines()
    assert len(rows) == 1 + 16
    assert edge.run("doctor", "--replay", "edge", check=False).returncode == 0


def test_lock_removed_between_two_controllers_again_and_again(edge):
    """Three controllers, each begun over a lock that was taken away."""
    commands = [start(edge, epochs=8)]
    for _ in range(3):
        if locks(edge):
            take_lock_away(edge, "removed")
        commands.append(edge.start("resume", "edge", "-q"))
        wait_until(
            lambda last=commands[-1]: last.poll() is not None or locks(edge),
            what="the next controller",
        )
    edge.open_gate()
    ends_of(commands)
    edge.run("resume", "edge", "-q", check=False)
    edge.assert_complete(2, epochs=8)


def test_controller_after_a_removed_lock_can_be_reached(edge):
    """The first controller, as it ends, removes nothing of the second: later trials find that."""
    more = "budget: {max: 6}"  # a program waits there for the controller's word
    edge.study("package", trials=8, parallelism=2, gates="2:go", more=more)
    commands = [edge.start("tune", "study.yaml", "-q")]
    edge.await_reports(2)
    take_lock_away(edge, "removed")
    commands.append(edge.start("resume", "edge", "-q"))
    await_second(edge, commands[1])
    edge.open_gate()
    ends_of(commands, seconds=30)
    edge.run("resume", "edge", "-q", check=False, seconds=30)
    edge.assert_complete(8)


@pytest.mark.parametrize("kind", ["plain", "warm", pytest.param("package", marks=soak_only)])
@pytest.mark.parametrize("seed", range(8 if IS_SOAK else 2))
def test_lock_removed_while_reports_stream_in(edge, kind, seed):
    """A second controller begins in the middle of the first one's commits: every number once."""
    chance = random.Random(f"stream {kind} {seed}")
    more = "timeouts: {report: 10s}"
    edge.study(kind, trials=12, epochs=60, pause=2, parallelism=3, retries=100, more=more)
    commands = [edge.start("tune", "study.yaml", "-q")]
    edge.await_reports(5)
    for _ in range(10):
        time.sleep(chance.uniform(0.05, 0.25))
        if locks(edge):
            take_lock_away(edge, "removed")
        commands.append(edge.start("resume", "edge", "-q"))
    ends_of(commands)
    edge.run("resume", "edge", "-q", check=False)
    both = edge.query("SELECT seq FROM events INTERSECT SELECT seq FROM reports")
    assert not both, f"two controllers gave the numbers {both}"
    edge.assert_complete(12, epochs=60)
    assert edge.run("doctor", "--replay", "edge", check=False).returncode == 0

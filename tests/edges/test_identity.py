"""Points 3 and 4: a copied store acts on nothing of the original; a store has one controller,
whatever name it is called by."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest
from edges import IS_SOAK, is_alive, wait_until

soak_only = pytest.mark.skipif(not IS_SOAK, reason="runs with SLUICE_SOAK=1")


def start(edge, kind="package", trials=2, **settings):
    """Two trials that have reported once, and wait."""
    edge.study(kind, trials=trials, gates="2:go", **settings)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(trials)
    return controller


def copy_to(edge, other, command=("cp", "-r")):
    """Copies a store, with all that lies beside it, to another house."""
    for path in [*edge.folder.glob("store.db*"), edge.files]:
        # A file that goes while it is copied is no matter: a live store is copied.
        subprocess.run([*command, str(path), str(other.folder)], check=False, capture_output=True)


def pids_of_programs(edge):
    return sorted(process.pid for process in edge.processes("program", "launcher"))


def assert_unharmed(edge, pids):
    assert [pid for pid in pids if not is_alive(pid)] == [], "processes of the original are gone"
    assert set(edge.failures().values()) == {0}, "the original was charged a failure"


@pytest.fixture
def copy(edges):
    """The house of the original, and an empty one for its copy."""
    return edges("original"), edges("copy")


@pytest.mark.parametrize("verb", ["stop", "delete"])
@pytest.mark.parametrize("lives", [True, False], ids=["live", "killed"])
@pytest.mark.parametrize(
    "command",
    [("cp", "-r"), pytest.param(("cp", "-a"), marks=soak_only)],
    ids=lambda command: command[1],
)
def test_ending_a_copy_harms_no_original(copy, verb, lives, command):
    original, other = copy
    controller = start(original)
    if not lives:
        original.kill(controller)
    pids = pids_of_programs(original)
    copy_to(original, other, command)
    done = other.run(verb, "edge", *(["--yes"] if verb == "delete" else []), check=False)
    if not lives:  # then the copy is a whole one
        assert done.returncode == 0, done.stderr
    assert_unharmed(original, pids)
    original.open_gate()
    if lives:
        original.finish(controller)
    else:
        original.run("resume", "edge", "-q")
    original.assert_complete(2)
    assert set(original.failures().values()) == {0}
    assert original.launches(1) == original.launches(2) == [1], "the original's trials ran once"


@pytest.mark.parametrize("kind", ["package", "plain"])
@pytest.mark.parametrize("lives", [True, False], ids=["live", "killed"])
def test_resuming_a_copy_harms_no_original(copy, lives, kind):
    """The copy has no claim on what runs: it runs its own, and the original goes on."""
    original, other = copy
    controller = start(original, kind)
    if not lives:
        original.kill(controller)
    pids = pids_of_programs(original)
    copy_to(original, other)
    resumed = other.start("resume", "edge", "-q")
    wait_until(
        lambda: resumed.poll() is not None or len(other.notes("begin")) == 2,
        what="the copy's own launches",
    )
    assert_unharmed(original, pids)
    other.open_gate()
    out, err = resumed.communicate(timeout=40)
    assert_unharmed(original, pids)
    if not lives:  # then the copy is a whole one
        assert resumed.returncode == 0, out + err
        other.assert_complete(2)
    original.open_gate()
    if lives:
        original.finish(controller)
    else:
        original.run("resume", "edge", "-q")
    original.assert_complete(2)
    assert set(original.failures().values()) == {0}
    assert original.launches(1) == original.launches(2) == [1], "the original's trials ran once"


def test_interrupting_a_copy_harms_no_original(copy):
    """Ctrl-C twice kills what runs: what runs for the copy."""
    original, other = copy
    controller = start(original, "plain")
    pids = pids_of_programs(original)
    original.kill(controller)
    copy_to(original, other)
    resumed = other.start("resume", "edge", "-q")
    wait_until(
        lambda: resumed.poll() is not None or len(other.notes("begin")) == 2,
        what="the copy's own programs",
    )
    other.interrupt(resumed, times=2)
    resumed.communicate(timeout=30)
    assert_unharmed(original, pids)
    original.open_gate()
    original.run("resume", "edge", "-q")
    original.assert_complete(2)
    assert original.launches(1) == original.launches(2) == [1]


def test_copy_of_a_copy_whose_original_is_gone(copy):
    """The launches of a deleted original are nothing to its copy."""
    original, other = copy
    controller = start(original)
    original.kill(controller)
    copy_to(original, other)
    original.run("delete", "edge", "--yes")
    original.assert_nothing_left()
    other.open_gate()
    other.run("resume", "edge", "-q")
    other.assert_complete(2)


# A store that was moved.


def move(edge, place):
    """Moves a store to another folder of the same file system; the house goes with it."""
    place.mkdir()
    for path in [*edge.folder.glob("store.db*"), edge.files]:
        os.rename(path, place / path.name)
    edge.store, edge.files = place / "store.db", place / "store.files"


@pytest.mark.parametrize("kind", ["package", "plain", "warm"])
def test_moved_store_ends_what_still_runs(edge, kind):
    controller = start(edge, kind, more="timeouts: {grace: 300ms}")
    edge.kill(controller)
    assert edge.processes("program")
    move(edge, edge.folder / "moved")
    edge.run("stop", "edge")
    edge.assert_nothing_left()
    assert "running" not in edge.states().values()


@pytest.mark.parametrize("verb", ["delete", "delete-renamed"])
def test_moved_store_deletes_what_still_runs(edge, verb):
    controller = start(edge, "plain")
    edge.kill(controller)
    move(edge, edge.folder / "moved")
    if verb == "delete-renamed":
        place = edge.folder / "moved again"
        os.rename(edge.folder / "moved", place)
        edge.store, edge.files = place / "store.db", place / "store.files"
    edge.run("delete", "edge", "--yes")
    edge.assert_nothing_left()


@pytest.mark.parametrize("kind", ["package", "plain"])
def test_moved_store_goes_on(edge, kind):
    """What still runs is adopted, or ended and run again: never both."""
    controller = start(edge, kind, more="timeouts: {lease: 2s, grace: 500ms}")
    edge.kill(controller)
    move(edge, edge.folder / "moved")
    resumed = edge.start("resume", "edge", "-q")
    edge.await_controller(resumed)
    edge.open_gate()
    edge.finish(resumed)
    edge.assert_nothing_left()
    edge.assert_complete(2)


def test_moved_and_moved_back(edge):
    controller = start(edge)
    edge.kill(controller)
    before = edge.store, edge.files
    move(edge, edge.folder / "moved")
    os.rename(edge.store, before[0])
    os.rename(edge.files, before[1])
    for path in (edge.folder / "moved").iterdir():
        os.rename(path, edge.folder / path.name)
    edge.store, edge.files = before
    resumed = edge.start("resume", "edge", "-q")
    edge.await_controller(resumed)
    edge.open_gate()
    edge.finish(resumed)
    edge.assert_complete(2)
    assert edge.launches(1) == edge.launches(2) == [1], "they were adopted"
    assert set(edge.failures().values()) == {0}


# Other names of one store.


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


@pytest.mark.parametrize("kind", NAMES)
def test_another_name_is_the_same_store(edge, kind):
    controller = start(edge)
    name = other_names(edge, kind)
    for words in (["resume", "edge", "-q"], ["delete", "edge", "--yes"]):
        refused = edge.run(*words, "--store", name, check=False)
        assert refused.returncode == 1 and "in use" in refused.stderr, refused.stderr
    status = edge.run("status", "edge", "--store", name).stdout
    assert f"pid {controller.pid}" in status, status
    edge.open_gate()
    edge.finish(controller)
    edge.assert_complete(2)
    assert edge.launches(1) == edge.launches(2) == [1]


@pytest.mark.parametrize("kind", NAMES)
def test_controller_by_another_name_is_followed_by_one_of_the_first(edge, kind):
    """A controller by another name is killed; one by the file's own name adopts its trials."""
    edge.study("plain", name="first", epochs=1)
    edge.run("tune", "study.yaml", "-q")
    edge.study("package", trials=2, gates="2:go")
    name = other_names(edge, kind)
    controller = edge.start("tune", "study.yaml", "-q", "--store", name)
    edge.await_reports(1 + 2)
    refused = edge.run("resume", "edge", "-q", check=False)
    assert refused.returncode == 1 and "in use" in refused.stderr, refused.stderr
    edge.kill(controller)
    resumed = edge.start("resume", "edge", "-q")
    edge.await_controller(resumed)
    edge.open_gate()
    edge.finish(resumed)
    assert edge.launches(1) == edge.launches(2) == [1]
    assert not edge.notes("twice")
    rows = edge.run("export", "edge", "--reports").stdout.splitlines()
    assert len(rows) == 1 + 12


def test_store_that_is_made_by_a_link(edge):
    """The link names a file that is not there yet."""
    edge.study("package", trials=2, gates="2:go")
    name = other_names(edge, "link elsewhere")
    controller = edge.start("tune", "study.yaml", "-q", "--store", name)
    edge.await_notes("report", 2)
    assert edge.store.exists() and not edge.store.is_symlink()
    edge.await_reports(2)
    refused = edge.run("resume", "edge", "-q", check=False)
    assert refused.returncode == 1 and "in use" in refused.stderr, refused.stderr
    edge.open_gate()
    edge.finish(controller)
    edge.assert_complete(2)


def test_two_names_resumed_at_once(edge):
    controller = start(edge)
    edge.kill(controller)
    name = other_names(edge, "link")
    pair = [edge.start("resume", "edge", "-q", "--store", each) for each in (edge.store, name)]
    wait_until(lambda: any(each.poll() is not None for each in pair), what="one to give up")
    edge.open_gate()
    said = [each.communicate(timeout=40)[1] for each in pair]
    assert sorted(each.returncode for each in pair) == [0, 1], said
    edge.assert_complete(2)
    assert edge.run("doctor", "--replay", "edge").returncode == 0


# Stores with one stem.


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


# Hard links.


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


def test_copy_made_of_hard_links(copy):
    """`cp -al` of a running study: the store is refused, and the original goes on."""
    original, other = copy
    controller = start(original)
    pids = pids_of_programs(original)
    copy_to(original, other, ("cp", "-al"))
    for verb in ("stop", "delete", "resume"):
        refused = other.run(verb, "edge", *(["--yes"] if verb == "delete" else []), check=False)
        assert refused.returncode in (1, 2), refused.stderr
    assert_unharmed(original, pids)
    shutil.rmtree(other.folder)
    original.open_gate()
    controller.communicate(timeout=40)
    original.run("resume", "edge", "-q", check=False)
    original.assert_complete(2)
    assert set(original.failures().values()) == {0}


# The lock.


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


def one_of(controllers, seconds=40):
    """Waits until all have ended; returns the exit status and the output of each."""
    return [
        (each.returncode, out + err)
        for each in controllers
        for out, err in [each.communicate(timeout=seconds)]
    ]


@pytest.mark.parametrize("how", ["removed", "moved", "replaced", "folder", "folder moved"])
@pytest.mark.parametrize("kind", ["package", "plain"])
def test_removed_lock_admits_no_second_controller(edge, how, kind):
    """The second is refused, or the first ends with an error at its next commit."""
    controller = start(edge, kind, epochs=8)
    take_lock_away(edge, how)
    second = edge.start("resume", "edge", "-q")
    wait_until(
        lambda: second.poll() is not None
        or f"(pid {second.pid})" in edge.run("status", "edge", check=False).stdout,
        seconds=10,
        what="the second controller",
    )
    edge.open_gate()
    said = one_of([controller, second])
    codes = [code for code, _ in said]
    assert 0 in codes and codes != [0, 0], said
    assert all(text.strip() for code, text in said if code != 0), said
    assert -signal.SIGKILL not in codes
    edge.assert_complete(2, epochs=8)
    rows = edge.run("export", "edge", "--reports").stdout.splitlines()
    assert len(rows) == 1 + 16
    assert edge.run("doctor", "--replay", "edge", check=False).returncode == 0


def test_lock_removed_between_two_controllers_again_and_again(edge):
    """Three controllers, each begun over a lock that was taken away."""
    controllers = [start(edge, epochs=8)]
    for _ in range(3):
        if locks(edge):
            take_lock_away(edge, "removed")
        controllers.append(edge.start("resume", "edge", "-q"))
        wait_until(
            lambda last=controllers[-1]: last.poll() is not None or locks(edge),
            what="the next controller",
        )
    edge.open_gate()
    one_of(controllers)
    edge.run("resume", "edge", "-q", check=False)
    edge.assert_complete(2, epochs=8)


def test_controller_after_a_removed_lock_can_be_reached(edge):
    """The first controller, as it ends, removes nothing of the second: later trials find that."""
    more = "budget: {max: 6}"  # a program waits there for the controller's word
    edge.study("package", trials=8, parallelism=2, gates="2:go", more=more)
    controllers = [edge.start("tune", "study.yaml", "-q")]
    edge.await_reports(2)
    take_lock_away(edge, "removed")
    controllers.append(edge.start("resume", "edge", "-q"))
    wait_until(
        lambda: any(each.poll() is not None for each in controllers)
        or f"(pid {controllers[1].pid})" in edge.run("status", "edge", check=False).stdout,
        seconds=10,
        what="the second controller",
    )
    edge.open_gate()
    one_of(controllers, seconds=30)
    edge.run("resume", "edge", "-q", check=False, seconds=30)
    edge.assert_complete(8)


@pytest.mark.parametrize("kind", ["plain", "warm", pytest.param("package", marks=soak_only)])
@pytest.mark.parametrize("seed", range(8 if IS_SOAK else 2))
def test_lock_removed_while_reports_stream_in(edge, kind, seed):
    """A second controller begins in the middle of the first one's commits: every number once."""
    chance = random.Random(f"stream {kind} {seed}")
    more = "timeouts: {report: 10s}"
    edge.study(kind, trials=12, epochs=60, pause=2, parallelism=3, retries=100, more=more)
    controllers = [edge.start("tune", "study.yaml", "-q")]
    edge.await_reports(5)
    for _ in range(10):
        time.sleep(chance.uniform(0.05, 0.25))
        if locks(edge):
            take_lock_away(edge, "removed")
        controllers.append(edge.start("resume", "edge", "-q"))
    one_of(controllers)
    edge.run("resume", "edge", "-q", check=False)
    both = edge.query("SELECT seq FROM events INTERSECT SELECT seq FROM reports")
    assert not both, f"two controllers gave the numbers {both}"
    edge.assert_complete(12, epochs=60)
    assert edge.run("doctor", "--replay", "edge", check=False).returncode == 0

"""Point 3: a copied store acts on nothing of the original, and a moved store goes on."""

import os
import shutil

import pytest
from edges import wait_until
from stores import assert_unharmed, copy_to, pids_of_programs, soak_only, start


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

"""Point 9: which users may read and write what, whatever the umask; and links of other users."""

import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

import pytest
from edges import IS_ROOT, Edge, wait_until
from house import SLUICE, Command

needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can act as another user")
NOBODY = 65534
OTHERS_WRITE = 0o002


def start_with(edge, umask, *words):
    process = Command(
        edge,
        [SLUICE, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=edge.folder,
        env=edge.environment(),
        umask=umask,
    )
    edge.started.append(process)
    return process


def mode(path):
    """The permissions of a file; none if it is gone."""
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except FileNotFoundError:
        return 0


def all_paths(edge):
    """What belongs to the store: the file, what SQLite keeps beside it, the files folder."""
    found = [*edge.folder.glob("store.db*"), edge.files]
    for folder, folders, files in os.walk(edge.files):  # what goes meanwhile is left out
        found += [pathlib.Path(folder, name) for name in [*folders, *files]]
    return [path for path in found if path.exists() and not path.is_symlink()]


def offenders(edge, bits):
    return [f"{oct(mode(path))} {path}" for path in all_paths(edge) if mode(path) & bits]


def assert_private(edge):
    run = edge.files / "run"
    assert mode(run) == 0o700, oct(mode(run))
    sockets = [path for path in all_paths(edge) if path.is_socket()]
    assert sockets, "there is no socket"
    for path in sockets:
        assert mode(path) == 0o600, f"{oct(mode(path))} {path}"
    for path in all_paths(edge):
        private = ("secret", "token", "nonce", "world")
        if path.is_file() and any(word in path.name for word in private):
            assert mode(path) == 0o600, f"{oct(mode(path))} {path}"


def look_while_it_runs(edge, umask, kind="package", verb="tune"):
    """Runs a study, and checks the permissions in the middle of it and at its end."""
    edge.study(kind, trials=2, gates="2:go")
    controller = start_with(edge, umask, "tune", "study.yaml", "-q")
    edge.await_reports(2)
    if verb == "resume":
        edge.kill(controller)
        controller = start_with(edge, umask, "resume", "edge", "-q")
        edge.await_controller(controller)
    for is_over in (False, True):
        if is_over:
            edge.open_gate()
            edge.finish(controller)
        else:
            assert_private(edge)
        assert offenders(edge, OTHERS_WRITE) == []
        if umask & 0o077 == 0o077:
            assert offenders(edge, 0o077) == []
        elif umask & 0o007 == 0o007:
            assert offenders(edge, 0o007) == []
    edge.assert_complete(2)


@pytest.mark.parametrize("kind", ["package", "plain", "warm"])
@pytest.mark.parametrize("umask", [0o000, 0o077], ids="{:03o}".format)
def test_modes(edge, umask, kind):
    look_while_it_runs(edge, umask, kind)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o002], ids="{:03o}".format)
def test_modes_of_common_umasks(edge, umask):
    look_while_it_runs(edge, umask)


@pytest.mark.parametrize("umask", [0o000, 0o077], ids="{:03o}".format)
def test_modes_after_a_resume(edge, umask):
    look_while_it_runs(edge, umask, verb="resume")


def test_programs_after_a_crash_follow_the_umask_of_the_resume(edge):
    """All that ran was killed: what the resumed study starts has the umask of the `resume`."""
    text = 'touch "$WITNESS/kept.$SLUICE_LAUNCH"; test "$SLUICE_LAUNCH" = 1 && sleep 60;'
    edge.study(["sh", "-c", text + ' echo "{{\\"loss\\": {x}}}"'])
    command = start_with(edge, 0o022, "tune", "study.yaml", "-q")
    wait_until((edge.witness / "kept.1").exists, what="the first launch")
    edge.kill(command)
    for process in edge.children():
        process.signal(signal.SIGKILL)
    edge.finish(start_with(edge, 0o077, "resume", "edge", "-q"))
    assert mode(edge.witness / "kept.2") == 0o600, oct(mode(edge.witness / "kept.2"))


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], ids="{:03o}".format)
def test_store_and_output_follow_the_umask(edge, umask):
    """A group that shares its results by the umask still does."""
    edge.study("plain", epochs=1)
    edge.finish(start_with(edge, umask, "tune", "study.yaml", "-q"))
    launch = edge.files / "studies/edge/trials/1/launch-1"
    for path in (edge.store, launch / "stdout", launch / "stderr"):
        assert mode(path) == 0o666 & ~umask, f"{oct(mode(path))} {path}"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids="{:03o}".format)
def test_programs_follow_the_umask(edge, umask):
    """A program's files follow its umask, but other users can never write to them."""
    text = 'touch "$SLUICE_CHECKPOINT_DIR/kept"; echo "{{\\"loss\\": {x}}}"'
    edge.study(["sh", "-c", text])
    edge.finish(start_with(edge, umask, "tune", "study.yaml", "-q"))
    [kept] = edge.files.rglob("kept")
    assert mode(kept) == 0o666 & ~umask & ~OTHERS_WRITE, oct(mode(kept))


def test_run_folder_that_was_open(edge):
    """The run folder of an earlier version was open to every user."""
    edge.study("package", gates="2:go")
    run = edge.files / "run"
    run.mkdir(parents=True)
    run.chmod(0o777)
    controller = start_with(edge, 0o022, "tune", "study.yaml", "-q")
    edge.await_reports(1)
    assert_private(edge)
    edge.open_gate()
    edge.finish(controller)


# Another user of the machine.


@pytest.fixture
def public():
    """A house in a folder that every user can enter and write, as /tmp is."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-edges-", dir="/tmp"))
    folder.chmod(0o1777)
    edge = Edge(folder)
    edge.victim = pathlib.Path(tempfile.mkdtemp(prefix="sluice-edges-victim-", dir="/tmp"))
    yield edge
    edge.close()
    shutil.rmtree(folder)
    shutil.rmtree(edge.victim)


def as_nobody(action):
    """Runs an action in a child as another user; the name of the error it met, or nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            action()
        except OSError as error:
            os.write(writing, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return file.read()


@needs_root
@pytest.mark.parametrize("umask", [0o000, 0o022], ids="{:03o}".format)
def test_other_user_cannot_connect(public, umask):
    public.study("package", gates="2:go")
    controller = start_with(public, umask, "tune", "study.yaml", "-q")
    public.await_reports(1)
    path = public.socket()

    def connect():
        socket.socket(socket.AF_UNIX).connect(path)

    assert as_nobody(connect) == "PermissionError"
    assert as_nobody(lambda: os.listdir(os.path.dirname(path))) == "PermissionError"
    public.open_gate()
    public.finish(controller)


@needs_root
@pytest.mark.parametrize("umask", [0o000, 0o022], ids="{:03o}".format)
def test_other_user_cannot_write(public, umask):
    public.study("package", epochs=2)
    public.finish(start_with(public, umask, "tune", "study.yaml", "-q"))
    for path in all_paths(public):
        how = (lambda p=path: os.close(os.open(p, os.O_WRONLY))) if path.is_file() else (
            lambda p=path: (p / "planted").touch()
        )
        assert as_nobody(how) == "PermissionError", path


LINKS = ["store.files", "store.files/run", "store.files/studies", "store.files/studies/edge"]


def plant(public, place):
    """Puts another user's link to the victim's folder where a folder of the store would be."""
    path = public.folder / place
    for parent in reversed(path.parents):
        if parent.is_relative_to(public.folder) and not parent.exists():
            parent.mkdir()
            parent.chmod(0o1777)
            os.chown(parent, NOBODY, NOBODY)
    path.symlink_to(public.victim)
    os.lchown(path, NOBODY, NOBODY)


@needs_root
@pytest.mark.parametrize("place", LINKS)
def test_link_of_another_user_is_not_followed(public, place):
    plant(public, place)
    public.study("plain", epochs=1, retries=0)
    done = public.run("tune", "study.yaml", "-q", check=False, seconds=30)
    assert list(public.victim.iterdir()) == [], "it wrote where another user pointed it"
    if done.returncode == 0:  # then something of ours stands in its place
        assert not (public.folder / place).is_symlink()
        public.assert_complete(epochs=1)
    assert set(public.failures().values()) <= {0}


@needs_root
def test_files_of_another_user_are_not_taken(public):
    """A run folder that another user owns could be changed by that user at any time."""
    run = public.files / "run"
    run.mkdir(parents=True)
    os.chown(public.files, NOBODY, NOBODY)
    os.chown(run, NOBODY, NOBODY)
    run.chmod(0o777)
    public.study("package", gates="2:go")
    controller = start_with(public, 0o022, "tune", "study.yaml", "-q")
    public.open_gate()
    controller.communicate(timeout=30)
    if controller.returncode == 0:  # then it was made ours
        owner = os.lstat(run)
        assert owner.st_uid == os.geteuid() and mode(run) == 0o700


@needs_root
@pytest.mark.parametrize("name", ["lock", "controller.sock"])
def test_link_in_a_run_folder_that_was_open(public, name):
    """What another user could have put into it is not followed, and its target not changed."""
    run = public.files / "run"
    run.mkdir(parents=True)
    run.chmod(0o777)
    target = public.victim / "target"
    target.write_text("mine")
    before = mode(target)
    (run / name).symlink_to(target)
    os.lchown(run / name, NOBODY, NOBODY)
    public.study("plain", epochs=1)
    public.run("tune", "study.yaml", "-q", check=False, seconds=30)
    assert target.read_text() == "mine" and mode(target) == before


@needs_root
@pytest.mark.parametrize("verb", ["resume", "delete"])
def test_link_put_into_the_study_is_not_followed(public, verb):
    """A trial's folder became a link to files elsewhere: these are neither written nor removed."""
    (public.victim / "kept").write_text("mine")
    public.study("package", epochs=2, trials=1)
    public.run("tune", "study.yaml", "-q")
    trial = public.files / "studies/edge/trials/1"
    shutil.rmtree(trial)
    trial.symlink_to(public.victim)
    os.lchown(trial, NOBODY, NOBODY)
    if verb == "delete":
        public.run("delete", "edge", "--yes", check=False)
    else:
        public.run("resume", "edge", "--trials", 2, "-q", check=False)
    assert [path.name for path in public.victim.iterdir()] == ["kept"]

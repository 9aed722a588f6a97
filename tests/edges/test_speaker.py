"""Point 8: a report counts if it comes from the launch's own tree of processes, and only then."""

import contextlib
import json
import os
import subprocess
import sys

import pytest
from edges import HERE, PROGRAMS, processes_of, read_bytes, wait_until
from peer import Peer

RAW = [sys.executable, str(HERE / "peer.py")]


def program_of(edge, text, **more):
    """A study of one Python program."""
    script = edge.write("trial.py", text)
    edge.study([sys.executable, str(script)], **more)


def start(edge):
    return edge.start("tune", "study.yaml", "-q")


def run(edge):
    return edge.run("tune", "study.yaml", "-q")


def works(edge):
    return [(trial, work) for trial, work, _ in edge.reports()]


PREAMBLE = f"""
import os, signal, subprocess, sys, time
sys.path.insert(0, {str(PROGRAMS)!r})
from witness import Witness
witness = Witness({{"witness": os.environ["WITNESS"]}})

def wait_for(name):
    while not os.path.exists(witness.path(name)):
        time.sleep(0.005)
"""


# A program that becomes another.

EXECS = (
    PREAMBLE
    + """
import sluice

stage = int(os.environ.get("STAGE", "0"))
for epoch in range(3 * stage + 1, 3 * stage + 4):
    sluice.report(epoch, loss=epoch)
witness.note("stage", 1, 1, stage)
wait_for(f"stage.{stage}")
if stage < int(os.environ["STAGES"]):
    os.environ["STAGE"] = str(stage + 1)
    os.execv(sys.executable, [sys.executable, *sys.argv])
"""
)


@pytest.mark.parametrize("stages", [1, 3])
def test_program_that_executes_itself_anew(edge, stages):
    program_of(edge, EXECS, retries=0, more=f"environment: {{STAGES: '{stages}'}}")
    controller = start(edge)
    for stage in range(stages + 1):
        edge.await_notes("stage", stage + 1)
        if stage < stages or stages == 1:
            wait_until(
                lambda n=3 * stage + 3: len(edge.reports()) == n or controller.poll() is not None,
                seconds=10,
                what=f"the reports of stage {stage}",
            )
        edge.open_gate(f"stage.{stage}")
    edge.finish(controller)
    assert works(edge) == [(1, epoch) for epoch in range(1, 3 * stages + 4)]
    assert edge.states() == {1: "complete"} and edge.launches() == [1]


def execute_alone(edge, stages):
    """The program executes itself once and makes its next reports, all without a controller."""
    program_of(edge, EXECS, retries=0, more=f"environment: {{STAGES: '{stages}'}}")
    controller = start(edge)
    edge.await_reports(3)
    edge.kill(controller)
    edge.open_gate("stage.0")
    edge.await_notes("stage", 2)


def test_program_that_executes_itself_while_no_controller_lives(edge):
    execute_alone(edge, stages=1)
    edge.open_gate("stage.1")
    edge.run("resume", "edge", "-q")
    assert works(edge) == [(1, epoch) for epoch in range(1, 7)]
    assert edge.states() == {1: "complete"} and edge.launches() == [1]


def test_what_was_said_before_it_executed_itself_comes_before_what_it_says_then(edge):
    """Epochs 4 to 6 are reported while no controller lives; 7 to 9 by what the program became."""
    execute_alone(edge, stages=2)
    controller = edge.start("resume", "edge", "-q")
    edge.await_controller(controller)
    edge.kill(controller)  # whatever it has heard of stage 1
    edge.open_gate("stage.1")
    edge.await_notes("stage", 3)
    controller = edge.start("resume", "edge", "-q")
    wait_until(
        lambda: (1, 9) in works(edge) or controller.poll() is not None,
        seconds=10,
        what="what it says live",
    )
    edge.open_gate("stage.2")
    edge.finish(controller)
    assert works(edge) == [(1, epoch) for epoch in range(1, 10)]
    assert edge.states() == {1: "complete"} and edge.launches() == [1]


# Programs whose children report in turn.

REPORTS = (
    PREAMBLE
    + """
import sluice

first, last = int(sys.argv[1]), int(sys.argv[2])
for epoch in range(first, last + 1):
    sluice.report(epoch, loss=epoch)
witness.note("said", 1, 1, first, last)
wait_for(f"said.{first}")
if sys.argv[3] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
"""
)


@pytest.mark.parametrize("how", ["dies", "ends"])
@pytest.mark.parametrize("wrapper", ["shell", "python", "session"])
def test_children_that_report_one_after_another(edge, how, wrapper):
    """A wrapper whose first child reports 1 to 3 and dies, and whose second reports 4 to 6."""
    script = edge.write("reports.py", REPORTS)
    words = [[sys.executable, str(script), *more] for more in (("1", "3", how), ("4", "6", "ends"))]
    if wrapper == "shell":
        lines = [" ".join(each) for each in words]
        edge.study(["sh", "-c", "; ".join([lines[0], lines[1]])], retries=0)
    else:
        text = PREAMBLE + "".join(
            f"subprocess.run({each!r}, start_new_session={wrapper == 'session'})\n"
            for each in words
        )
        program_of(edge, text, retries=0)
    controller = start(edge)
    for count, name in ((3, "said.1"), (6, "said.4")):
        wait_until(
            lambda n=count: len(edge.reports()) == n or controller.poll() is not None,
            seconds=10,
            what=f"{count} reports",
        )
        edge.open_gate(name)
    edge.finish(controller)
    assert works(edge) == [(1, epoch) for epoch in range(1, 7)]
    assert edge.states() == {1: "complete"}


# Clients that know no secret.


def raw(edge, first, last, **settings):
    pairs = {"witness": edge.witness, "first": first, "last": last, **settings}
    return [*RAW, *(f"{key}={value}" for key, value in pairs.items())]


@pytest.mark.parametrize("place", ["program", "child", "session", "daemon", "cleared"])
def test_client_without_a_secret_in_the_tree_is_heard(edge, place):
    """The kernel says that the client is the program, its child, or further down the tree."""
    words = raw(edge, 1, 3)
    if place == "program":
        edge.study(words, retries=0)
    elif place == "child":
        edge.study(["sh", "-c", " ".join(words) + "; true"], retries=0)
    elif place == "session":
        program_of(edge, PREAMBLE + f"subprocess.run({words!r}, start_new_session=True)", retries=0)
    elif place == "daemon":
        text = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        subprocess.run({words!r})
        open(witness.path("over"), "w").close()
    os._exit(0)
os.wait()
wait_for("over")
"""
        program_of(edge, PREAMBLE + text, retries=0)
    else:
        names = ["SOCKET", "WORKER", "STUDY", "TRIAL", "LAUNCH"]
        text = f"kept = {{'SLUICE_' + name: os.environ['SLUICE_' + name] for name in {names}}}\n"
        program_of(edge, PREAMBLE + text + f"subprocess.run({words!r}, env=kept)", retries=0)
    run(edge)
    assert works(edge) == [(1, 1), (1, 2), (1, 3)], edge.notes()
    assert len(edge.notes("acked")) == 3
    assert edge.states() == {1: "complete"}


@pytest.mark.parametrize("then", ["end", "kill"])
def test_what_is_acknowledged_counts(edge, then):
    """A second client in the tree, which knows nothing of the first, counts its messages from 1.

    The second client may be refused. What is acknowledged to it is on disk.
    """
    lines = [" ".join(raw(edge, 1, 3, then=then)), " ".join(raw(edge, 4, 6))]
    edge.study(["sh", "-c", "; ".join(lines)], retries=0)
    run(edge)
    acked = [int(note[4]) for note in edge.notes("acked")]
    assert acked[:3] == [1, 2, 3], edge.notes()
    assert works(edge) == [(1, epoch) for epoch in acked], edge.notes()


def test_client_that_replaces_itself_and_counts_from_1_again(edge):
    """The same process to the kernel, and another program: what is acknowledged counts."""
    edge.study(raw(edge, 1, 3, then="exec"), retries=0)
    run(edge)
    acked = [int(note[4]) for note in edge.notes("acked")]
    assert acked == [1, 2, 3, 4, 5, 6], edge.notes()
    assert works(edge) == [(1, epoch) for epoch in acked], edge.notes()


def test_client_that_counts_from_1_again_for_the_next_controller(edge):
    """The controller that welcomed it is killed before it says more."""
    edge.study(raw(edge, 1, 3, then="exec", greets=2), retries=0)
    controller = start(edge)
    edge.await_notes("heard", 2)
    edge.kill(controller)
    edge.run("resume", "edge", "-q")
    acked = [int(note[4]) for note in edge.notes("acked")]
    assert acked == [1, 2, 3, 4, 5, 6], edge.notes()
    assert works(edge) == [(1, epoch) for epoch in acked], edge.notes()


def test_package_after_a_raw_client(edge):
    """The package cannot know how the client before it has numbered its messages."""
    script = edge.write("reports.py", REPORTS)
    lines = [" ".join(raw(edge, 1, 3)), f"{sys.executable} {script} 4 6 ends"]
    edge.study(["sh", "-c", "; ".join(lines)], retries=0)
    edge.open_gate("said.4")
    run(edge)
    assert works(edge) == [(1, epoch) for epoch in range(1, 7)], edge.notes()


# Processes of the same user that belong to no launch, or to another.

POISON = -12345.0


def claim_to_be(edge, worker, pid, trial, launch, reports=(2, 3, 50), **more):
    """Says hello under the name of a worker, and reports whatever the answer is; all answers."""
    answers = []
    peer = Peer(edge.socket(), seconds=3)
    place = {"trial": trial, "launch": launch}
    with contextlib.suppress(OSError):
        peer.hello(worker, pid, study="edge", **{"reuse": False, **place, **more})
        answers.append(peer.hear())
        for seq, work in enumerate(reports, 1):
            peer.say(type="report", seq=seq, work=work, values={"loss": POISON}, **place)
        peer.say(type="saved", seq=len(reports) + 1, work=50, bytes=1, **place)
        while answers[-1] is not None:
            answers.append(peer.hear())
    peer.close()
    return [answer for answer in answers if answer]


def assert_refused(answers):
    kinds = [answer["type"] for answer in answers]
    assert "ack" not in kinds and "welcome" not in kinds and "assign" not in kinds, answers


def assert_not_poisoned(edge):
    assert POISON not in [metrics["loss"] for _, _, metrics in edge.reports()], edge.reports()


def start_waiting(edge, kind="package", **settings):
    edge.study(kind, gates="2:go", retries=0, **settings)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(1)
    return controller, edge.notes("begin", trial=1)[0][3]


@pytest.mark.parametrize("kind", ["package", "plain", "warm"])
def test_process_outside_of_the_tree_is_refused(edge, kind):
    """The process names the worker, the launch and the pid, truly or not, and is refused."""
    controller, pid = start_waiting(edge, kind)
    for stated in (pid, os.getpid(), 1, pid + 1):
        for worker in ("1.1", "1.2"):
            assert_refused(claim_to_be(edge, worker, stated, 1, 1))
    for reuse in (True, False):
        assert_refused(claim_to_be(edge, "1.1", pid, 1, 1, reuse=reuse, secret="", token="guess"))
    edge.open_gate()
    edge.finish(controller)
    assert_not_poisoned(edge)
    edge.assert_complete()


def test_process_outside_comes_before_the_program_has_spoken(edge):
    """The first process to say hello becomes the speaker, unless it is not of the launch."""
    text = PREAMBLE + 'witness.note("begin", 1, 1)\nwait_for("go")\nimport sluice\n'
    program_of(edge, text + "for e in (1, 2): sluice.report(e, loss=e)\n", retries=0)
    controller = start(edge)
    pid = edge.await_notes("begin")[0][3]
    for stated in (pid, os.getpid()):
        assert_refused(claim_to_be(edge, "1.1", stated, 1, 1, reports=(1, 2)))
    edge.open_gate()
    edge.finish(controller)
    assert [m["loss"] for _, _, m in edge.reports()] == [1, 2]


def test_process_outside_stays_connected_beside_the_worker(edge):
    """The hello of a process outside must not take the launch over, nor cut the worker off."""
    controller, pid = start_waiting(edge)
    rogues = [Peer(edge.socket(), seconds=3) for _ in range(4)]
    for rogue in rogues:
        with contextlib.suppress(OSError):
            rogue.hello("1.1", pid, study="edge", trial=1, launch=1)
    edge.open_gate()
    edge.finish(controller)
    for rogue in rogues:
        with contextlib.suppress(OSError):
            answer = rogue.hear()
            assert answer is None or answer["type"] == "refuse", answer
        rogue.close()
    edge.assert_complete()


def test_process_outside_gets_no_trial(edge):
    """An idle worker's place is not for another process to take."""
    edge.study("warm", trials=3, parallelism=1, gates="2:go", retries=0)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(1)
    for worker in ("1.1", "2.1", "9.1"):
        peer = Peer(edge.socket(), seconds=3)
        with contextlib.suppress(OSError):
            peer.hello(worker, edge.notes("begin")[0][3], reuse=True)
            peer.say(type="ready")
            answer = peer.hear_until("assign", "refuse")
            assert answer is None or answer["type"] == "refuse", answer
        peer.close()
    edge.open_gate()
    edge.finish(controller)
    edge.assert_complete(3)


def test_trial_cannot_speak_for_another(edge):
    """A process of trial 2 is a process of ours, but not of trial 1's tree."""
    text = f"""
import json
sys.path.insert(0, {str(HERE)!r})
from peer import Peer
trial = int(os.environ["SLUICE_TRIAL"])
witness.note("begin", trial, 1)
if trial == 2:
    wait_for("rogue")
    other = next(int(line.split()[3]) for line in open(witness.path("notes"))
                 if line.startswith("begin 1 "))
    peer = Peer(os.environ["SLUICE_SOCKET"])
    answer = None
    try:
        peer.hello("1.1", other, study="edge", trial=1, launch=1)
        answer = peer.hear()
        peer.say(type="report", trial=1, launch=1, seq=2, work=2, values={{"loss": {POISON}}})
        while peer.hear():
            pass
    except OSError:
        pass
    witness.note("rogue", 2, 1, json.dumps(answer))
import sluice
sluice.report(1, loss=1)
if trial == 1:
    wait_for("go")
    sluice.report(2, loss=2)
"""
    program_of(edge, PREAMBLE + text, trials=2, retries=0)
    controller = start(edge)
    edge.await_notes("begin", 2)
    wait_until(lambda: (1, 1) in works(edge), what="the report of trial 1")
    edge.open_gate("rogue")
    edge.await_notes("rogue")
    edge.open_gate()
    edge.finish(controller)
    assert_not_poisoned(edge)
    assert sorted(works(edge)) == [(1, 1), (1, 2), (2, 1)]


def test_process_outside_while_the_worker_reconnects(edge):
    """A new controller listens, and the first process to connect is not the worker."""
    controller, pid = start_waiting(edge)
    edge.kill(controller)
    worker = edge.processes("program")[0]
    os.kill(worker.pid, 19)  # SIGSTOP: the rogue is first for certain
    resumed = edge.start("resume", "edge", "-q")
    edge.await_controller(resumed)
    try:
        assert_refused(claim_to_be(edge, "1.1", pid, 1, 1))
    finally:
        os.kill(worker.pid, 18)
    edge.open_gate()
    edge.finish(resumed)
    assert_not_poisoned(edge)
    edge.assert_complete()
    assert edge.launches() == [1]


def test_stranger_that_floods_does_not_end_the_worker(edge):
    controller, pid = start_waiting(edge)
    for _ in range(40):
        claim_to_be(edge, "1.1", pid, 1, 1, reports=())
    edge.open_gate()
    edge.finish(controller)
    edge.assert_complete()
    assert edge.failures() == {1: 0}


# Secrets.


def secrets_of(edge):
    return [
        path
        for path in edge.files.rglob("*")
        if path.is_file() and any(word in path.name for word in ("secret", "token", "key", "nonce"))
    ]


@pytest.mark.parametrize("kind", ["package", "warm"])
def test_secrets_are_told_to_nobody(edge, kind):
    """No secret is in arguments, output, what the trial is told, the store or an export."""
    controller, _ = start_waiting(edge, kind)
    secrets = {path: path.read_bytes().strip() for path in secrets_of(edge)}
    words = [read_bytes(f"/proc/{each.pid}/cmdline") for each in processes_of(edge.folder)]
    variables = [read_bytes(f"/proc/{each.pid}/environ") for each in edge.processes("program")]
    edge.open_gate()
    said = edge.finish(controller)
    if not secrets:
        pytest.skip("no file named like a secret is in the files folder")
    said += edge.run("export", "edge", "--format", "jsonl").stdout
    said += edge.run("export", "edge", "--reports").stdout
    said += json.dumps(edge.json("best", "edge"))
    for path, secret in secrets.items():
        assert len(secret) >= 16, f"{path} holds {len(secret)} bytes"
        text = secret.split()[0]
        assert not any(text in each for each in [*words, *variables]), path
        assert text.decode() not in said
        for other in [*edge.folder.glob("store.db*"), *edge.files.rglob("*")]:
            if other != path and other.is_file() and other not in secrets:
                assert text not in other.read_bytes(), f"{path} is told in {other}"


def test_each_worker_has_a_secret_of_its_own(edge):
    edge.study("package", trials=3, gates="2:go", retries=0)
    controller = edge.start("tune", "study.yaml", "-q")
    edge.await_reports(3)
    held = [path.read_bytes() for path in secrets_of(edge)]
    edge.open_gate()
    edge.finish(controller)
    if not held:
        pytest.skip("no file named like a secret is in the files folder")
    assert len(held) >= 3 and len(set(held)) == len(held)


def test_subprocess_is_not_a_worker_of_the_test(edge):
    """What the test itself starts is outside, even with all that the program's environment says."""
    controller, pid = start_waiting(edge)
    pairs = read_bytes(f"/proc/{pid}/environ").decode().split("\0")
    stolen = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    stolen.pop("SLUICE_OWNER_PID", None)
    done = subprocess.run(
        raw(edge, 2, 3), env=stolen, timeout=20, check=False, capture_output=True, text=True
    )
    assert done.returncode in (1, 4, 5), (done.stderr, edge.notes("heard"))
    edge.open_gate()
    edge.finish(controller)
    assert not edge.notes("acked")
    edge.assert_complete()

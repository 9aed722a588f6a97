"""Peers that misbehave, and programs that end before they are looked at."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess

import pytest
from adversity import WAITING, Peer, finish, launch_folder, prepare, shell, start_waiting
from house import SLUICE, House, python_program, wait_until


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def assert_rests(process):
    before, looks = cpu_seconds(process), iter(range(100))
    wait_until(lambda: next(looks, None) is None)  # half a second and more
    assert cpu_seconds(process) - before < 0.25, "it spins"


def test_report_of_a_program_that_ends_before_anybody_looks(house):
    prepare(
        house,
        """
import os, time
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.005)
import sluice
sluice.report(1, loss=7)
os._exit(0)
""",
        more="retries: 0",
    )
    process = house.start("tune", "study.yaml", "-q")
    wait_until((house.folder / "ready").exists, what="the start of the trial")
    process.send_signal(signal.SIGSTOP)
    house.write("go", "")
    wait_until((launch_folder(house) / "exit").exists, what="the end of the trial")
    process.send_signal(signal.SIGCONT)
    finish(process)
    assert house.reports() == [(1, 1, {"loss": 7})]
    assert house.states() == {1: "complete"}


def test_a_process_that_is_none_of_the_launch_is_refused_whatever_it_says(house):
    process = start_waiting(house)
    speaker = int((launch_folder(house) / "speaks").read_text().split()[0])
    for more in ({"pid": speaker}, {"pid": speaker + 1}, {"pid": speaker, "secret": "guessed"}):
        stranger = Peer(house)
        stranger.hello(study="adv", trial=1, launch=1, **more)
        assert stranger.hear()["type"] == "refuse"
        stranger.close()
    house.write("go", "")
    finish(process)
    assert [work for _, work, _ in house.reports()] == [1, 2]
    assert house.query("SELECT note FROM trials") == [("",)]


def test_second_process_does_not_disturb_the_first(house):
    """The second process knows the worker's secret, as a child of the worker may."""
    process = start_waiting(house)
    secret = (launch_folder(house) / "secret").read_text()
    for _ in range(3):
        second = Peer(house)
        second.hello(pid=1, study="adv", trial=1, launch=1, secret=secret)
        assert second.hear()["type"] == "refuse"
        second.close()
    house.write("go", "")
    finish(process)
    assert [work for _, work, _ in house.reports()] == [1, 2]
    [note] = house.query("SELECT note FROM trials")
    assert "only the first is heard" in note[0]


def test_forged_trial_numbers_are_refused(house):
    """A worker without a trial cannot report for another worker's trial."""
    prepare(
        house,
        """
import os, time
import sluice
for trial in sluice.trials():
    while trial.number == 2 and not os.path.exists("go"):
        time.sleep(0.005)
    trial.report(1, loss=1)
""",
        trials=2,
        more="parallelism: 2",
    )
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: house.states() == {1: "complete", 2: "running"}, what="an idle worker")
    forger = Peer(house)
    forger.hello(worker="1.1", study="adv", trial=2, launch=1, reuse=True)
    assert forger.hear()["type"] == "refuse"
    forger.close()
    house.write("go", "")
    finish(process)
    assert {metrics["loss"] for _, _, metrics in house.reports()} == {1}


@pytest.mark.parametrize(
    "bytes_said",
    [
        b"\x00\xff\xfe garbage\n",
        b"{" * 100_000 + b"\n",
        b"x" * (3 << 20),
        b'{"type":"hello","version":1,"worker":"../../1.1","pid":1,"client":"x"}\n',
        b'{"type":"hello","version":1,"worker":"77.1","pid":1,"client":"x",'
        b'"study":"adv","trial":77,"launch":1}\n',
        b'{"type":"hello","version":9,"worker":"1.1","pid":1,"client":"x"}\n',
        b'{"type":"report","trial":1,"launch":1,"seq":2,"work":2,"values":{"loss":0}}\n',
        b'{"type":"ready"}\n',
    ],
    ids=["garbage", "nested", "endless", "path", "unknown", "version", "no-hello", "ready"],
)
def test_misbehaving_peers_are_cut_off(house, bytes_said):
    process = start_waiting(house)
    silent = [Peer(house) for _ in range(20)]  # connect and say nothing
    peer = Peer(house)
    try:
        peer.socket.sendall(bytes_said)
        while peer.hear():
            pass
    except ConnectionError:
        pass
    house.write("go", "")
    finish(process)
    assert [work for _, work, _ in house.reports()] == [1, 2]
    for each in [peer, *silent]:
        each.close()


def test_peer_that_cannot_hear_costs_nothing(house):
    process = start_waiting(house)
    deaf = Peer(house)
    deaf.socket.shutdown(socket.SHUT_RD)
    deaf.say(type="ask", verb="retry", study="adv", trial=1)
    assert_rests(process)
    house.write("go", "")
    finish(process)
    deaf.close()


def test_script_that_never_asks_is_ended_past_its_budget(house):
    prepare(
        house,
        """
import time, sluice
for epoch in range(1, 100000):
    sluice.report(epoch, loss=epoch)
    time.sleep(0.005)
""",
        more="budget: {max: 3}\ntimeouts: {grace: 200ms}",
    )
    house.run("tune", "study.yaml", "-q", seconds=20)
    assert house.states() == {1: "complete"}


def test_budget_of_an_outer_study_is_not_inherited(house):
    prepare(house, shell('echo "{\\"loss\\": 1, \\"budget\\": ${SLUICE_BUDGET:-0}}"'))
    house.run("tune", "study.yaml", "-q", SLUICE_BUDGET="9", SLUICE_TRIAL="4", SLUICE_LAUNCH="2")
    assert house.reports() == [(1, 1, {"loss": 1, "budget": 0})]


def test_study_inside_a_trial(house):
    house.write("inner.py", "import sluice\nsluice.report(1, loss=sluice.params()['y'])\n")
    house.write(
        "inner.yaml",
        f"study: inner\nprogram: {python_program(house.folder / 'inner.py')}\n"
        "space: {y: {int: [5, 6]}}\n"
        "objective: {minimize: loss}\ntrials: 2\nresources: {cpus: 0.25}\nsampler: random\n",
    )
    prepare(
        house,
        f"""
import subprocess, sluice
sluice.report(1, loss=9)
subprocess.run([{SLUICE!r}, "tune", "inner.yaml", "-q", "--store", "inner.db"], check=True)
sluice.report(2, loss=5)
""",
    )
    house.run("tune", "study.yaml", "-q")
    assert [m["loss"] for _, _, m in house.reports()] == [9, 5]


def test_program_whose_children_keep_its_output_open(house):
    prepare(house, ["bash", "-c", 'echo "{{\\"loss\\": 1}}"; setsid sleep 20 & exit 0'], trials=2)
    house.run("tune", "study.yaml", "-q", seconds=15)
    assert set(house.states().values()) == {"complete"}
    assert len(house.reports()) == 2


def test_program_that_closes_its_output_and_one_without_newlines(house):
    text = (
        'echo "{\\"epoch\\": 1, \\"loss\\": 1}"; head -c 5000000 /dev/zero | tr "\\0" x; echo; '
        'printf "{\\"epoch\\": 2, \\"loss\\": 2}"; exec >&- 2>&-; sleep 0.05'
    )
    prepare(house, shell(text))
    house.run("tune", "study.yaml", "-q")
    assert [work for _, work, _ in house.reports()] == [1, 2]


@pytest.mark.parametrize(
    "name", ["with space", "quote'\"s", "100%41?#", "grüße", "b{x}r", "d" * 120 + "/" + "e" * 120]
)
def test_store_in_odd_places(tmp_path, name):
    house = House(tmp_path)
    place = tmp_path / name
    place.mkdir(parents=True)
    prepare(house, WAITING)
    house.write("go", "")
    store = place / "store of it.db"
    words = ["--store", str(store)]
    house.run("tune", "study.yaml", "-q", *words)
    [trial] = json.loads(house.run("trials", "adv", "--json", *words).stdout)
    assert (trial["state"], trial["work"]) == ("complete", 2)
    assert store.exists(), sorted(tmp_path.rglob("*.db"))
    house.run("resume", "adv", "--trials", 2, "-q", *words)
    house.run("delete", "adv", "--yes", *words)


def test_few_descriptors_are_enough(house):
    """A trial needs three descriptors of the controller. Its program gets the original limit."""
    prepare(
        house,
        shell('echo "{\\"loss\\": $(ulimit -Sn)}"; exec sleep 0.2'),
        trials=60,
        more="parallelism: 30\nretries: 0",
        cpus=0.01,
    )

    def few():
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))

    process = subprocess.Popen(
        [SLUICE, "tune", "study.yaml", "-q"],
        cwd=house.folder,
        env=house.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=few,
    )
    house.started.append(process)
    finish(process)
    assert set(house.states().values()) == {"complete"}
    assert {metrics["loss"] for _, _, metrics in house.reports()} == {40}


def test_more_peers_than_descriptors(house):
    process = start_waiting(house)
    held = len(os.listdir(f"/proc/{process.pid}/fd"))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (held + 10, held + 10))
    silent = [Peer(house) for _ in range(30)]
    assert_rests(process)
    for each in silent:
        each.close()
    house.write("go", "")
    finish(process)
    assert [work for _, work, _ in house.reports()] == [1, 2]


def test_no_descriptor_is_left_open(house):
    prepare(
        house,
        shell(
            'echo "{\\"loss\\": {x}}"; '
            'while [ "$SLUICE_TRIAL" = 60 ] && [ ! -e go ]; do sleep 0.01; done'
        ),
        trials=60,
        more="parallelism: 4",
    )
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: list(house.states().values()).count("complete") == 59, what="all but one")
    opened = os.listdir(f"/proc/{process.pid}/fd")
    house.write("go", "")
    finish(process)
    assert len(opened) < 30, opened


def test_files_deleted_while_running(house):
    process = start_waiting(house, more="retries: 1\nbackoff: 10ms")
    for path in sorted((house.files / "studies").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    house.write("go", "")
    finish(process)
    assert house.states() == {1: "complete"}


def test_adoption_where_no_folder_can_be_made(house):
    process = start_waiting(house, more="retries: 1\nbackoff: 10ms")
    process.kill()
    process.communicate()
    launcher, program = (
        int((launch_folder(house) / name).read_text().split()[0]) for name in ("claim", "program")
    )
    os.kill(program, signal.SIGKILL)
    wait_until(
        lambda: not pathlib.Path(f"/proc/{launcher}").exists(), what="the end of the launcher"
    )
    trial = launch_folder(house).parent
    shutil.rmtree(trial)
    trial.write_text("in the way")
    done = house.run("resume", "adv", "-q", seconds=30, check=False)
    assert done.returncode == 1 and "cannot make this folder" in done.stdout
    [(state, failures)] = house.query("SELECT state, failures FROM trials")
    assert state == "waiting" and failures == 0
    trial.unlink()
    house.write("go", "")
    house.run("resume", "adv", "-q")
    assert house.states() == {1: "complete"}


def test_two_resumes_at_once(house):
    process = start_waiting(house)
    process.kill()
    process.communicate()
    pair = [house.start("resume", "adv", "-q") for _ in range(2)]
    resumed = "SELECT count(*) FROM events WHERE kind = 'study_resumed'"
    wait_until(lambda: house.query(resumed) == [(2,)], what="both to be heard")
    house.write("go", "")
    said = [each.communicate(timeout=30)[1] for each in pair]
    assert [each.returncode for each in pair] == [0, 0], said
    assert [work for _, work, _ in house.reports()] == [1, 2]


def test_delete_while_trials_run(house):
    """Whether or not a controller lives."""
    process = start_waiting(house)
    house.run("delete", "adv", "--yes")
    _, said = process.communicate(timeout=30)
    assert process.returncode in (2, 130), said
    process = start_waiting(house)
    process.kill()
    process.communicate()
    program = launch_folder(house).joinpath("program").read_text().split()[0]
    house.run("delete", "adv", "--yes")
    assert not pathlib.Path(f"/proc/{program}").exists()
    assert not (house.files / "studies/adv").exists()

"""What happens to trials while they run: budgets, time-outs, retries, interruptions, bounds."""

import json
import os
import signal
import sys

from house import python_program, wait_until

STUDY = """
study: run
program: {program}
space: {{x: {{int: [0, 99]}}}}
objective: {{minimize: loss}}
trials: {trials}
seed: 3
{more}
"""


def prepare(house, program, trials=1, more=""):
    if isinstance(program, str):
        program = python_program(house.write("trial.py", program))
    else:
        program = json.dumps(program)
    house.write("study.yaml", STUDY.format(program=program, trials=trials, more=more))


def shell(text):
    """A program of the shell; braces of its own are doubled for the study file."""
    return ["sh", "-c", text.replace("{", "{{").replace("}", "}}").replace("{{x}}", "{x}")]


def test_parameters_reach_any_program(house):
    text = (
        'echo "{\\"loss\\": {x}, \\"from_env\\": $X, \\"from_file\\": '
        '$(sed s/[^0-9]//g $SLUICE_PARAMS), \\"threads\\": $OMP_NUM_THREADS}"; '
        'echo "gpus:$CUDA_VISIBLE_DEVICES."'
    )
    prepare(house, shell(text), trials=5, more='environment: {X: "{x}"}\nresources: {cpus: 2}')
    house.run("tune", "study.yaml", "-q")
    params = dict(house.query("SELECT trial, params FROM trials"))
    assert len(house.reports()) == 5
    for trial, work, metrics in house.reports():
        x = json.loads(params[trial])["x"]
        assert (work, metrics) == (1, {"loss": x, "from_env": x, "from_file": x, "threads": 2})
    assert "gpus:." in house.run("logs", 1).stdout


def test_several_metrics_and_attributes(house):
    prepare(
        house,
        """
import sluice
sluice.set_attribute("parameters", 61706)
sluice.set_attribute("note", "two layers")
sluice.report(1, loss=0.5, accuracy=0.9)
""",
    )
    house.run("tune", "study.yaml", "-q")
    [trial] = [
        json.loads(line)
        for line in house.run("export", "run", "--format", "jsonl").stdout.splitlines()
    ]
    assert "61706" in json.dumps(trial) and "two layers" in json.dumps(trial)
    assert house.reports() == [(1, 1, {"loss": 0.5, "accuracy": 0.9})]


PROMOTED = """
import sluice
saved = sluice.latest_checkpoint()
first = int((saved / "epoch").read_text()) + 1 if saved else 1
for epoch in range(first, 10):
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    sluice.report(epoch, loss=sluice.params()["x"] / epoch)
    if sluice.should_stop():
        break
"""


def test_promotion_pauses_and_resumes_from_the_checkpoint(house):
    more = "stopper: asha-promotion\nbudget: {min: 1, max: 9, eta: 3}"
    prepare(house, PROMOTED, trials=9, more=more)
    house.run("tune", "study.yaml", "-q")
    states = list(house.states().values())
    assert (
        states.count("complete") in (1, 2, 3)
        and states.count("complete") + states.count("paused") == 9
    )
    works = [work for (work,) in house.query("SELECT work FROM trials")]
    assert set(works) <= {1, 3, 9} and works.count(1) >= 4
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert len(keys) == len(set(keys))


def test_plain_program_is_paused_and_goes_on_from_its_checkpoint(house):
    text = """
first=$(cat $SLUICE_CHECKPOINT_DIR/epoch 2>/dev/null || echo 0)
for e in $(seq $((first + 1)) $SLUICE_BUDGET); do
  echo $e > $SLUICE_CHECKPOINT_DIR/epoch
  echo "{\\"epoch\\": $e, \\"loss\\": {x}}"
done
"""
    more = "stopper: asha-promotion\nbudget: {min: 1, max: 4, eta: 2}"
    prepare(house, shell(text), trials=4, more=more)
    house.run("tune", "study.yaml", "-q")
    keys = sorted((trial, work) for trial, work, _ in house.reports())
    assert len(keys) == len(set(keys))
    assert max(work for _, work in keys) == 4
    assert "failed" not in house.states().values()


def test_one_process_takes_trial_after_trial(house):
    prepare(
        house,
        """
import os, sluice
for trial in sluice.trials():
    trial.report(1, loss=trial.params["x"], pid=os.getpid())
""",
        trials=40,
        more="parallelism: 2",
    )
    house.run("tune", "study.yaml", "-q")
    assert set(house.states().values()) == {"complete"}
    assert len({metrics["pid"] for _, _, metrics in house.reports()}) <= 2


def test_failure_is_retried_and_then_told(house):
    prepare(house, shell("echo attempt; echo oh no >&2; exit 3"), more="retries: 2\nbackoff: 10ms")
    house.run("tune", "study.yaml", "-q", code=1)
    [(state, failures, note)] = house.query("SELECT state, failures, note FROM trials")
    assert (state, failures, note) == ("failed", 3, "exit code 3: oh no")


def test_retry_gives_a_failed_trial_another_chance(house):
    prepare(house, shell('test -e ok && echo "{\\"loss\\": 1}"'), more="retries: 0")
    house.run("tune", "study.yaml", "-q", code=1)
    assert house.states() == {1: "failed"}
    house.write("ok", "")
    house.run("retry", 1)
    house.run("resume", "run", "-q")
    assert house.states() == {1: "complete"}
    again = house.run("retry", 1, check=False)
    assert (
        again.returncode == 1
        and "trial 1 is complete: only failed and stopped trials" in again.stderr
    )


def test_trial_time_out(house):
    prepare(house, shell("sleep 60"), more="timeouts: {trial: 200ms, grace: 100ms}\nretries: 0")
    house.run("tune", "study.yaml", "-q", code=1)
    [(state, note)] = house.query("SELECT state, note FROM trials")
    assert state == "failed" and "longer than its time-out of 200ms" in note


def test_report_time_out_kills_the_whole_group(house):
    marker = f"{os.getpid()}.{id(house)}"
    stubborn = f'trap "" TERM; (trap "" TERM; exec -a sluice-{marker} sleep 300) & wait'
    text = f'echo "{{\\"loss\\": 1}}"; {stubborn}'
    prepare(
        house,
        ["bash", "-c", text.replace("{", "{{").replace("}", "}}")],
        more="timeouts: {report: 300ms, grace: 100ms}\nretries: 0",
    )
    house.run("tune", "study.yaml", "-q", code=1)
    [(state, note)] = house.query("SELECT state, note FROM trials")
    assert state == "failed" and "no report within its time-out" in note
    assert os.system(f"pgrep -f [s]luice-{marker} > /dev/null") != 0, "a grandchild was left behind"


def test_hung_worker_loses_its_lease(house):
    prepare(
        house,
        """
import os, signal, sluice
sluice.report(1, loss=1)
sluice.should_stop()
os.kill(os.getpid(), signal.SIGSTOP)
""",
        more="timeouts: {lease: 600ms}\nretries: 0",
    )
    house.run("tune", "study.yaml", "-q", code=1)
    [(state, note)] = house.query("SELECT state, note FROM trials")
    assert (state, note) == ("failed", "silent past its lease")


def test_stop_at_ends_the_study(house):
    prepare(
        house, shell('echo "{\\"loss\\": {x}}"; sleep 0.01'), trials=500, more="stop_at: {loss: 20}"
    )
    house.run("tune", "study.yaml", "-q")
    assert len(house.states()) < 500
    assert house.query("SELECT ending FROM studies") == [("target reached",)]


def test_deadline_stops_new_work(house):
    prepare(
        house, shell('sleep 0.05; echo "{\\"loss\\": 1}"'), trials=10000, more="deadline: 500ms"
    )
    house.run("tune", "study.yaml", "-q")
    assert 2 <= len(house.states()) < 200
    assert house.query("SELECT ending FROM studies") == [("deadline passed",)]
    late = house.run("resume", "run", check=False)
    assert late.returncode == 1 and "give it a new one with --deadline" in late.stderr


def test_resume_with_more_trials(house):
    prepare(house, shell('echo "{\\"loss\\": {x}}"'), trials=3)
    house.run("tune", "study.yaml", "-q")
    same = house.run("resume", "run", check=False)
    assert same.returncode == 1 and "is finished (all trials done)" in same.stderr
    house.run("resume", "run", "--trials", 7, "-q")
    assert len(house.states()) == 7


SAVING = """
import time, sluice
saved = sluice.latest_checkpoint()
first = int((saved / "epoch").read_text()) + 1 if saved else 1
for epoch in range(first, 1000):
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    sluice.report(epoch, loss=epoch)
    if sluice.should_stop():
        break
    time.sleep(0.02)
"""


def test_interrupt_drains_and_resume_goes_on(house):
    prepare(house, SAVING, trials=2, more="budget: {max: 40}")
    process = house.start("tune", "study.yaml")
    wait_until(lambda: len(house.reports()) >= 4, what="some reports")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "sluice resume run" in out
    assert set(house.states().values()) == {"waiting"}
    before = {trial: work for trial, work in house.query("SELECT trial, work FROM trials")}
    house.run("resume", "run", "-q")
    assert set(house.states().values()) == {"complete"}
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert sorted(keys) == [(trial, work) for trial in (1, 2) for work in range(1, 41)]
    assert all(0 < work < 40 for work in before.values())


def test_second_interrupt_ends_at_once(house):
    stays = "trap '' TERM; echo \"{\\\"loss\\\": 1}\"; while :; do sleep 0.1; done"
    prepare(house, shell(stays), trials=1, more="timeouts: {grace: 1h}")
    process = house.start("tune", "study.yaml")
    wait_until(lambda: house.reports(), what="a report")
    process.send_signal(signal.SIGINT)
    paused = "SELECT 1 FROM events WHERE kind = 'study_pause_asked'"
    wait_until(lambda: house.query(paused), what="the pause")
    assert process.poll() is None, "it has its grace"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert house.states() == {1: "waiting"}


def test_stop_from_a_second_terminal(house):
    prepare(house, SAVING, trials=50)
    process = house.start("tune", "study.yaml")
    wait_until(lambda: house.reports(), what="a report")
    house.run("stop", "run")
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert house.query("SELECT ending, finished FROM studies") == [("stopped", 1)]
    assert "running" not in house.states().values()


def test_stop_without_a_controller_ends_what_runs(house):
    prepare(house, SAVING, trials=2)
    process = house.start("tune", "study.yaml")
    wait_until(lambda: len(house.reports()) > 2, what="reports")
    process.kill()
    process.communicate()
    house.run("stop", "run")
    assert set(house.states().values()) == {"stopped"}


def test_delete_removes_everything(house):
    prepare(house, shell('echo "{\\"loss\\": 1}"'))
    house.run("tune", "study.yaml", "-q")
    assert (house.files / "studies/run").exists()
    house.run("delete", "run", "--yes")
    assert not (house.files / "studies/run").exists()
    for table in ("studies", "trials", "reports", "events", "snapshots"):
        assert house.query(f"SELECT count(*) FROM {table}") == [(0,)]


def test_output_is_capped_but_results_are_not_lost(house):
    text = f"""{sys.executable} -c '
import json
for i in range(1, 4):
    print("noise " * 20000)
    print(json.dumps(dict(epoch=i, loss=i)), flush=True)
'"""
    prepare(house, shell(text), more="output_cap: 50kB")
    house.run("tune", "study.yaml", "-q")
    assert [work for _, work, _ in house.reports()] == [1, 2, 3]
    output = house.files / "studies/run/trials/1/launch-1/stdout"
    assert output.stat().st_size < 60_000
    assert "output beyond the cap was dropped" in output.read_text()


def test_checkpoints_are_bounded(house):
    program = PROMOTED.replace(
        '(folder / "epoch")', '(folder / "weights").write_bytes(bytes(30000)); (folder / "epoch")'
    )
    more = "stopper: asha-promotion\nbudget: {min: 1, max: 9, eta: 3}\ncheckpoint_cap: 100kB"
    prepare(house, program, trials=12, more=more)
    house.run("tune", "study.yaml", "-q")
    held = sum(
        p.stat().st_size for p in house.files.glob("studies/run/trials/*/checkpoint/**/weights")
    )
    assert 0 < held <= 100_000
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert len(keys) == len(set(keys)), "retrained work is not counted again"


def test_nan_is_the_worst(house):
    prepare(
        house,
        """
import sluice
x = sluice.params()["x"]
sluice.report(1, loss=float("nan") if x > 30 else x)
""",
        trials=12,
    )
    house.run("tune", "study.yaml", "-q")
    best = house.query("SELECT best_value FROM trials JOIN studies ON best = trial")
    assert best[0][0] <= 30
    failed = house.query("SELECT note FROM trials WHERE state = 'failed'")
    assert failed and all("without a finite 'loss'" in note for (note,) in failed)

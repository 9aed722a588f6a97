"""Policies on this machine's cores: trials that are moved, and deadlines that are kept."""

import json
import os
import time

import pytest
from house import python_program

CORES = os.cpu_count()

STUDY = """\
study: run
program: {program}
space: {{x: {{float: [0, 1]}}}}
objective: {{minimize: loss}}
sampler: random
retries: 0
{more}
"""

# An epoch takes as long as `x` says, and a trial goes on from its checkpoint.
TRIAL = """
import os, time, sluice
saved = sluice.latest_checkpoint()
first = int((saved / "epoch").read_text()) + 1 if saved else 1
for epoch in range(first, 1000):
    time.sleep(0.2 * sluice.params()["x"])
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
    threads = int(os.environ["OMP_NUM_THREADS"])
    sluice.report(epoch, loss=sluice.params()["x"] / epoch, threads=threads, first=first)
    if sluice.should_stop():
        break
"""


def prepare(house, more):
    script = python_program(house.write("trial.py", TRIAL))
    house.write("study.yaml", STUDY.format(program=script, more=more))


def reports_of(house, trial):
    return [(work, metrics) for number, work, metrics in house.reports() if number == trial]


@pytest.mark.skipif(CORES < 2, reason="needs two cores")
@pytest.mark.parametrize("policy", ["fluid-static", "fluid-dynamic"])
def test_who_is_left_gets_wider(house, policy):
    more = f"""\
policy: {policy}
trials: 2
enqueue: [{{x: 0.05}}, {{x: 0.8}}]
budget: {{max: 12}}
resources: {{cpus: [1, {CORES}]}}
"""
    prepare(house, more)
    house.run("tune", "study.yaml", "-q")
    assert set(house.states().values()) == {"complete"}
    for trial in 1, 2:
        assert [work for work, _ in reports_of(house, trial)] == list(range(1, 13))
    threads = [metrics["threads"] for _, metrics in reports_of(house, 2)]
    firsts = [metrics["first"] for _, metrics in reports_of(house, 2)]
    assert threads[0] == CORES // 2
    if policy == "fluid-static":
        assert set(threads) == {CORES // 2} and set(firsts) == {1}
    else:
        moved = threads.index(CORES)
        assert threads == [CORES // 2] * moved + [CORES] * (12 - moved)
        assert firsts[moved] == moved + 1, "it goes on from its checkpoint"


@pytest.mark.skipif(CORES < 2, reason="needs two cores")
def test_confluence_runs_elastic_trials_on_cores(house):
    more = f"""\
policy: confluence
trials: 6
stopper: sha
budget: {{min: 1, max: 9, eta: 3}}
resources: {{cpus: [1, {CORES}]}}
"""
    prepare(house, more)
    house.run("tune", "study.yaml", "-q")
    assert set(house.states().values()) <= {"complete", "stopped"}
    for trial in house.states():
        works = [work for work, _ in reports_of(house, trial)]
        assert works == list(range(1, len(works) + 1))


@pytest.mark.parametrize("policy", ["hypersack-wfd", "hypersack-mip", "hydro", "confluence"])
def test_policies_that_pack_gpus_run_on_cores_too(house, policy):
    prepare(house, f"policy: {policy}\ntrials: 5\nbudget: {{max: 3}}\nresources: {{cpus: 1}}")
    assert "policy" not in house.run("check", "study.yaml").stderr
    house.run("tune", "study.yaml", "-q")
    assert list(house.states().values()) == ["complete"] * 5
    for trial in range(1, 6):
        assert [work for work, _ in reports_of(house, trial)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("policy: hypersack-wfd", "policy: hypersack-wfd packs trials onto a GPU by shares"),
        ("policy: hypersack-mip", "policy: hypersack-mip packs trials onto a GPU by shares"),
    ],
)
def test_what_is_not_carried_out_yet_is_refused_before_anything_is_made(house, lines, message):
    prepare(house, f"{lines}\ntrials: 3\nresources: {{gpus: 1, memory: 4GiB}}")
    for verb in "check", "tune":
        told = house.run(verb, "study.yaml", check=False)
        assert told.returncode == 1
        assert message in told.stderr and "'sluice simulate'" in told.stderr
    assert not house.store.exists() and not house.files.exists()


def test_check_says_that_a_policy_does_not_fuse_and_how_many_trials_run_at_once(house):
    prepare(house, "fuse: 8\ntrials: 100")
    told = house.run("check", "study.yaml").stdout
    assert "fuse: has no effect under the policy fifo, only under hydro, confluence" in told
    assert json.loads(house.run("check", "study.yaml", "--json").stdout)["parallelism"] == CORES
    prepare(house, "policy: hydro\nfuse: 8\ntrials: 1000")
    told = house.run("check", "study.yaml", "--json", check=False).stdout
    assert json.loads(told)["parallelism"] == 8 * CORES


@pytest.mark.parametrize("policy", ["fifo", "hypersched", "confluence"])
def test_a_deadline_is_kept_and_what_runs_is_saved(house, policy):
    more = f"""\
policy: {policy}
trials: 100
stopper: asha-pausing
budget: {{min: 2, max: 900, eta: 4}}
deadline: 4s
resources: {{cpus: [1, {CORES}]}}
"""
    prepare(house, more)
    begun = time.monotonic()
    house.run("tune", "study.yaml", "-q")
    assert time.monotonic() - begun < 4 + 6, "by then all have saved and left"
    assert house.query("SELECT ending FROM studies") == [("deadline passed",)]
    assert "failed" not in house.states().values()
    waiting = [trial for trial, state in house.states().items() if state == "waiting"]
    assert waiting, "who ran when the deadline came goes on with another"
    house.run("resume", "run", "--deadline", "2s", "-q")
    keys = [(trial, work) for trial, work, _ in house.reports()]
    assert len(keys) == len(set(keys))
    went_on = [metrics["first"] for trial in waiting for _, metrics in reports_of(house, trial)]
    assert max(went_on) > 1, "from its checkpoint"


# A curve that its parameter decides, and a checkpoint that takes its time.
SLOW_TO_LEAVE = """
import time, sluice
before = sluice.latest_checkpoint()
done = int((before / "epoch").read_text()) if before else 0
for epoch in range(done + 1, 1000):
    time.sleep(0.1)
    sluice.report(epoch, loss=sluice.params()["x"] + 1 / (1 + epoch))
    if sluice.should_stop():
        if sluice.should_save():
            time.sleep(1.5)
            with sluice.checkpoint(epoch) as folder:
                (folder / "epoch").write_text(str(epoch))
        break
"""


@pytest.mark.skipif(CORES < 2, reason="needs two cores")
def test_at_a_deadline_who_is_not_worth_saving_is_given_up(house):
    more = """\
policy: confluence
trials: 30
enqueue: [{x: 0.9}, {x: 0.8}, {x: 0.1}, {x: 0.85}, {x: 0.05}, {x: 0.95}, {x: 0.9}]
budget: {max: 900}
deadline: 16s
parallelism: 2
resources: {cpus: [1, 2]}
"""
    script = python_program(house.write("trial.py", SLOW_TO_LEAVE))
    house.write("study.yaml", STUDY.format(program=script, more=more))
    house.run("tune", "study.yaml", "-q")
    columns = "trial, state, best_value, note, saved_work, work, launch"
    rows = house.query(f"SELECT {columns} FROM trials")
    given_up = {row[0]: row for row in rows if row[3].startswith("given up: others are expected")}
    assert given_up
    for _, state, value, _, saved, done, launch in given_up.values():
        assert state == "stopped"
        assert saved < done if launch > 1 else saved == 0, "nobody waited for its checkpoint"
        assert value is not None, "it had reported"
    best = min((row for row in rows if row[2] is not None), key=lambda row: row[2])
    assert best[0] not in given_up and best[1] == "waiting"


def test_a_program_that_cannot_hear_is_ended_at_the_deadline(house):
    text = 'echo "{{\\"loss\\": 1}}"; exec sleep 60'
    program = json.dumps(["sh", "-c", text])
    house.write("study.yaml", STUDY.format(program=program, more="trials: 1\ndeadline: 2s"))
    begun = time.monotonic()
    house.run("tune", "study.yaml", "-q")
    assert time.monotonic() - begun < 20
    assert house.states() == {1: "waiting"} and len(house.reports()) == 1


def test_what_a_policy_needs_is_said(house):
    prepare(house, "policy: hypersched\ntrials: 3\nbudget: {max: 9}")
    told = house.run("check", "study.yaml", check=False)
    assert told.returncode == 2
    assert "study.yaml:7: policy: the policy hypersched is after the best model" in told.stderr
    assert "add 'deadline: 30m'" in told.stderr
    prepare(house, "policy: fluid-static\ntrials: 3")
    told = house.run("tune", "study.yaml", check=False)
    assert told.returncode == 2 and "add 'budget: {max: 27}'" in told.stderr
    prepare(house, "policy: hypersack-ff\ntrials: 3\nresources: {gpus: 0.5}")
    told = house.run("tune", "study.yaml", check=False)
    assert told.returncode == 2 and "add 'resources: {memory: 4GiB}'" in told.stderr

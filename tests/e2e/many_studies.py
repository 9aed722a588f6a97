"""What the tests of studies side by side share: studies to run, and ways to wait for them."""

import json
import sys

from house import wait_until

STUDY = """
study: {name}
program: {program}
space: {{x: {{int: [0, 999]}}}}
objective: {{minimize: loss}}
sampler: random
trials: {trials}
parallelism: {parallelism}
resources: {{cpus: 1}}
weight: {weight}
seed: 3
backoff: 1ms
{more}
"""

# Reports three times, and saves after each: a restart goes on where it was.
SAVING = """
import sys, time
import sluice
x, seconds = int(sys.argv[1]), float(sys.argv[2])
latest = sluice.latest_checkpoint()
done = int((latest / "epoch").read_text()) if latest else 0
for epoch in range(done + 1, 4):
    time.sleep(seconds)
    sluice.report(epoch, loss=x * 10 + epoch)
    with sluice.checkpoint(epoch) as folder:
        (folder / "epoch").write_text(str(epoch))
"""


def prepare(house, name, trials=4, parallelism=2, weight=1, seconds=0.1, more="", program=None):
    if not (house.folder / "train.py").exists():  # trials of an earlier study may read it now
        house.write("train.py", SAVING)
    if program is None:
        program = [sys.executable, str(house.folder / "train.py"), "{x}", str(seconds)]
    text = STUDY.format(
        name=name,
        program=json.dumps(program),
        trials=trials,
        parallelism=parallelism,
        weight=weight,
        more=more,
    )
    return house.write(f"{name}.yaml", text)


def state_of(house, name):
    rows = {study["name"]: study["state"] for study in house.json("studies")}
    return rows.get(name)


def await_state(house, name, state, seconds=60):
    wait_until(lambda: state_of(house, name) == state, seconds, what=f"{name} to be {state}")


def reports_of(house, name):
    return house.query(
        "SELECT trial, work, metrics FROM reports JOIN studies ON id = reports.study"
        " WHERE name = ? ORDER BY seq",
        name,
    )


def await_reports(house, *names):
    wait_until(lambda: all(reports_of(house, name) for name in names), what=f"reports of {names}")

#!/usr/bin/env python3
"""Wall time of a trial that does nothing, with all overhead included, beside Ray Tune."""

import json
import os
import statistics
import subprocess
import sys
import time

import bench_house as bench

WORKERS = 8  # warm workers of Sluice, and workers of Ray Tune
SPAWNED = 2  # how many spawned programs run at the same time

ABOUT = """
# Trivial trials

Each trial reports once and is done. The figures are the wall time of the whole `sluice tune`,
divided by the number of trials. They include the start of `sluice`, the start of the workers and
every durable commit. For Ray Tune it is the time of `Tuner.fit()`, with Ray already started, for a
class that is done after its first step.

The bars: 2 ms with warm workers, 10 ms for a spawned native program, and for a spawned Python
program 10 ms more than the start of its interpreter. Ray is slow, so it runs only a few trials.
With few trials the start of the workers counts for more. So Sluice is also measured with as few
trials, and as many in parallel, as Ray.
"""

STUDY = """
study: trivial
program: {program}
space: {{x: {{float: [0, 1]}}}}
objective: {{minimize: loss}}
trials: {trials}
parallelism: {parallelism}
resources: {{cpus: {cpus:.3f}}}
"""

WARM = """
import sluice

for trial in sluice.trials():
    trial.report(1, loss=trial.params["x"])
"""

SPAWNED_PYTHON = """
import sluice

sluice.report(1, loss=sluice.params()["x"])
"""

# Ray Tune, in a process of its own. The time to start Ray itself is not counted.
RAY = """
import os, sys, time
os.environ.update(TUNE_DISABLE_AUTO_CALLBACK_LOGGERS="1", RAY_AIR_NEW_OUTPUT="0")
import ray
from ray import tune

trials, reuse, folder = int(sys.argv[1]), sys.argv[2] == "reuse", sys.argv[3]
ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False, logging_level="ERROR")


class Trivial(tune.Trainable):
    def setup(self, config):
        self.x = config["x"]

    def step(self):
        return {"loss": self.x, "done": True}

    def reset_config(self, config):
        self.x = config["x"]
        return True


tuner = tune.Tuner(
    tune.with_resources(Trivial, {"cpu": 1}),
    param_space={"x": tune.uniform(0, 1)},
    tune_config=tune.TuneConfig(
        num_samples=trials, metric="loss", mode="min", reuse_actors=reuse, max_concurrent_trials=8
    ),
    run_config=tune.RunConfig(
        storage_path=folder,
        verbose=0,
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
    ),
)
start = time.monotonic()
results = tuner.fit()
seconds = time.monotonic() - start
assert len(results) == trials and results.num_errors == 0
print("seconds", seconds)
"""


def sluice_ms(program, trials, parallelism):
    with bench.house() as house:
        for name, text in (("warm.py", WARM), ("spawned.py", SPAWNED_PYTHON)):
            house.write(name, text)
        text = STUDY.format(
            program=json.dumps([str(word) for word in program]),
            trials=trials,
            parallelism=parallelism,
            cpus=int(os.cpu_count() * 1000 / parallelism) / 1000,
        )
        seconds, _ = house.run("tune", house.write("study.yaml", text), "-q")
        counts = json.loads(house.run("status", "--json")[1])
        assert '"complete": %d' % trials in json.dumps(counts), counts
    return seconds / trials * 1e3


def bare_ms(command, times):
    """Milliseconds for each run of the program by xargs, with as many in parallel as by Sluice."""
    start = time.monotonic()
    subprocess.run(
        ["xargs", "-P", str(SPAWNED), "-I", "{}", *map(str, command)],
        input="\n".join(["x"] * times),
        text=True,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return (time.monotonic() - start) / times * 1e3


def ray_ms(trials, reuse):
    with bench.house() as house:
        script = house.write("peer.py", RAY)
        words = [bench.PYTHON, script, trials, "reuse" if reuse else "fresh", house.folder / "out"]
        done = subprocess.run(
            list(map(str, words)), capture_output=True, text=True, check=False, cwd=house.folder
        )
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        return float(done.stdout.split("seconds")[-1]) / trials * 1e3


def main():
    options = bench.arguments(
        __doc__, rounds=3, warm=4000, native=400, python=150, ray_reuse=40, ray_fresh=8
    )
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", str(bench.ROOT / "python/sluice")], check=True
    )

    def warm():
        return sluice_ms([bench.PYTHON, "warm.py"], options.warm, WORKERS)

    def native():
        return sluice_ms([bench.PROGRAMS / "trivial"], options.native, SPAWNED)

    def python():
        return sluice_ms([bench.PYTHON, "spawned.py"], options.python, SPAWNED)

    def bare_native():
        return bare_ms([bench.PROGRAMS / "trivial"], options.native)

    def bare_python():
        return bare_ms([bench.PYTHON, "-c", "pass"], options.python)

    def ray_reuse():
        return ray_ms(options.ray_reuse, reuse=True)

    def ray_fresh():
        return ray_ms(options.ray_fresh, reuse=False)

    def warm_few():
        return sluice_ms([bench.PYTHON, "warm.py"], options.ray_reuse, WORKERS)

    def python_few():
        return sluice_ms([bench.PYTHON, "spawned.py"], options.ray_fresh, WORKERS)

    with bench.house() as house:
        facts = [bench.machine(house.folder)]
    facts.append(bench.versions() if options.no_peers else bench.versions("ray"))
    measurements = [warm, native, bare_native, python, bare_python]
    if not options.no_peers:
        measurements += [ray_reuse, warm_few, ray_fresh, python_few]
    values = bench.rounds(options.rounds, *measurements)
    middle = [statistics.median(value) for value in values]
    own_start = middle[4]

    def row(index, name, trials, bar=None, peer=None):
        faster = f"{middle[peer] / middle[index]:,.0f}" if peer and peer < len(middle) else ""
        limit = "" if bar is None else f"{bar:.1f}: {bench.verdict(middle[index] <= bar)}"
        return [name, trials, bench.spread(values[index], 2), faster, limit]

    rows = [
        row(0, f"Sluice, {WORKERS} warm Python workers", options.warm, 2.0),
        row(1, f"Sluice, native program, {SPAWNED} at once", options.native, 10.0),
        row(2, "the native program alone, by xargs", options.native),
        row(3, f"Sluice, Python program, {SPAWNED} at once", options.python, own_start + 10),
        row(4, "`python -c pass` alone, by xargs", options.python),
    ]
    if not options.no_peers:
        rows += [
            row(6, f"Sluice, {WORKERS} warm Python workers", options.ray_reuse, None, 5),
            row(5, f"Ray Tune, reuse_actors, {WORKERS} at once", options.ray_reuse),
            row(8, f"Sluice, Python program, {WORKERS} at once", options.ray_fresh, None, 7),
            row(7, f"Ray Tune, {WORKERS} at once", options.ray_fresh),
        ]
    bench.write_page(
        "trials",
        ABOUT,
        facts + [f"medians of {options.rounds} rounds (lowest to highest)"],
        bench.table(["", "trials", "ms a trial", "times faster than Ray", "the bar, ms"], rows),
    )


if __name__ == "__main__":
    main()

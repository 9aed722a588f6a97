#!/usr/bin/env python3
"""A study of 100,000 trials: memory, status and resume. The verbs that only read, at 1,000."""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import time

import bench_house as bench

REPORTS = 20
MEMORY_BAR = 1000  # bytes a trial
STATUS_BAR_MS = 50
RESUME_BAR_S = 3
READ_BAR_MS = 20

ABOUT = """
# Large studies

Finished trials of 8 parameters and 20 reports each, made by the engine and the ledger in virtual
time for the large study, by `sluice tune` for the small one. Times are of whole processes.
"""

STUDY = """
study: big
program: {program}
space:
  lr: {{float: [1e-5, 1], log: true}}
  momentum: {{float: [0, 1]}}
  decay: {{float: [1e-6, 1e-1], log: true}}
  dropout: {{float: [0, 0.5]}}
  width: {{int: [16, 1024]}}
  depth: {{int: [1, 8]}}
  activation: {{choice: [relu, tanh, gelu]}}
  size: {{ordinal: [small, medium, large]}}
objective: {{minimize: loss}}
trials: {trials}
parallelism: 2
resources: {{cpus: 1}}
"""


def write_study(house, name, program, trials):
    text = STUDY.format(program=json.dumps([str(word) for word in program]), trials=trials)
    return house.write(name, text)


def verb_ms(house, *words):
    return house.run(*words)[0] * 1e3


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("the controller has ended before it was measured")


def memory_of_running(house, *words):
    """Runs a verb of `sluice` until it has started a new trial.

    Returns the resident memory of the controller then, and the seconds until then.
    """
    mark = house.folder / "started"
    mark.unlink(missing_ok=True)
    start = time.monotonic()
    controller = subprocess.Popen(
        [str(bench.SLUICE), *map(str, words), "-q"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=house.folder,
        env={**os.environ, "SLUICE_STORE": str(house.store)},
    )
    while not mark.exists():
        if controller.poll() is not None or time.monotonic() - start > 120:
            raise SystemExit(f"{words}: no trial was started")
        time.sleep(0.002)
    seconds = time.monotonic() - start
    time.sleep(0.5)  # long enough for the work that follows the start of a trial
    memory = resident_bytes(controller.pid)
    controller.send_signal(signal.SIGINT)
    controller.send_signal(signal.SIGINT)
    controller.wait()
    return memory, seconds


def measure_big(options):
    with bench.house() as house:
        holds = ["sh", "-c", "[ -e hold ] || exit 0; : > started; exec sleep 60"]
        study = write_study(house, "study.yaml", holds, options.trials)
        big_store = str(bench.PROGRAMS / "big_store")
        start = time.monotonic()
        subprocess.run([big_store, "make", house.store, study, str(REPORTS)], check=True)
        made_s = time.monotonic() - start
        size = house.store.stat().st_size

        status = [verb_ms(house, "status", "big") for _ in range(options.times)]
        recovered = json.loads(subprocess.check_output([big_store, "recover", house.store]))
        resumes = []
        for turn in range(options.rounds):
            total = options.trials + 2 * (turn + 1)
            seconds, _ = house.run("resume", "big", "--trials", total, "-q")
            resumes.append(seconds)
        (house.folder / "hold").touch()
        memory, first_trial = memory_of_running(
            house, "resume", "big", "--trials", options.trials + 2 * options.rounds + 2
        )
    with bench.house() as house:
        (house.folder / "hold").touch()
        study = write_study(house, "study.yaml", holds, 2)
        empty, _ = memory_of_running(house, "tune", study)

    per_trial = (memory - empty) / options.trials
    resume_s = statistics.median(resumes)
    rows = [
        [
            "resident memory of the controller, over one with an empty study",
            f"{per_trial:,.0f} bytes a trial "
            f"({memory / 2**20:.0f} MiB, empty {empty / 2**20:.0f} MiB)",
            f"{MEMORY_BAR:,} bytes: {bench.verdict(per_trial <= MEMORY_BAR)}",
        ],
        [
            "`sluice status`",
            f"{bench.spread(status, 1)} ms",
            f"{STATUS_BAR_MS} ms: {bench.verdict(statistics.median(status) < STATUS_BAR_MS)}",
        ],
        [
            "`sluice resume` with two more trials, to its end",
            f"{bench.spread(resumes, 2)} s",
            f"{RESUME_BAR_S} s: {bench.verdict(resume_s < RESUME_BAR_S)}",
        ],
        ["`sluice resume` until its first new trial runs", f"{first_trial:.2f} s", ""],
        ["the engine from its snapshot", f"{recovered['from_snapshot_s']:.2f} s", ""],
        ["the engine from all events", f"{recovered['from_events_s']:.1f} s", ""],
        [
            "saving a snapshot",
            f"{recovered['save_s'] * 1e3:.0f} ms, {recovered['snapshot_bytes'] / 2**20:.0f} MiB",
            "",
        ],
        [
            "store on disk",
            f"{size / 2**20:,.0f} MiB, {size / options.trials:,.0f} bytes a trial; "
            f"made in {made_s:.0f} s",
            "",
        ],
    ]
    return bench.table([f"{options.trials:,} trials", "", "the bar"], rows)


def measure_reading(options):
    with bench.house() as house:
        program = [bench.PROGRAMS / "trivial", REPORTS]
        study = write_study(house, "study.yaml", program, options.reading_trials)
        house.run("tune", study, "-q")
        verbs = [
            ["studies"],
            ["status"],
            ["trials"],
            ["trials", "--sort", "value", "--limit", "10"],
            ["best"],
            ["best", "--top", "10"],
            ["logs", options.reading_trials // 2],
            ["export"],
            ["export", "--reports"],
            ["check", "study.yaml"],
            ["doctor"],
        ]
        took = [([], []) for _ in verbs]
        for _ in range(options.times):
            for words, (wall, cpu) in zip(verbs, took, strict=True):
                wall.append(verb_ms(house, *words))
                cpu.append(house.cpu_seconds * 1e3)
    rows = [
        [
            f"`sluice {' '.join(map(str, words))}`",
            bench.spread(wall, 1),
            bench.spread(cpu, 1),
            bench.verdict(statistics.median(wall) < READ_BAR_MS),
        ]
        for words, (wall, cpu) in zip(verbs, took, strict=True)
    ]
    header = [f"{options.reading_trials:,} trials", "ms", "of processor time", f"{READ_BAR_MS} ms"]
    return bench.table(header, rows)


def main():
    options = bench.arguments(__doc__, trials=100_000, reading_trials=1000, times=20, rounds=3)
    with bench.house() as house:
        facts = [bench.machine(house.folder), bench.versions()]
    facts.append(
        f"medians of {options.times} runs (lowest to highest); of `resume`, {options.rounds}"
    )
    reading = measure_reading(options)
    bench.write_page(
        "scale",
        ABOUT,
        facts,
        measure_big(options),
        reading,
    )


if __name__ == "__main__":
    main()

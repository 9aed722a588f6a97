#!/usr/bin/env python3
"""Durable reports a second, from 8 senders at once, beside Optuna's storages."""

import contextlib
import json
import multiprocessing
import os
import sqlite3
import statistics
import time

import bench_house as bench

SENDERS = 8
BAR = 20_000

ABOUT = """
# Durable reports a second

8 programs that `sluice tune` started report at once, each as fast as the window lets it: socket,
codec, engine, ledger (SQLite, synchronous FULL), acknowledgement. The clock runs from the first
report made to the last acknowledgement heard. Optuna: 8 processes, each sets intermediate values of
its own trial, one after the other. The bar: at least 20,000 a second, also with every sync delayed
to 4 ms.
"""

STUDY = """
study: reports
program: ["{sender}", "{reports}"]
space: {{x: {{float: [0, 1]}}}}
objective: {{minimize: loss}}
trials: {senders}
parallelism: {senders}
resources: {{cpus: {cpus:.3f}}}
environment: {{LD_PRELOAD: ""}}
"""


def rates(text, reports, printing, **environment):
    """Runs a study of senders. Returns two rates and a time.

    The rates are reports a second: from the first report made to the last acknowledgement, and over
    the whole run of `tune`. The time is the microseconds of CPU time that a report took, in all
    processes together.
    text: the study file. reports: how many reports are made in all. printing: the first so many
    trials have a process of their own, which prints its times.
    """
    with bench.house() as house:
        wall_s, _ = house.run("tune", house.write("study.yaml", text), "-q", **environment)
        cpu_us = house.cpu_seconds / reports * 1e6
        times = [json.loads(house.run("logs", trial)[1]) for trial in range(1, printing + 1)]
        with contextlib.closing(sqlite3.connect(house.store)) as database:
            kept = database.execute("SELECT count(*) FROM reports").fetchone()[0]
        assert kept == reports, f"{kept} reports are on disk"
    seconds = (max(t["last_ns"] for t in times) - min(t["first_ns"] for t in times)) / 1e9
    return reports / seconds, reports / wall_s, cpu_us


def sluice_rates(reports, **environment):
    cpus = int(os.cpu_count() * 1000 / SENDERS) / 1000
    text = STUDY.format(
        sender=bench.PROGRAMS / "sender", reports=reports, senders=SENDERS, cpus=cpus
    )
    return rates(text, SENDERS * reports, SENDERS, **environment)[:2]


def _optuna_sender(make_storage, trial_id, reports, gate, times):
    storage = make_storage()
    gate.wait()
    first = time.monotonic()
    for step in range(reports):
        storage.set_trial_intermediate_value(trial_id, step, 1.0 / (step + 1))
    times.put((first, time.monotonic()))


def optuna_rate(make_storage, reports):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = make_storage()
    study_id = storage.create_new_study([optuna.study.StudyDirection.MINIMIZE], "reports")
    trials = [storage.create_new_trial(study_id) for _ in range(SENDERS)]
    spawn = multiprocessing.get_context("spawn")
    gate, times = spawn.Barrier(SENDERS), spawn.Queue()
    processes = [
        spawn.Process(target=_optuna_sender, args=(make_storage, trial, reports, gate, times))
        for trial in trials
    ]
    for process in processes:
        process.start()
    measured = [times.get() for _ in processes]
    for process in processes:
        process.join()
    seconds = max(last for _, last in measured) - min(first for first, _ in measured)
    return SENDERS * reports / seconds


class Sqlite:
    def __init__(self, folder):
        self.url = f"sqlite:///{folder}/optuna.db"

    def __call__(self):
        from optuna.storages import RDBStorage

        return RDBStorage(self.url, engine_kwargs={"connect_args": {"timeout": 300}})


class Journal:
    def __init__(self, folder):
        self.path = f"{folder}/optuna.log"

    def __call__(self):
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        return JournalStorage(JournalFileBackend(self.path))


def main():
    options = bench.arguments(
        __doc__, rounds=3, reports=25_000, optuna_sqlite_reports=25, optuna_journal_reports=200
    )

    def plain():
        return sluice_rates(options.reports)

    def slow_disk():
        return sluice_rates(options.reports, LD_PRELOAD=str(bench.SHIM), SLUICE_FAULT_SYNC_MS="4")

    def optuna_sqlite():
        with bench.house() as house:
            return optuna_rate(Sqlite(house.folder), options.optuna_sqlite_reports)

    def optuna_journal():
        with bench.house() as house:
            return optuna_rate(Journal(house.folder), options.optuna_journal_reports)

    with bench.house() as house:
        facts = [bench.machine(house.folder)]
    facts.append(bench.versions() if options.no_peers else bench.versions("optuna"))
    measurements = [plain, slow_disk]
    if not options.no_peers:
        measurements += [optuna_sqlite, optuna_journal]
    facts.append(
        f"medians of {options.rounds} rounds (lowest to highest), "
        f"{options.reports:,} reports a sender"
    )
    values = bench.rounds(options.rounds, *measurements)
    for ours in (0, 1):
        walls = [whole for _, whole in values[ours]]
        values[ours] = [rate for rate, _ in values[ours]]
        facts.append(
            f"over the whole run of `tune`{', with syncs of 4 ms' if ours else ''}, "
            f"its start and the programs' included: {bench.spread(walls)} a second"
        )

    def row(name, rates, bar=None):
        rate = statistics.median(rates)
        against = "" if bar else f"{statistics.median(values[0]) / rate:,.0f}"
        return [name, bench.spread(rates), against, bench.verdict(rate >= bar) if bar else ""]

    rows = [row("Sluice", values[0], BAR), row("Sluice, every sync 4 ms", values[1], BAR)]
    if not options.no_peers:
        rows.append(row("Optuna, SQLite storage", values[2]))
        rows.append(row("Optuna, journal storage", values[3]))
    bench.write_page(
        "reports",
        ABOUT,
        facts,
        bench.table(["", "reports a second", "Sluice is times as fast", "the bar"], rows),
    )


if __name__ == "__main__":
    main()

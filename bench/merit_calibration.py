"""Measures, from finished studies, what the simulator must know of trials. Used by merit.py."""

import dataclasses
import json
import math
import sqlite3
import statistics


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch of a trial, if the launch has reported."""

    trial: int
    number: int
    reports: list  # (time in seconds, work, error)
    began: float | None = None  # time in seconds; known only for a trial's last launch
    ended: float | None = None

    @property
    def unit_seconds(self):
        (first, from_work, _), (last, to_work, _) = self.reports[0], self.reports[-1]
        return (last - first) / (to_work - from_work) if to_work > from_work else None


class Store:
    """Reads the studies of a store."""

    def __init__(self, path):
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def rows(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def study(self, name):
        columns = ("id", "deadline_us", "ending", "finished", "failed")
        sql = f"SELECT {', '.join(columns)} FROM studies WHERE name = ?"
        return dict(zip(columns, self.rows(sql, name)[0], strict=True))

    def launches(self, name):
        study = self.study(name)["id"]
        reports = {}
        columns = "trial, launch, time_us, work, metrics"
        sql = f"SELECT {columns} FROM reports WHERE study = ? ORDER BY seq"
        for trial, launch, time_us, work, metrics in self.rows(sql, study):
            report = (time_us / 1e6, work, json.loads(metrics)["error"])
            reports.setdefault((trial, launch), []).append(report)
        sql = "SELECT trial, launch, started_us FROM trials WHERE study = ?"
        began = {(trial, launch): at / 1e6 for trial, launch, at in self.rows(sql, study)}
        ended = {}
        sql = "SELECT time_us, body FROM events WHERE study = ? AND kind = 'launch_ended'"
        for time_us, body in self.rows(sql, study):
            event = json.loads(body)
            ended[event["trial"], event["launch"]] = time_us / 1e6
        return [Launch(*key, told, began.get(key), ended.get(key)) for key, told in reports.items()]

    def best_at_deadline(self, name):
        study = self.study(name)
        sql = "SELECT metrics FROM reports WHERE study = ? AND time_us <= ?"
        told = self.rows(sql, study["id"], study["deadline_us"])
        return min((json.loads(metrics)["error"] for (metrics,) in told), default=math.nan)


def unit_times(launches):
    return {each.trial: each.unit_seconds for each in launches if each.unit_seconds}


def speed_up(narrow, wide):
    """The geometric mean, over trials, of how much faster a trial is in `wide` than in `narrow`."""
    before, after = unit_times(narrow), unit_times(wide)
    both = before.keys() & after.keys()
    return math.exp(statistics.mean(math.log(before[trial] / after[trial]) for trial in both))


def save_seconds(launches):
    """The median time from a launch's last report until it has saved and left."""
    return statistics.median(each.ended - each.reports[-1][0] for each in launches if each.ended)


def start_seconds(launches, done):
    """The median time from the start of a launch to its first step. For each trial, `done` has the
    work at which the launch continues. Launches of trials that are not in `done` do not count."""
    took_s = []
    for each in launches:
        if each.began is None or not each.unit_seconds or each.trial not in done:
            continue
        first, work, _ = each.reports[0]
        took_s.append(first - each.began - each.unit_seconds * (work - done[each.trial]))
    return statistics.median(took_s)


def restore_seconds(narrow, moved):
    """How much longer a launch that continues a trial takes to start than a first launch."""
    done = {}
    for each in sorted(moved, key=lambda each: each.number):
        if each.began is None:  # not the trial's last launch
            done[each.trial] = each.reports[-1][1]
    first = start_seconds(narrow, {each.trial: 0 for each in narrow})
    return max(0.0, start_seconds(moved, done) - first)


# In the simulator, trials learn faster along one direction of the space: over the whole range of a
# parameter, log2 of the speed grows by 8 times `crossing`. The parameter is uniform over its range,
# so the standard deviation of log2 of the speed is `crossing` times 8 / sqrt(12).
CROSSING_PER_DEVIATION = math.sqrt(12) / 8


def steps(low, high, count):
    return [low * (high / low) ** (i / count) for i in range(count + 1)]


def misfit(start, limit, half, curve):
    return sum((limit + (start - limit) / (1 + work / half) - value) ** 2 for work, value in curve)


def fit_half(start, limit, curve, furthest):
    def off(half):
        return misfit(start, limit, half, curve)

    found = min(steps(0.1, 4 * furthest, 40), key=off)
    return min(steps(found / 1.15, found * 1.15, 8), key=off)


def fit_curve(curves):
    """Fits the `curve` of a workload to learning curves, which are lists of (work, value).

    By least squares, it fits

        value = limit + (start - limit) / (1 + work / half)

    with one start and one limit for all trials, and a `half` for each trial. So trials differ in
    how fast they learn. (Without this curve, `sluice plan` assumes that they differ in their
    limits.) The limit is at least 0, because the values are errors."""
    values = [value for curve in curves for _, value in curve]
    furthest = max(work for curve in curves for work, _ in curve)
    best = None
    for start in steps(max(values), 1.5 * max(values), 10):
        for limit in (min(values) * i / 20 for i in range(20)):
            halves = [fit_half(start, limit, curve, furthest) for curve in curves]
            pairs = zip(halves, curves, strict=True)
            squares = sum(misfit(start, limit, half, curve) for half, curve in pairs)
            if best is None or squares < best[0]:
                best = squares, start, limit, halves
    _, start, limit, halves = best
    logs = [math.log2(half) for half in halves]
    return {
        "start": round(start, 4),
        "best": round(limit, 4),
        "half_work": round(2 ** statistics.mean(logs), 3),
        "sharpness": 0,
        "crossing": round(statistics.stdev(logs) * CROSSING_PER_DEVIATION, 3),
        "noise": round(noise(curves) / (start - limit), 5),
    }


def noise(curves):
    """The standard deviation of the noise in a report. It is computed from second differences in
    the latter half of the curves, where the curves are nearly straight."""
    bends = []
    for curve in curves:
        values = [value for _, value in curve[len(curve) // 2 :]]
        bends += [a - 2 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    return math.sqrt(statistics.mean(bend**2 for bend in bends) / 6)


def workload(narrow, wide, moved, cores):
    """The keys of a workload that `sluice plan` does not measure by itself. On a busy machine the
    measured speed-up may be below 1, and then counts as 1."""
    curves = [[(work, value) for _, work, value in each.reports] for each in narrow]
    return {
        "widths": [[1, 1], [cores, round(max(1.0, speed_up(narrow, wide)), 3)]],
        "save": f"{save_seconds(moved) * 1e3:.0f}ms",
        "restore": f"{restore_seconds(narrow, moved) * 1e3:.0f}ms",
        "curve": fit_curve(curves),
    }

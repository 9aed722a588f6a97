"""What the simulator has to know of trials, measured from studies that ran: for bench/merit.py."""

import dataclasses
import json
import math
import sqlite3
import statistics


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch of a trial that reported."""

    trial: int
    number: int
    reports: list  # (second, work, error)
    began: float | None = None  # the second; known of a trial's last launch
    ended: float | None = None

    @property
    def unit_seconds(self):
        (first, from_work, _), (last, to_work, _) = self.reports[0], self.reports[-1]
        return (last - first) / (to_work - from_work) if to_work > from_work else None


class Store:
    """The studies of a store, for reading."""

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
    """How much quicker trials are in `wide` than the same ones in `narrow`, the geometric mean."""
    before, after = unit_times(narrow), unit_times(wide)
    both = before.keys() & after.keys()
    return math.exp(statistics.mean(math.log(before[trial] / after[trial]) for trial in both))


def save_seconds(launches):
    """The median time from a launch's last report until it has saved and left."""
    return statistics.median(each.ended - each.reports[-1][0] for each in launches if each.ended)


def start_seconds(launches, done):
    """The median time from the beginning of a launch to its first step. `done` has, by trial, the
    work that the launch goes on from; launches of other trials do not count."""
    took_s = []
    for each in launches:
        if each.began is None or not each.unit_seconds or each.trial not in done:
            continue
        first, work, _ = each.reports[0]
        took_s.append(first - each.began - each.unit_seconds * (work - done[each.trial]))
    return statistics.median(took_s)


def restore_seconds(narrow, moved):
    """What a launch that goes on takes longer to start than a first one."""
    done = {}
    for each in sorted(moved, key=lambda each: each.number):
        if each.began is None:  # not the trial's last
            done[each.trial] = each.reports[-1][1]
    first = start_seconds(narrow, {each.trial: 0 for each in narrow})
    return max(0.0, start_seconds(moved, done) - first)


# In the simulator, trials learn quicker along one direction of the space. The logarithm to base 2
# of their speed grows by `crossing` times 8 over the whole range of a parameter. It is uniform over
# that range, so its deviation is `crossing` times 8 / sqrt(12).
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
    """The `curve` of a workload, of lists of (work, value): by least squares,

        value = limit + (start - limit) / (1 + work / half)

    with one start and one limit for all trials, and a half for each: here trials differ in how
    quickly they learn. (`sluice plan` by itself assumes that they differ in their limits.) A limit
    is not below zero, for these are errors."""
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
    """The deviation of single reports, from second differences in the latter half of curves, where
    they are near straight."""
    bends = []
    for curve in curves:
        values = [value for _, value in curve[len(curve) // 2 :]]
        bends += [a - 2 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    return math.sqrt(statistics.mean(bend**2 for bend in bends) / 6)


def workload(narrow, wide, moved, cores):
    """What `sluice plan` does not measure, as keys of a workload. A machine that is busy with other
    things may show no speed-up at all; the speed-up is never taken to be below 1."""
    curves = [[(work, value) for _, work, value in each.reports] for each in narrow]
    return {
        "widths": [[1, 1], [cores, round(max(1.0, speed_up(narrow, wide)), 3)]],
        "save": f"{save_seconds(moved) * 1e3:.0f}ms",
        "restore": f"{restore_seconds(narrow, moved) * 1e3:.0f}ms",
        "curve": fit_curve(curves),
    }

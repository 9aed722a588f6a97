"""Runs a sampler with a stopper on a problem, and gives the regret after some numbers of epochs."""

import heapq
import json
import math
import random
import subprocess

import bench_house as bench
from curve_problems import EPOCHS, observed, regret
from search_runs import OptunaSearch

SPENT = (260, 520, 1040)  # epochs of all trials together, after which the regret is taken
SPREAD = 0.3  # the standard deviation of the logarithm of trials' speeds

STOPPERS = ("none", "median", "asha", "asha-promotion", "sha", "hyperband")


class Simulator:
    """Our engine, sampler and stopper in virtual time: a play_search process and its pipes."""

    def __init__(self):
        self.process = subprocess.Popen(
            [str(bench.PROGRAMS / "play_search")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def run(self, problem, sampler, stopper, parallel, seed):
        """Returns a list of improvements, and the number of trials.

        An improvement is a report that was better than all earlier ones: (epochs of all trials so
        far, true loss of the report).
        """
        study = {
            "study": "bench",
            "space": problem.space,
            "objective": {"minimize": "loss"},
            "sampler": sampler,
            "stopper": stopper,
            "budget": {"min": 1, "max": EPOCHS, "eta": 3},
            "trials": 100_000,
            "seed": seed + 1,
            "resources": {"cpus": 1},
            "workload": {"unit_time": "1s", "spread": SPREAD},
        }
        scenario = {"nodes": [{"cpus": parallel}], "studies": [study]}
        self._send({"scenario": json.dumps(scenario), "seed": seed + 1, "epochs": SPENT[-1]})
        curves = {}
        while True:
            message = json.loads(self.process.stdout.readline())
            if "bests" in message:
                return [
                    (spent, curves[trial][work - 1]) for spent, trial, work in message["bests"]
                ], message["trials"]
            params = message["params"]
            curves[message["trial"]] = problem.clean(params)
            self._send(observed(problem, params, seed).tolist())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def pruner(stopper):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made = {
        "none": lambda: optuna.pruners.NopPruner(),
        "median": lambda: optuna.pruners.MedianPruner(n_startup_trials=5),
        "asha": lambda: optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3),
        "hyperband": lambda: optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=EPOCHS, reduction_factor=3
        ),
    }
    return made[stopper]() if stopper in made else None


class OptunaRun(OptunaSearch):
    """Optuna's sampler and pruner, on the same curves and also in virtual time."""

    def __init__(self, problem, stopper, seed):
        # Optuna's Hyperband chooses a trial's bracket by a hash that includes the study's name.
        super().__init__(problem, seed, study_name=f"seed {seed}", pruner=pruner(stopper))
        self.seed = seed

    def run(self, parallel):
        luck = random.Random(f"{self.problem.name}/{self.seed}")
        running = []  # (when its epoch ends, order, trial, pace, true curve, seen curve, epoch)
        now, spent, order, best, bests = 0.0, 0, 0, math.inf, []
        state = self.optuna.trial.TrialState
        while True:
            while len(running) < parallel:
                trial, params = self.ask()
                pace = math.exp(luck.gauss(0, SPREAD))
                seen = observed(self.problem, params, self.seed).tolist()
                order += 1
                clean = self.problem.clean(params)
                heapq.heappush(running, (now + pace, order, trial, pace, clean, seen, 1))
            now, turn, trial, pace, clean, seen, epoch = heapq.heappop(running)
            spent += 1
            if spent > SPENT[-1]:
                return bests, order
            value = seen[epoch - 1]
            if value < best:
                best = value
                bests.append((spent, clean[epoch - 1]))
            trial.report(value, epoch)
            if epoch == EPOCHS:
                self.study.tell(trial, min(seen))
            elif trial.should_prune():
                self.study.tell(trial, state=state.PRUNED)
            else:
                heapq.heappush(running, (now + pace, turn, trial, pace, clean, seen, epoch + 1))


def regrets(problem, bests):
    """After each number of epochs in SPENT: the regret of the report that looked best so far."""
    after = []
    for limit in SPENT:
        losses = [loss for spent, loss in bests if spent <= limit]
        after.append(regret(problem, losses[-1]))
    return after

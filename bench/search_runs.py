"""Runs a search on a problem, and gives the best loss that was found after each trial."""

import heapq
import json
import random
import subprocess

import bench_house as bench


class OptunaSearch:
    def __init__(self, problem, seed, **study):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = optuna
        self.problem = problem
        self.violation = getattr(problem, "violation", None)
        options = {}
        if self.violation:
            options["constraints_func"] = lambda trial: trial.user_attrs["violation"]
        sampler = optuna.samplers.TPESampler(
            seed=seed, multivariate=True, group=bool(problem.active), constant_liar=True, **options
        )
        self.study = optuna.create_study(sampler=sampler, **study)

    def _suggest(self, trial, name, spec):
        log = spec.get("log", False)
        if "float" in spec:
            return trial.suggest_float(name, *spec["float"], log=log, step=spec.get("step"))
        if "int" in spec:
            return trial.suggest_int(name, *spec["int"], log=log)
        if "ordinal" in spec:  # Optuna has no ordinals; the position as an integer keeps the order
            return spec["ordinal"][trial.suggest_int(name, 0, len(spec["ordinal"]) - 1)]
        return trial.suggest_categorical(name, spec["choice"])

    def ask(self):
        trial = self.study.ask()
        params = {}
        for name, spec in self.problem.space.items():
            if name not in self.problem.active or self.problem.active[name](params):
                params[name] = self._suggest(trial, name, spec)
        if self.violation:
            trial.set_user_attr("violation", [self.violation(params)])
        return trial, params

    def tell(self, trial, loss):
        self.study.tell(trial, loss)

    def close(self):
        pass


class SluiceSearch:
    """Our sampler, in a process that is spoken to through pipes (ask_tell.cc)."""

    def __init__(self, problem, seed, sampler="tpe"):
        self.process = subprocess.Popen(
            [str(bench.PROGRAMS / "ask_tell"), sampler, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._send({"space": problem.space, "constraints": list(problem.constraints)})

    def _send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self):
        self._send({"ask": 1})
        answer = json.loads(self.process.stdout.readline())
        return answer["trial"], answer["params"]

    def tell(self, trial, loss):
        self._send({"tell": trial, "loss": loss})

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def best_by_trial(problem, search, trials, parallel, seed):
    """After each finished trial: the true loss of the point that looks best to the search."""
    luck = random.Random(f"{problem.name}/{seed}")
    running = []  # (when it ends, order, handle, params)
    now, asked, seen, curve = 0.0, 0, (float("inf"), float("inf")), []
    while len(curve) < trials:
        while len(running) < parallel and asked < trials:
            handle, params = search.ask()
            heapq.heappush(running, (now + luck.uniform(0.5, 1.5), asked, handle, params))
            asked += 1
        now, _, handle, params = heapq.heappop(running)
        truth = problem.loss(params)
        noisy = truth + luck.gauss(0, 1) * problem.noise
        search.tell(handle, noisy)
        if not (problem.violation and problem.violation(params) > 0):
            seen = min(seen, (noisy, truth))
        curve.append(seen[1])
    return curve

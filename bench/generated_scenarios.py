"""Draws scenarios at random, for `bench/generated.py`.

Scenario i depends on the number i alone, and is the same on every machine and in every version of
Python. The number decides the family, so that any ten scenarios in a row have the same mix of
families. All else is drawn at random from wide, realistic ranges. The mix and the ranges were fixed
before any policy was run on these scenarios.
"""

import math
import random

FAMILIES = [
    "makespan, elastic",
    "makespan, elastic",
    "makespan, fixed width",
    "makespan, packed",
    "makespan, fused",
    "makespan, several kinds",
    "deadline",
    "deadline",
    "target",
    "target",
]
MEMORY_GB = {"V100": 17.1, "A100": 42.9, "H100": 85.8}
PARAMETERS = {
    "lr": {"float": [1e-4, 1], "log": True},
    "weight-decay": {"float": [1e-6, 1e-2], "log": True},
    "momentum": {"float": [0, 0.99]},
    "dropout": {"float": [0, 0.5]},
    "batch": {"ordinal": [32, 64, 128, 256]},
    "optimizer": {"choice": ["sgd", "adam", "lion"]},
}


def family(number):
    return FAMILIES[(number - 1) % len(FAMILIES)]


def draw(number):
    """The scenario with this number, as a dict."""
    return Drawing(number).scenario()


def text(number):
    """The scenario with this number, as the text of a scenario file."""
    return _yaml(draw(number))


def features(scenario):
    """Describes in a few words the features of a scenario that matter to a policy."""
    nodes = [
        f"{node['count']}x{node['devices']['count']} {node['devices']['kind']}"
        if "devices" in node
        else f"{node['count']}x{node['cpus']} cores"
        for node in scenario["nodes"]
    ]
    words = [" + ".join(nodes)]
    for study in scenario["studies"]:
        words.append(_of_study(study))
    words += [f"lends {job['lends']}" for job in scenario.get("pipeline_jobs", [])]
    words += [f"{failure['node']} fails" for failure in scenario.get("failures", [])]
    return "; ".join(words)


def _of_study(study):
    if "transfer" in study:
        return "its best at full size"
    stopper = study["stopper"] if isinstance(study["stopper"], str) else study["stopper"]["name"]
    workload = study["workload"]
    words = [f"{study['trials']} of {study['study'].rsplit('-', 1)[0]}"]
    resources = study["resources"]
    width = resources.get("gpus", resources["cpus"])
    if "fuse" in study:
        words.append(f"{study['fuse']['most']}")
    elif workload.get("profiled"):
        words.append("busy " + " ".join(map(str, workload["busy"].values())))
    else:
        words.append(_flow(width).replace(", ", " to ").strip("[]"))
    words.append(f"{stopper} {study['sampler']}")
    widths = workload.get("widths", "")
    words.append(f"to x{widths[-1][1]}" if isinstance(widths, list) else widths)
    words.append(f"unit {workload['unit_time']} start {workload.get('start_up', '0s')}")
    if "parallelism" in study:
        words.append(f"at most {study['parallelism']} at once")
    return ", ".join(word for word in words if word)


class Drawing:
    """Draws one scenario. All random choices come from one stream of numbers in [0, 1)."""

    def __init__(self, number):
        self.number = number
        self.family = family(number)
        self.uniform = random.Random(f"scenario {number}").random

    def chance(self, part):
        return self.uniform() < part

    def pick(self, values):
        return values[int(self.uniform() * len(values))]

    def whole(self, low, high):
        return low + int(self.uniform() * (high - low + 1))

    def between(self, low, high):
        return _short(low + self.uniform() * (high - low))

    def spread_out(self, low, high):
        """A number between the two, uniform in its logarithm."""
        return _short(low * (high / low) ** self.uniform())

    def scenario(self):
        goal = {"deadline": "error-at-deadline", "target": "time-to-target"}
        made = {"scenario": f"generated-{self.number}", "goal": goal.get(self.family, "makespan")}
        self.cores_only = self.family in FAMILIES[:3] + ["target"] and self.chance(0.12)
        made["nodes"] = self.nodes()
        if self.family == "makespan, fused" and self.chance(0.5):
            made["pipeline_jobs"] = [self.pipeline_job()]
        made["studies"] = self.studies()
        if self.family == "deadline":
            made["policies"] = {
                "fifo-none": {"policy": "fifo", "stopper": "none"},
                "hypersched": {"stopper": "asha-pausing"},
                "confluence": {"stopper": "none"},
            }
        if self.chance(0.15):
            made["failures"] = self.failures(made["nodes"])
        return made

    def nodes(self):
        if self.cores_only:
            self.kinds, self.widest, self.devices = [], self.pick([4, 8, 16, 32]), 0
            count = self.pick([1, 1, 2, 4])
            self.power = self.widest * count
            return [{"name": "c", "count": count, "cpus": self.widest}]
        groups = [self.node_group("a", self.pick(["V100", "A100", "A100", "H100"]))]
        if self.chance(0.25):
            others = [kind for kind in MEMORY_GB if kind != groups[0]["devices"]["kind"]]
            groups.append(self.node_group("b", self.pick(others)))
        self.kinds = [group["devices"]["kind"] for group in groups]
        self.widest = max(group["devices"]["count"] for group in groups)
        self.devices = sum(group["count"] * group["devices"]["count"] for group in groups)
        self.power = self.devices
        return groups

    def node_group(self, name, kind):
        gpus = self.pick([1, 2, 3, 4, 4, 6, 8, 8])
        cpus = max(8, gpus * self.pick([4, 8, 8, 16]))
        return {
            "name": name,
            "count": self.pick([1, 1, 1, 2, 2, 3]),
            "cpus": cpus,
            "devices": {"kind": kind, "count": gpus},
        }

    def pipeline_job(self):
        stages = self.pick([4, 4, 8])
        forward = self.spread_out(5, 25)
        return {
            "name": "gpt",
            "kind": self.kinds[0],
            "stages": stages,
            "replicas": 2,
            "micro_batches": stages * self.pick([1, 2, 4]),
            "forward": f"{forward}ms",
            "backward": f"{_short(2 * forward)}ms",
            "transfer": "0.5ms",
            "free_memory": f"{self.pick([6, 10])}GB",
            "lends": self.whole(1, 2 * stages),
        }

    def studies(self):
        if self.family == "deadline":
            shapes = [self.pick(["elastic", "elastic", "elastic", "elastic", "whole_device"])]
        elif self.family == "target":
            kind = self.pick(["elastic", "elastic", "elastic", "fixed", "packed"])
            shapes = [kind] * self.pick([1, 1, 1, 1, 2])
        elif self.family == "makespan, packed":
            shapes = ["packed"] * self.pick([1, 2, 3, 4, 6])
        elif self.family == "makespan, fused":
            shapes = ["fused"] * self.pick([1, 1, 1, 2])
        elif self.family == "makespan, several kinds":
            left = ["elastic", "fixed", "packed", "fused"]
            shapes = [left.pop(int(self.uniform() * len(left))) for _ in range(self.whole(2, 3))]
        else:
            kind = "elastic" if self.family == "makespan, elastic" else "fixed"
            shapes = [kind] * self.pick([1, 1, 1, 2, 3])
        if self.cores_only:
            shapes = ["fixed" if shape == "packed" else shape for shape in shapes]
        self.horizon_s = 0
        made = []
        for shape in shapes:
            study = self.study(shape, len(made) + 1)
            made.append(study)
            if shape == "fused" and len(made) == 1 and self.chance(0.3):
                made.append(self.target_of(study))
        return made

    def study(self, shape, ordinal):
        arrives_s = 0 if ordinal == 1 else self.between(0, 1) * self.horizon_s
        study = {"study": f"{shape.replace('_', '-')}-{ordinal}"}
        if arrives_s > 1:
            study["arrives"] = _seconds(arrives_s)
        names = list(PARAMETERS)
        study["space"] = {name: PARAMETERS[name] for name in names[: self.whole(2, len(names))]}
        maximizes = self.chance(0.75)
        study["objective"] = {"maximize": "accuracy"} if maximizes else {"minimize": "loss"}
        self.search(study)
        if self.chance(0.08):
            study["parallelism"] = self.whole(3, 16)
        workload = self.workload()
        study["resources"] = getattr(self, shape)(study, workload)
        most = study["budget"]["max"]
        workload["curve"] = self.curve(most, maximizes)
        if study["stopper"] == "none" and self.chance(0.2):
            workload["report_every"] = self.pick([2, 5])
        study["workload"] = workload
        unit_s = _number(workload["unit_time"])
        if self.family == "deadline":
            whole_trial_s = most * unit_s + _number(workload.get("start_up", "0s"))
            least_s = 4 * unit_s + 2 * _number(workload.get("start_up", "0s"))
            study["deadline"] = _seconds(max(least_s, whole_trial_s * self.spread_out(0.08, 1)))
        elif self.family == "target":
            study["stop_at"] = self.stop_at(workload["curve"], most, maximizes)
        part = 0.25 if _judges_at_rungs(study["stopper"]) else 1
        length_s = study["trials"] * most * part * unit_s / self.power
        if self.family == "deadline":
            length_s = _number(study["deadline"])
        self.horizon_s = max(self.horizon_s, arrives_s + length_s)
        return study

    def search(self, study):
        stopper = self.pick(
            ["none", "none", "none", "asha", "asha", "asha-promotion", "sha", "hyperband", "pbt"]
            if self.family != "deadline"
            else ["asha", "asha", "asha", "hyperband"]
        )
        rungs = _judges_at_rungs(stopper)
        samplers = ["random"] * 6 + ["tpe"] + (["bohb"] if rungs else ["random"])
        study["sampler"] = self.pick(samplers)
        study["stopper"] = stopper
        if rungs:
            eta, most = self.pick([(3, 9), (3, 27), (3, 27), (3, 81), (2, 16), (4, 16), (4, 64)])
            if self.family == "deadline":
                eta, most = self.pick([(3, 27), (3, 81), (4, 64), (4, 200), (2, 64)])
            study["budget"] = {"min": self.pick([1, 1, 2]), "max": most, "eta": eta}
            study["trials"] = self.whole(20, 160)
        elif stopper == "none":
            study["budget"] = {"max": self.whole(5, 30)}
            study["trials"] = self.whole(8, 100)
        else:
            most = self.pick([20, 30, 40])
            study["stopper"] = {"name": stopper, "interval": self.pick([2, 5, 10])}
            study["budget"] = {"max": most}
            study["trials"] = self.whole(6, 24)

    def workload(self):
        made = {"unit_time": _seconds(self.spread_out(2, 300))}
        if self.kinds:
            made["on"] = self.kinds[0]
        if self.chance(0.7):
            made["spread"] = self.between(0.05, 0.6)
        if self.chance(0.85):
            made["start_up"] = _seconds(self.spread_out(1, 120))
            made["save"] = _seconds(self.spread_out(0.2, 20))
            made["restore"] = _seconds(self.spread_out(0.2, 20))
        return made

    def cpus(self, width=1):
        return max(1, math.ceil(self.pick([1, 2, 4, 4]) * width))

    def memory(self, resources, workload, most_of_gpu):
        """Draws a trial's GPU memory: at most the given part of the smallest GPU's memory.

        Trials that share a GPU then fit into its memory together.
        """
        size = _short(min(MEMORY_GB[kind] for kind in self.kinds) * most_of_gpu)
        workload["memory"] = resources["memory"] = f"{_short(size * self.between(0.2, 0.95))}GB"

    def widths(self):
        """Draws how much faster a trial becomes with more devices or cores."""
        power = self.between(0.5, 0.98)
        points = [[width, _short(width**power)] for width in (1, 2, 4, 8, 16)]
        return self.pick(["linear", "resnet50", "resnet50", "resnet18", points, points, "rigid"])

    def elastic(self, _study, workload):
        if self.cores_only:
            workload["widths"] = self.pick(["linear", self.widths()])
            return {"cpus": [self.pick([1, 1, 2]), max(4, self.widest // self.pick([1, 2]))]}
        workload["widths"] = self.widths()
        workload["busy"] = self.between(0.3, 1)
        workload["interference"] = self.pick([0, 0.1, 0.2])
        least = 1 if self.family == "deadline" else self.pick([0.25, 0.5, 0.5, 1])
        most = min(self.widest, self.pick([2, 4, 4, 8]))
        if least == most:
            least = 0.5
        resources = {"cpus": self.cpus(), "gpus": [least, most]}
        if self.chance(0.5):
            self.memory(resources, workload, min(1, least))
        return resources

    def fixed(self, _study, workload):
        if self.cores_only:
            width = min(self.widest, self.pick([1, 1, 2, 4]))
            workload["widths"] = "linear"
            return {"cpus": width}
        width = min(self.widest, self.pick([0.25, 0.5, 1, 1, 1, 2, 4]))
        if width == 3:
            width = 2
        if width > 1:
            workload["widths"] = self.widths()
        workload["busy"] = self.between(0.3, 1)
        workload["interference"] = self.pick([0, 0.1, 0.2])
        resources = {"cpus": self.cpus(width), "gpus": width}
        if self.chance(0.6):
            self.memory(resources, workload, min(1, width))
        return resources

    def whole_device(self, _study, workload):
        resources = {"cpus": self.cpus(), "gpus": 1}
        self.memory(resources, workload, 1)
        return resources

    def packed(self, study, workload):
        busy = self.between(0.1, 0.6)
        quickness = {"V100": 0.6, "A100": 1, "H100": 1.5}
        on = quickness[workload["on"]]
        workload["busy"] = {
            kind: min(1, round(busy * on / quickness[kind], 2)) for kind in self.kinds
        }
        if self.chance(0.5):
            workload["bandwidth"] = round(self.between(0.05, 0.5), 2)
        workload["interference"] = self.pick([0, 0, 0.1, 0.2])
        workload["profiled"] = True
        unused = {}
        self.memory(unused, workload, 0.5)
        study["trials"] = max(6, study["trials"] // self.pick([1, 1, 2]))
        return {"cpus": self.pick([1, 1, 2]), "gpus": 1}

    def fused(self, study, workload):
        most = self.pick([4, 8, 16, 32, 64])
        each = self.spread_out(80, 400)
        alone = self.spread_out(500, 2500)
        study["fuse"] = {"most": most, "memory": f"{each}MB"}
        study["trials"] = 2 * study["trials"]
        workload["memory"] = f"{alone}MB"
        if self.chance(0.4):
            power = self.between(0.4, 0.9)
            workload["fusion"] = [[n, _short(n**power)] for n in (1, 2, 4, 8, 16, 32, 64)]
        return {"cpus": self.cpus(), "gpus": 1, "memory": f"{alone}MB"}

    def target_of(self, study):
        """A study that trains the best point of the given study at full size."""
        workload = dict(study["workload"])
        workload.pop("fusion", None)
        slower = self.between(1, 8)
        workload["unit_time"] = _seconds(_number(workload["unit_time"]) * slower)
        workload["memory"] = "8GB"
        return {
            "study": "full-size",
            "space": study["space"],
            "objective": study["objective"],
            "transfer": study["study"],
            "budget": {"max": study["budget"]["max"]},
            "resources": {"cpus": self.cpus(), "gpus": 1, "memory": "8GB"},
            "workload": workload,
        }

    def curve(self, most, maximizes):
        if self.family != "target" and self.chance(0.1):
            return "hypersched"
        made = {"start": 0.1, "best": self.between(0.85, 0.97)}
        if not maximizes:
            made = {"start": self.between(2, 7), "best": self.between(0.1, 1.9)}
        made["half_work"] = _short(most * self.spread_out(0.02, 0.3))
        made["sharpness"] = self.between(1, 5)
        made["crossing"] = self.between(0, 0.8)
        made["noise"] = self.spread_out(0.001, 0.02)
        for accident in ("plateaus", "divergence", "nans"):
            if self.chance(0.1):
                made[accident] = self.between(0.02, 0.15)
        return made

    def stop_at(self, curve, most, maximizes):
        """Draws a target near the value that a trial of average speed reaches at the best point."""
        learned = 1 - 1 / (1 + most / curve["half_work"])
        part = learned * self.between(0.85, 1.05)
        value = _short(curve["start"] + (curve["best"] - curve["start"]) * part)
        return {"accuracy" if maximizes else "loss": value}

    def failures(self, groups):
        numbered = [group["name"] for group in groups for _ in range(group["count"])]
        names = [f"{name}{place}" for place, name in enumerate(numbered, 1)]
        made = []
        for _ in range(min(len(names), self.whole(1, 2))):
            made.append(
                {
                    "node": names.pop(int(self.uniform() * len(names))),
                    "at": _seconds(self.horizon_s * self.between(0.05, 1)),
                    "for": _seconds(30 + self.horizon_s * self.between(0.02, 0.3)),
                }
            )
        return made


def _judges_at_rungs(stopper):
    return stopper not in ("none", "pbt") and not isinstance(stopper, dict)


def _short(value):
    """Rounds to three digits. Maths libraries differ only in later digits."""
    value = float(f"{value:.3g}")
    return int(value) if value == int(value) else value


def _seconds(value):
    return f"{_short(value)}s"


def _number(duration):
    return float(duration.removesuffix("s"))


def _flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _yaml(scenario):
    lines = []
    for key, value in scenario.items():
        if isinstance(value, list):
            lines.append(f"{key}:")
            for item in value:
                if key != "studies":
                    lines.append(f"  - {_flow(item)}")
                    continue
                for place, (name, each) in enumerate(item.items()):
                    lines.append(f"  {'-' if place == 0 else ' '} {name}: {_flow(each)}")
        elif isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {name}: {_flow(each)}" for name, each in value.items()]
        else:
            lines.append(f"{key}: {value}")
    return "\n".join(lines) + "\n"

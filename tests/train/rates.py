"""Learning rates of a trial, by the schedulers of torch.optim."""

import dataclasses

import torch
from torch.optim import lr_scheduler

SCHEDULES = ["constant", "step", "multi_step", "exponential", "cosine", "one_cycle"]


@dataclasses.dataclass
class Schedule:
    kind: str = "constant"
    gamma: float = 0.1
    every: float = 1
    over: float = 1
    last: float = 0
    rise: float = 0.3
    div: float = 25
    warmup: float = 0
    at: tuple = ()

    def words(self):
        return [self.kind, self.gamma, self.every, self.over, self.last, self.rise, self.div,
                self.warmup, *self.at]


def scheduler_for(optimizer, schedule, lr, steps_per_unit):
    def steps(length):
        return max(1, int(length * steps_per_unit + 0.5))

    if schedule.kind == "step":
        return lr_scheduler.StepLR(optimizer, steps(schedule.every), schedule.gamma)
    if schedule.kind == "multi_step":
        return lr_scheduler.MultiStepLR(optimizer, sorted(map(steps, schedule.at)), schedule.gamma)
    if schedule.kind == "exponential":
        return lr_scheduler.ExponentialLR(optimizer, schedule.gamma**(1 / steps_per_unit))
    if schedule.kind == "cosine":
        return lr_scheduler.CosineAnnealingLR(optimizer, steps(schedule.over), lr * schedule.last)
    if schedule.kind == "one_cycle":
        # The rate that a group begins with is a part of its highest one.
        highest = [lr * group["lr"] / optimizer.defaults["lr"] for group in optimizer.param_groups]
        return lr_scheduler.OneCycleLR(
            optimizer, highest, total_steps=steps(schedule.over), pct_start=schedule.rise,
            cycle_momentum=False, div_factor=schedule.div, final_div_factor=1 / schedule.last)
    return lr_scheduler.ConstantLR(optimizer, 1, 1)


def torch_rates(trial, steps, steps_per_unit):
    """The rates of the steps of a trial, which has `lr` and `schedule`. After the end of a cosine
    or a cycle they stay."""
    schedule = trial.schedule
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=trial.lr)
    ends = {"cosine": 0, "one_cycle": 1}
    last = steps
    if schedule.kind in ends:
        last = int(schedule.over * steps_per_unit + 0.5) - ends[schedule.kind]
    warmup = int(schedule.warmup * steps_per_unit + 0.5)
    rates = [trial.lr * (step + 1) / warmup for step in range(warmup)]
    scheduler = scheduler_for(optimizer, schedule, trial.lr, steps_per_unit)
    for step in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        if step < last:
            scheduler.step()
    return rates[:steps]

"""A run: what it logs becomes the trial's reports."""

import atexit
import os
import sys
from collections.abc import Mapping

import sluice
from wandb._errors import Error, unsupported


class Summary(dict):
    """The last values logged, and what the script sets itself."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "_set", set())

    def __getattr__(self, name):
        if name.startswith("__") or name not in self:
            raise AttributeError(f"wandb.summary has no '{name}'")
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value

    def __setitem__(self, name, value):
        self._set.add(name)
        super().__setitem__(name, value)

    def update(self, values=None, **more):
        for name, value in {**(values or {}), **more}.items():
            self[name] = value

    def _begin(self):
        self.clear()
        self._set.clear()

    def _log(self, name, value, how):
        """A logged value, unless the script has set another itself."""
        if name in self._set or how == "none":
            return
        before = dict.get(self, name)
        if how in ("min", "max") and before is not None:
            value = min(before, value) if how == "min" else max(before, value)
        super().__setitem__(name, value)


class Run:
    """Work is counted in logged values of the sweep's metric, from 1.

    What is logged without the metric waits for the next value of it and is reported beside it, so
    that every report says how the trial stands.
    """

    def __init__(self, module, facts):
        trial = sluice.trial()
        self.config = module.config
        self.summary = module.summary
        self.project = facts["project"]
        self.entity = facts["entity"]
        self.group = facts["group"]
        self.job_type = facts["job_type"]
        self.notes = facts["notes"]
        self.tags = tuple(facts["tags"] or ())
        self.id = facts["id"] or f"{trial.study or 'run'}-{trial.number}"
        self.name = facts["name"] or f"trial-{trial.number}"
        self.sweep_id = trial.study or None
        self.step = 0
        self.url = self.sweep_url = None
        self.resumed = self.disabled = False
        self.offline = True
        self._module = module
        self._trial = trial
        self._metric = trial.objective
        self._held = {}
        self._how = {}  # metric -> how its summary is made
        self._reported_step = None
        self._is_complete = False  # has all the work it was given: the rest is the script's own
        self._is_over = False
        self.config._begin()
        self.summary._begin()
        # After the session has registered its own end, so that this comes before it.
        atexit.register(self.finish)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.finish()
        return False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.run.{name}")

    @property
    def dir(self):
        folder = os.path.join(self._trial._folder or os.getcwd(), "wandb")
        os.makedirs(folder, exist_ok=True)
        return folder

    @property
    def path(self):
        return "/".join([self.entity or "sluice", self.project or "sluice", self.id])

    def log(self, data, step=None, commit=None, sync=None):
        if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
            raise ValueError("wandb.log: expected a dict whose keys are texts")
        if self._is_over:
            raise Error("wandb.log: expected a run, found a finished one; call wandb.init() again")
        if step is not None:
            if step < self.step:
                sys.stderr.write(f"wandb: step {step} comes after {self.step}: it was left out\n")
                return
            self.step = step
        values = dict(_scalars(data))
        for name, value in values.items():
            self.summary._log(name, value, self._how.get(name))
        if step is not None and step == self._reported_step:
            values.pop(self._metric, None)  # a step counts once
        self._held.update(values)
        if commit is False:
            return
        if step is None:
            self.step += 1
        if self._report():
            self._reported_step = step
            self._leave_if_asked()

    def _report(self):
        """What is held, if the metric is among it; outside Sluice, whatever is held."""
        if self._is_complete or not self._held:
            return False
        if self._metric and self._metric not in self._held:
            return False
        held, self._held = self._held, {}
        self._trial.report(max(self._trial._reported, 0) + 1, held)
        return True

    def _leave_if_asked(self):
        """A trial that has done all its work is left to end as its script likes."""
        if not self._trial.should_stop():
            return
        self._is_complete = self._trial._why == "complete"
        if not self._is_complete:
            self._is_over = True
            raise sluice.Stopped(0)

    def finish(self, exit_code=None, quiet=None):
        if self._is_over:
            return
        if self._module.run is self:
            self._module.run = None
        facts = {name: self.summary[name] for name in self.summary._set}
        if self._metric in facts:
            self._held.update(_scalars({self._metric: facts.pop(self._metric)}))
        try:
            self._report()
            for name, value in sorted(facts.items()):
                if isinstance(value, (str, bool)):
                    self._trial.set_attribute(name, value)
                else:
                    for full_name, number in _scalars({name: value}):
                        self._trial.set_attribute(full_name, number)
        finally:
            self._is_over = True

    def define_metric(self, name, step_metric=None, step_sync=None, hidden=None, summary=None, **_):
        self._how[name] = summary
        return name

    def log_artifact(self, artifact, *args, **options):
        return artifact

    def watch(self, *args, **options):
        return []

    def unwatch(self, *args, **options):
        pass

    def save(self, *args, **options):
        return True

    def alert(self, *args, **options):
        pass

    def log_code(self, *args, **options):
        pass

    def mark_preempting(self):
        pass

    def get_url(self):
        return None

    def _label(self, *args, **options):
        pass


def _scalars(data, prefix=""):
    """The numbers in a map, those inside others with dotted names."""
    for name, value in data.items():
        name = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _scalars(value, f"{name}.")
        elif isinstance(value, bool):
            yield name, int(value)
        elif isinstance(value, (int, float)):
            yield name, value
        elif not isinstance(value, (str, bytes, bytearray)) and value is not None:
            try:
                number = float(value)
            except Exception:  # an image, a tensor of many numbers, ...
                continue
            yield name, number

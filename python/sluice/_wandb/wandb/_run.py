"""A run: what it logs becomes the trial's reports."""

import atexit
import os
import sys
import time
from collections.abc import Mapping

import sluice
from wandb._artifact import Artifact
from wandb._errors import Error, unsupported
from wandb._history import History
from wandb._settings import NO_ENTITY, Settings
from wandb._summary import Metric, Rules

# The metric by which trials are compared if the sweep names none: the run's seconds so far.
_RUNTIME = "_runtime"


class Run:
    """The run of a trial. Its n-th logged value of the sweep's metric is reported as work n.

    Values that are logged without the metric are held until the metric is logged, and reported
    together with it. So every report has the metric.
    """

    def __init__(self, module, facts, settings=None):
        trial = sluice.trial()
        self.config = module.config
        self.summary = module.summary
        self.settings = settings or Settings()
        self.entity = facts["entity"] or NO_ENTITY
        self.project = facts["project"] or trial.study or "sluice"
        self.group = facts["group"]
        self.job_type = facts["job_type"]
        self.notes = facts["notes"]
        self.tags = tuple(facts["tags"] or ())
        self.id = facts["id"] or f"{trial.study or 'run'}-{trial.number}"
        self.name = facts["name"] or f"trial-{trial.number}"
        self.sweep_id = trial.study or None
        self.step = self.starting_step = 0
        self.start_time = time.time()
        self.url = self.sweep_url = self.project_url = None
        self.resumed = self.disabled = False
        self.offline = True
        self._module = module
        self._trial = trial
        self._metric = trial.objective
        self._held = {}
        self._rules = Rules()
        self._history = History()
        self._reported_step = None
        self._is_complete = False  # the trial has done all its work: nothing more is reported
        self._is_stopped = False
        self._is_over = False
        self.config._begin()
        self.summary._begin()
        # Registered after the session's own exit handler, so that this one runs first.
        atexit.register(self.finish)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.finish()
        return False

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return self._module.init, ()  # a pickled run becomes the run of the process that reads it

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
        return "/".join([self.entity, self.project, self.id])

    def log(self, data, step=None, commit=None, sync=None):
        if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
            raise ValueError("wandb.log: expected a dict whose keys are texts")
        if self._is_stopped:
            raise sluice.Stopped(0)  # the script is cleaning up, or has caught an earlier Stopped
        if self._is_over:
            raise Error("wandb.log: expected a run, found a finished one; call wandb.init() again")
        if step is not None:
            if step < self.step:
                sys.stderr.write(f"wandb: step {step} comes after {self.step}: it was left out\n")
                return
            self.step = step
        values = dict(_scalars(data))
        self._history.add(self.step, values)
        for name, value in values.items():
            self.summary._log(name, value, self._rules.of(name))
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
        """Reports the held values if the metric is among them. Returns whether it has reported.

        Outside Sluice there is no metric, and any held values are reported.
        """
        if self._metric == _RUNTIME and (self._held or self._trial._reported < 0):
            self._held[_RUNTIME] = time.time() - self.start_time
        if self._is_complete or not self._held:
            return False
        if self._metric and self._metric not in self._held:
            return False
        held, self._held = self._held, {}
        self._trial.report(max(self._trial._reported, 0) + 1, held)
        return True

    def _leave_if_asked(self):
        """Raises Stopped if the controller has stopped or paused the trial before its end.

        After the trial's last work the script goes on, but no more is reported.
        """
        if not self._trial.should_stop():
            return
        self._is_complete = self._trial._why == "complete"
        if not self._is_complete:
            self._is_stopped = self._is_over = True
            raise sluice.Stopped(0)

    def finish(self, exit_code=None, quiet=None):
        if self._is_over:
            return
        if self._module.run is self:
            self._module.run = None
        try:
            self._tell(self.summary._finish(self._tell))
        finally:
            self._is_over = True

    def _tell(self, facts):
        """Reports what the script has set in the summary.

        The metric is reported together with the held values. The other facts become attributes of
        the trial.
        """
        if self._metric in facts:
            self._held.update(_scalars({self._metric: facts[self._metric]}))
        self._report()
        for name, value in sorted(facts.items()):
            if name == self._metric:
                continue
            if isinstance(value, (str, bool)):
                self._trial.set_attribute(name, value)
            else:
                for full_name, number in _scalars({name: value}):
                    self._trial.set_attribute(full_name, number)

    def define_metric(
        self, name, step_metric=None, step_sync=None, hidden=None, summary=None, goal=None, **_
    ):
        self._rules.define(name, summary, goal)
        return Metric(name, step_metric, summary)

    def log_artifact(self, artifact_or_path, name=None, type=None, aliases=None, tags=None):
        return Artifact._of(artifact_or_path, name, type, aliases)

    def link_artifact(self, artifact, target_path, aliases=None):
        pass

    def log_model(self, path, name=None, aliases=None):
        pass

    def link_model(self, path, registered_model_name, name=None, aliases=None):
        pass

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

    def project_name(self):
        return self.project

    def _label(self, *args, **options):
        pass


class RunDisabled:
    """The type of a disabled run, which frameworks test for. No run here is disabled."""


def _scalars(data, prefix=""):
    """Yields the name and value of each number in a dict. Nested numbers have dotted names."""
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

"""wandb.Api: the real one asks a server; this one knows only the trial's own run."""

import sys

from wandb._errors import CommError, absence, unsupported
from wandb._settings import NO_ENTITY

_OTHERS = "'sluice trials', 'sluice best' and 'sluice export' have the trials of a sweep"
_FILES = "files are where the script wrote them"
_INSTEAD = {
    "runs": _OTHERS,
    "sweep": _OTHERS,
    "sweeps": _OTHERS,
    "artifact": _FILES,
    "artifacts": _FILES,
    "files": _FILES,
    "file": _FILES,
    "use_artifact": _FILES,
    "logged_artifacts": _FILES,
    "used_artifacts": _FILES,
}


class Api:
    """Knows the last run that this process began."""

    def __init__(self, overrides=None, timeout=None, api_key=None):
        self._overrides = dict(overrides or {})

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.Api().{name}", _INSTEAD.get(name, ""))

    @property
    def default_entity(self):
        latest = sys.modules["wandb"]._latest
        return self._overrides.get("entity") or (latest.entity if latest else NO_ENTITY)

    def run(self, path=""):
        own = sys.modules["wandb"]._latest
        if own is None:
            raise CommError("wandb.Api().run: expected a run, found none; call wandb.init() first")
        if str(path).strip("/").split("/")[-1] != own.id:
            raise CommError(
                f"wandb.Api().run: expected {own.path}, the run of this trial, since no other is "
                f"known to it, found {path!r}; {_OTHERS}"
            )
        return Run(own)

    def flush(self):
        pass


class Run:
    """A run as the API shows it. It has the same configuration and summary as the run itself."""

    def __init__(self, own):
        self._own = own
        self.id = own.id
        self.name = own.name
        self.entity = own.entity
        self.project = own.project
        self.group = own.group
        self.job_type = own.job_type
        self.notes = own.notes
        self.tags = list(own.tags)
        self.path = own.path.split("/")
        self.url = own.url
        self.config = own.config
        self.summary = own.summary

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.Api().run().{name}", _INSTEAD.get(name, ""))

    @property
    def state(self):
        return "finished" if self._own._is_over else "running"

    @property
    def lastHistoryStep(self):
        return self._own._history.last_step()

    def history(self, samples=500, keys=None, x_axis="_step", pandas=True, stream="default"):
        """The logged numbers of at most `samples` steps.

        Returns a DataFrame if pandas is installed and wanted, else a list of dicts.
        """
        if stream != "default":
            raise ValueError(absence(f"wandb.Api().run().history(stream={stream!r})"))
        rows = list(self.scan_history([*keys, x_axis] if keys else None))
        if len(rows) > samples:
            rows = [rows[i * len(rows) // samples] for i in range(samples)]
        if not pandas:
            return rows
        try:
            from pandas import DataFrame
        except ImportError:
            sys.stderr.write("wandb: history: pandas is not installed; this is a list of dicts\n")
            return rows
        return DataFrame.from_records(rows)

    def scan_history(self, keys=None, page_size=1000, min_step=None, max_step=None, **options):
        yield from self._own._history.read(keys, min_step, max_step)

    def load(self, force=False):
        pass

    def update(self):
        """Does nothing, because changes take effect on the run itself immediately."""

    save = update

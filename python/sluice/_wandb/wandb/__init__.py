"""A stand-in for the package `wandb`, which the trials of a sweep import. See docs/sweeps.md.

The values of the sweep are in `wandb.config`, and logged numbers are reported to Sluice. Charts,
media and artifacts are accepted and dropped. A name of the real package that the stand-in does not
have raises an error that says so.
"""

import enum as _enum
import sys as _sys

from wandb import _modules
from wandb._api import Api
from wandb._artifact import Artifact
from wandb._config import Config
from wandb._errors import CommError, Error, UsageError
from wandb._media import (
    Audio,
    Classes,
    Graph,
    Histogram,
    Html,
    Image,
    Molecule,
    Object3D,
    Plotly,
    Table,
    Video,
    plot_table,
)
from wandb._run import Run
from wandb._settings import Settings, facts_of
from wandb._summary import Summary

__version__ = "0.31.0+sluice"  # as in the METADATA beside this package
__all__ = [
    "AlertLevel",
    "Api",
    "Artifact",
    "Audio",
    "Classes",
    "CommError",
    "Config",
    "Error",
    "Graph",
    "Histogram",
    "Html",
    "Image",
    "Molecule",
    "Object3D",
    "Plotly",
    "Run",
    "Settings",
    "Summary",
    "Table",
    "UsageError",
    "Video",
    "agent",
    "alert",
    "config",
    "define_metric",
    "finish",
    "init",
    "log",
    "log_artifact",
    "log_model",
    "login",
    "mark_preempting",
    "plot_table",
    "require",
    "run",
    "save",
    "setup",
    "summary",
    "sweep",
    "teardown",
    "termerror",
    "termlog",
    "termwarn",
    "unwatch",
    "watch",
]

run = None
# These objects stay the same for the life of the process: a script may import them before init().
config = Config()
summary = Summary()
_latest = None  # the run that was begun last, whether it is finished or not
_told_once = set()


class AlertLevel(_enum.Enum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


def init(
    entity=None,
    project=None,
    dir=None,
    id=None,
    name=None,
    notes=None,
    tags=None,
    config=None,
    group=None,
    job_type=None,
    settings=None,
    **others,
):
    """Begins the run of this trial, or returns the one that has begun."""
    global run, _latest
    if run is not None:
        if config is not None:
            run.config.update(config)
        return run
    if others.get("sync_tensorboard"):
        termwarn("sync_tensorboard: has no effect here; log the sweep's metric with wandb.log")
    given = {"entity": entity, "project": project, "id": id, "name": name, "notes": notes}
    given.update(tags=tags, group=group, job_type=job_type)
    run = _latest = Run(_module(), facts_of(given), settings)
    if config is not None:
        excluded = set(others.get("config_exclude_keys") or ())
        included = others.get("config_include_keys")
        given = Config.read(config)
        run.config.update(
            {
                key: value
                for key, value in given.items()
                if key not in excluded and (included is None or key in included)
            }
        )
    return run


def _module():
    return _sys.modules[__name__]


def _active(what):
    if run is None:
        raise Error(f"wandb.{what}: expected a run, found none; call wandb.init() first")
    return run


def log(data, step=None, commit=None, sync=None):
    _active("log").log(data, step=step, commit=commit)


def finish(exit_code=None, quiet=None):
    if run is not None:
        run.finish(exit_code)


def define_metric(name, *args, **options):
    return _active("define_metric").define_metric(name, *args, **options)


def log_artifact(*args, **options):
    return _active("log_artifact").log_artifact(*args, **options)


def log_model(*args, **options):
    _active("log_model").log_model(*args, **options)


def mark_preempting():
    _active("mark_preempting").mark_preempting()


def watch(models=None, *args, **options):
    return []


def unwatch(models=None):
    pass


def save(*args, **options):
    return True


def alert(*args, **options):
    pass


def login(*args, **options):
    return True


def require(*args, **options):
    pass


def setup(*args, **options):
    pass


def teardown(exit_code=None):
    finish(exit_code)


def join(exit_code=None):
    finish(exit_code)


def termlog(text="", newline=True, repeat=True, **options):
    if not repeat and text in _told_once:
        return
    if not repeat:
        _told_once.add(text)
    _sys.stderr.write(f"wandb: {text}" + ("\n" if newline else ""))


termwarn = termerror = termlog


def sweep(sweep=None, *args, **options):
    raise Error(
        "wandb.sweep: Sluice makes no sweep from a script; write its configuration to a file, "
        "its program being the script that trains, and run 'sluice tune sweep.yaml'"
    )


def agent(sweep_id=None, *args, **options):
    raise Error(
        "wandb.agent: Sluice runs the trials itself; let the script call its training function, "
        "and run 'sluice tune sweep.yaml'"
    )


def __getattr__(name):
    return _modules.member("", "sdk" if name == "wandb_sdk" else name)


_modules.install()

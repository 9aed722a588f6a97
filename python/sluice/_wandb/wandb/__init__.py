"""What stands in for the package `wandb` in the trials of a sweep. See docs/sweeps.md.

The values of the sweep are in `wandb.config`, what is logged is reported to Sluice, and the rest
of what training scripts call is accepted and does nothing.
"""

import os as _os
import sys as _sys

from wandb._config import Config
from wandb._errors import CommError, Error, UsageError, unsupported
from wandb._media import (
    Artifact,
    Audio,
    Graph,
    Histogram,
    Html,
    Image,
    Molecule,
    Object3D,
    Plotly,
    Table,
    Video,
    plot,
)
from wandb._run import Run, Summary

__version__ = "0.19.0+sluice"
__all__ = [
    "Artifact",
    "Audio",
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
    "login",
    "plot",
    "run",
    "save",
    "setup",
    "summary",
    "sweep",
    "termerror",
    "termlog",
    "termwarn",
    "unwatch",
    "watch",
]

run = None
# One of each for the life of the process: a script may have imported them before init().
config = Config()
summary = Summary()


class Settings:
    """Accepted and kept; nothing here depends on it."""

    def __init__(self, *args, **settings):
        self.__dict__.update(settings)


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
    **others,
):
    """Begins the run of this trial, or returns the one that has begun."""
    global run
    if run is not None:
        if config is not None:
            run.config.update(config)
        return run
    facts = {"entity": entity, "project": project, "notes": notes, "tags": tags, "group": group}
    run = Run(_module(), {**facts, "job_type": job_type, "id": id, "name": name})
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


def setup(*args, **options):
    pass


def join(exit_code=None):
    finish(exit_code)


def termlog(text="", *args, **options):
    _sys.stderr.write(f"wandb: {text}\n")


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


class _Util:
    @staticmethod
    def generate_id(length=8):
        return _os.urandom(length).hex()[:length]


util = _Util()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'wandb' has no attribute '{name}'")
    raise unsupported(f"wandb.{name}")


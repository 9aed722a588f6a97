"""Report from a script that Sluice tunes. The reference is docs/python.md.

The functions here act on the trial this process works on. In a bundle of trials, each trial has
them as methods. A script that was not started by Sluice runs the same: it gets its own defaults as
parameters, and its reports are printed.
"""

from sluice._session import session
from sluice._trial import Stopped, Trial

__version__ = "0.1.0"
__all__ = [
    "ExportError",
    "Stopped",
    "Trial",
    "best_checkpoint",
    "bundle",
    "checkpoint",
    "checkpoint_dir",
    "export",
    "latest_checkpoint",
    "params",
    "report",
    "saved",
    "set_attribute",
    "should_save",
    "should_stop",
    "stop_if_asked",
    "trial",
    "trials",
]


def params(**defaults) -> dict:
    """The trial's parameters, over the defaults given."""
    return {**defaults, **session().trial.params}


def trial() -> Trial:
    """The trial this process works on."""
    return session().trial


def trials(**defaults):
    """Trial after trial in one process, until Sluice has no more for it."""
    return session().trials(defaults)


def bundle(capacity, *, several_shapes=False, **defaults):
    """`with sluice.bundle(capacity=16) as bundle:` up to 16 trials at once in one process."""
    return session().bundle(capacity, several_shapes, defaults)


def report(work, values=None, /, **metrics) -> None:
    """Reports metrics after `work` units of the study. Work must rise from report to report."""
    session().trial.report(work, values, **metrics)


def set_attribute(name: str, value) -> None:
    """A fact about the trial: a text, a number or a boolean."""
    session().trial.set_attribute(name, value)


def should_stop() -> bool:
    """Whether to save and leave the trial. Waits for the verdict once the target was reported."""
    return session().trial.should_stop()


def should_save() -> bool:
    """False once the trial was stopped for good: no launch goes on from a checkpoint made now."""
    return session().trial.should_save()


def stop_if_asked() -> None:
    """Raises Stopped where should_stop() is true."""
    session().trial.stop_if_asked()


def checkpoint_dir():
    """A folder (pathlib.Path) that is there again when the trial is resumed."""
    return session().trial.checkpoint_dir()


def checkpoint(work):
    """`with checkpoint(work) as folder:` what is written there replaces the latest checkpoint."""
    return session().trial.checkpoint(work)


def latest_checkpoint():
    """The folder (pathlib.Path) of the last whole `checkpoint`, or None."""
    return session().trial.latest_checkpoint()


def best_checkpoint():
    """The folder of the `checkpoint` made at the trial's best report, or None."""
    return session().trial.best_checkpoint()


def saved(work) -> None:
    """Tells that checkpoint_dir() holds a complete checkpoint at this work."""
    session().trial.saved(work)


class ExportError(RuntimeError):
    """PyTorch cannot export the model, for the reason that the message gives."""


def export(model, example_inputs, path, *, keep_inputs=False, dynamic_batch=True):
    """Writes a PyTorch model, as it is in training, to a .pt2 file; returns its pathlib.Path.

    example_inputs is a tensor, a tuple of tensors, or a dict of tensors for keywords. Unless
    keep_inputs, random numbers like them are written in their place. See docs/models.md.
    """
    from sluice._export import export

    return export(
        model, example_inputs, path, keep_inputs=keep_inputs, dynamic_batch=dynamic_batch
    )

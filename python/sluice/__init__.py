"""Report from a script that Sluice tunes. The reference is docs/python.md.

The functions here act on the trial that this process works on. A process with a bundle of trials
calls the methods of the same names on each trial instead. A script that Sluice did not start runs
all the same: its parameters are its own defaults, and its reports are printed.
"""

from sluice._session import session
from sluice._trial import Stopped, Trial

__version__ = "0.1.0"
__all__ = [
    "ExportError",
    "LoadError",
    "Stopped",
    "Trial",
    "best_checkpoint",
    "bundle",
    "checkpoint",
    "checkpoint_dir",
    "export",
    "latest_checkpoint",
    "load",
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
    """The trial's parameters, and the defaults for names that the trial does not have."""
    return {**defaults, **session().trial.params}


def trial() -> Trial:
    """The trial that this process works on."""
    return session().trial


def trials(**defaults):
    """Yields one trial after another, until Sluice has no more trials for this process."""
    return session().trials(defaults)


def bundle(capacity, *, several_shapes=False, **defaults):
    """A bundle, with which this process trains up to `capacity` trials at the same time.

    Use it as `with sluice.bundle(capacity=16) as bundle:`. several_shapes says whether the script
    can also train trials together whose parameters in the study file's `shape` differ.
    """
    return session().bundle(capacity, several_shapes, defaults)


def report(work, values=None, /, **metrics) -> None:
    """Reports metrics after `work` units (epochs, unless the study says otherwise).

    `work` must rise from report to report.
    """
    session().trial.report(work, values, **metrics)


def set_attribute(name: str, value) -> None:
    """Records a fact about the trial. The value is a text, a number or a boolean."""
    session().trial.set_attribute(name, value)


def should_stop() -> bool:
    """Whether the script is to save and leave the trial.

    If the trial's target was reported, waits for the controller's verdict.
    """
    return session().trial.should_stop()


def should_save() -> bool:
    """False once the trial was stopped for good: no later launch needs a checkpoint made now."""
    return session().trial.should_save()


def stop_if_asked() -> None:
    """Raises Stopped if should_stop() is true."""
    session().trial.stop_if_asked()


def checkpoint_dir():
    """The trial's checkpoint folder (pathlib.Path). Later launches of the trial have it too."""
    return session().trial.checkpoint_dir()


def checkpoint(work):
    """Saves a checkpoint at this work.

    In `with checkpoint(work) as folder:`, what the body writes to `folder` replaces the latest
    checkpoint when the body ends without an error.
    """
    return session().trial.checkpoint(work)


def latest_checkpoint():
    """The folder (pathlib.Path) of the last checkpoint that checkpoint() completed, or None."""
    return session().trial.latest_checkpoint()


def best_checkpoint():
    """The folder of the checkpoint at the same work as the trial's best report, or None.

    Only checkpoints made with checkpoint() count.
    """
    return session().trial.best_checkpoint()


def saved(work) -> None:
    """Tells the controller that checkpoint_dir() holds a complete checkpoint at this work.

    Only for scripts that save in their own way, without checkpoint().
    """
    session().trial.saved(work)


class ExportError(RuntimeError):
    """PyTorch cannot export the model, for the reason that the message gives."""


def export(model, example_inputs, path, *, keep_inputs=False, dynamic_batch=True):
    """Exports a PyTorch model, in training mode, to a .pt2 file. Returns the file's pathlib.Path.

    example_inputs is a tensor, a tuple of tensors, or a dict of tensors by keyword. A file beside
    the .pt2 file gets these inputs if keep_inputs is true, else random ones of the same shapes.
    dynamic_batch makes the model accept any batch size. See docs/models.md.
    """
    from sluice._export import export

    return export(
        model, example_inputs, path, keep_inputs=keep_inputs, dynamic_batch=dynamic_batch
    )


class LoadError(RuntimeError):
    """A checkpoint cannot be loaded into the module, for the reason that the message gives."""


def load(module, folder):
    """Loads what a trial of sluice-trainer has learnt into a PyTorch module. Returns the module.

    folder is the trial's checkpoint folder, or a checkpoint in it. If the checkpoint is damaged or
    of another network, raises LoadError and leaves the module as it was. See docs/python.md.
    """
    from sluice._load import load

    return load(module, folder)

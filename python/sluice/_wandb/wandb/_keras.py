"""Callbacks that log what Keras measures."""

import importlib
import sys

import wandb

# The Keras that the script uses. The one in TensorFlow may be another version than `keras`.
_keras = importlib.import_module("tensorflow.keras" if "tensorflow" in sys.modules else "keras")


class WandbMetricsLogger(_keras.callbacks.Callback):
    """Logs `epoch/...` after each epoch, or `batch/...` after every `log_freq` batches."""

    def __init__(self, log_freq="epoch", initial_global_step=0, *args, **options):
        super().__init__(*args, **options)
        _require_run("WandbMetricsLogger")
        self._every_batches = 1 if log_freq == "batch" else log_freq
        self._batches = initial_global_step

    def on_epoch_end(self, epoch, logs=None):
        if self._every_batches == "epoch":
            self._log("epoch", {**(logs or {}), "epoch": epoch})

    def on_train_batch_end(self, batch, logs=None):
        if self._every_batches != "epoch" and batch % self._every_batches == 0:
            self._log("batch", {**(logs or {}), "batch_step": self._batches})
        self._batches += 1

    def _log(self, prefix, values):
        try:
            values["learning_rate"] = float(self.model.optimizer.learning_rate)
        except (AttributeError, TypeError, ValueError):  # no rate, or a schedule
            pass
        wandb.log({f"{prefix}/{name}": value for name, value in values.items()})


class WandbCallback(_keras.callbacks.Callback):
    """The older callback. It logs an epoch's values under their own names, without a prefix."""

    def __init__(self, *args, **options):
        super().__init__()
        _require_run("WandbCallback")

    def on_epoch_end(self, epoch, logs=None):
        wandb.log({"epoch": epoch, **(logs or {})})


class WandbModelCheckpoint(_keras.callbacks.ModelCheckpoint):
    """Saves the model to the given path, as Keras does. Nothing is uploaded to W&B."""


def _require_run(what):
    if wandb.run is None:
        raise wandb.Error(f"{what}: expected a run, found none; call wandb.init() first")

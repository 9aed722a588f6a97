"""The stand-in's callbacks for other frameworks, tested without these frameworks."""

import pytest
from sweep_trial import STAND_IN, attributes, reports

KERAS = """
class Callback:
    model = None
class ModelCheckpoint(Callback):
    pass
"""
XGBOOST = """
class TrainingCallback:
    pass
"""


@pytest.fixture
def packages(tmp_path):
    """Packages that have only those parts of the frameworks that the callbacks use."""
    for name, module, text in (("keras", "callbacks", KERAS), ("xgboost", "callback", XGBOOST)):
        folder = tmp_path / "site" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"from {name} import {module}\n")
        (folder / f"{module}.py").write_text(text)
    return f"{STAND_IN}:{tmp_path / 'site'}"


def test_callbacks_for_keras(controller, trial, packages):
    trial(
        """
import types
import wandb
from wandb.integration.keras import WandbMetricsLogger, WandbModelCheckpoint
from wandb.keras import WandbCallback
wandb.init()
logger = WandbMetricsLogger()
logger.model = types.SimpleNamespace(optimizer=types.SimpleNamespace(learning_rate=0.5))
logger.on_train_batch_end(0, {"loss": 9})
logger.on_epoch_end(0, {"loss": 2})
logger = WandbMetricsLogger(log_freq=2)
for batch in range(3):
    logger.on_train_batch_end(batch, {"loss": batch})
logger.on_epoch_end(0, {"loss": 3})
WandbCallback(monitor="accuracy", save_model=False).on_epoch_end(4, {"accuracy": 1})
""",
        path=packages,
    ).end()
    assert reports(controller) == [
        (
            1,
            {
                "epoch/loss": 2,
                "epoch/epoch": 0,
                "epoch/learning_rate": 0.5,
                "batch/loss": 2,
                "batch/batch_step": 2,
                "epoch": 4,
                "accuracy": 1,
            },
        )
    ]


def test_callbacks_for_boosted_trees(controller, trial, packages):
    trial(
        """
import types
import wandb
from wandb.integration.lightgbm import log_summary, wandb_callback
from wandb.xgboost import WandbCallback
wandb.init()
class Booster:
    best_iteration, best_score = 3, {"valid": {"l2": 0.5}}
    def save_config(self):
        return '{"learner": {"booster": "gbtree"}}'
    def attr(self, name):
        return {"best_score": "0.25", "best_iteration": "1"}[name]
callback = WandbCallback(log_model=True)
callback.before_training(Booster())
assert wandb.config["learner"]["booster"] == "gbtree"
assert callback.after_iteration(None, 0, {"val": {"rmse": [3.0, 2.0]}}) is False
callback.after_training(Booster())
wandb.log({"accuracy": 1})
log = wandb_callback()
log(types.SimpleNamespace(iteration=0, begin_iteration=0, params={"leaves": 7},
    evaluation_result_list=[("valid", "l2", 0.5, False), ("cv_agg", "valid l1", 1.0, False, 0.1)]))
assert wandb.config.leaves == 7
wandb.log({"accuracy": 2})
log_summary(Booster())
""",
        path=packages,
    ).end()
    assert reports(controller) == [
        (
            1,
            {"val-rmse": 2, "epoch": 0, "best_score": 0.25, "best_iteration": 1, "accuracy": 1},
        ),
        (
            2,
            {
                "iteration": 0,
                "valid_l2": 0.5,
                "valid_l1-mean": 1,
                "valid_l1-stdv": 0.1,
                "accuracy": 2,
            },
        ),
    ]
    assert attributes(controller) == {"best_iteration": 3, "best_score.valid.l2": 0.5}


def test_without_the_framework_there_is_no_callback(trial):
    process = trial("import wandb\nprint(hasattr(wandb, 'xgboost'))\nimport wandb.xgboost")
    process.end(status=1)
    assert process.errors.splitlines()[-1] == "ModuleNotFoundError: No module named 'xgboost'"

"""The callback that logs what XGBoost measures."""

import json

import xgboost

import wandb


class WandbCallback(xgboost.callback.TrainingCallback):
    """Logs each evaluation after each round, as `DATA-METRIC`. Charts and models are dropped."""

    def __init__(
        self,
        log_model=False,
        log_feature_importance=True,
        importance_type="gain",
        define_metric=True,
    ):
        super().__init__()
        if wandb.run is None:
            raise wandb.Error("WandbCallback: expected a run, found none; call wandb.init() first")

    def before_training(self, model):
        wandb.config.update(json.loads(model.save_config()))
        return model

    def after_iteration(self, model, epoch, evals_log):
        values = {
            f"{data}-{metric}": scores[-1]
            for data, metrics in evals_log.items()
            for metric, scores in metrics.items()
        }
        wandb.log({**values, "epoch": epoch})
        return False

    def after_training(self, model):
        if model.attr("best_score") is not None:
            best = {"best_score": float(model.attr("best_score"))}
            wandb.log({**best, "best_iteration": int(model.attr("best_iteration"))})
        return model

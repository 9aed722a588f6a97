"""The callback that logs what LightGBM measures."""

import wandb


def wandb_callback(log_params=True, define_metric=True):
    """Logs each evaluation after each round, under the name `DATA_METRIC`.

    In cross-validation (lightgbm.cv), logs the mean and the standard deviation instead, under the
    names `NAME-mean` and `NAME-stdv`.
    """

    def log(env):
        if log_params and env.iteration == env.begin_iteration:
            wandb.config.update(env.params)
        values = {"iteration": env.iteration}
        for item in env.evaluation_result_list:
            if len(item) == 4:
                values[f"{item[0]}_{item[1]}"] = item[2]
            else:
                name = "_".join(item[1].split())
                values.update({f"{name}-mean": item[2], f"{name}-stdv": item[4]})
        wandb.log(values)

    log.order = 20  # after the evaluations, before early stopping
    return log


def log_summary(model, feature_importance=True, save_model_checkpoint=False):
    """Puts the model's best score and iteration into the summary. Charts and models are dropped."""
    if wandb.run is None:
        raise wandb.Error("log_summary: expected a run, found none; call wandb.init() first")
    wandb.run.summary["best_iteration"] = model.best_iteration
    wandb.run.summary["best_score"] = model.best_score

"""Scripts of Lightning and Transformers that report to W&B, run as they are by a sweep."""

import json

LIGHTNING = """
import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import WandbLogger
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

class Regression(pl.LightningModule):
    def __init__(self, lr, hidden):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))

    def training_step(self, batch, index):
        loss = functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", functional.mse_loss(self.layers(batch[0]), batch[1]), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)

def main():
    pl.seed_everything(1)
    logger = WandbLogger(project="demo", log_model="all", tags=["sweep"])
    config = logger.experiment.config
    logger.experiment.config.update({"width": config.hidden}, allow_val_change=True)
    x = torch.randn(64, 4)
    data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = Regression(config.lr, config.hidden)
    logger.watch(model)
    trainer = pl.Trainer(
        max_epochs=4, logger=logger, accelerator="cpu", log_every_n_steps=2,
        callbacks=[ModelCheckpoint(monitor="val_loss", mode="min")], enable_progress_bar=False)
    trainer.fit(model, data, data)
    trainer.validate(model, data, ckpt_path="best", verbose=False)
    logger.log_table("examples", columns=["x"], data=[[1]])
    print("trained", config.width, trainer.checkpoint_callback.best_model_path)

if __name__ == "__main__":
    main()
"""

SWEEP = """
program: train.py
method: grid
metric: {name: METRIC, goal: minimize}
parameters:
  lr: {values: [0.05, 0.00001]}
  hidden: {value: 8}
early_terminate: EARLY
parallelism: 1
retries: 0
"""


def values_of(house, metric):
    """trial -> the values of the metric, in the order of its work."""
    values = {}
    for trial, work, metrics in house.reports():
        values.setdefault(trial, []).append(metrics[metric])
        assert work == len(values[trial])
    return values


def test_lightning(sweeps):
    """The first trial reports all its epochs, the second is stopped after two and ends well."""
    early = "{type: hyperband, min_iter: 2, eta: 2}"
    sweeps.tune(SWEEP.replace("METRIC", "val_loss").replace("EARLY", early), LIGHTNING)
    house = sweeps.house
    assert house.query("SELECT state, note FROM trials") == [("complete", ""), ("stopped", "")]
    values = values_of(house, "val_loss")
    # Four epochs, and the validation of the best one again.
    assert len(values[1]) == 5 and min(values[1]) == values[1][-1] < values[1][0]
    assert len(values[2]) == 2 and min(values[2]) > values[1][1]
    metrics = [metrics for trial, _, metrics in house.reports() if trial == 1]
    assert [row["epoch"] for row in metrics] == [0, 1, 2, 3, 4]
    assert [row["trainer/global_step"] for row in metrics[:4]] == [3, 7, 11, 15]
    assert all("train/loss" in row for row in metrics[:4])
    first, second = sweeps.outputs()
    # Each trial has a folder of its own for checkpoints.
    assert first[-1].startswith("trained 8 ") and "demo/sweep-1/checkpoints" in first[-1]
    assert not any(line.startswith("trained") for line in second)


TRANSFORMERS = """
import os

import torch
import wandb
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

os.environ["WANDB_PROJECT"] = "demo"
os.environ["WANDB_LOG_MODEL"] = "checkpoint"
os.environ["WANDB_WATCH"] = "all"

class Parity(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = torch.randint(0, 8, (4,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids[0] % 2}

def accuracy(predictions):
    return {"accuracy": (predictions.predictions.argmax(-1) == predictions.label_ids).mean()}

def main():
    with wandb.init():
        config = wandb.config
        model = BertForSequenceClassification(BertConfig(
            vocab_size=8, hidden_size=config.hidden, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=8))
        arguments = TrainingArguments(
            output_dir=f"out/{wandb.run.id}", report_to="wandb", learning_rate=config.lr,
            num_train_epochs=3, per_device_train_batch_size=16, eval_strategy="epoch",
            save_strategy="epoch", logging_steps=4, use_cpu=True, disable_tqdm=True, seed=1)
        trainer = Trainer(model=model, args=arguments, train_dataset=Parity(),
                          eval_dataset=Parity(), compute_metrics=accuracy)
        trainer.train()
    print("trained", config["model/num_parameters"] > 100, sorted(os.listdir(arguments.output_dir)))

if __name__ == "__main__":
    main()
"""


def test_transformers(sweeps):
    """The first trial has all its epochs and saves its model, the second is stopped after one."""
    early = "{type: hyperband, max_iter: 3, s: 1, eta: 3}"
    sweep = SWEEP.replace("METRIC", "eval/loss").replace("EARLY", early)
    sweeps.tune(sweep, TRANSFORMERS, HF_HUB_OFFLINE="1")
    house = sweeps.house
    assert house.query("SELECT state, note FROM trials") == [("complete", ""), ("stopped", "")]
    values = values_of(house, "eval/loss")
    assert len(values[1]) == 3 and len(values[2]) == 1 and min(values[1]) < values[2][0]
    for _, work, metrics in house.reports():
        assert metrics["train/global_step"] == 4 * work
        assert {"train/loss", "train/learning_rate", "eval/accuracy"} <= set(metrics)
    first, second = sweeps.outputs()
    assert first[-1] == "trained True ['checkpoint-12', 'checkpoint-4', 'checkpoint-8']"
    assert not any(line.startswith("trained") for line in second)
    [(facts,)] = house.query("SELECT attributes FROM trials WHERE trial = 1")
    assert json.loads(facts)["train_runtime"] > 0


# The other name that Lightning has, a run that was begun before, and a script that cleans up.
BEGUN_BEFORE = """
import pytorch_lightning as pl
import torch
import wandb
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.loggers import WandbLogger

class Model(BoringModel):
    def validation_step(self, batch, index):
        self.log("val/loss", wandb.config.rank + self.current_epoch)

wandb.init(project="demo", config={"rank": -1})
try:
    pl.Trainer(max_epochs=3, logger=WandbLogger(), accelerator="cpu", limit_train_batches=1,
               limit_val_batches=1, enable_checkpointing=False, enable_progress_bar=False,
               enable_model_summary=False).fit(Model())
    own = wandb.Api().run(wandb.run.path)
    print(own.history(keys=["val/loss"], pandas=False)[-1]["val/loss"], own.config["rank"])
finally:
    wandb.log({"cleaned": 1})
    wandb.finish()
"""


def test_lightning_with_a_run_that_was_begun_before(sweeps):
    sweeps.tune(
        """
program: train.py
method: grid
metric: {name: val/loss}
parameters: {rank: {values: [1]}}
early_terminate: {type: hyperband, max_iter: 2, s: 1}
retries: 0
""",
        BEGUN_BEFORE,
    )
    # The trial has all its work after two epochs, and its script goes on to its own end.
    assert values_of(sweeps.house, "val/loss") == {1: [1, 2]}
    assert sweeps.house.states() == {1: "complete"}
    assert sweeps.outputs()[0][-1] == "3.0 1"


ACCELERATE = """
from accelerate import Accelerator

accelerator = Accelerator(log_with="wandb", cpu=True)
accelerator.init_trackers("demo", config={"epochs": 2}, init_kwargs={"wandb": {"tags": ["a"]}})
rank = accelerator.get_tracker("wandb").tracker.config.rank
for epoch in range(2):
    accelerator.log({"loss": rank + epoch}, step=epoch)
accelerator.end_training()
"""


def test_accelerate(sweeps):
    sweeps.tune(
        "program: train.py\nmethod: grid\nmetric: {name: loss}\n"
        "parameters: {rank: {values: [1]}}\nretries: 0\n",
        ACCELERATE,
    )
    assert values_of(sweeps.house, "loss") == {1: [1, 2]}

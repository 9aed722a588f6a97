"""The stand-in for wandb in the trials of a sweep."""

import pytest
from controller import run_outside
from sweep_trial import STAND_IN, attributes, reports


def outside(script, **options):
    return run_outside(script, PYTHONPATH=STAND_IN, **options)


def test_config_holds_the_values_of_the_sweep_over_defaults(trial):
    out = trial("""
import argparse, copy, json, pickle
import wandb
run = wandb.init(project="p", config={"lr": 5, "epochs": 3, "optimizer": {"name": "x", "eps": 1}})
config = wandb.config
assert config is run.config
print(config.lr, config["lr"], config.epochs, config.get("lr"), config.get("none", 4))
print(config.optimizer.betas.first, config["optimizer"]["name"], config["optimizer.betas.first"])
print(config.optimizer.eps, config.layers)
config.update({"lr": 7, "seed": 1}, allow_val_change=True)
config.lr = 9
config.setdefaults({"seed": 2, "extra": 3})
config.batch = 8
print(config.lr, config.seed, config.extra, config["batch"], "lr" in config, "no" in config)
plain = config.as_dict()["optimizer"]
print(json.dumps(plain, sort_keys=True), type(plain))
print(sorted(dict(config)) == sorted(config.keys()), argparse.Namespace(**config).lr)
print(copy.deepcopy(config).lr, pickle.loads(pickle.dumps(config)).optimizer.name)
wandb.config.update(argparse.Namespace(width=2, lr=3))
print(config.width, config.lr)
try:
    config.nothing
except AttributeError as error:
    print(error)
""")
    assert out.end() == [
        "0.1 0.1 3 0.1 4",
        "0.9 adam 0.9",
        "1 [64, 32]",
        "0.1 1 3 8 True False",
        '{"betas": {"first": 0.9}, "eps": 1, "name": "adam"} <class \'dict\'>',
        "True 0.1",
        "0.1 adam",
        "2 0.1",
        "wandb.config has no 'nothing'; it has lr, optimizer, layers, epochs, seed, extra, batch, "
        "width",
    ]
    assert "wandb: 'lr' is chosen by the sweep: it stays 0.1" in out.errors


def test_work_is_counted_in_values_of_the_metric(controller, trial):
    trial("""
import wandb
with wandb.init() as run:
    for epoch in range(3):
        wandb.log({"train_loss": 1.0 / (epoch + 1)})
        run.log({"accuracy": epoch / 10, "epoch": epoch})
    assert run.summary["accuracy"] == 0.2 and wandb.summary.epoch == 2
assert wandb.run is None
""").end()
    assert reports(controller) == [
        (1, {"train_loss": 1.0, "accuracy": 0.0, "epoch": 0}),
        (2, {"train_loss": 0.5, "accuracy": 0.1, "epoch": 1}),
        (3, {"train_loss": 1 / 3, "accuracy": 0.2, "epoch": 2}),
    ]


def test_steps_and_commits(controller, trial):
    process = trial("""
import wandb
wandb.init()
wandb.log({"loss": 3}, step=0)
wandb.log({"accuracy": 1}, step=0)
wandb.log({"accuracy": 7}, step=0)
wandb.log({"accuracy": 2}, step=10)
wandb.log({"accuracy": 9}, step=4)
wandb.log({"accuracy": 3}, commit=False)
wandb.log({"loss": 2})
wandb.log({"accuracy": 4}, commit=False)
""")
    process.end()
    assert reports(controller) == [
        (1, {"loss": 3, "accuracy": 1}),
        (2, {"accuracy": 2}),
        (3, {"accuracy": 3, "loss": 2}),
        (4, {"accuracy": 4}),
    ]
    assert "step 4 comes after 10" in process.errors


def test_what_is_no_number_is_dropped(controller, trial):
    trial("""
import wandb
class Tensor:
    def __float__(self): return 0.5
class Many:
    def __float__(self): raise ValueError("only one element")
wandb.init()
wandb.log({
    "accuracy": Tensor(), "many": Many(), "text": "x", "none": None, "flag": True, "list": [1],
    "image": wandb.Image([[0]]), "histogram": wandb.Histogram([1, 2]), "nested": {"a": {"b": 3}},
    "table": wandb.Table(columns=["a"], data=[[1]]), "plot": wandb.plot.line([1], [2]),
})
""").end()
    assert reports(controller) == [(1, {"accuracy": 0.5, "flag": 1, "nested.a.b": 3})]


def test_a_metric_that_is_only_in_the_summary_counts(controller, trial):
    trial("""
import wandb
run = wandb.init()
run.log({"loss": 1})
run.summary["accuracy"] = 0.75
run.summary.update({"note": "good", "best_epoch": 3, "picture": wandb.Image(0)})
wandb.finish()
wandb.finish()
""").end()
    assert reports(controller) == [(1, {"loss": 1, "accuracy": 0.75})]
    assert attributes(controller) == {"note": "good", "best_epoch": 3}


def test_summaries_of_defined_metrics(trial):
    assert trial("""
import wandb
run = wandb.init()
wandb.define_metric("loss", summary="min")
run.define_metric("accuracy", summary="max", step_metric="epoch")
for loss, accuracy in ((3, 1), (1, 9), (2, 5)):
    wandb.log({"loss": loss, "accuracy": accuracy})
print(run.summary["loss"], run.summary["accuracy"]["max"], run.step)
""").end() == ["{'min': 1} 9 3"]


def test_summaries_of_several_kinds_and_by_pattern(trial):
    assert trial("""
import wandb
run = wandb.init()
run.define_metric("step")
run.define_metric("*", step_metric="step", step_sync=True)
run.define_metric("val/*", summary="min")
run.define_metric("val/score", summary="max,mean,first,last", step_metric="step")
run.define_metric("secret", summary="none")
run.define_metric("old", summary="best", goal="maximize")
for value in (3, 8, 1):
    run.log({"val/loss": value, "val/score": value, "loss": value, "secret": value, "old": value})
print(dict(run.summary))
""").end() == [
        "{'val/loss': {'min': 1}, 'val/score': {'max': 8, 'mean': 4.0, 'first': 3, 'last': 1}, "
        "'loss': 1, 'old': {'best': 8}}"
    ]


def test_a_stopped_run_ends_its_script_well(controller, trial):
    controller.verdicts = {2: {"type": "stop", "why": "stopped"}}
    out = trial(
        """
import wandb
run = wandb.init()
for epoch in range(9):
    print(epoch)
    try:
        wandb.log({"accuracy": epoch})
    except Exception:
        print("not an error")
print("never")
""",
        assign={"target": 2},
    ).end()
    assert out == ["0", "1"]
    assert [work for work, _ in reports(controller)] == [1, 2]


def test_a_stopped_run_ends_well_whatever_its_script_does_at_the_end(controller, trial):
    controller.verdicts = {1: {"type": "stop", "why": "stopped"}}
    out = trial(
        """
import wandb
with wandb.init() as run:
    try:
        while True:
            try:
                run.log({"accuracy": 1})
            except SystemExit:
                print("caught")
                run.log({"accuracy": 2})
    finally:
        print(wandb.run is run)
        wandb.summary["note"] = "x"
        wandb.log({"accuracy": 3})
""",
        assign={"target": 1},
    ).end()
    assert out == ["caught", "True"]
    assert [work for work, _ in reports(controller)] == [1]


def test_a_complete_run_goes_on_to_its_own_end(controller, trial):
    controller.verdicts = {2: {"type": "stop", "why": "complete"}}
    out = trial(
        """
import wandb
wandb.init()
for epoch in range(4):
    wandb.log({"accuracy": epoch})
wandb.summary["note"] = "saved"
wandb.finish()
print("saved")
""",
        assign={"target": 2},
    ).end()
    assert out == ["saved"]
    assert [work for work, _ in reports(controller)] == [1, 2]


def test_the_rest_of_what_scripts_call_is_accepted(controller, trial):
    out = trial("""
import os
import wandb
from packaging import version
assert version.parse(wandb.__version__) >= version.parse("0.10")
assert wandb.login(key="x") and wandb.run is None
run = wandb.init(entity="e", project="p", name="n", tags=["t"], mode="online", reinit=True,
                 settings=wandb.Settings(start_method="thread"), save_code=True, resume="allow")
assert wandb.init() is run is wandb.run
assert (run.name, run.project, run.tags, run.sweep_id) == ("n", "p", ("t",), "s")
assert os.path.isdir(run.dir) and run.id and run.path
wandb.watch(object(), log="all")
wandb.save("model.pt")
wandb.alert(title="t", text="x")
artifact = wandb.Artifact("model", type="model", metadata={"a": 1})
artifact.add_file("model.pt")
with artifact.new_file("x.txt") as file:
    file.write("x")
run.log_artifact(artifact).wait()
run.log_code(".")
run.mark_preempting()
run.log_model("model.pt", name="m", aliases=["best"])
wandb.alert(title="t", text="x", level=wandb.AlertLevel.WARN)
wandb.require("service")
assert run.log_artifact("out/model.pt", type="model").name == "model.pt"
assert len(wandb.util.generate_id()) == 8
wandb.log({"accuracy": 1})
run.finish(exit_code=0)
""").end()
    assert out == []
    assert [work for work, _ in reports(controller)] == [1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("wandb.init().use_artifact('x')", "wandb.run.use_artifact: what stands in for wandb"),
        ("wandb.controller()", "wandb.controller: what stands in for wandb"),
        ("wandb.sweep({})", "run 'sluice tune sweep.yaml'"),
        ("wandb.agent('x', function=print)", "run 'sluice tune sweep.yaml'"),
        ("wandb.log({'a': 1})", "call wandb.init() first"),
        ("wandb.init().log([1])", "wandb.log: expected a dict whose keys are texts"),
        (
            "wandb.init().define_metric('x', summary='median')",
            "define_metric: summary: expected some of min, max, first, last, mean, best, copy, "
            "none, found 'median'",
        ),
        ("wandb.init(config=3)", "config: expected a dict, found int"),
        ("wandb.init(config='c.yaml')", "config: expected a dict or a .json file"),
    ],
)
def test_what_it_cannot_do_is_told(trial, call, message):
    process = trial(f"import wandb\n{call}")
    process.end(status=1)
    assert message in process.errors


def test_attributes_can_be_probed_for(trial):
    script = "import wandb; print(hasattr(wandb, 'controller'), hasattr(wandb, 'run'))"
    assert trial(script).end() == ["False True"]


def test_outside_sluice_it_is_harmless():
    assert outside("""
import wandb
run = wandb.init(config={"lr": 1})
print(dict(wandb.config))
wandb.log({"loss": 2.5})
run.finish()
""") == ["{'lr': 1}", "epoch 1  loss=2.5"]


def test_a_forked_child_is_silent(controller, trial):
    trial("""
import os
import wandb
wandb.init()
wandb.log({"accuracy": 1})
pid = os.fork()
if pid == 0:
    wandb.log({"accuracy": 5})
    os._exit(0)
os.waitpid(pid, 0)
""").end()
    assert reports(controller) == [(1, {"accuracy": 1})]

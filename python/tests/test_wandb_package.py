"""Modules and names that frameworks and scripts expect in wandb, and how the stand-in has them."""

import pytest
from sweep_trial import STAND_IN, attributes

ABSENT = "what stands in for wandb in a sweep that Sluice runs does not have it"
REAL = "for the real package say 'wandb: real' in the sweep file, or run SLUICE_WANDB=real"


def test_it_looks_installed_and_goes_before_the_real_package(tmp_path, trial):
    package = tmp_path / "site" / "wandb"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('the real one')")
    (package / "sdk.py").write_text("raise ImportError('the real one')")
    facts = tmp_path / "site" / "wandb-0.20.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: wandb\nVersion: 0.20.1\n")
    script = """
import importlib.metadata, importlib.util
import wandb
assert wandb.__version__ == importlib.metadata.version("wandb")
assert importlib.util.find_spec("wandb") and importlib.util.find_spec("wandb.sdk.lib")
assert importlib.metadata.metadata("wandb")["Name"] == "wandb"
import wandb.sdk
print(wandb.__version__)
"""
    [version] = trial(script, path=f"{STAND_IN}:{tmp_path / 'site'}").end()
    assert version.endswith("+sluice")


def test_modules_that_frameworks_import(trial):
    assert trial("""
import wandb
assert wandb.sdk.wandb_run.Run is wandb.Run  # before any of them is imported
from wandb.sdk.lib import RunDisabled
from wandb.sdk.lib.config_util import ConfigError
from wandb.wandb_run import Run
import wandb.sdk.wandb_settings, wandb.apis.public, wandb.errors, wandb.env, wandb.util
import wandb.plot as plots
from wandb.plot import confusion_matrix
from wandb.data_types import Table
from wandb.errors import CommError, UsageError
from wandb.errors.term import termwarn
from wandb.sklearn import plot_classifier
run = wandb.init()
assert isinstance(run, Run) and not isinstance(run, RunDisabled)
assert issubclass(ConfigError, wandb.Error) and wandb.apis.public.Api is wandb.Api
assert wandb.wandb_sdk.wandb_config.Config is wandb.Config and Table is wandb.Table
plot_classifier(None, [], [])
wandb.env.set_project("p")
print(wandb.env.get_project(), wandb.util.get_module("no_such"))
for _ in range(2):
    termwarn("once", repeat=False)
""").end() == ["p None"]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import wandb.tensorboard", "wandb.tensorboard"),
        ("import wandb.sdk.internal.datastore", "wandb.sdk.internal"),
        ("from wandb import restore", "wandb.restore"),
        ("from wandb.sdk.lib import telemetry", "wandb.sdk.lib.telemetry"),
        ("from wandb.util import to_json", "wandb.util.to_json"),
        ("from wandb.integration.sb3 import WandbCallback", "wandb.integration.sb3"),
        ("import wandb; wandb.plot.sunburst", "wandb.plot.sunburst"),
        ("import wandb; wandb.sdk.internal", "wandb.sdk.internal"),
        ("import wandb; wandb.use_artifact('x:latest')", "wandb.use_artifact"),
        ("import wandb; wandb.init().use_model('x')", "wandb.run.use_model"),
        ("import wandb; wandb.Artifact('x', 'y').download()", "wandb.Artifact.download"),
        ("import wandb; wandb.Image(0).image", "wandb.Image.image"),
        ("import wandb; wandb.Settings().mode", "wandb.Settings.mode"),
        ("import wandb; wandb.Api().runs('e/p')", "wandb.Api().runs"),
        ("import wandb; wandb.Api().sweep('e/p/s')", "wandb.Api().sweep"),
        ("import wandb; wandb.Api().artifact('a:v0')", "wandb.Api().artifact"),
    ],
)
def test_what_is_not_there_is_named(trial, statement, name):
    process = trial(statement)
    process.end(status=1)
    last = process.errors.splitlines()[-1]
    assert f"Error: {name}: {ABSENT}; " in last and REAL in last
    if "import wandb;" not in statement:
        assert last.startswith("ModuleNotFoundError: ")


def test_a_framework_may_go_on_without_an_optional_module(trial):
    assert trial("""
try:
    from wandb.sdk.integration_utils.auto_logging import AutologAPI
except ImportError:
    print("without")
""").end() == ["without"]


def test_the_api_knows_the_run_of_the_trial(controller, trial):
    out = trial("""
import wandb
with wandb.init(project="p", config={"epochs": 3}) as run:
    for epoch in range(3):
        run.log({"loss": 1 / (epoch + 1), "text": "x"})
        run.log({"accuracy": epoch / 10})
    path = run.path
    assert wandb.Api().run(path).state == "running"
api = wandb.Api(timeout=29)
own = api.run(f"/{api.default_entity}/p/runs/{run.id}")
assert own.path == path.split("/")
print(own.state, own.id, own.name, own.config["lr"], own.config["epochs"])
print(own.summary["accuracy"], own.summary.get("loss"), own.lastHistoryStep)
print([row["loss"] for row in own.scan_history() if "loss" in row][:2])
print(list(own.scan_history(keys=["_step", "accuracy"], min_step=2)))
print(own.history(samples=2, keys=["accuracy"], pandas=False))
own.summary["test_accuracy"] = 0.5
own.summary.update({"note": "late"})
own.update()
try:
    api.run("e/p/another")
except wandb.errors.CommError as error:
    print(error)
""").end()
    assert out == [
        "finished s-7 trial-7 0.1 3",
        "0.2 0.3333333333333333 5",
        "[1.0, 0.5]",
        "[{'_step': 3, 'accuracy': 0.1}, {'_step': 5, 'accuracy': 0.2}]",
        "[{'accuracy': 0.0, '_step': 1}, {'accuracy': 0.1, '_step': 3}]",
        "wandb.Api().run: expected sluice/p/s-7, the run of this trial, since no other is known to "
        "it, found 'e/p/another'; 'sluice trials', 'sluice best' and 'sluice export' have the "
        "trials of a sweep",
    ]
    assert attributes(controller) == {"test_accuracy": 0.5, "note": "late"}


def test_history_that_was_not_kept_is_not_shown(trial):
    assert trial("""
import wandb
import wandb._history
wandb._history._MOST_ROWS = 2
run = wandb.init()
own = wandb.Api().run(run.path)
for epoch in range(3):
    if epoch == 2:
        print(len(own.history(pandas=False)))
    run.log({"accuracy": epoch})
try:
    own.history()
except wandb.Error as error:
    print(error)
""").end() == [
        "2",
        "history: expected at most 2 steps, found more, which were not kept; "
        "'sluice export --reports' has all that was reported",
    ]


def test_tables_hold_what_is_put_in_them(trial):
    assert trial("""
import wandb
table = wandb.Table(columns=["a", "b"], data=[[1, 2]])
table.add_data(3, 4)
table.add_column("c", [5, 6])
print(table.columns, table.data, table.get_column("b"), list(table.iterrows())[1])
try:
    table.add_data(1)
except ValueError as error:
    print(error)
print(wandb.Table().columns, wandb.Table(data=[[1, 2]]).columns)
""").end() == [
        "['a', 'b', 'c'] [[1, 2, 5], [3, 4, 6]] [2, 4] (1, [3, 4, 6])",
        "wandb.Table: expected 3 values, for the columns a, b, c, found 1",
        "['Input', 'Output', 'Expected'] ['Column 1', 'Column 2']",
    ]


def test_a_run_can_be_copied_and_its_facts_come_from_variables(trial):
    assert trial(
        """
import copy, pickle
import wandb
run = wandb.init()
assert copy.deepcopy({"run": run})["run"] is run and pickle.loads(pickle.dumps(run)) is run
print(run.project, run.name, run.group, run.tags, run.id, vars(wandb.config)["_items"]["lr"])
""",
        WANDB_PROJECT="demo",
        WANDB_NAME="mine",
        WANDB_RUN_GROUP="g",
        WANDB_TAGS="a,b",
    ).end() == ["demo mine g ('a', 'b') s-7 0.1"]


def test_tensorboard_is_not_read(trial):
    process = trial("import wandb; wandb.init(sync_tensorboard=True).log({'accuracy': 1})")
    process.end()
    assert "wandb: sync_tensorboard: has no effect here" in process.errors

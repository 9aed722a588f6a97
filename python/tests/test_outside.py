"""A script that is started by hand, without Sluice, runs all the same."""

from pathlib import Path

from controller import run_outside


def test_reports_are_printed():
    assert run_outside(
        """
import sluice
print(sluice.params(), sluice.params(lr=0.1))
sluice.report(3, accuracy=0.91, loss=1 / 3)
sluice.report(4, {"val/acc": 1}, loss=float("nan"))
sluice.set_attribute("layers", 3)
print(sluice.should_stop())
sluice.stop_if_asked()
"""
    ) == [
        "{} {'lr': 0.1}",
        "epoch 3  accuracy=0.91  loss=0.333333",
        "epoch 4  val/acc=1  loss=nan",
        "layers: 3",
        "False",
    ]


def test_checkpoints_live_as_long_as_the_script():
    folder, whole = run_outside(
        """
import sluice
print(sluice.checkpoint_dir())
assert sluice.latest_checkpoint() is None
with sluice.checkpoint(1) as folder:
    (folder / "model").write_text("weights")
print((sluice.latest_checkpoint() / "model").read_text())
"""
    )
    assert whole == "weights"
    assert not Path(folder).exists()


def test_one_trial():
    assert (
        run_outside(
            """
import sluice
for _ in range(2):
    for trial in sluice.trials(lr=0.1):
        print(trial.number, trial.params, trial.launch, trial.target)
"""
        )
        == ["0 {'lr': 0.1} 0 None"] * 2
    )


def test_errors_pass_through_with_trial():
    run_outside("import sluice\nfor trial in sluice.trials():\n with trial: 1 / 0", status=1)


def test_the_order_of_work_is_checked_too():
    run_outside("import sluice\nfor work in (2, 1): sluice.report(work, a=1)", status=1)


def test_import_brings_in_nothing_heavy(controller, launch):
    """Every import delays the script's start. Each module named here costs more than sluice."""
    script = """
import sys
before = set(sys.modules)
import sluice
sluice.report(1, accuracy=1)
heavy = {"json", "re", "enum", "threading", "socket", "pathlib", "typing", "tempfile", "contextlib"}
print(sorted(heavy & (set(sys.modules) - before)))
"""
    assert launch(script).end() == ["[]"]

"""A program with the package: reports and saves each epoch, and goes on from its checkpoint.

The value at an epoch depends on the parameter and the epoch alone.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import sluice  # noqa: E402
from witness import Witness, read_settings  # noqa: E402


def save(witness, trial, epoch):
    if witness.settings.get("saves") == "no":
        return
    if witness.settings.get("saves") == "own":
        folder = sluice.checkpoint_dir()
        (folder / "epoch.new").write_text(str(epoch))
        os.replace(folder / "epoch.new", folder / "epoch")
        sluice.saved(epoch)
    else:
        with sluice.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
    witness.note("saved", trial.number, trial.launch, epoch)


def first_epoch(witness):
    if witness.settings.get("saves") == "own":
        saved = sluice.checkpoint_dir()
    else:
        saved = sluice.latest_checkpoint()
    if saved and (saved / "epoch").exists():
        return int((saved / "epoch").read_text()) + 1
    return 1


def main():
    witness = Witness(read_settings())
    trial = sluice.trial()
    x = sluice.params()["x"]
    witness.hold(trial.number, trial.launch)
    first = first_epoch(witness)
    witness.note("begin", trial.number, trial.launch, first)
    witness.start_ranks(trial.number, trial.launch)
    is_polite = witness.settings.get("polite") != "no"
    epochs = witness.number("epochs", 6)
    for epoch in range(first, epochs + 1):
        witness.gate(epoch, sluice.should_stop if is_polite else lambda: False)
        witness.pause()
        if witness.settings.get("order") == "save":
            save(witness, trial, epoch)
        sluice.report(epoch, loss=x * 100 + epoch)
        witness.note("report", trial.number, trial.launch, epoch)
        if witness.settings.get("order") != "save":
            save(witness, trial, epoch)
        witness.become_evil(trial.number, trial.launch)
        if is_polite and sluice.should_stop():
            break
    witness.gate(epochs + 1)
    witness.note("end", trial.number, trial.launch)


main()

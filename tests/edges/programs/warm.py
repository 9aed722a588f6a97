"""A program that takes trial after trial, and saves each epoch of each."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import sluice  # noqa: E402
from witness import Witness, read_settings  # noqa: E402


def first_epoch(trial):
    saved = trial.latest_checkpoint()
    return int((saved / "epoch").read_text()) + 1 if saved else 1


def main():
    witness = Witness(read_settings())
    has_ranks = False
    for trial in sluice.trials():
        held = witness.hold(trial.number, trial.launch)
        witness.note("begin", trial.number, trial.launch, first_epoch(trial))
        if not has_ranks:
            witness.start_ranks(trial.number, trial.launch)
            has_ranks = True
        for epoch in range(first_epoch(trial), witness.number("epochs", 6) + 1):
            witness.gate(epoch, trial.should_stop)
            witness.pause()
            trial.report(epoch, loss=trial.params["x"] * 100 + epoch)
            witness.note("report", trial.number, trial.launch, epoch)
            with trial.checkpoint(epoch) as folder:
                (folder / "epoch").write_text(str(epoch))
            witness.note("saved", trial.number, trial.launch, epoch)
            if trial.should_stop():
                break
        witness.note("end", trial.number, trial.launch)
        os.close(held)


main()

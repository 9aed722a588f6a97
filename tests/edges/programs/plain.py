"""A program without the package: it prints a line an epoch, and begins anew in each launch."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from witness import Witness, read_settings  # noqa: E402


def main():
    witness = Witness(read_settings())
    trial, launch = os.environ["SLUICE_TRIAL"], os.environ["SLUICE_LAUNCH"]
    with open(os.environ["SLUICE_PARAMS"]) as file:
        x = json.load(file)["x"]
    witness.hold(trial, launch)
    witness.note("begin", trial, launch, 1)
    witness.start_ranks(trial, launch)
    padding = "x" * witness.number("padding")
    for epoch in range(1, witness.number("epochs", 6) + 1):
        witness.gate(epoch)
        witness.pause()
        line = {"epoch": epoch, "loss": x * 100 + epoch, "padding": padding}
        print(json.dumps(line), flush=True)
        witness.note("report", trial, launch, epoch)
        witness.become_evil(trial, launch)
    witness.gate(witness.number("epochs", 6) + 1)
    witness.note("end", trial, launch)


main()

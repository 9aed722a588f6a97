"""What torchrun starts, once for each rank: rank 0 reports, all of them train."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import sluice  # noqa: E402
from witness import Witness, read_settings  # noqa: E402


def main():
    witness = Witness(read_settings())
    trial, launch = os.environ["SLUICE_TRIAL"], os.environ["SLUICE_LAUNCH"]
    witness.hold(trial, launch)
    together = None
    if witness.settings.get("backend"):
        import torch.distributed as together

        together.init_process_group(witness.settings["backend"])
    x = sluice.params()["x"]
    saved = sluice.latest_checkpoint()
    first = int((saved / "epoch").read_text()) + 1 if saved else 1
    witness.note("rank", trial, launch, os.environ["RANK"], first)
    for epoch in range(first, witness.number("epochs", 6) + 1):
        witness.gate(epoch)
        witness.pause()
        if together:
            together.barrier()
        sluice.report(epoch, loss=x * 100 + epoch)
        with sluice.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
        witness.note("trained", trial, launch, epoch)


main()

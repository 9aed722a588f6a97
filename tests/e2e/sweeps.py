"""What the tests of sweeps share."""

import json
import sys

LOGS_ONCE = """
import wandb
run = wandb.init(project="demo", config={"lr": -1, "epochs": 1})
config = wandb.config
loss = (config.lr - 0.3) ** 2
wandb.log({"val_loss": loss, "epoch": config.epochs})
"""


class Sweeps:
    """A sweep, the script that it names, and what became of them."""

    def __init__(self, house):
        self.house = house
        # The command of a sweep says 'python', which is to be the one that runs the tests. By a
        # link it would not find the packages beside it.
        folder = house.folder / "bin"
        folder.mkdir()
        (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (folder / "python").chmod(0o755)
        self.path = f"{folder}:/usr/bin:/bin"

    def write(self, sweep, script=LOGS_ONCE):
        self.house.write("sweep.yaml", sweep)
        self.house.write("train.py", script)

    def run(self, *words, **options):
        return self.house.run(*words, PATH=self.path, **options)

    def tune(self, sweep, script=LOGS_ONCE, *words, **environment):
        self.write(sweep, script)
        self.run("tune", "sweep.yaml", "-q", "--seed", 1, *words, **environment)

    def refused(self, sweep, *words, verb="tune", code=2):
        self.write(sweep)
        done = self.run(verb, "sweep.yaml", *words, check=False)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
        assert not self.house.store.exists()
        return done.stderr

    def params(self):
        rows = self.house.query("SELECT params FROM trials ORDER BY trial")
        return [json.loads(params) for (params,) in rows]

    def outputs(self):
        """What each trial printed, in the order of trials."""
        folders = (self.house.files / "studies").glob("*/trials/*")
        ordered = sorted(folders, key=lambda folder: int(folder.name))
        return [(folder / "launch-1/stdout").read_text().splitlines() for folder in ordered]

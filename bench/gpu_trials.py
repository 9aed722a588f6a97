"""Measures the time of a trial on a GPU: with a process for each trial, and with one for all.

Every process spends time on imports, on the CUDA context and on its first kernels. The script
prints a table. It needs a GPU and PyTorch.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARIES = os.environ.get("SLUICE_BIN_DIR", str(ROOT / "build/release/bin"))
BODY = """
    layers = [torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=trial.params["lr"])
    inputs, labels = torch.randn(512, 256, device="cuda"), torch.randint(10, (512,), device="cuda")
    for step in range(1, 4):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        trial.report(step, loss=loss.item())
"""
SPAWNED = f"import torch, sluice\nfor trial in [sluice.trial()]:{BODY}"
WARM = f"import torch, sluice\nfor trial in sluice.trials():{BODY}"
STUDY = """
study: {name}
program: {program}
space: {{lr: {{float: [1e-3, 1e-1], log: true}}}}
objective: {{minimize: loss}}
trials: {trials}
resources: {{gpus: 1}}
"""


def seconds_a_trial(binary, name, script, trials):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "trial.py").write_text(script)
        program = json.dumps([sys.executable, str(folder / "trial.py")])
        (folder / "study.yaml").write_text(STUDY.format(name=name, program=program, trials=trials))
        words = [binary, "tune", "study.yaml", "-q", "--store", "store.db"]
        begin = time.monotonic()
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        took_s = time.monotonic() - begin
        shown = subprocess.run(
            [binary, "status", "--json", "--store", "store.db"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        assert f'"complete":{trials}' in shown.stdout.decode().replace(" ", ""), shown.stdout
        return took_s / trials


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--binary",
        default=BINARIES + "/sluice",
    )
    parser.add_argument("--spawned", type=int, default=6)
    parser.add_argument("--warm", type=int, default=200)
    options = parser.parse_args()
    spawned = seconds_a_trial(options.binary, "spawned", SPAWNED, options.spawned)
    warm = seconds_a_trial(options.binary, "warm", WARM, options.warm)
    print("| | trials | seconds a trial |\n|---|---|---|")
    print(f"| a process for each trial | {options.spawned} | {spawned:.3f} |")
    print(f"| one process, trial after trial | {options.warm} | {warm:.4f} |")
    print(
        f"\nOne process is {spawned / warm:.0f} times as fast a trial, its own start included."
    )


main()

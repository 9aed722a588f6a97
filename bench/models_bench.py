"""Measures how long reading and analysing a network takes, and how much of its file is read."""

import json
import os
import subprocess
import sys
import time
import warnings

import torch
from bench_house import (
    PROGRAMS,
    ROOT,
    SLUICE,
    arguments,
    house,
    machine,
    spread,
    table,
    verdict,
    versions,
    write_page,
)
from torch import nn

sys.path.insert(0, str(ROOT / "python"))
import sluice  # noqa: E402

BAR_MS = 50
MEBIBYTE = 1 << 20
MOST_IN_MEMORY = 1 << 26


class Chain(nn.Module):
    """500 linear layers and activations: 1,000 operators."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(500))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def gpt2(**sizes):
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(**sizes))
    # The weights stay uninitialised: their values do not matter, and drawing them would take long.
    model = model.to_empty(device="cpu")
    model.tie_weights()
    for buffer in model.buffers():
        buffer.zero_()
    return model


def networks():
    tokens = torch.randint(0, 100, (2, 16))
    yield "1,000 operators in a row", Chain(), torch.randn(2, 16)
    yield "GPT-2 small", gpt2(), {"input_ids": tokens}
    xl = dict(n_embd=2048, n_layer=24, n_head=16, n_positions=2048)
    yield "GPT-3 XL", gpt2(**xl), {"input_ids": tokens}


def bytes_read(words):
    """The bytes that a command and its children read, as the kernel counts them."""
    script = "cat /proc/$$/io; \"$@\" > /dev/null; cat /proc/$$/io"
    told = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True
    ).stdout
    before, after = [int(line.split()[1]) for line in told.splitlines() if line.startswith("rchar")]
    return after - before


def timed_ms(words):
    start = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.monotonic() - start)


def operators_of(path):
    told = subprocess.run(
        [SLUICE, "model", "show", path], capture_output=True, text=True, check=True
    ).stdout
    return sum("aten." in line for line in told.splitlines())


def inside_ms(path, rounds):
    """The times of reading and of analysing within one process, from memory (model_bench.cc)."""
    told = subprocess.run(
        [PROGRAMS / "model_bench", "--benchmark_format=json", "--benchmark_filter=Read|Analyse"]
        + [f"--benchmark_repetitions={rounds}"],
        env={**os.environ, "SLUICE_ARCHIVE": str(path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    medians = {
        each["run_name"]: each["real_time"]
        for each in json.loads(told)["benchmarks"]
        if each.get("aggregate_name") == "median"
    }
    return medians["Read"], medians["Analyse"]


ABOUT = """# Reading and analysing networks

The column "inside" is measured within one process (`build/bench/bin/model_bench`): an archive in
memory is read to a graph, and the widths of the graph are found. The next columns are the times of
whole processes, `sluice model show FILE --json` and `sluice model shrink FILE --json`. They also
compare all shapes with those in the archive, measure the initial law of each tensor, and print the
graph. The kernel counts the bytes that are read. The weights of the GPT networks are uninitialised
memory, because only their size matters here. The bar: reading and analysing 1,000 operators takes
under 50 ms, and at most 1 MiB of a tensor's weights is read.
"""


def main():
    options = arguments(__doc__, rounds=11)
    rows = []
    holds = True
    with house() as here:
        facts = [machine(here.folder), versions("torch", "transformers")]
        for name, model, inputs in networks():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path = sluice.export(model, inputs, here.folder / "net.pt2")
            tensors = len(model.state_dict())
            del model
            verbs = "show", "shrink"
            commands = [[str(SLUICE), "model", verb, str(path), "--json"] for verb in verbs]
            took = [[timed_ms(command) for command in commands] for _ in range(options.rounds)]
            show, shrink = ([each[i] for each in took] for i in (0, 1))
            read = bytes_read(commands[0])
            operators = operators_of(path)
            size = path.stat().st_size
            inside = inside_ms(path, options.rounds) if size < MOST_IN_MEMORY else None
            holds &= inside is None or sum(inside) < BAR_MS
            holds &= read < (tensors + 4) * MEBIBYTE
            rows.append(
                [name, f"{operators:,}", f"{size / MEBIBYTE:,.1f} MiB"]
                + [" + ".join(f"{each:.1f}" for each in inside) if inside else "not measured"]
                + [spread(show, 1), spread(shrink, 1)]
                + [f"{read / MEBIBYTE:,.1f} MiB of {tensors} tensors"]
            )
            print(*rows[-1], sep=", ", file=sys.stderr, flush=True)
            path.unlink()
    header = ["network", "operators", "archive", "inside: read + analyse, ms"]
    header += ["show, ms", "shrink, ms", "read by show"]
    write_page("models", ABOUT, facts, table(header, rows), f"The bar: {verdict(holds)}.")


if __name__ == "__main__":
    main()

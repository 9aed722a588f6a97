#!/usr/bin/env python3
"""Which nodes of the zoo's networks the trainer has no rule for, and which part of a step they
take."""

import re
import subprocess

import bench_house as bench

ABOUT = """
# Nodes without a rule for several trials

The trainer runs each operator for all trials at once. An operator without a rule for that runs by
`vmap`, or in a loop over the trials. `sluice-trainer check NETWORK` prints those nodes, and which
part of a step they take: of running the network and of its gradients, of three trials, on numbers
that are drawn. The networks are all families of the zoo, in small configurations. The bar: such
nodes take less than 5 % of a step. `zoo_runs_test.cc` holds more: no network of the zoo has any.
"""
BAR = 5  # per cent

NETWORKS = [
    "mlp",
    "lenet",
    "vgg11",
    "vgg11,norm=batch",
    "resnet18",
    "resnet34",
    "resnet50",
    "wideresnet50",
    "mobilenetv3",
    "shufflenetv2",
    "vit-tiny,classes=10,image=32,patch=8,width=24,layers=2",
    "deit-tiny,classes=10,image=32,patch=8,width=24,layers=2",
    "dcgan-generator,latent=6,width=4",
    "dcgan-discriminator,width=4",
    "lstm-lm,vocab=30,tokens=5,width=8,hidden=8,layers=2",
    "transformer-lm,vocab=30,tokens=6,width=8,hidden=16,layers=2",
    "gpt,vocab=30,tokens=6,width=8,layers=2,heads=2",
    "gpt3-xl,vocab=30,tokens=6,width=8,layers=2,heads=2",
    "pythia-14m,vocab=30,tokens=6,width=16,layers=2,heads=2",
    "pythia-31m,vocab=30,tokens=6,width=16,layers=2,heads=2",
    "bert-tiny,vocab=30,tokens=6,positions=8,width=8,layers=2,heads=2",
]
FOUND = re.compile(
    r"^fallbacks   (?:(none) of (\d+) nodes|(\d+) of (\d+) nodes, ([\d.]+) %)",
    re.MULTILINE,
)


def row(network):
    command = [bench.BINARIES / "sluice-trainer", "check", f"zoo:{network}"]
    command += ["--without", "fused", "--without", "coordinates"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    none, of_none, count, of, share = FOUND.search(told).groups()
    nodes = re.findall(r"^  (node .*)$", told, re.MULTILINE)
    part = 0.0 if none else float(share)
    return [
        f"`zoo:{network}`",
        of_none or of,
        count or 0,
        f"{part:.1f} %",
        bench.verdict(part < BAR),
        "<br>".join(nodes),
    ]


def main():
    bench.arguments(__doc__)
    with bench.house() as house:
        facts = [bench.machine(house.folder)]
    facts.append(bench.versions("torch"))
    header = [
        "network",
        "nodes",
        "without a rule",
        "part of a step",
        "the bar",
        "which",
    ]
    rows = [row(network) for network in NETWORKS]
    bench.write_page("train-fallbacks", ABOUT, facts, bench.table(header, rows))


if __name__ == "__main__":
    main()

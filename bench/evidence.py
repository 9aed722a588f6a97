#!/usr/bin/env python3
"""Prints the main tables of four papers, with the simulator's figures beside the published ones.

    bench/evidence.py TABLE...    fluid, hypersched, hypersack, hydro, confluence; default: all

The tables are in Markdown, as in docs/evidence.md. No published figure is an input of the
simulation. SLUICE_BIN_DIR names the folder of the binaries to use (default: build/release/bin).
"""

import argparse
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARIES = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin"))


def simulate(scenario, *flags):
    """Runs a scenario. Returns a dict: the policy's label -> its results."""
    command = [
        BINARIES / "sluice",
        "simulate",
        ROOT / f"scenarios/{scenario}.yaml",
        "--json",
        *flags,
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return {
        each.get("label", each["policy"]): each for each in json.loads(answer.stdout)["policies"]
    }


def table(headings, rows):
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def paired(ours, theirs):
    """The mean of the paired differences, and half the width of its 95 % interval."""
    differences = [a - b for a, b in zip(ours["values"], theirs["values"], strict=True)]
    mean = sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)
    return mean, 1.99 * (variance / len(differences)) ** 0.5


def hypersched(seeds):
    published = {900: (0.833, 0.879), 1800: (0.886, 0.916), 3600: (0.908, 0.938)}
    rows = []
    for deadline, (asha, theirs) in published.items():
        runs = simulate(f"hypersched-{deadline}", "--seeds", str(seeds))
        accuracy = {label: run["studies"][0]["best_at_deadline"] for label, run in runs.items()}
        gain, half = paired(accuracy["hypersched"], accuracy["fifo"])
        rows.append(
            [
                f"{deadline} s",
                asha,
                theirs,
                f"+{theirs - asha:.3f}",
                f"{accuracy['fifo']['mean']:.3f}",
                f"{accuracy['hypersched']['mean']:.3f}",
                f"{gain:+.3f} ± {half:.3f}",
            ]
        )
    table(
        ["deadline", "published: ASHA", "HyperSched", "gain", "ours: ASHA", "HyperSched", "gain"],
        rows,
    )


def hypersack(_seeds):
    published = {
        "a100x4": ("2.1 h", "48.2 min", "2.6x"),
        "a100x8": ("1.1 h", "24.5 min", "2.7x"),
        "a100x16": ("35.1 min", "13.1 min", "2.7x"),
        "h100x4": ("1.7 h", "25.8 min", "4.0x"),
        "h100x4-a100x6": ("49.5 min", "12.5 min", "4.0x"),
        "h100x4-a100x12": ("misprinted", "8.4 min", "-"),
    }
    rows = []
    for cluster, (alone, packed, ratio) in published.items():
        runs = simulate("hypersack-sp4", "--cluster", cluster)
        minutes = {label: run["makespan_seconds"]["mean"] / 60 for label, run in runs.items()}
        base = minutes["exclusive"]
        ours = [
            f"{minutes[f'hypersack-{name}']:.1f} ({base / minutes[f'hypersack-{name}']:.2f}x)"
            for name in ("ff", "ffd", "wf", "wfd")
        ]
        rows.append([cluster, alone, packed, ratio, f"{base:.1f}", *ours])
    table(
        [
            "SP4, 384 jobs",
            "published: one per GPU",
            "HyperSack",
            "ratio",
            "ours: one per GPU (min)",
            "FF",
            "FFD",
            "WF",
            "WFD",
        ],
        rows,
    )
    rows = []
    figures = {"MIP": (99, 100), "FF": (88, 97), "FFD": (97, 98), "WF": (91, 97), "WFD": (98, 100)}
    policies = ",".join(f"hypersack-{name.lower()}" for name in figures)
    sp3 = simulate("hypersack-sp3", "--cluster", "a100x4", "--policy", policies)
    sp4 = simulate("hypersack-sp4", "--cluster", "a100x16", "--policy", policies)
    for name, (small, large) in figures.items():
        label = f"hypersack-{name.lower()}"
        rows.append(
            [
                name,
                f"{small} %",
                f"{sp3[label]['occupancy']['mean']:.1%}",
                f"{large} %",
                f"{sp4[label]['occupancy']['mean']:.1%}",
                f"{sp4[label]['makespan_seconds']['mean'] / 60:.1f} min",
            ]
        )
    table(
        [
            "occupancy",
            "SP3, 4 GPUs: published",
            "ours",
            "SP4, 16 GPUs: published",
            "ours",
            "our makespan there",
        ],
        rows,
    )


def fluid(seeds):
    algorithms = ["random", "hyperband", "bohb", "sync-bohb", "asha", "pbt"]
    rows = []
    for scenario in ("fluid-cifar", "fluid-wlm", "fluid-dcgan"):
        runs = simulate(scenario, "--seeds", str(seeds))
        for algorithm in algorithms:
            named = {
                policy: runs[f"{algorithm}-{policy}"] for policy in ("fifo", "static", "dynamic")
            }
            base = named["fifo"]
            cells = [
                scenario,
                algorithm,
                f"{base['utilisation']['mean']:.0%}",
                f"{base['job_completion_seconds']['mean'] / 60:.0f} min",
            ]
            for policy in ("static", "dynamic"):
                used = named[policy]["utilisation"]["mean"] / base["utilisation"]["mean"] - 1
                gain, half = paired(
                    named[policy]["job_completion_seconds"], base["job_completion_seconds"]
                )
                scale = base["job_completion_seconds"]["mean"]
                cells += [f"{used:+.0%}", f"{gain / scale:+.0%} ± {half / scale:.0%}"]
            rows.append(cells)
    table(
        [
            "workload",
            "algorithm",
            "fifo: utilisation",
            "completion",
            "fluid-static: utilisation",
            "completion",
            "fluid-dynamic: utilisation",
            "completion",
        ],
        rows,
    )


def hydro(seeds):
    runs = simulate("hydro-bubbles", "--seeds", str(min(seeds, 5)))
    hours = {label: run["makespan_seconds"]["mean"] / 3600 for label, run in runs.items()}
    table(
        ["bubbles", "published", "ours"],
        [
            ["makespan without", "-", f"{hours['exclusive']:.2f} h"],
            ["makespan with", "-", f"{hours['hydro']:.2f} h"],
            ["shorter by", "2.7x", f"{hours['exclusive'] / hours['hydro']:.2f}x"],
        ],
    )
    accelerations()


# For each model: the scenario's name, the model's name, GPUs/trials, the speed-up that Hydro's
# authors report (last), and (before it) the widths of a full-size trial in GPUs. Each width comes
# with the suffix that its labels have in the scenario.
HYDRO_MODELS = [
    ("resnet18", "ResNet-18", "8/1000", {1: ""}, "16.2x"),
    ("vgg11", "VGG-11", "8/500", {1: ""}, "10.8x"),
    ("mobilenetv3", "MobileNetV3-L", "16/500", {1: ""}, "12.3x"),
    ("wideresnet50", "WideResNet-50", "32/200", {1: "", 8: "-8"}, "20.3x"),
    ("transformer", "Transformer", "8/200", {1: ""}, "8.7x"),
    ("gpt3xl", "GPT-3 XL", "128/100", {8: "", 128: "-128"}, "78.5x"),
]


def accelerations():
    """Compares two ways: fused surrogates and then a full-size target; or all trials full size."""
    rows = []
    for name, model, size, widths, published in HYDRO_MODELS:
        runs = simulate(f"hydro-{name}", "--seeds", "3")
        for gpus, label in widths.items():
            ours = runs[f"hydro{label}"]
            full = runs[f"full-size{label}"]["makespan_seconds"]["mean"] / 3600
            search = ours["studies"][0]["completion_seconds"]["mean"] / 3600
            whole = ours["makespan_seconds"]["mean"] / 3600
            rows.append(
                [
                    f"{model} ({size})",
                    gpus,
                    published,
                    f"{full:.2f} h",
                    f"{search:.2f} h",
                    f"{whole:.2f} h",
                    f"{full / whole:.1f}x",
                ]
            )
    table(
        [
            "model (GPUs/trials)",
            "GPUs of a full-size trial",
            "published",
            "ours: full size",
            "surrogates",
            "and the target",
            "shorter by",
        ],
        rows,
    )


def beside(scenario, published, ours, seeds, *flags):
    """A table row that compares our policy with the best of the published ones.

    They are compared by the scenario's goal.
    """
    runs = simulate(
        scenario, "--policy", ",".join([*published, ours]), "--seeds", str(seeds), *flags
    )

    def goal(run):
        if "hypersched" in scenario:
            return {
                "values": [1 - best for best in run["studies"][0]["best_at_deadline"]["values"]]
            }
        return run["makespan_seconds"]

    def mean(label):
        return sum(goal(runs[label])["values"]) / seeds

    best = min(published, key=mean)
    name = " ".join([scenario, *flags[1:], ours.removesuffix("confluence").rstrip("-")]).strip()
    if seeds == 1:
        change = f"{mean(ours) / mean(best) - 1:+.1%}"
    else:
        difference, half = paired(goal(runs[ours]), goal(runs[best]))
        change = f"{difference / mean(best):+.1%} ± {half / mean(best):.1%}"

    def shown(value):
        return f"{value:.3f}" if "hypersched" in scenario else f"{value / 60:.1f} min"

    return [name, best, shown(mean(best)), shown(mean(ours)), change]


def confluence(seeds):
    simple = ["fifo", "lpt", "fluid-static", "fluid-dynamic"]
    rows = [
        beside(name, simple, "confluence", seeds) for name in ("one-box", "two-studies", "elastic")
    ]
    for name in ("fluid-cifar", "fluid-wlm", "fluid-dcgan"):
        for algorithm in ("random", "hyperband", "bohb", "sync-bohb", "asha", "pbt"):
            published = [f"{algorithm}-{policy}" for policy in ("fifo", "static", "dynamic")]
            rows.append(beside(name, published, f"{algorithm}-confluence", seeds))
    rows += [
        beside(f"hypersched-{deadline}", ["fifo", "hypersched"], "confluence", seeds)
        for deadline in (900, 1800, 3600)
    ]
    clusters = ("a100x4", "a100x8", "a100x16", "h100x4", "h100x4-a100x6", "h100x4-a100x12")
    for space in (1, 2, 3, 4):
        published = [f"hypersack-{policy}" for policy in ("ff", "ffd", "wf", "wfd")]
        rows += [
            beside(f"hypersack-sp{space}", published, "confluence", 1, "--cluster", cluster)
            for cluster in clusters
        ]
    rows.append(beside("hydro-bubbles", ["hydro"], "confluence", min(seeds, 5)))
    rows += [beside(f"hydro-{name}", ["hydro"], "confluence", 3) for name, *_ in HYDRO_MODELS]
    rows.append(
        beside("mixed-day", [*simple, "hypersack-wf", "hydro"], "confluence", min(seeds, 5))
    )
    table(["scenario", "best published", "", "confluence", "change"], rows)


TABLES = {
    "fluid": fluid,
    "hypersched": hypersched,
    "hypersack": hypersack,
    "hydro": hydro,
    "confluence": confluence,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--seeds", type=int, default=50)
    asked = parser.parse_args()
    if unknown := [name for name in asked.tables if name not in TABLES]:
        parser.error(f"expected tables of {', '.join(TABLES)}, found {', '.join(unknown)}")
    for name in asked.tables or TABLES:
        TABLES[name](asked.seeds)

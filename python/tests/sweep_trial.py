"""A trial of a sweep, for the tests of the stand-in for wandb."""

from controller import PACKAGE

STAND_IN = f"{PACKAGE}/sluice/_wandb:{PACKAGE}"
CHOSEN = {"lr": 0.1, "optimizer": {"name": "adam", "betas": {"first": 0.9}}, "layers": [64, 32]}


def reports(controller):
    results = controller.results.get((7, 1), {})
    return [
        (results[seq]["work"], results[seq]["values"])
        for seq in sorted(results)
        if results[seq]["type"] == "report"
    ]


def attributes(controller):
    merged = {}
    for message in controller.of_type("attributes"):
        merged.update(message["attributes"])
    return merged

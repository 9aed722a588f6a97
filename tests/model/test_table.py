"""Checks that docs/models-table.md is up to date. With SLUICE_WRITE_TABLE=1, writes the page."""

import math
import os

from networks import NETWORKS
from oracle import ROOT, SHRUNK_BY
from zoo import ZOO

PAGE = ROOT / "docs" / "models-table.md"

HEAD = """# Networks that are read and shrunk

Each network is a PyTorch module. `sluice.export` exports it, and `sluice model show` reads the
result (tests/model). The columns:

- **operators**: the number of operators of the graph.
- **parameters**: the number of trained tensors, and of their elements.
- **widths**: the number of sizes that can be chosen.
- **shapes at 2, 4, 8**: whether all tensors have the shapes of the same module built narrower, when
  the network is shrunk by 2, 4 and 8.
- **classes as mup's**: whether Sluice finds the same number of widths in each parameter's shape as
  the package `mup` does (`mup` compares two modules of different width).
- **rates as mup's**: whether kinds and learning rates are those that mup's rules give for the
  number of widths that `mup` found.
- **step equal**: whether outputs, gradients and buffers of a training step equal those of the
  module. The step is executed operator by operator, at two batch sizes.
- **surrogate's step equal**: whether a step of the graph that
  `sluice model shrink --scale 4 --min-width 1 --rule standard` makes equals a step of the narrower
  module.

A number in brackets counts differences.

"""

COLUMNS = (
    "network", "operators", "parameters", "widths", "shapes at 2, 4, 8", "classes as mup's",
    "rates as mup's", "step equal", "surrogate's step equal",
)


ZOO_HEAD = """## The zoo

Networks that are built in (`sluice model zoo`) are compared with modules of the same architecture.
Some of these modules come from the package transformers. The others are written with the names that
torchvision and timm use. The columns are those above, and two more:

- **tensors equal**: whether names, shapes, types and ties of all tensors are those of the module,
  and whether the same tensors are trained.
- **laws**: whether matrices and kernels are drawn with a standard deviation of 1 / sqrt(fan-in),
  and tables with a standard deviation of 1, and whether gains are 1 and biases 0.

A narrower module has the widths that `sluice model shrink` reports. Where all widths can be divided
by the scale, shapes are also compared with those of a module that has the divided widths. Where a
step is slow because of the widths, only the step of the surrogate is executed. Of some networks no
step is executed at all; smaller ones of the same architecture stand for them.

"""

ZOO_COLUMNS = (
    "network", "operators", "parameters", "widths", "tensors equal", "laws", "shapes at 2, 4, 8",
    "classes as mup's", "rates as mup's", "step equal", "surrogate's step equal",
)


def said(differences):
    return f"no ({len(differences)})" if differences else "yes"


def surrogate(case):
    if case.network.baked:
        return f"no: {case.network.baked}"
    return said(case.surrogate_differences)


def row(case):
    name = case.network.name
    if case.refusal:
        reason = case.refusal.partition(f"{case.archive}: ")[2].partition(":")[0]
        return f"| {name} | refused: {reason} | | | | | | | |"
    return (
        f"| {name} | {counts(case)} | {scaling(case)} | {said(case.forward_differences)} | "
        f"{surrogate(case)} |"
    )


def counts(case):
    trained = [
        each for each in case.graph["parameters"] if each["trainable"] and not each["tied_to"]
    ]
    elements = sum(math.prod(each["shape"]) for each in trained)
    widths = len(case.graph["widths"])
    return f"{len(case.graph['nodes'])} | {len(trained)} of {elements} | {widths}"


def scaling(case):
    shapes = ", ".join(said(case.shape_differences[by]) for by in SHRUNK_BY)
    return f"{shapes} | {said(case.mup_differences)} | {said(case.rate_differences)}"


def zoo_row(case):
    network = case.network
    step = said(case.forward_differences) if network.steps and not network.wide else "not executed"
    narrower = said(case.surrogate_differences) if network.steps else "not executed"
    return (
        f"| {network.name} | {counts(case)} | {said(case.tensor_differences)} | "
        f"{said(case.law_differences)} | {scaling(case)} | {step} | {narrower} |"
    )


def kept(network):
    return f"- {network.name}: {network.hard}.\n"


def table(columns, rows):
    lines = "".join(row + "\n" for row in rows)
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n{lines}"


def corpus_part(case_of):
    rows = table(COLUMNS, (row(case_of(network)) for network in NETWORKS))
    notes = "".join(kept(network) for network in NETWORKS if network.hard)
    said_of_them = "In these networks a size that looks like a width is fixed, for this reason:"
    return f"{HEAD}{rows}\n{said_of_them}\n\n{notes}\n"


def zoo_part(zoo_case_of):
    return ZOO_HEAD + table(ZOO_COLUMNS, (zoo_row(zoo_case_of(network)) for network in ZOO))


def check(found, place):
    """Checks or writes one of the two parts of the page. The title of the zoo divides them."""
    text = PAGE.read_text() if PAGE.exists() else ""
    before, title, after = text.partition(ZOO_HEAD.partition("\n")[0])
    parts = [before, title + after]
    if os.environ.get("SLUICE_WRITE_TABLE") == "1":
        parts[place] = found
        PAGE.write_text("".join(parts))
    assert parts[place] == found, "SLUICE_WRITE_TABLE=1 make test ROOM=oracle writes the page"


def test_the_page_says_what_is_found_of_the_corpus(case_of):
    check(corpus_part(case_of), 0)


def test_the_page_says_what_is_found_of_the_zoo(zoo_case_of):
    check(zoo_part(zoo_case_of), 1)

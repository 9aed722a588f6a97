"""docs/models-table.md says what is found of each network; SLUICE_WRITE_TABLE=1 writes it."""

import math
import os

from networks import NETWORKS
from oracle import ROOT, SHRUNK_BY
from zoo import ZOO

PAGE = ROOT / "docs" / "models-table.md"

HEAD = """# Networks that are read and shrunk

Each is exported by `sluice.export` and read by `sluice model show` (tests/model). The columns:
operators of the graph; trained tensors and their elements; sizes that can be chosen; whether all
tensors have the shapes of the same module built narrower when it is shrunk by 2, 4 and 8; whether
as many dimensions of each parameter are widths as mup finds in two modules of different width;
whether kinds and learning rates follow from these; whether outputs, gradients and buffers of a
training step, executed operator by operator, equal those of the module, at two batch sizes; and
whether a step of the graph that `sluice model shrink --scale 4 --rule standard` makes equals one of
the narrower module. A number in brackets counts differences.

"""

COLUMNS = (
    "network", "operators", "parameters", "widths", "shapes at 2, 4, 8", "classes as mup's",
    "rates as mup's", "step equal", "surrogate's step equal",
)


ZOO_HEAD = """## The zoo

Networks that are built in (`sluice model zoo`), against modules of the same architecture: those of
transformers, and others written with the names that torchvision and timm use. Columns as above,
and: whether names, shapes, types and ties of all tensors, and which of them are trained, are the
module's; and whether matrices and kernels are drawn with a deviation of 1 / sqrt(fan-in), tables
with 1, gains are 1 and biases 0. Narrower modules have the widths that `sluice model shrink`
says, and where all widths can be divided by the number, these. Where a step is slow because of
the widths, only that of the surrogate is executed.

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
    said_of_them = "What keeps its size there although one may think it a width:"
    return f"{HEAD}{rows}\n{said_of_them}\n\n{notes}\n"


def zoo_part(zoo_case_of):
    return ZOO_HEAD + table(ZOO_COLUMNS, (zoo_row(zoo_case_of(network)) for network in ZOO))


def check(found, place):
    """One of the two parts of the page, which the zoo's title divides."""
    text = PAGE.read_text() if PAGE.exists() else ""
    before, title, after = text.partition(ZOO_HEAD.partition("\n")[0])
    parts = [before, title + after]
    if os.environ.get("SLUICE_WRITE_TABLE") == "1":
        parts[place] = found
        PAGE.write_text("".join(parts))
    assert parts[place] == found, "SLUICE_WRITE_TABLE=1 make test ROOM=oracle writes it anew"


def test_the_page_says_what_is_found_of_the_corpus(case_of):
    check(corpus_part(case_of), 0)


def test_the_page_says_what_is_found_of_the_zoo(zoo_case_of):
    check(zoo_part(zoo_case_of), 1)

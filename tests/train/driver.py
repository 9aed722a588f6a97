"""Runs a network for several trials at once, through build/release/bin/train-driver."""

import os
import pathlib
import subprocess

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = pathlib.Path(os.environ.get("SLUICE_BIN_DIR", ROOT / "build/release/bin")) / "train-driver"


class Refused(Exception):
    pass


class Results:
    def __init__(self):
        self.outputs, self.gradients, self.written = [], {}, {}
        self.fallbacks, self.looped = [], []


def run(subject, seeds, inputs, parameters, folder, autocast=""):
    """`parameters` are by name, with the trials in front. Computes in float64, or in float32 under
    `autocast`, the name of a type. Fails with Refused, in the words of the program."""
    feed, results = folder / "feed", folder / "results"
    lines, tensors = [f"trials {' '.join(map(str, seeds))}"], []
    if autocast:
        lines.append(f"autocast {autocast}")
    for tensor in inputs:
        lines.append(_line("input", tensor))
        tensors.append(tensor)
    for name, tensor in parameters.items():
        lines.append(_line(f"parameter {name}", tensor))
        tensors.append(tensor)
    with open(feed, "wb") as file:
        file.write("\n".join([*lines, "end", ""]).encode())
        for tensor in tensors:
            file.write(_bytes(tensor))
    command = [str(DRIVER), str(subject), str(feed), str(results)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if ran.returncode != 0:
        raise Refused(ran.stderr.strip() or f"exit status {ran.returncode}")
    return _read(results)


def _line(what, tensor):
    return " ".join([what, str(tensor.dtype).removeprefix("torch."), *map(str, tensor.shape)])


def _bytes(tensor):
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def _read(path):
    content = path.read_bytes()
    found, at = Results(), content.index(b"end\n") + 4
    for line in content[:at].decode().splitlines():
        what, *rest = line.split(" ")
        if what == "end":
            break
        if what in ("fallback", "looped"):
            getattr(found, {"fallback": "fallbacks", "looped": "looped"}[what]).append(
                " ".join(rest))
            continue
        name = rest.pop(0) if what in ("gradient", "written") else None
        dtype, sizes = getattr(torch, rest[0]), [int(each) for each in rest[1:]]
        count = torch.Size(sizes).numel() * dtype.itemsize
        raw = bytearray(content[at:at + count])
        tensor = torch.frombuffer(raw, dtype=dtype) if count else torch.empty(0, dtype=dtype)
        at += count
        tensor = tensor.reshape(sizes)
        if what == "output":
            found.outputs.append(tensor)
        else:
            (found.gradients if what == "gradient" else found.written)[name] = tensor
    return found

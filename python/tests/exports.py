"""What tests of sluice.export share: a model, and readers of the files that are written."""

import json
from pathlib import Path

import torch
from torch import nn


class Net(nn.Module):
    """Batch norm writes to buffers, dropout is random, and no gradient flows to `shift`."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(16, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("offset", torch.arange(3.0), persistent=False)

    def forward(self, x):
        with torch.no_grad():
            shift = x.square().mean()
        return self.head(self.drop(self.norm(self.fc(x)).relu())) * self.scale + self.offset + shift


def examples_of(path):
    """Reads the tensors in the file beside an archive, strictly by the format."""
    content = Path(f"{path}.examples").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    types = {"F32": torch.float32, "I64": torch.int64, "BF16": torch.bfloat16, "BOOL": torch.bool}
    tensors, end = {}, 0
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = bytearray(content[start + begin : start + end])
        flat = torch.frombuffer(raw, dtype=types[entry["dtype"]]) if raw else torch.empty(0)
        tensors[name] = flat.reshape(entry["shape"])
    assert start + end == len(content) and start % 8 == 0
    return tensors


def metadata_of(path):
    content = Path(f"{path}.examples").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return header.get("__metadata__", {})


def run(module, *inputs):
    torch.manual_seed(0)
    with torch.no_grad():
        return module(*inputs)

"""Checkpoints as sluice-trainer writes them (src/train/state), made by the tests themselves."""

import json
import struct

import torch
from torch import nn

from sluice._digest import Digest
from sluice._safetensors import write_tensors


class Net(nn.Module):
    """Batch norm has buffers, the readout is tied to the table, and `turns` is complex."""

    def __init__(self, width=8):
        super().__init__()
        self.table = nn.Embedding(11, width)
        self.norm = nn.BatchNorm1d(width)
        self.fc = nn.Linear(width, width)
        self.head = nn.Linear(width, 11)
        self.head.weight = self.table.weight
        self.turns = nn.Parameter(torch.randn(width, dtype=torch.complex64))
        self.register_buffer("seen", torch.zeros(3), persistent=False)
        self.offset = torch.ones(2)

    def forward(self, x):
        x = (self.fc(self.norm(self.table(x))) * self.turns).real
        return self.head(x)


def varied(module):
    """The module with other values in all of its tensors."""
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.copy_(tensor + 1 + torch.rand(tensor.shape))
    return module


def state_of(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def tied_of(module):
    """The names of tensors that have an earlier name, with that name."""
    first, tied = {}, {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if id(tensor) in first:
            tied[name] = first[id(tensor)]
        first.setdefault(id(tensor), name)
    return tied


def as_stored(tensor):
    return torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor.detach()


def digest_of(tensors):
    digest = Digest()
    for name, tensor in tensors.items():
        numbers = tensor.detach().contiguous().flatten().view(torch.uint8)
        digest.add(name.encode()).add(bytes(numbers.tolist()))
    return digest.hex()


def write_checkpoint(folder, module, *, scale=1, multipliers=(), extra=None, change=None):
    """Writes the module's state. `extra` has tensors that are in no state dict. `change` may write
    to the content of trial.json. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    state, tied = module.state_dict(), tied_of(module)
    stored = {name: as_stored(tensor) for name, tensor in state.items() if name not in tied}
    write_tensors(folder / "model.safetensors", {**stored, **(extra or {})}, {"format": "pt"})
    write_tensors(folder / "optimizer.safetensors", {})
    own = {**stored, **(extra or {})}
    about = {
        "format": "sluice trial",
        "version": 1,
        "step": 3,
        "network": {"name": "net.pt2", "scale": scale, "fingerprint": "0123456789abcdef"},
        "optimizer": "sgd",
        "precision": "float32",
        "recipe": {},
        "own": list(own),
        "not_in_state_dict": list(extra or {}),
        "complex": [name for name, tensor in state.items() if tensor.is_complex()],
        "tied": tied,
        "multipliers": list(multipliers),
        "model_digest": digest_of(own),
        "optimizer_digest": "0" * 16,
    }
    if change:
        change(about)
    (folder / "trial.json").write_text(json.dumps(about) + "\n")
    return folder


def write_raw(path, header, data=b""):
    """A safetensors file with this header, a text or an object."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)

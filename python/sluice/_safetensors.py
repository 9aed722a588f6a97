"""Writes files in the format of safetensors.

Such a file holds the length of its header, the header in JSON, and the bytes of the tensors.
"""

import ctypes
import json

import torch

_NAMES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.uint16: "U16",
    torch.int32: "I32",
    torch.uint32: "U32",
    torch.int64: "I64",
    torch.uint64: "U64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.complex64: "C64",
}


def can_write(tensor) -> bool:
    """Whether write_tensors() takes this tensor."""
    return tensor.dtype in _NAMES and tensor.layout is torch.strided and not tensor.is_meta


def write_tensors(path, tensors: dict, metadata: dict | None = None) -> None:
    """Writes a dict of tensors, and a dict of texts about them.

    Raises TypeError for an element type that the format lacks.
    """
    header, parts, end = {"__metadata__": metadata} if metadata else {}, [], 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise TypeError(f"{name}: {tensor.dtype} cannot be written to {path.name}")
        parts.append(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(ctypes.string_at(part.data_ptr(), part.numel() * part.element_size()))

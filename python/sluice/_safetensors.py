"""Writes and reads files in the format of safetensors.

Such a file holds the length of its header, the header in JSON, and the bytes of the tensors. A file
that is read may come from anywhere: its header is checked whole before anything else is read.
"""

import ctypes
import json
import math
import os
import stat
from collections import namedtuple

import torch

# Bounds of what is read, as in src/data/tensors/safetensors_header.h.
_MOST_HEADER_BYTES = 32 << 20
_MOST_TENSORS = 250_000
_MOST_NAME_BYTES = 1024
_MOST_AXES = 64
_METADATA = "__metadata__"

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
# What a checkpoint may hold: complex numbers are pairs there.
_READABLE = {name: dtype for dtype, name in _NAMES.items() if name[:2] not in ("F8", "C6")}

# A tensor in a file. Its bytes are counted from the end of the header.
Stored = namedtuple("Stored", "dtype shape begin end")


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


def read_plain(path, most_bytes) -> bytes:
    """The content of a file that is no link, pipe or device, and not longer than this."""
    with _open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise ValueError(f"expected at most {most_bytes} bytes, found {size}")
        return file.read(most_bytes)


def _open_plain(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if os.path.islink(path):
            raise ValueError("expected a file, found a link") from None
        raise
    file = open(descriptor, "rb", buffering=0)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return file
    file.close()
    raise ValueError("expected a file, found a folder, a pipe or a device")


class TensorFile:
    """A file whose tensors are read one by one. Raises ValueError for a file that is damaged, or
    that this reader does not take.

    Use it as `with TensorFile(path) as file:`. `file.tensors` has a Stored for each name.
    """

    def __init__(self, path):
        self._file = _open_plain(path)
        try:
            size = os.fstat(self._file.fileno()).st_size
            if size < 8:
                raise ValueError(f"expected a safetensors file, found {size} bytes")
            length = int.from_bytes(self._bytes(0, 8), "little")
            if length > min(size - 8, _MOST_HEADER_BYTES):
                raise ValueError(
                    f"expected a header of at most {min(size - 8, _MOST_HEADER_BYTES)} bytes, "
                    f"found {length}: it is another file, or one that was cut"
                )
            self._start = 8 + length
            self.tensors = _tensors_in(self._bytes(8, length), size - self._start)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def read_bytes(self, name) -> bytearray:
        stored = self.tensors[name]
        return self._bytes(self._start + stored.begin, stored.end - stored.begin)

    def read(self, name) -> torch.Tensor:
        stored, raw = self.tensors[name], self.read_bytes(name)
        if not raw:
            return torch.empty(stored.shape, dtype=stored.dtype)
        if stored.dtype is torch.bool and max(raw) > 1:
            raise ValueError(f"{_shown(name)}: expected booleans, found the byte {max(raw)}")
        return torch.frombuffer(raw, dtype=stored.dtype).reshape(stored.shape)

    def _bytes(self, begin, count):
        content = bytearray(count)
        view, at = memoryview(content), 0
        self._file.seek(begin)
        while at < count:
            read = self._file.readinto(view[at:])
            if not read:
                raise ValueError(f"expected {begin + count} bytes, found {begin + at}: it was cut")
            at += read
        return content


def _tensors_in(header, data_bytes) -> dict:
    try:
        content = json.loads(
            header.decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError:
        raise ValueError("expected a header in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a header in JSON: {error}") from None
    except RecursionError:
        raise ValueError("expected a header in JSON, found one that is nested too deeply") from None
    if not isinstance(content, dict) or header[:1] != b"{":
        raise ValueError("expected a header that is a JSON object")
    texts = content.pop(_METADATA, {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"expected {_METADATA} to be an object of texts")
    if len(content) > _MOST_TENSORS:
        raise ValueError(f"expected at most {_MOST_TENSORS} tensors, found {len(content)}")
    tensors = {name: _stored(name, entry) for name, entry in content.items()}
    end = 0
    for name, stored in sorted(tensors.items(), key=lambda item: (*item[1][2:], item[0])):
        if stored.begin != end:
            raise ValueError(
                f"{_shown(name)}: expected it to begin at {end}, where the tensor before it ends, "
                f"found {stored.begin}"
            )
        end = stored.end
    if end != data_bytes:
        raise ValueError(
            f"expected {end} bytes of tensors, found {data_bytes}: it is another file, or one that "
            "was cut"
        )
    return tensors


def _stored(name, entry) -> Stored:
    if not 1 <= len(name.encode(errors="surrogatepass")) <= _MOST_NAME_BYTES:
        raise ValueError(f"expected names of 1 to {_MOST_NAME_BYTES} bytes, found {_shown(name)}")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{_shown(name)}: expected an object with dtype, shape and data_offsets")
    dtype = _READABLE.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise ValueError(
            f"{_shown(name)}: expected a dtype among {', '.join(_READABLE)}, found "
            f"{_shown(entry['dtype'])}"
        )
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_sizes(shape) or len(shape) > _MOST_AXES:
        raise ValueError(f"{_shown(name)}: expected a shape such as [64, 3], found {_shown(shape)}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(
            f"{_shown(name)}: expected data_offsets such as [0, 768], found {_shown(offsets)}"
        )
    count = math.prod(shape) * dtype.itemsize
    if offsets[1] - offsets[0] != count:
        raise ValueError(
            f"{_shown(name)}: expected {_shown(count)} bytes for the shape {_shown(shape)}, found "
            f"data_offsets with {offsets[1] - offsets[0]}"
        )
    return Stored(dtype, tuple(shape), *offsets)


def _are_sizes(values) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < 1 << 62 for value in values
    )


def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice in the header")
    return found


def _refuse_constant(name):
    raise ValueError(f"expected a header in JSON, found {name}")


def _shown(value) -> str:
    """A value of a file, for a message: short, and without characters that a terminal obeys."""
    text = ascii(value)
    return text if len(text) <= 200 else text[:200] + "..."

"""The package's own reader of safetensors files: what is damaged is refused, and never read far."""

import os
import struct
import tracemalloc

import pytest
import torch
from checkpoints import write_raw

from sluice._safetensors import TensorFile, write_tensors


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def refusal(path):
    with pytest.raises(ValueError) as caught, TensorFile(path) as file:
        for name in file.tensors:
            file.read(name)
    return str(caught.value)


def test_what_is_written_is_read(tmp_path):
    generator = torch.Generator().manual_seed(0)
    real = torch.randn(3, 4, generator=generator)
    tensors = {
        str(dtype): real.to(dtype)
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    }
    tensors.update(
        {
            str(dtype): (real * 9).abs().to(dtype)
            for dtype in (
                torch.int64,
                torch.int32,
                torch.int16,
                torch.int8,
                torch.uint8,
                torch.uint16,
                torch.uint32,
                torch.uint64,
                torch.bool,
            )
        }
    )
    tensors.update(one=torch.tensor(3.5), none=torch.empty(0, 4))
    write_tensors(tmp_path / "file", tensors, {"format": "pt"})
    with TensorFile(tmp_path / "file") as file:
        assert file.tensors.keys() == tensors.keys()
        for name, tensor in tensors.items():
            read = file.read(name)
            assert read.dtype is tensor.dtype and read.shape == tensor.shape
            assert torch.equal(read, tensor)


def test_bfloat16_is_read_bit_by_bit(tmp_path):
    write_raw(
        tmp_path / "file", {"x": entry([2], 0, 4, "BF16")}, struct.pack("<HH", 0x3F80, 0xC0A0)
    )
    with TensorFile(tmp_path / "file") as file:
        assert file.read("x").tolist() == [1.0, -5.0]


def test_a_file_that_was_cut_is_refused(tmp_path):
    path = tmp_path / "file"
    write_tensors(path, {"x": torch.ones(100), "y": torch.ones(3)})
    size = path.stat().st_size
    for left in (0, 7, 8, 20, size - 412, size - 1):
        os.truncate(path, left)
        assert refusal(path).startswith("expected ")
        write_tensors(path, {"x": torch.ones(100), "y": torch.ones(3)})
    with TensorFile(path) as file, pytest.raises(ValueError, match="it was cut"):
        os.truncate(path, size - 1)
        file.read("y")


@pytest.mark.parametrize("length", [1 << 40, (1 << 64) - 1, 1 << 63, 33 << 20])
def test_a_huge_header_is_not_read(tmp_path, length):
    path = tmp_path / "file"
    path.write_bytes(struct.pack("<Q", length) + b"{}")
    os.truncate(path, 1 << 41)
    tracemalloc.start()
    try:
        message = refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert message == (
        f"expected a header of at most {32 << 20} bytes, found {length}: it is another file, or "
        "one that was cut"
    )


@pytest.mark.parametrize(
    "header, data, words",
    [
        ({"x": entry([2], 0, 8, "F12")}, 8, "expected a dtype among"),
        ({"x": entry([2], 0, 8, "C64")}, 8, "expected a dtype among"),
        ({"x": entry([2], 0, 8, ["F32"])}, 8, "expected a dtype among"),
        (
            {"x": entry([2], 0, 4)},
            4,
            "expected 8 bytes for the shape [2], found data_offsets with 4",
        ),
        ({"x": entry([1 << 40], 0, 8)}, 8, "expected 4398046511104 bytes"),
        ({"x": entry([1 << 61] * 64, 0, 8)}, 8, "bytes for the shape"),
        ({"x": entry([1] * 65, 0, 4)}, 4, "expected a shape such as [64, 3]"),
        ({"x": entry([-2], 0, 8)}, 8, "expected a shape such as [64, 3], found [-2]"),
        ({"x": entry([True], 0, 4)}, 4, "expected a shape"),
        ({"x": entry([2.0], 0, 8)}, 8, "expected a shape"),
        ({"x": entry(2, 0, 8)}, 8, "expected a shape"),
        ({"x": entry([1 << 70], 0, 8)}, 8, "expected a shape"),
        ({"x": entry([2], 8, 0)}, 8, "expected data_offsets"),
        ({"x": {**entry([2], 0, 8), "data_offsets": [0]}}, 8, "expected data_offsets"),
        ({"x": {**entry([2], 0, 8), "more": 1}}, 8, "expected an object with dtype"),
        ({"x": [1]}, 8, "expected an object with dtype"),
        ({"x": entry([2], 4, 12)}, 12, "expected it to begin at 0"),
        ({"x": entry([2], 0, 8), "y": entry([2], 4, 12)}, 12, "'y': expected it to begin at 8"),
        ({"x": entry([2], 0, 8), "y": entry([2], 12, 20)}, 20, "'y': expected it to begin at 8"),
        ({"x": entry([2], 0, 8)}, 9, "expected 8 bytes of tensors, found 9"),
        ({"x": entry([2], 0, 8)}, 7, "expected 8 bytes of tensors, found 7"),
        ({"": entry([2], 0, 8)}, 8, "expected names of 1 to 1024 bytes"),
        ({"x" * 1025: entry([2], 0, 8)}, 8, "expected names of 1 to 1024 bytes"),
        ({"__metadata__": {"a": 1}}, 0, "expected __metadata__ to be an object of texts"),
        ([], 0, "expected a header that is a JSON object"),
        (b"", 0, "expected a header in JSON"),
        (b'{"x"', 0, "expected a header in JSON"),
        (b'{"x": NaN}', 0, "expected a header in JSON, found NaN"),
        (b"\xff{}", 0, "expected a header in UTF-8"),
        (b" {}", 0, "expected a header that is a JSON object"),
        (b'{"x":1,"x":1}', 0, "a name is there twice in the header"),
        (b'{"x":' * 100_000, 0, "expected a header in JSON, found one that is nested too deeply"),
        ({"x": entry([1], 0, 1, "BOOL")}, 1, "expected booleans, found the byte 7"),
    ],
)
def test_wrong_headers_are_refused(tmp_path, header, data, words):
    write_raw(tmp_path / "file", header, b"\x07" * data)
    assert words in refusal(tmp_path / "file")

"""Files of tensors: ours are read by plain Python, and Python's by us."""

import json
import pathlib
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "lean-alone" / "bin" / "lean_check"
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1,
         "BOOL": 1}


def write(path, tensors, metadata=None):
    """tensors: name -> (dtype, shape, bytes), laid out in this order."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, elements) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    content = path.read_bytes()
    [length] = struct.unpack("<Q", content[:8])
    assert length % 8 == 0, "elements are aligned"
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    metadata = header.pop("__metadata__", {})
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items()}, metadata


def copy(source, target, code=0):
    run = subprocess.run([PROGRAM, "--tensors", source, target], check=False, text=True,
                         stderr=subprocess.PIPE)
    assert run.returncode == code, run.stderr
    return run.stderr


@pytest.fixture
def tensors():
    values = {"F64": ("d", [1.5, -0.0]), "F32": ("f", [3.25, float("inf")]), "F16": ("e", [0.5, 2]),
              "BF16": ("H", [0x3F80, 0x4000]), "I64": ("q", [-1, 2**62]), "I32": ("i", [-5, 7]),
              "I16": ("h", [-300, 300]), "I8": ("b", [-1, 1]), "U8": ("B", [0, 255]),
              "BOOL": ("?", [True, False])}
    made = {f"tensor.{dtype}.ä": (dtype, [2, 1], struct.pack("<2" + code, *numbers))
            for dtype, (code, numbers) in values.items()}
    made["number"] = ("I64", [], struct.pack("<q", 7))
    made["empty"] = ("F32", [0, 3], b"")
    return made


def test_what_python_wrote_is_read_and_what_we_write_is_read_by_python(tmp_path, tensors):
    metadata = {"format": "pt", "note": "tab\t\"quote\" ä"}
    write(tmp_path / "theirs", tensors, metadata)
    copy(tmp_path / "theirs", tmp_path / "ours")
    assert read(tmp_path / "ours") == (tensors, metadata)


def test_the_order_of_the_source_does_not_matter(tmp_path, tensors):
    write(tmp_path / "one", tensors)
    write(tmp_path / "other", dict(reversed(tensors.items())))
    for name in ("one", "other"):
        copy(tmp_path / name, tmp_path / f"{name}.copy")
    assert (tmp_path / "one.copy").read_bytes() == (tmp_path / "other.copy").read_bytes()


def test_the_package_and_the_program_agree(tmp_path):
    """sluice.export writes such files too."""
    torch = pytest.importorskip("torch")
    from sluice._safetensors import write_tensors

    given = {
        "input.0": torch.arange(6).reshape(2, 3),
        "output.0": torch.tensor([1.5, float("nan")]),
        "half": torch.tensor([1.0]).bfloat16(),
    }
    write_tensors(tmp_path / "theirs", given)
    copy(tmp_path / "theirs", tmp_path / "ours")
    tensors, _ = read(tmp_path / "ours")
    assert {name: (dtype, shape) for name, (dtype, shape, _) in tensors.items()} == {
        "input.0": ("I64", [2, 3]), "output.0": ("F32", [2]), "half": ("BF16", [1])}
    assert tensors["input.0"][2] == struct.pack("<6q", *range(6))


def test_a_damaged_file_is_refused_and_nothing_is_written(tmp_path, tensors):
    write(tmp_path / "theirs", tensors)
    whole = (tmp_path / "theirs").read_bytes()
    for length in (0, 7, 8, 40, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert str(tmp_path / "cut") in copy(tmp_path / "cut", tmp_path / "ours", code=1)
        assert not (tmp_path / "ours").exists()

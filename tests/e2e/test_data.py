"""'sluice data import': from packed files to a folder that is whole, or not there."""

import gzip
import pathlib
import signal
import struct
import zlib

import pytest
from house import SHIM, wait_until

numpy = pytest.importorskip("numpy")

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def refused(house, *words, code=2):
    done = house.run("data", "import", *words, check=False)
    assert done.returncode == code, done.stderr
    assert not list(house.folder.glob("out*")), "nothing is left"
    assert done.stderr.startswith("sluice: ")
    return done.stderr


def png(width, pixels):
    """An RGB picture with these rows, each filtered in another way."""

    def chunk(kind, content):
        return (struct.pack(">I", len(content)) + kind + content
                + struct.pack(">I", zlib.crc32(kind + content)))

    lines, before = b"", bytes(3 * width)
    for number, row in enumerate(pixels):
        if number % 2:  # the difference from the row above
            lines += b"\2" + bytes((new - old) % 256 for new, old in zip(row, before, strict=True))
        else:
            lines += b"\0" + row
        before = row
    header = struct.pack(">IIBBBBB", width, len(pixels), 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines))
            + chunk(b"IEND", b""))


def test_fashion_mnist_is_unpacked_and_described(house):
    if not FASHION.exists():
        pytest.skip("needs the package dataset-fashion-mnist")
    told = house.run("data", "import", FASHION, "--output", "fashion").stdout
    assert "fashion: 60000 examples to train on, 10000 for tests" in told
    assert "uint8 [1, 28, 28], 10 classes" in told
    for packed in FASHION.glob("*.gz"):
        assert (house.folder / "fashion" / packed.stem).read_bytes() == gzip.decompress(
            packed.read_bytes())
    again = house.run("data", "import", FASHION, "--output", "fashion", check=False)
    assert again.returncode == 1 and "--replace" in again.stderr
    found = house.json("data", "import", FASHION, "--output", "fashion", "--replace")
    assert found["data"] == {"kind": "idx", "input": "uint8 [1, 28, 28]", "target": "int64 []",
                             "classes": 10, "train": 60000, "validation": 0, "test": 10000}
    assert not house.store.exists()


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_arrays_of_numpy_are_unpacked_as_numpy_reads_them(house, save):
    arrays = {"x_train": numpy.arange(24, dtype="<f4").reshape(6, 2, 2),
              "y_train": numpy.array([0, 1, 2, 0, 1, 2]),
              "x_test": numpy.ones((3, 2, 2), "<f4"), "y_test": numpy.zeros(3, int)}
    save(house.folder / "all.npz", **arrays)
    found = house.json("data", "import", "all.npz", "--output", "data")["data"]
    assert (found["train"], found["test"], found["classes"]) == (6, 3, 3)
    for name, array in arrays.items():
        read = numpy.load(house.folder / "data" / f"{name}.npy")
        assert read.dtype == array.dtype and (read == array).all()


def test_sheets_of_pictures_are_unpacked_as_numpy_reads_them(house):
    sheets = house.folder / "sheets"
    sheets.mkdir()
    images = numpy.random.default_rng(0).integers(0, 256, (7, 16, 3), "u1")
    rows = [row.tobytes() for row in images]
    (sheets / "data_batch_1.png").write_bytes(png(16, rows[:3]))
    (sheets / "data_batch_2.png").write_bytes(png(16, rows[3:5]))
    (sheets / "test_batch.png").write_bytes(png(16, rows[5:]))
    (sheets / "train_lables.json").write_text("[3, 1, 4, 1, 5]")
    (sheets / "test_lables.json").write_text("[2, 0]")
    house.run("data", "import", "sheets", "--output", "data")
    expected = images.reshape(7, 4, 4, 3).transpose(0, 3, 1, 2)
    assert (numpy.load(house.folder / "data/train_inputs.npy") == expected[:5]).all()
    assert (numpy.load(house.folder / "data/test_inputs.npy") == expected[5:]).all()
    assert numpy.load(house.folder / "data/train_targets.npy").tolist() == [3, 1, 4, 1, 5]


def test_what_cannot_be_read_says_what_to_do(house):
    assert "expected files or folders" in refused(house)
    assert "--output FOLDER" in refused(house, "x.npz")
    assert "no such file" in refused(house, "x.npz", "--output", "out")
    assert "--max-gb: expected" in refused(house, "x.npz", "--output", "out", "--max-gb", "0")
    (house.folder / "cat.jpeg").write_bytes(b"\xff\xd8")
    assert "found something else" in refused(house, "cat.jpeg", "--output", "out")
    numpy.savez(house.folder / "f.npz", x_train=numpy.asfortranarray(numpy.ones((2, 3))))
    assert "numpy.ascontiguousarray" in refused(house, "f.npz", "--output", "out")
    numpy.savez(house.folder / "o.npz", x_train=numpy.array([None, "a"], object))
    assert "expected numbers" in refused(house, "o.npz", "--output", "out")
    (house.folder / "t.npy.gz").write_bytes(gzip.compress(b"x" * 1000)[:-9])
    assert "truncated?" in refused(house, "t.npy.gz", "--output", "out", code=1)


def test_a_full_disk_leaves_nothing(house):
    numpy.savez(house.folder / "x.npz", x_train=numpy.zeros((1000, 100)))
    full = house.run("data", "import", "x.npz", "--output", "out", check=False, LD_PRELOAD=SHIM,
                     SLUICE_FAULT_UNDER=str(house.folder), SLUICE_FAULT_NOSPACE_AFTER="100000")
    assert full.returncode == 1, full.stderr
    assert "No space left on device" in full.stderr
    assert not list(house.folder.glob("out*"))


def test_ctrl_c_leaves_nothing(house):
    """The source never ends in time: a small file of many zeros, many times."""
    zeros = gzip.compress(bytes(1 << 24))
    (house.folder / "train.bin.gz").write_bytes(zeros * 2000)
    process = house.start("data", "import", "train.bin.gz", "--output", "out")
    wait_until(lambda: list(house.folder.glob("out.*/train.bin.*")), what="the first bytes")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "nothing was written" in errors
    assert not list(house.folder.glob("out*"))

"""Archives that mean harm: `sluice-trainer check` refuses them with a message, soon and with little
memory."""

import json
import os
import pathlib
import resource
import struct
import subprocess
import zipfile

import pytest

BIN = os.environ.get("SLUICE_BIN_DIR", pathlib.Path(__file__).parents[2] / "build/release/bin")
TRAINER = pathlib.Path(BIN) / "sluice-trainer"
HUGE = 1 << 40
BATCH = {"as_expr": {"expr_str": "Symbol('s0', integer=True)", "hint": {"as_int": 2}}}


def number(value):
    return {"as_int": value}


def tensor(name):
    return {"as_tensor": {"name": name}}


def meta(*sizes):
    return {"dtype": 7, "sizes": [each if isinstance(each, dict) else number(each)
                                  for each in sizes]}


def node(target, inputs, output):
    return {
        "target": f"torch.ops.aten.{target}",
        "inputs": [{"name": name, "arg": value, "kind": 1} for name, value in inputs.items()],
        "outputs": [tensor(output)],
        "metadata": {"nn_module_stack": "L__self__,,M;L__self__fc,fc,torch.nn.Linear"},
    }


class Archive:
    """y = linear(x, weight), and what a test makes of it. The sizes of x are [batch, 4]."""

    def __init__(self):
        self.weight = struct.pack("<12f", *(each / 10 for each in range(12)))
        self.names = ["fc.weight"]
        self.graph = {
            "inputs": [tensor("p_weight"), tensor("x")],
            "outputs": [tensor("y")],
            "nodes": [node("linear.default",
                           {"input": tensor("x"), "weight": tensor("p_weight")}, "y")],
            "tensor_values": {"x": meta(BATCH, 4), "p_weight": meta(3, 4), "y": meta(BATCH, 3)},
            "sym_int_values": {},
        }
        self.specs = [
            {"parameter": {"arg": {"name": "p_weight"}, "parameter_name": "fc.weight"}},
            {"user_input": {"arg": tensor("x")}},
        ]
        self.stored_sizes = [3, 4]

    def add(self, target, inputs, sizes):
        """A node behind y, whose result is the output."""
        self.graph["nodes"].append(node(target, inputs, "z"))
        self.graph["tensor_values"]["z"] = meta(*sizes)
        self.graph["outputs"] = [tensor("z")]

    def write(self, path):
        strides = [number(self.stored_sizes[1]), number(1)]
        entry = {
            "path_name": "weight_0", "is_param": True, "use_pickle": False,
            "tensor_meta": {
                "dtype": 7, "sizes": [number(each) for each in self.stored_sizes],
                "requires_grad": True, "strides": strides, "storage_offset": number(0),
                "layout": 7,
            },
        }
        program = {
            "schema_version": {"major": 8, "minor": 20},
            "torch_version": "2.13.0",
            "verifiers": ["TRAINING"],
            "range_constraints": {"s0": {"min_val": 1, "max_val": None}},
            "graph_module": {"graph": self.graph, "signature": {"input_specs": self.specs}},
        }
        config = "{" + ", ".join(f'"{name}": {json.dumps(entry)}' for name in self.names) + "}"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("net/models/model.json", json.dumps(program))
            file.writestr("net/data/weights/model_weights_config.json", f'{{"config": {config}}}')
            file.writestr("net/data/constants/model_constants_config.json", '{"config": {}}')
            file.writestr("net/data/weights/weight_0", self.weight)
            file.writestr("net/archive_format", "pt2")
            file.writestr("net/archive_version", "0\n")
            file.writestr("net/byteorder", "little")
        return path


def check(archive, tmp_path, *words):
    path = archive.write(tmp_path / "net.pt2")
    limited = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    told = subprocess.run([TRAINER, "check", path, "--without", "forward", *words],
                          capture_output=True, text=True, timeout=60, check=False)
    grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - limited
    assert grown < 1 << 20, "it has taken more than 1 GiB"
    return told


def refused(archive, tmp_path):
    told = check(archive, tmp_path)
    assert told.returncode == 1, told.stdout + told.stderr
    assert told.stderr.startswith(f"sluice-trainer: {tmp_path / 'net.pt2'}"), told.stderr
    assert told.stderr.count("\n") == 1, "a message is one line"
    return told.stderr


def test_the_archive_itself_is_taken(tmp_path):
    told = check(Archive(), tmp_path, "--without", "coordinates")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("fused       equal")
    assert told.stdout.endswith("fallbacks   none of 1 nodes\n")


@pytest.mark.parametrize("target, inputs, sizes", [
    ("from_file.default", {"filename": {"as_string": "/etc/passwd"}}, [4]),
    ("set_.source_Tensor", {"self": tensor("y"), "source": tensor("x")}, [BATCH, 4]),
    ("resize_.default", {"self": tensor("y"), "size": {"as_ints": [HUGE]}}, [HUGE]),
    ("as_strided.default", {"self": tensor("y"), "size": {"as_ints": [1000]},
                            "stride": {"as_ints": [1]}}, [1000]),
    ("record_stream.default", {"self": tensor("y")}, [BATCH, 3]),
    ("normal.Tensor_Tensor", {"mean": tensor("y"), "std": tensor("y")}, [BATCH, 3]),
    ("_foreach_add.Scalar", {"self": tensor("y"), "scalar": number(1)}, [BATCH, 3]),
])
def test_operators_of_files_memory_and_streams_are_refused(tmp_path, target, inputs, sizes):
    archive = Archive()
    archive.add(target, inputs, sizes)
    assert f"aten.{target}" in refused(archive, tmp_path)


@pytest.mark.parametrize("target, inputs, sizes", [
    ("zeros.default", {"size": {"as_ints": [HUGE, 8]}}, [HUGE, 8]),
    ("expand.default", {"self": tensor("y"), "size": {"as_ints": [HUGE, 2, 3]}}, [HUGE, 2, 3]),
    ("repeat.default", {"self": tensor("y"), "repeats": {"as_ints": [HUGE, 1]}}, [2 * HUGE, 3]),
    ("arange.default", {"end": number(HUGE)}, [HUGE]),
    ("constant_pad_nd.default", {"self": tensor("y"), "pad": {"as_ints": [HUGE // 2, 0]}},
     [BATCH, HUGE // 2 + 3]),
    # What is stated is another size than what comes out.
    ("zeros.default", {"size": {"as_ints": [HUGE, 8]}}, [4]),
    ("arange.default", {"end": number(HUGE)}, [BATCH, 3]),
])
def test_sizes_that_no_machine_has_are_refused(tmp_path, target, inputs, sizes):
    archive = Archive()
    archive.add(target, inputs, sizes)
    assert f"aten.{target}" in refused(archive, tmp_path)


def test_more_nodes_than_any_network_has_are_refused(tmp_path):
    archive = Archive()
    for i in range(20_000):
        before = "y" if i == 0 else f"r{i - 1}"
        archive.graph["nodes"].append(node("relu.default", {"self": tensor(before)}, f"r{i}"))
        archive.graph["tensor_values"][f"r{i}"] = meta(BATCH, 3)
    archive.graph["nodes"] *= 60  # 1.2 million
    path = archive.write(tmp_path / "net.pt2")
    told = subprocess.run([TRAINER, "check", path], capture_output=True, text=True, timeout=60,
                          check=False)
    assert told.returncode == 1
    assert told.stderr.startswith(f"sluice-trainer: {path}"), told.stderr


@pytest.mark.parametrize("size", [0, 4, 47])
def test_tensors_that_are_shorter_than_stated_are_refused(tmp_path, size):
    archive = Archive()
    archive.weight = b"\0" * size
    assert "weight" in refused(archive, tmp_path)


@pytest.mark.parametrize("size", [49, 4800])
def test_a_tensor_may_be_a_part_of_what_is_stored(tmp_path, size):
    archive = Archive()
    archive.weight = b"\0" * size
    assert check(archive, tmp_path, "--without", "coordinates").returncode == 0


def test_a_value_that_two_nodes_compute_is_refused(tmp_path):
    archive = Archive()
    archive.graph["nodes"] *= 2  # y is computed twice
    assert "'y'" in refused(archive, tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3e38])
def test_values_that_are_no_numbers_end_the_check(tmp_path, value):
    archive = Archive()
    archive.weight = struct.pack("<12f", *([value] * 12))
    told = check(archive, tmp_path)
    assert told.returncode in (0, 1)
    assert told.stderr.count("\n") <= 1, told.stderr

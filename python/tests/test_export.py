"""sluice.export: what the files that it writes contain, and that the model is unchanged."""

import dataclasses
import os
import zipfile
from collections import OrderedDict, namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from controller import run_outside
from exports import Net, examples_of, run
from torch import nn

import sluice

HERE = Path(__file__).resolve().parent


class Tied(nn.Module):
    """A model in which one weight has two names, and whose forward computes the loss."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 6)
        self.head = nn.Linear(6, 50, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, targets):
        logits = self.head(self.embedding(tokens))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Output(OrderedDict):
    """Like the outputs of Hugging Face models: a dict whose keys are also attributes."""

    __getattr__ = OrderedDict.__getitem__


class Speaker(nn.Module):
    """Like a Hugging Face model: keyword inputs, a cache, LayerDrop, an output with names."""

    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(use_cache=True, layerdrop=0.5)
        self.layerdrop = 0.5
        self.cached = []
        self.embedding = nn.Embedding(50, 6)
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        self.head = nn.Linear(6, 50)

    def forward(self, input_ids=None, attention_mask=None, labels=None, **options):
        hidden = self.embedding(input_ids)
        if attention_mask is not None:
            hidden = hidden * attention_mask.unsqueeze(-1)
        for layer in self.layers:
            if self.training and torch.rand([]) < self.layerdrop:
                continue
            hidden = layer(hidden)
        logits = self.head(hidden)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        self.cached.append(self.config.use_cache)
        return Output(loss=loss, logits=logits, hidden=hidden)


class Returns(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.fc = nn.Linear(8, 3)
        self.make = make

    def forward(self, x):
        return self.make(self.fc(x))


class Broken(Net):
    def forward(self, x):
        self.last = super().forward(x)
        return self.last if x.sum() > 0 else x


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(1)
    return Net()


@pytest.fixture(scope="module")
def exported(net, tmp_path_factory):
    """The archive of the net. It was exported in eval mode, with one part in training mode."""
    net.eval()
    net.drop.train()
    path = tmp_path_factory.mktemp("export") / "net.of.mine.pt2"
    assert sluice.export(net, torch.full((4, 8), 0.123456), path) == path
    return path


def test_the_archive_computes_what_the_model_does_in_training(net, exported):
    program = torch.export.load(exported)
    assert program.dialect == "TRAINING"
    assert sorted(program.state_dict) == sorted(net.state_dict())
    assert program.graph_signature.user_inputs == ("x",)
    eager, loaded = Net().train(), program.module()
    eager.load_state_dict(net.state_dict())
    for batch in (4, 7, 1000):
        x = torch.randn(batch, 8)
        assert torch.equal(run(eager, x), run(loaded, x))
    for name, buffer in eager.named_buffers():
        assert torch.equal(buffer, loaded.get_buffer(name)), name
    x = torch.randn(3, 8)
    for module in (eager, loaded):
        torch.manual_seed(0)
        module(x).square().sum().backward()
    for name, parameter in eager.named_parameters():
        assert torch.equal(parameter.grad, loaded.get_parameter(name).grad), name


def test_the_model_is_left_as_it_was(net, exported, tmp_path):
    net.eval()
    net.drop.train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    versions = [tensor._version for tensor in net.state_dict().values()]
    attributes = set(vars(net))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with torch.no_grad():
        path = sluice.export(net, torch.ones(4, 8), tmp_path / exported.name)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.rand(3), expected)
    assert path.read_bytes() == exported.read_bytes()  # no_grad() around the call changes nothing
    assert [name for name, module in net.named_modules() if module.training] == ["drop"]
    assert set(vars(net)) == attributes
    assert [tensor._version for tensor in net.state_dict().values()] == versions
    saved = torch.export.load(path).state_dict
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, before[name]) and torch.equal(saved[name], before[name]), name


def test_the_examples_can_be_checked_against_the_archive(exported):
    examples = examples_of(exported)
    assert list(examples) == ["input.0", "output.0", "eval_output.0"]
    assert examples["input.0"].shape == (4, 8) and len(examples["input.0"].unique()) > 8
    outputs = run(torch.export.load(exported).module(), examples["input.0"])
    assert torch.equal(outputs, examples["output.0"])


def test_the_root_folder_is_named_like_the_file(exported):
    with zipfile.ZipFile(exported) as archive:
        roots = {name.split("/")[0] for name in archive.namelist()}
        assert roots == {"net.of.mine"}
        assert "net.of.mine/models/model.json" in archive.namelist()
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    assert sorted(os.listdir(exported.parent)) == ["net.of.mine.pt2", "net.of.mine.pt2.examples"]


def test_no_path_and_no_data_of_the_user_leaves_the_machine(exported):
    content = exported.read_bytes() + Path(f"{exported}.examples").read_bytes()
    for path in {Path.home(), Path.cwd(), HERE, HERE.parent, exported.parent} - {Path("/")}:
        assert str(path).encode() not in content, path
    assert b"site-packages" not in content and b"test_export.py" not in content
    assert bytes(torch.full((2,), 0.123456).view(torch.uint8).tolist()) not in content


def test_inputs_are_kept_if_asked_for(net, tmp_path):
    dataset = torch.full((100, 8), 0.654321)
    path = sluice.export(net, (dataset[:2],), tmp_path / "net.pt2", keep_inputs=True)
    (kept,), _ = torch.export.load(path).example_inputs
    assert torch.equal(kept, dataset[:2]) and torch.equal(examples_of(path)["input.0"], dataset[:2])
    pattern = bytes(dataset[0, :1].view(torch.uint8).tolist())
    assert path.read_bytes().count(pattern) == 2 * 8  # the rest of the storage is not in the file


def test_the_same_model_makes_the_same_files(net, exported, tmp_path):
    torch.manual_seed(17)
    again = sluice.export(net, torch.ones(4, 8), str(tmp_path / exported.name))
    assert again.read_bytes() == exported.read_bytes()
    assert Path(f"{again}.examples").read_bytes() == Path(f"{exported}.examples").read_bytes()


def test_tied_weights_and_a_loss_inside(tmp_path):
    model = Tied()
    tokens = torch.randint(7, 50, (1, 5))
    targets = tokens.clone()
    targets[0, 0] = -100  # cross_entropy ignores -100, and accepts no other negative number
    path = sluice.export(model, (tokens, targets), tmp_path / "tied.pt2")
    program = torch.export.load(path)
    assert list(program.state_dict) == ["embedding.weight", "head.weight"]
    assert program.graph_signature.user_inputs == ("tokens", "targets")
    for batch in (1, 3):
        inputs = torch.randint(0, 50, (batch, 5)), torch.randint(0, 50, (batch, 5))
        assert torch.equal(run(model, *inputs), run(program.module(), *inputs))
    examples = examples_of(path)
    assert examples["input.0"].shape == (2, 5) and examples["output.0"].shape == ()
    assert examples["input.1"].min() >= 0 and examples["input.1"].max() <= tokens.max()
    assert not torch.equal(examples["input.0"][:1], tokens)


def test_keywords_a_cache_and_layers_that_may_be_left_out(tmp_path):
    model = Speaker().eval()
    names = ("labels", "input_ids", "attention_mask")
    inputs = {name: torch.ones(2, 4, dtype=torch.long) for name in names}
    program = torch.export.load(sluice.export(model, inputs, tmp_path / "speaker.pt2"))
    assert program.graph_signature.user_inputs == names
    assert list(program.state_dict) == list(model.state_dict())
    assert vars(model.config) == {"use_cache": True, "layerdrop": 0.5} and model.layerdrop == 0.5
    assert not model.training and "forward" not in vars(model) and set(model.cached) == {False}
    model.train().layerdrop = 0
    other = {name: torch.randint(0, 2, (3, 4)) for name in names}
    loss = run(lambda: model(**other))["loss"]
    assert torch.equal(run(program.module(), *other.values()), loss)

    path = sluice.export(model, {"input_ids": inputs["input_ids"]}, tmp_path / "speaker.pt2")
    logits = run(lambda: model(other["input_ids"]))["logits"]
    assert torch.equal(run(torch.export.load(path).module(), other["input_ids"]), logits)


@dataclasses.dataclass
class Named:
    logits: torch.Tensor
    hidden: torch.Tensor


Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda y: Named(y, y), 1),
        (lambda y: (y, y + 1), 2),
        (lambda y: Pair(y, y.bfloat16()), 2),
        (lambda y: [y, y > 0, y[:, :0]], 3),
    ],
)
def test_outputs_of_many_kinds(make, count, tmp_path):
    path = sluice.export(Returns(make), torch.randn(2, 8), tmp_path / "net.pt2")
    examples = examples_of(path)
    outputs = run(torch.export.load(path).module(), examples["input.0"])
    outputs = [outputs] if count == 1 else list(outputs)
    assert len(outputs) == count and len(examples) == 1 + 2 * count
    for place, output in enumerate(outputs):
        assert torch.equal(output, examples[f"output.{place}"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y: {"hidden": y, "pooled": y, "loss": None}, r"hidden, pooled, loss; wrap"),
        (lambda y: Returns, r"found type"),
        (lambda y: None, r"found NoneType"),
        (lambda y: (y, "text"), r"found str"),
    ],
)
def test_outputs_nobody_can_train_on(make, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        sluice.export(Returns(make), torch.randn(2, 8), tmp_path / "net.pt2")
    assert os.listdir(tmp_path) == []


class Follows(nn.Module):
    """A teacher that follows the student: forward writes to parameters that are not trained."""

    def __init__(self):
        super().__init__()
        self.student, self.teacher = nn.Linear(8, 3), nn.Linear(8, 3).requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            self.teacher.weight.lerp_(self.student.weight, 0.1)
        return (self.student(x) - self.teacher(x)).square().mean()


def test_parameters_that_forward_changes_are_kept(tmp_path):
    model = Follows()
    before = model.teacher.weight.clone()
    path = sluice.export(model, torch.randn(2, 8), tmp_path / "net.pt2")
    assert torch.equal(model.teacher.weight, before)
    assert torch.equal(torch.export.load(path).state_dict["teacher.weight"], before)
    examples = examples_of(path)
    assert torch.equal(model(examples["input.0"]), examples["output.0"])
    assert not torch.equal(model.teacher.weight, before)


class Remembers(nn.Module):
    """A model whose forward assigns an attribute. PyTorch's LSTM assigns attributes too."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 3, batch_first=True)

    def forward(self, x):
        self.last = self.lstm(x)[0]
        return self.last


@pytest.mark.filterwarnings("error")
def test_what_forward_assigns_is_put_back(tmp_path):
    model = Remembers()
    path = sluice.export(model, torch.randn(2, 5, 8), tmp_path / "net.pt2")
    assert not hasattr(model, "last") and model.lstm._flat_weights[0] is model.lstm.weight_ih_l0
    x = torch.randn(3, 5, 8)
    assert torch.equal(model(x), torch.export.load(path).module()(x))


class Mixed(nn.Module):
    """Takes inputs with and without a batch, and writes to one of them."""

    def forward(self, scale, x, table, mask):
        return x.mul_(scale) @ table + mask.unsqueeze(-1)


def test_names_that_are_words_of_python(tmp_path):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.maps = nn.ModuleDict({"in": nn.Linear(4, 8), "lambda": nn.Linear(8, 2)})

        def forward(self, x):
            return self.maps["lambda"](self.maps["in"](x))

    model = Named()
    path = sluice.export(model, torch.randn(4, 4), tmp_path / "named.pt2")
    assert list(torch.export.load(path).state_dict) == list(model.state_dict())
    stored = examples_of(path)
    assert torch.equal(stored["output.0"], model(stored["input.0"]))


def test_inputs_of_another_length_stay_as_they_are(tmp_path):
    inputs = (torch.tensor(2.0), torch.randn(1, 3), torch.randn(3, 5), torch.tensor([True]))
    path = sluice.export(Mixed(), inputs, tmp_path / "mixed.pt2")
    examples = examples_of(path)
    shapes = [list(tensor.shape) for tensor in examples.values()]
    assert shapes == [[], [2, 3], [3, 5], [2], [2, 5], [2, 5]]
    assert examples["input.3"].all() and inputs[3].shape == (1,)
    module = torch.export.load(path).module()
    scale, x, table, mask = (examples[f"input.{place}"] for place in range(4))
    assert run(module, scale, torch.ones(9, 3), table, torch.ones(9).bool()).shape == (9, 5)
    assert torch.equal(run(module, scale, x, table, mask), examples["output.0"])
    with pytest.raises(Exception, match=r"table.*3"):
        run(module, scale, torch.ones(9, 3), torch.ones(4, 5), mask)


class Choosy(nn.Module):
    def forward(self, x):
        return torch.linalg.cholesky(x)


def test_a_model_that_does_not_run_on_random_inputs(tmp_path):
    x = torch.eye(3).repeat(2, 1, 1)
    with pytest.raises(sluice.ExportError, match=r"random inputs \(try keep_inputs=True\): .*chol"):
        sluice.export(Choosy(), x, tmp_path / "net.pt2")
    assert os.listdir(tmp_path) == []
    path = sluice.export(Choosy(), x, tmp_path / "net.pt2", keep_inputs=True)
    assert torch.equal(examples_of(path)["output.0"], x)


class FixedBatch(Net):
    def forward(self, x):
        return super().forward(x).view(4, 3)


def test_a_batch_that_cannot_change(tmp_path):
    with pytest.raises(sluice.ExportError, match=r"FixedBatch: .*batch.*constant \(4\)"):
        sluice.export(FixedBatch(), torch.randn(4, 8), tmp_path / "fixed.pt2")
    x, path = torch.randn(4, 8), tmp_path / "fixed.pt2"
    assert sluice.export(FixedBatch(), x, path, dynamic_batch=False) == path
    with pytest.raises(Exception, match="4"):
        torch.export.load(path).module()(torch.randn(5, 8))


def test_a_failure_leaves_the_files_that_were_there(tmp_path, monkeypatch):
    path, examples = tmp_path / "net.pt2", tmp_path / "net.pt2.examples"
    path.write_text("old")
    examples.write_text("old examples")
    model = Broken().eval()
    with pytest.raises(sluice.ExportError, match=r"Broken: .*docs/models\.md") as raised:
        sluice.export(model, torch.randn(4, 8), path)
    assert isinstance(raised.value, RuntimeError) and raised.value.__cause__ is not None
    assert len(str(raised.value)) < 600 and "\n" not in str(raised.value)
    assert not any(module.training for module in model.modules())
    assert not hasattr(model, "last") and "forward" not in vars(model)

    def full_disk(program, file):
        Path(file).write_text("half")
        raise RuntimeError("no space left")

    monkeypatch.setattr(torch.export, "save", full_disk)
    with pytest.raises(sluice.ExportError, match="save Net: RuntimeError: no space left"):
        sluice.export(Net(), torch.randn(4, 8), path)
    assert (path.read_text(), examples.read_text()) == ("old", "old examples")
    assert sorted(os.listdir(tmp_path)) == ["net.pt2", "net.pt2.examples"]


X = torch.zeros(2, 8)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((Net(), X, "net.pt"), ValueError, r"expected a name that ends with .pt2, found 'net.pt'"),
        ((Net(), X, "nowhere/net.pt2"), FileNotFoundError, "no such folder.*nowhere"),
        ((print, X, "net.pt2"), TypeError, "model: expected a torch.nn.Module, found builtin"),
        ((Net().to("meta"), X, "net.pt2"), ValueError, "found scale on 'meta'"),
        ((Net(), 3, "net.pt2"), TypeError, "example_inputs: .* found int"),
        ((Net(), (), "net.pt2"), TypeError, "at least one"),
        ((Net(), (X, [1]), "net.pt2"), TypeError, r"example_inputs\[1\]: .* found list"),
        ((Net(), {"x": None}, "net.pt2"), TypeError, r"example_inputs\['x'\]: .* found NoneType"),
        ((Net(), (X, X), "net.pt2"), TypeError, r"Net.forward\(x\) does not take them: too many"),
        ((Net(), {"y": X}, "net.pt2"), TypeError, "missing a required argument: 'x'"),
        ((Net(), X[:0], "net.pt2"), ValueError, r"a batch of 1 to 65536, found x of .* \[0, 8\]"),
    ],
)
def test_wrong_arguments_are_named(arguments, kind, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        sluice.export(*arguments)
    assert os.listdir() == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from modules that torch.compile imports
def test_what_is_around_a_model_is_left_out(tmp_path):
    model = Net()
    around = nn.DataParallel(torch.compile(model))  # moves it to a GPU, if there is one
    x = torch.randn(2, 8, device=model.scale.device)
    program = torch.export.load(sluice.export(around, x, tmp_path / "net.pt2"))
    assert sorted(program.state_dict) == sorted(model.state_dict())


def test_a_forward_and_hooks_of_the_instance(tmp_path):
    model = Returns(lambda y: y)
    model.register_forward_hook(lambda module, inputs, output: output * 2)
    forward = model.forward
    model.forward = own = lambda *tensors: forward(*tensors) + 1
    program = torch.export.load(sluice.export(model, torch.ones(2, 8), tmp_path / "net.pt2"))
    x = torch.randn(3, 8)
    assert torch.equal(program.module()(x), model(x)) and vars(model)["forward"] is own


def test_pytorch_is_imported_when_it_is_needed():
    loaded, missing = run_outside(
        """
import sys, sluice
print("torch" in sys.modules)
sys.modules["torch"] = None  # as if it were not installed
try:
    sluice.export(None, None, "net.pt2")
except ImportError as error:
    print(error)
"""
    )
    assert loaded == "False"
    assert missing.startswith("sluice.export needs PyTorch, which cannot be imported: ")

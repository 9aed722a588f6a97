"""sluice.export: what a model computes in eval mode is written beside its archive."""

import pytest
import torch
from exports import Net, examples_of, metadata_of, run
from torch import nn

import sluice


def test_the_examples_have_what_the_model_computes_in_eval_mode(tmp_path):
    net = Net()
    path = sluice.export(net, torch.randn(4, 8), tmp_path / "net.pt2")
    examples = examples_of(path)
    assert torch.equal(run(net.eval(), examples["input.0"]), examples["eval_output.0"])
    assert not torch.equal(examples["eval_output.0"], examples["output.0"])
    assert metadata_of(path) == {}


def test_padding_is_treated_as_in_training(tmp_path):
    """PyTorch has a fast path in eval mode, which fills padding with zeros."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.TransformerEncoder(layer, 2)

        def forward(self, x):
            is_padding = (torch.arange(6) >= 4).expand(x.shape[0], -1)
            return self.layers(x, src_key_padding_mask=is_padding)

    path = sluice.export(Padded(), torch.randn(4, 6, 8), tmp_path / "net.pt2")
    examples = examples_of(path)
    torch.testing.assert_close(examples["eval_output.0"], examples["output.0"])


class TwoModes(nn.Module):
    """Writes to a buffer, to an attribute and to its input in eval mode, where it returns less."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)
        self.register_buffer("calls", torch.zeros(()))
        self.last = torch.zeros(3)
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x):
        y = self.fc(x)
        if self.training:
            return y, y.relu()
        self.calls = self.calls + 1
        self.calls.add_(1)
        self.frozen.mul_(2)
        self.last.add_(y[0])
        self.seen = x.zero_()
        return y * self.calls


def test_eval_mode_leaves_the_model_as_it_was(tmp_path):
    model = TwoModes()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    buffer, attributes = model.calls, set(vars(model))
    path = sluice.export(model, torch.randn(2, 8), tmp_path / "net.pt2")
    assert model.calls is buffer and model.training and set(vars(model)) == attributes
    assert torch.equal(model.last, torch.zeros(3))
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    examples = examples_of(path)
    assert list(examples) == ["input.0", "output.0", "output.1", "eval_output.0"]
    assert examples["input.0"].abs().sum() > 0
    assert torch.equal(examples["eval_output.0"], examples["output.0"] * 2)
    assert torch.backends.mha.get_fastpath_enabled()


class OnlyTrains(Net):
    def __init__(self, fail):
        super().__init__()
        self.fail = fail

    def forward(self, x):
        return super().forward(x) if self.training else self.fail(x)


def raises(x):
    raise RuntimeError(f"not for eval mode, says {__file__}")


@pytest.mark.parametrize(
    "fail, message, kind",
    [
        (raises, "not for eval mode", "RuntimeError"),
        (lambda x: {"boxes": [x]}, "found the fields boxes", "(TypeError)"),
        (lambda x: torch.fft.fft(x.double()), "", "safetensors files cannot hold"),
    ],
)
def test_a_model_without_an_eval_mode_is_written_without_its_outputs(
    fail, message, kind, tmp_path, recwarn
):
    model = OnlyTrains(fail)
    path = sluice.export(model, torch.randn(4, 8), tmp_path / "net.pt2")
    assert list(examples_of(path)) == ["input.0", "output.0"] and model.training
    assert list(metadata_of(path)) == ["eval_output"] and kind in metadata_of(path)["eval_output"]
    assert __file__ not in str(metadata_of(path))
    told = [str(each.message) for each in recwarn if "eval mode" in str(each.message)]
    assert len(told) == bool(message) and all(message in each for each in told)
    if told:
        assert [each.filename for each in recwarn if "eval mode" in str(each.message)] == [__file__]

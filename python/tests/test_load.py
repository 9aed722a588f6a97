"""sluice.load: a trial's checkpoint in the user's module, or a reason why not."""

import os
import random
import subprocess
import sys

import pytest
import torch
from checkpoints import Net, state_of, varied, write_checkpoint
from controller import clean_environment
from torch import nn

import sluice


def refusal(module, folder):
    """The message. The module stays as it was."""
    before = state_of(module)
    with pytest.raises(sluice.LoadError) as caught:
        sluice.load(module, folder)
    after = module.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    return str(caught.value)


def same(module, other):
    ours, theirs = module.state_dict(), other.state_dict()
    return ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )


@pytest.mark.parametrize("place", ["", "latest", ".previous"])
def test_a_checkpoint_is_loaded(tmp_path, place):
    trained = varied(Net())
    write_checkpoint(tmp_path / "trial" / place, trained)
    module = Net().eval()
    parameters = list(module.parameters())
    assert sluice.load(module, str(tmp_path / "trial")) is module
    assert same(module, trained)
    assert module.head.weight is module.table.weight and not module.training
    assert all(a is b for a, b in zip(parameters, module.parameters(), strict=True))


def test_the_latest_checkpoint_comes_first(tmp_path):
    write_checkpoint(tmp_path / ".previous", varied(Net()))
    latest = varied(Net())
    write_checkpoint(tmp_path / "latest", latest)
    best = varied(Net())
    write_checkpoint(tmp_path / "best", best)
    assert same(sluice.load(Net(), tmp_path), latest)
    assert same(sluice.load(Net(), tmp_path / "best"), best)


def test_tensors_outside_of_the_state_dict_are_loaded_where_they_are(tmp_path):
    extra = {"seen": torch.arange(3.0), "offset": torch.zeros(2), "lifted": torch.zeros(5)}
    write_checkpoint(tmp_path, varied(Net()), extra=extra)
    module = sluice.load(Net(), tmp_path)
    assert module.seen.tolist() == [0, 1, 2] and module.offset.tolist() == [0, 0]
    extra["seen"] = torch.zeros(4)
    write_checkpoint(tmp_path, varied(Net()), extra=extra)
    message = refusal(Net(), tmp_path)
    assert "seen: the module has float32 [3], the checkpoint float32 [4]" in message


def test_numbers_take_the_type_of_the_module(tmp_path):
    for stored in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        trained = varied(nn.Linear(3, 2)).to(stored)
        write_checkpoint(tmp_path, trained)
        for own in (torch.float64, torch.float32, torch.bfloat16):
            module = sluice.load(nn.Linear(3, 2).to(own), tmp_path)
            assert module.weight.dtype is own
            assert torch.equal(module.weight, trained.weight.to(own))


class Compiled(nn.Module):
    """What torch.compile returns has the module under this name. Importing it takes seconds."""

    def __init__(self, module):
        super().__init__()
        self._orig_mod = module


def test_wrappers_are_looked_through(tmp_path):
    trained = varied(nn.Linear(3, 2))
    write_checkpoint(tmp_path, trained)
    wrapped = Compiled(nn.DataParallel(nn.Linear(3, 2)))
    assert sluice.load(wrapped, tmp_path) is wrapped
    assert same(wrapped._orig_mod.module, trained)


def test_a_tensor_that_only_the_checkpoint_ties_is_copied_to_each(tmp_path):
    trained = varied(Net())
    write_checkpoint(tmp_path, trained)
    module = Net()
    module.head.weight = nn.Parameter(torch.zeros(11, 8))
    sluice.load(module, tmp_path)
    assert torch.equal(module.head.weight, trained.table.weight)
    module.head.weight = module.table.weight
    untied = Net()
    untied.head.weight = nn.Parameter(torch.zeros(11, 8))
    write_checkpoint(tmp_path, untied)
    message = refusal(module, tmp_path)
    assert "head.weight: the module ties it to table.weight, the checkpoint does not" in message


def test_another_network_is_refused_by_the_names_of_its_tensors(tmp_path):
    write_checkpoint(tmp_path, varied(Net()))
    message = refusal(Net(width=16), tmp_path)
    assert "expected a checkpoint of Net, found one of net.pt2 at scale 1" in message
    assert "fc.bias: the module has float32 [16], the checkpoint float32 [8]" in message
    assert "table.weight: the module has float32 [11, 16], the checkpoint" in message
    assert "  and 1 more" in message and "narrower" not in message
    module = Net()
    module.last = nn.Linear(2, 2, bias=False)
    del module.fc
    message = refusal(module, tmp_path)
    assert "last.weight: only the module has it" in message
    assert "fc.weight: only the checkpoint has it" in message
    module = Net()
    module.head.weight = None
    assert "head.weight: only the checkpoint has it" in refusal(module, tmp_path)


def test_a_narrower_network_says_how_wide_it_is(tmp_path):
    write_checkpoint(tmp_path, Net(width=4), scale=2)
    assert "`sluice model shrink net.pt2 --scale 2`" in refusal(Net(), tmp_path)


def test_other_types_are_refused(tmp_path):
    write_checkpoint(tmp_path, nn.BatchNorm1d(3))
    module = nn.BatchNorm1d(3)
    module.num_batches_tracked = torch.zeros((), dtype=torch.int32)
    message = refusal(module, tmp_path)
    assert "num_batches_tracked: the module has int32 [], the checkpoint int64 []" in message
    write_checkpoint(tmp_path, Net(), change=lambda about: about.update(complex=[]))
    assert "turns: the module has complex64 [8], the checkpoint float32 [8, 2]" in refusal(
        Net(), tmp_path
    )
    write_checkpoint(tmp_path, Net(), change=lambda about: about["complex"].append("fc.weight"))
    assert "fc.weight: the module has float32 [8, 8], the checkpoint" in refusal(Net(), tmp_path)


def test_modules_without_values_are_refused(tmp_path):
    write_checkpoint(tmp_path, nn.Linear(3, 2))
    for module in (nn.LazyLinear(2), nn.Linear(3, 2, device="meta")):
        with pytest.raises(sluice.LoadError, match="weight: the module has no values for it yet"):
            sluice.load(module, tmp_path)


def multiplied(factor, into, why_not=""):
    return {
        "module": "head",
        "why": "the readout",
        "factor": factor,
        "into": into,
        **({"why_not": why_not} if why_not else {}),
    }


def test_multipliers_are_folded_into_parameters(tmp_path):
    trained = varied(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3)))
    write_checkpoint(
        tmp_path,
        trained,
        scale=4,
        multipliers=[multiplied(0.25, ["1.weight", "1.bias"]), multiplied(3, ["1.bias"])],
    )
    module = sluice.load(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3)), tmp_path)
    assert torch.equal(module[0].weight, trained[0].weight)
    assert torch.equal(module[1].weight, trained[1].weight / 4)
    assert torch.equal(module[1].bias, (trained[1].bias.double() * 0.75).float())


def test_multipliers_that_nothing_can_take_are_refused(tmp_path):
    multipliers = [multiplied(0.5, [], "'table.weight' is also used elsewhere")]
    write_checkpoint(tmp_path, Net(), scale=2, multipliers=multipliers)
    message = refusal(Net(), tmp_path)
    assert "multiplies by 0.5 in head (the readout)" in message
    assert "'table.weight' is also used elsewhere" in message.replace("\\'", "'")
    multipliers = [multiplied(0.5, ["gone"])]
    write_checkpoint(tmp_path, Net(), scale=2, multipliers=multipliers)
    assert "expected a tensor 'gone', which takes a factor" in refusal(Net(), tmp_path)


def test_folders_without_a_checkpoint_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder.*missing"):
        sluice.load(Net(), tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"no checkpoint of sluice-trainer \(trial\.json\)"):
        sluice.load(Net(), tmp_path)
    with pytest.raises(TypeError, match=r"module: expected a torch\.nn\.Module, found dict"):
        sluice.load({}, tmp_path)
    write_checkpoint(tmp_path, Net())
    (tmp_path / "model.safetensors").unlink()
    assert "model.safetensors: No such file or directory" in refusal(Net(), tmp_path)


def test_links_and_pipes_are_not_followed(tmp_path):
    write_checkpoint(tmp_path / "other" / "latest", varied(Net()))
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "latest").symlink_to(tmp_path / "other" / "latest")
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        sluice.load(Net(), trial)
    for name in ("trial.json", "model.safetensors"):
        folder = tmp_path / name
        write_checkpoint(folder, Net())
        (folder / name).unlink()
        (folder / name).symlink_to("../other/latest/" + name)
        assert f"{name}: expected a file, found a link" in refusal(Net(), folder)
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert f"{name}: expected a file, found a folder, a pipe" in refusal(Net(), folder)
    # The folder that is named may itself be reached by a link.
    (tmp_path / "link").symlink_to(tmp_path / "other")
    sluice.load(Net(), tmp_path / "link")


def test_names_are_never_paths(tmp_path):
    write_checkpoint(
        tmp_path, nn.Linear(3, 2), extra={"../../evil": torch.ones(1), "/etc/evil": torch.ones(1)}
    )
    sluice.load(nn.Linear(3, 2), tmp_path)
    write_checkpoint(
        tmp_path,
        nn.Linear(3, 2),
        extra={"../evil\x1b[2J": torch.ones(1)},
        change=lambda about: about.update(not_in_state_dict=[]),
    )
    message = refusal(nn.Linear(3, 2), tmp_path)
    assert "../evil\\x1b[2J: only the checkpoint has it" in message


@pytest.mark.parametrize(
    "change, words",
    [
        ({"version": 2}, "expected version 1 of the checkpoint, found 2: a later Sluice wrote it"),
        ({"version": "1"}, "expected a version"),
        ({"format": "other"}, "expected a file of the format 'sluice trial', found another"),
        ({"network": []}, "found other members"),
        ({"network": {"name": "n", "scale": 10**400}}, "found other members"),
        ({"tied": {"a": 3}}, "found other members"),
        ({"complex": None}, "found other members"),
        ({"multipliers": [multiplied(float("nan"), [])]}, "found other members"),
        ({"multipliers": [multiplied(2, "fc")]}, "found other members"),
    ],
)
def test_a_wrong_trial_json_is_refused(tmp_path, change, words):
    write_checkpoint(tmp_path, Net(), change=lambda about: about.update(change))
    message = refusal(Net(), tmp_path)
    assert message.startswith(f"{tmp_path}/trial.json: ") and words in message


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 200_000])
def test_a_damaged_trial_json_is_refused(tmp_path, content):
    write_checkpoint(tmp_path, Net())
    (tmp_path / "trial.json").write_bytes(content)
    assert refusal(Net(), tmp_path).startswith(f"{tmp_path}/trial.json: expected a ")


def test_a_trial_json_without_end_is_not_read(tmp_path):
    write_checkpoint(tmp_path, Net())
    os.truncate(tmp_path / "trial.json", 1 << 40)
    assert "expected at most 67108864 bytes, found 1099511627776" in refusal(Net(), tmp_path)


@pytest.mark.parametrize("name", ["trial.json", "model.safetensors"])
def test_changed_bytes_are_refused_or_change_numbers(tmp_path, name):
    write_checkpoint(tmp_path, Net(), scale=2, multipliers=[multiplied(0.5, ["fc.bias"])])
    whole = (tmp_path / name).read_bytes()
    draw, refused = random.Random(name), 0
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(draw.choice([1, 1, 2, 5])):
            at = draw.randrange(min(len(whole), 1000))
            changed[at] = draw.choice([draw.randrange(256), *b'0123456789[]{}":,.-e'])
        (tmp_path / name).write_bytes(changed)
        try:
            sluice.load(Net(), tmp_path)
        except sluice.LoadError:
            refused += 1
    assert refused > 100


def test_numbers_that_the_trainer_did_not_write_are_refused(tmp_path):
    write_checkpoint(tmp_path, varied(Net()))
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert refusal(Net(), tmp_path) == (
        f"{path}: its tensors are not those that were written with trial.json: restore the whole "
        "folder from a good copy, or train the trial again"
    )
    write_checkpoint(tmp_path, Net(), change=lambda about: about["own"].append("gone"))
    assert "expected a tensor 'gone', found none" in refusal(Net(), tmp_path)


def test_pytorch_is_imported_only_when_it_is_used(tmp_path):
    script = """
import sys, sluice
assert "torch" not in sys.modules
sys.modules["torch"] = None
try:
    sluice.load(None, ".")
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=clean_environment()
    )
    assert done.stdout.startswith("sluice.load needs PyTorch, which cannot be imported"), done

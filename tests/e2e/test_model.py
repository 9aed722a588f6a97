"""'sluice model': networks of the zoo, and files that are none. tests/model has real ones."""

import json
import zipfile

import pytest


def model(house, *words, status=0):
    told = house.run("model", *words, check=False)
    assert told.returncode == status, told.stderr
    return told


def test_a_network_is_shown_for_people_and_for_programs(house):
    shown = model(house, "show", "zoo:lenet").stdout
    assert shown.startswith("61706 trainable parameters, 10 tensors, 12 operators\n")
    assert "input   input: float32[batch, 1, 28, 28]" in shown
    assert "fc1.weight    [120, 400]     [w3, 25*w2]" in shown
    assert "aten.max_pool2d.default" in shown
    graph = json.loads(model(house, "show", "zoo:lenet", "--json").stdout)
    assert [width["size"] for width in graph["widths"]] == [6, 16, 120, 84]
    assert graph["nodes"][0]["op"] == "aten.conv2d.default"
    assert graph["version"] == 1
    assert not house.store.exists()


def test_the_network_of_evaluation_drops_nothing(house):
    words = "show", "zoo:resnet18", "--evaluation"
    shown = model(house, *words).stdout
    assert "aten.batch_norm.default" in shown and "aten.add_.Tensor" not in shown
    trained = json.loads(model(house, "show", "zoo:resnet18", "--json").stdout)
    evaluated = json.loads(model(house, *words, "--json").stdout)
    assert evaluated["parameters"] == trained["parameters"]
    flags = [
        argument["value"] for node in evaluated["nodes"] for argument in node["arguments"]
        if argument["name"] == "training"
    ]
    assert flags and all(flag == {"bool": False} for flag in flags)
    told = model(house, "shrink", "zoo:resnet18", "--evaluation", status=2).stderr
    assert "--evaluation belongs to 'sluice model show'" in told


def test_a_surrogate_is_explained_row_by_row(house):
    told = model(house, "shrink", "zoo:mlp", "--scale", "8", "--explain").stdout
    assert "669706 trainable parameters become 55050" in told
    [row] = [line for line in told.splitlines() if line.startswith("layers.1.weight")]
    assert row.split()[:6] == ["layers.1.weight", "[512,", "512]", "[64,", "64]", "hidden"]
    assert row.split()[-3:] == ["x8", "/8", "x8"]
    assert "readout 'head.weight'" in told
    assert "What does not: dropout, weight decay, depth." in told
    surrogate = json.loads(model(house, "shrink", "zoo:mlp", "--json").stdout)
    assert surrogate["version"] == surrogate["graph"]["version"] == 1
    assert surrogate["widths"] == [
        {"name": "w1", "from": 512, "to": 64},
        {"name": "w2", "from": 512, "to": 64},
    ]
    assert surrogate["graph"]["nodes"][-2]["op"] == "aten.mul.Tensor"


def test_what_does_not_carry_over_is_said(house):
    study = """\
program: python train.py
space: {lr: {float: [0.1, 1.0]}, dropout: {float: [0.0, 0.5]}}
objective: {minimize: loss}
trials: 3
"""
    house.write("study.yaml", study)
    words = "shrink", "zoo:mlp", "--study", "study.yaml"
    told = model(house, *words).stdout
    assert "note: study.yaml: 'dropout': a wide network needs another amount of it" in told
    assert "'lr'" not in told
    [note] = json.loads(model(house, *words, "--json").stdout)["notes"]
    assert "'dropout'" in note
    told = model(house, "shrink", "zoo:mlp", "--study", "other.yaml", status=2).stderr
    assert "other.yaml" in told


STUDY = """\
program: python3 train.py
model: {model}
space: {{lr: {{float: [0.1, 1.0]}}, dropout: {{float: [0.0, 0.5]}}}}
objective: {{minimize: loss}}
trials: 1
"""


def test_a_study_names_its_network_and_its_loss(house):
    model_of_study = "{network: zoo:mlp, loss: cross_entropy, scale: 4}"
    house.write("study.yaml", STUDY.format(model=model_of_study))
    house.write("train.py", """print('{"loss": 1}')\n""")
    told = house.run("check", "study.yaml").stdout
    said = "model: the network is 4 times narrower: 'dropout': a wide network"
    assert f"warning: study.yaml:2: {said}" in told
    surrogate = json.loads(model(house, "shrink", "--study", "study.yaml", "--json").stdout)
    assert [width["to"] for width in surrogate["widths"]] == [128, 128]
    words = "shrink", "--study", "study.yaml", "--scale", "2", "--json"
    assert json.loads(model(house, *words).stdout)["widths"][0]["to"] == 256
    assert "'dropout'" in house.run("tune", "study.yaml").stderr


@pytest.mark.parametrize(
    "named, words",
    [
        ("zoo:mlp", "study.yaml:2: model.loss: expected a network that returns its loss, a single"),
        ("{network: zoo:mlp, loss: mean}", "study.yaml:2: model.loss: expected one of returned, "),
        ("{network: zoo:mpl, loss: mse}", "did you mean 'mlp'?"),
        ("net.pt2", "study.yaml:2: model.network: "),
        ("{network: 'zoo:mlp,hidden=8', loss: mse, scale: 1e9}", "study.yaml:2: model.scale: "),
    ],
)
def test_a_study_with_a_network_that_does_not_fit(house, named, words):
    house.write("study.yaml", STUDY.format(model=named))
    told = house.run("tune", "study.yaml", check=False)
    assert told.returncode == 2 and words in told.stderr, told.stderr
    assert not house.store.exists()


def test_a_study_without_a_network_has_none_to_shrink(house):
    house.write("study.yaml", STUDY.format(model="zoo:mlp").replace("model: zoo:mlp\n", ""))
    told = model(house, "shrink", "--study", "study.yaml", status=2).stderr
    assert "expected a network, and study.yaml names none" in told


def test_sizes_and_pins_are_the_users(house):
    def widths(*words):
        told = json.loads(model(house, "shrink", "zoo:mlp", *words, "--json").stdout)
        return {parameter["name"]: parameter["shape"] for parameter in told["parameters"]}

    assert widths("--width", "w1=100", "--scale", "4")["layers.1.weight"] == [128, 100]
    assert widths("--pin", "layers.0.weight:0")["layers.1.weight"] == [64, 512]
    assert widths("--scale", "1000")["layers.1.weight"] == [8, 8]
    assert widths("--scale", "1000", "--min-width", "2")["layers.1.weight"] == [2, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected what to do, as in 'sluice model show net.pt2'"),
        (("shw", "x"), "expected one of show, shrink, zoo, found 'shw' (did you mean 'show'?)"),
        (("show",), "expected a file that torch.export.save wrote or zoo:NAME"),
        (("show", "nothing.pt2"), "nothing.pt2: no such file"),
        (("show", "."), ".: expected a file, found a folder"),
        (("show", "zoo:resnet"), "expected one of mlp, lenet, vgg11, resnet18"),
        (("show", "zoo:gpt,heads=7"),
         "gpt: expected a width that is a multiple of heads, found 768 and 7"),
        (("show", "zoo:mlp", "--scale", "2"), "--scale belongs to 'sluice model shrink'"),
        (("shrink", "zoo:mlp", "--scale", "0.5"), "--scale: expected a number from 1 to"),
        (("shrink", "zoo:mlp", "--min-width", "0"), "--min-width: expected a whole number"),
        (("shrink", "zoo:mlp", "--parameters", "9999999"), "expected from 1 to 669706"),
        (("shrink", "zoo:mlp", "--scale", "2", "--parameters", "9"), "found both"),
        (("shrink", "zoo:mlp", "--width", "w1"), "--width: expected something like w1=64"),
        (("shrink", "zoo:mlp", "--width", "w9=3"), "expected one of w1, w2, found 'w9'"),
        (("shrink", "zoo:mlp", "--pin", "head.weight"), "something like layers.0.weight:1"),
        (("shrink", "zoo:mlp", "--pin", "hed.weight:1"), "did you mean 'head.weight'?"),
        (("shrink", "zoo:mlp", "--pin", "head.weight:7"), "has 2 dimensions, found 7"),
        (("shrink", "zoo:mlp", "--rule", "mupp"), "expected one of mup, spectral, standard"),
        (("shrink", "zoo:mlp", "--decay", "none"), "expected one of scaled, same"),
        (("shrink", "zoo:mlp", "--readout", "drop"), "expected one of zero, keep"),
    ],
)
def test_wrong_words_are_told(house, words, message):
    told = model(house, *words, status=2)
    assert message in told.stderr and not told.stdout


def test_a_network_without_widths_is_told(house):
    pins = "--pin", "layers.0.weight:0", "--pin", "layers.1.weight:0"
    told = model(house, "shrink", "zoo:mlp", *pins, status=1)
    assert "nothing in it can shrink" in told.stderr and not told.stdout


def test_files_that_are_no_networks_are_told(house):
    house.write("text.pt2", "no zip\n")
    assert "expected a zip file" in model(house, "show", "text.pt2", status=2).stderr
    with zipfile.ZipFile(house.folder / "other.pt2", "w") as archive:
        archive.writestr("other/data.pkl", b"a checkpoint")
    told = model(house, "show", "other.pt2", status=2).stderr
    assert "a checkpoint of torch.save holds no program" in told
    with zipfile.ZipFile(house.folder / "packed.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("packed/archive_format", b"pt2" * 100)
    assert "which is compressed" in model(house, "show", "packed.pt2", status=2).stderr
    with zipfile.ZipFile(house.folder / "cut.pt2", "w") as archive:
        archive.writestr("cut/archive_format", b"pt2")
        archive.writestr("cut/archive_version", b"0")
        archive.writestr("cut/byteorder", b"little")
        archive.writestr("cut/models/model.json", b'{"schema_version":')
        archive.writestr("cut/data/weights/model_weights_config.json", b'{"config":{}}')
    told = model(house, "show", "cut.pt2", status=1).stderr
    assert "cut.pt2: the program: expected one JSON object" in told

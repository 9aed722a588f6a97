"""The networks of the zoo as PyTorch modules, at full or narrower widths."""

import dataclasses
import functools
import json
import subprocess
from collections.abc import Callable

import torch
import zoo_images as images
import zoo_language as language
from corpus import floats, integers
from oracle import SHRUNK_BY, SLUICE


class Uneven(Exception):
    """Raised if a width cannot be divided exactly."""


class Divided:
    """Widths divided by one number. The size of a head is divided only once a single head is
    left."""

    def __init__(self, by):
        self._by = by

    def __call__(self, size):
        return self._exact(size, self._by)

    def heads(self, heads, size, turned=0):
        if heads % self._by == 0:
            return heads // self._by, size
        if turned or self._by % heads != 0:
            raise Uneven  # the part of a head that is rotated has a size of its own
        return 1, self._exact(size, self._by // heads)

    @staticmethod
    def _exact(size, by):
        if size % by != 0:
            raise Uneven
        return size // by


class Reported:
    """Widths that `sluice model shrink` reports. Widths of the same size must get the same new
    size."""

    def __init__(self, widths):
        self._sizes = {}
        for width in widths:
            self._sizes.setdefault(width["from"], set()).add(width["to"])

    def __call__(self, size):
        (to,) = self._sizes[size]
        return to

    def heads(self, heads, size, turned=0):
        return self(heads), self(size - turned) + turned


@functools.cache
def usual_options():
    """The default options of every network of the zoo, by the network's name."""
    listed = subprocess.run(
        [SLUICE, "model", "zoo", "--json"], capture_output=True, text=True, timeout=60, check=True
    )
    return {each["name"]: each["options"] for each in json.loads(listed.stdout)}


def parsed(options):
    """Options as a dict. Where an option is one of several words, the first word is the default."""
    pairs = [each.split("|")[0].split("=") for each in options.split(",") if each]
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


@dataclasses.dataclass(frozen=True)
class ZooNetwork:
    text: str  # what follows "zoo:"
    even: tuple = SHRUNK_BY  # the scales by which all of its widths can be divided
    steps: bool = True  # False if a step is slow: the list then has a smaller instance, too
    wide: bool = False  # a step is slow at full width, so only that of the surrogate is executed
    batch: int = 2
    baked: str = ""
    hard: str = ""

    @property
    def name(self):
        return self.text

    @property
    def kind(self):
        return KINDS[self.text.partition(",")[0]]

    @functools.cached_property
    def options(self):
        name, _, given = self.text.partition(",")
        return {**parsed(usual_options()[name]), **parsed(given)}

    def make(self, width):
        return self.kind.make(self.options, width)

    def inputs(self, batch):
        return self.kind.inputs(self.options)(batch)


@dataclasses.dataclass(frozen=True)
class Kind:
    make: Callable[[dict, Callable], torch.nn.Module]  # takes options and widths
    inputs: Callable[[dict], Callable]
    computed: tuple = ()  # buffers of the module that the zoo's graph computes at every step


def pictures(options):
    return floats(options.get("channels", 3), options["image"], options["image"])


def text(options):
    return integers(options["vocab"], options["tokens"])


def resnet(*blocks, inner=None):
    return Kind(lambda options, width: images.ResNet(options, width, blocks, inner), pictures)


GPT = Kind(language.Gpt, text)
PYTHIA = Kind(language.Pythia, text, computed=(
    "gpt_neox.rotary_emb.inv_freq", "gpt_neox.rotary_emb.original_inv_freq"))
BERT = Kind(language.Bert, text, computed=(
    "bert.embeddings.position_ids", "bert.embeddings.token_type_ids"))

KINDS = {
    "mlp": Kind(images.Mlp, lambda options: floats(options["in"])),
    "lenet": Kind(images.LeNet, pictures),
    "vgg11": Kind(images.Vgg11, pictures),
    "resnet18": resnet(2, 2, 2, 2),
    "resnet34": resnet(3, 4, 6, 3),
    "resnet50": resnet(3, 4, 6, 3, inner=1),
    "wideresnet50": resnet(3, 4, 6, 3, inner=2),
    "mobilenetv3": Kind(images.MobileNetV3, pictures),
    "shufflenetv2": Kind(images.ShuffleNetV2, pictures),
    "vit-tiny": Kind(images.Vit, pictures),
    "deit-tiny": Kind(images.Vit, pictures),
    "dcgan-generator": Kind(images.Generator, lambda options: floats(options["latent"], 1, 1)),
    "dcgan-discriminator": Kind(
        images.Discriminator, lambda options: floats(options["channels"], 64, 64)),
    "lstm-lm": Kind(language.LstmLm, text),
    "transformer-lm": Kind(language.TransformerLm, text),
    "gpt": GPT,
    "gpt3-xl": GPT,
    "pythia-14m": PYTHIA,
    "pythia-31m": PYTHIA,
    "bert-tiny": BERT,
}

ZOO = [
    ZooNetwork("mlp"),
    ZooNetwork("mlp,in=20,hidden=48,layers=3,classes=3"),
    ZooNetwork("lenet", even=(2,)),
    ZooNetwork("lenet,channels=3,image=32", even=(2,)),
    ZooNetwork("vgg11"),
    ZooNetwork("vgg11,norm=none"),
    ZooNetwork("vgg11,stem=imagenet,image=64", wide=True),
    ZooNetwork("resnet18"),
    ZooNetwork("resnet18,stem=imagenet,image=64,classes=20"),
    ZooNetwork("resnet34", wide=True),
    ZooNetwork("resnet34,stem=imagenet,image=64", wide=True),
    ZooNetwork("resnet50"),
    ZooNetwork("resnet50,stem=imagenet,image=64", wide=True),
    ZooNetwork("wideresnet50", wide=True),
    ZooNetwork("wideresnet50,stem=imagenet,image=64", wide=True),
    ZooNetwork("mobilenetv3"),
    ZooNetwork("mobilenetv3,stem=imagenet,image=64"),
    ZooNetwork("shufflenetv2", even=(2,)),
    ZooNetwork("shufflenetv2,stem=imagenet,image=64", even=(2,)),
    ZooNetwork("vit-tiny", even=(), steps=False),
    ZooNetwork("vit-tiny,image=32,patch=8,layers=2,classes=10", even=()),
    ZooNetwork("vit-tiny,image=32,patch=8,width=64,heads=4,layers=2,classes=10"),
    ZooNetwork("deit-tiny", even=(), steps=False),
    ZooNetwork("deit-tiny,image=32,patch=8,width=64,heads=4,layers=2,classes=10"),
    ZooNetwork("dcgan-generator"),
    ZooNetwork("dcgan-discriminator"),
    ZooNetwork("lstm-lm", steps=False),
    ZooNetwork("lstm-lm,vocab=50,tokens=12,width=24,hidden=40"),
    ZooNetwork("transformer-lm", steps=False),
    ZooNetwork("transformer-lm,vocab=50,tokens=12,width=64,heads=4,hidden=96"),
    ZooNetwork("gpt", even=(2, 4), steps=False),
    ZooNetwork("gpt,vocab=50,tokens=16,width=64,layers=2,heads=4"),
    ZooNetwork("gpt3-xl", steps=False),
    ZooNetwork("gpt3-xl,vocab=50,tokens=16,width=128,layers=2,heads=8"),
    ZooNetwork("pythia-14m", even=(2, 4), steps=False),
    ZooNetwork("pythia-14m,vocab=50,tokens=16,layers=2", even=(2, 4)),
    ZooNetwork("pythia-31m", steps=False),
    ZooNetwork("pythia-31m,vocab=50,tokens=16,layers=2"),
    ZooNetwork("bert-tiny", steps=False),
    ZooNetwork("bert-tiny,vocab=20,tokens=16,positions=24,width=64,heads=4,classes=3"),
]

"""The zoo's networks on images. Their parts have the names of torchvision and timm.

Each takes the options of the zoo, and a function from a width of the full network to the width here
(Divided or Reported in zoo.py). The widths of the full network decide which parts exist.
"""

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, options, width):
        super().__init__()
        sizes = [options["in"]] + options["layers"] * [width(options["hidden"])]
        self.layers = nn.ModuleList(
            nn.Linear(before, after) for before, after in zip(sizes, sizes[1:], strict=False)
        )
        self.head = nn.Linear(sizes[-1], options["classes"])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)


class LeNet(nn.Module):
    """Images of 28 x 28 are padded to 32 x 32, the size that LeNet was made for."""

    def __init__(self, options, width):
        super().__init__()
        padding = 2 if options["image"] == 28 else 0
        left = ((options["image"] + 2 * padding - 4) // 2 - 4) // 2
        self.conv1 = nn.Conv2d(options["channels"], width(6), 5, padding=padding)
        self.conv2 = nn.Conv2d(width(6), width(16), 5)
        self.fc1 = nn.Linear(width(16) * left * left, width(120))
        self.fc2 = nn.Linear(width(120), width(84))
        self.fc3 = nn.Linear(width(84), options["classes"])
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        x = self.pool(self.conv1(x).relu())
        x = self.pool(self.conv2(x).relu()).flatten(1)
        return self.fc3(self.fc2(self.fc1(x).relu()).relu())


class Vgg11(nn.Module):
    """With the stem for small images, the classifier is smaller: it reads images of 1x1 and not
    7x7, and has a width of 512 and not 4096."""

    def __init__(self, options, width):
        super().__init__()
        layers, before = [], 3
        for channels in (64, None, 128, None, 256, 256, None, 512, 512, None, 512, 512, None):
            if channels is None:
                layers.append(nn.MaxPool2d(2))
                continue
            layers.append(nn.Conv2d(before, width(channels), 3, padding=1))
            if options["norm"] == "batch":
                layers.append(nn.BatchNorm2d(width(channels)))
            layers.append(nn.ReLU())
            before = width(channels)
        self.features = nn.Sequential(*layers)
        side, wide = (1, 512) if options["stem"] == "cifar" else (7, 4096)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier = nn.Sequential(
            nn.Linear(before * side * side, width(wide)), nn.ReLU(), nn.Dropout(),
            nn.Linear(width(wide), width(wide)), nn.ReLU(), nn.Dropout(),
            nn.Linear(width(wide), options["classes"]),
        )

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class ResidualBlock(nn.Module):
    """Two convolutions of 3x3. With an inner width, one convolution of 3x3 between two of 1x1."""

    def __init__(self, width, before, channels, stride, inner=None):
        super().__init__()
        after = channels if inner is None else 4 * channels
        if inner is None:
            forms = [(before, after, 3, stride), (after, after, 3, 1)]
        else:
            forms = [(before, inner, 1, 1), (inner, inner, 3, stride), (inner, after, 1, 1)]
        for place, (here, there, kernel, step) in enumerate(forms, start=1):
            self.add_module(f"conv{place}", nn.Conv2d(
                width(here), width(there), kernel, step, kernel // 2, bias=False))
            self.add_module(f"bn{place}", nn.BatchNorm2d(width(there)))
        self.parts = len(forms)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(width(before), width(after), 1, stride, bias=False),
                nn.BatchNorm2d(width(after)),
            )

    def forward(self, x):
        y = x
        for place in range(1, self.parts + 1):
            y = getattr(self, f"bn{place}")(getattr(self, f"conv{place}")(y))
            if place < self.parts:
                y = y.relu()
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    """`inner` is the ratio of a bottleneck's inner width to its width. None: no bottlenecks."""

    def __init__(self, options, width, blocks, inner=None):
        super().__init__()
        small = options["stem"] == "cifar"
        self.conv1 = nn.Conv2d(
            3, width(64), 3 if small else 7, 1 if small else 2, 1 if small else 3, bias=False
        )
        self.bn1 = nn.BatchNorm2d(width(64))
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
        before = 64
        for stage, many in enumerate(blocks):
            channels, layer = 64 * 2**stage, []
            for place in range(many):
                stride = 2 if place == 0 and stage > 0 else 1
                layer.append(ResidualBlock(
                    width, before, channels, stride, None if inner is None else inner * channels))
                before = channels if inner is None else 4 * channels
            self.add_module(f"layer{stage + 1}", nn.Sequential(*layer))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width(before), options["classes"])

    def forward(self, x):
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def conv_norm(before, after, kernel, stride, then, groups=1):
    """A convolution, a batch norm as in MobileNetV3, and the activation `then`, if any."""
    layers = [
        nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after, eps=0.001, momentum=0.01),
    ]
    return nn.Sequential(*layers, *([] if then is None else [then()]))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return nn.functional.hardsigmoid(self.fc2(self.fc1(self.avgpool(x)).relu())) * x


class InvertedResidual(nn.Module):
    def __init__(self, width, before, kernel, expanded, after, squeezed, then, stride):
        super().__init__()
        inner, layers = width(expanded), []
        if expanded != before:
            layers.append(conv_norm(width(before), inner, 1, 1, then))
        layers.append(conv_norm(inner, inner, kernel, stride, then, groups=inner))
        if squeezed:
            layers.append(SqueezeExcite(inner, width(squeezed)))
        layers.append(conv_norm(inner, width(after), 1, 1, None))
        self.block = nn.Sequential(*layers)
        self.adds = stride == 1 and before == after

    def forward(self, x):
        return self.block(x) + x if self.adds else self.block(x)


def divisible(size):
    """The squeezed width for a width: a quarter of it, rounded to a multiple of 8. If that is less
    than 0.9 of the quarter, the next multiple."""
    quarter = size // 4
    rounded = max(8, (quarter + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * quarter else rounded + 8


class MobileNetV3(nn.Module):
    def __init__(self, options, width):
        super().__init__()
        relu, swish = nn.ReLU, nn.Hardswish
        rows = [  # kernel, expanded, after, squeezed, then, stride
            (3, 16, 16, False, relu, 1),
            (3, 64, 24, False, relu, 2),
            (3, 72, 24, False, relu, 1),
            (5, 72, 40, True, relu, 2),
            (5, 120, 40, True, relu, 1),
            (5, 120, 40, True, relu, 1),
            (3, 240, 80, False, swish, 2),
            (3, 200, 80, False, swish, 1),
            (3, 184, 80, False, swish, 1),
            (3, 184, 80, False, swish, 1),
            (3, 480, 112, True, swish, 1),
            (3, 672, 112, True, swish, 1),
            (5, 672, 160, True, swish, 2),
            (5, 960, 160, True, swish, 1),
            (5, 960, 160, True, swish, 1),
        ]
        stem = 1 if options["stem"] == "cifar" else 2
        layers, before = [conv_norm(3, width(16), 3, stem, swish)], 16
        for kernel, expanded, after, squeezed, then, stride in rows:
            layers.append(InvertedResidual(
                width, before, kernel, expanded, after, squeezed and divisible(expanded), then,
                stride))
            before = after
        layers.append(conv_norm(width(before), width(960), 1, 1, swish))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(width(960), width(1280)), swish(), nn.Dropout(0.2),
            nn.Linear(width(1280), options["classes"]),
        )

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class ShuffleUnit(nn.Module):
    def __init__(self, before, half, stride):
        super().__init__()
        self.branch1 = nn.Sequential()
        if stride > 1:
            self.branch1 = nn.Sequential(
                nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False),
                nn.BatchNorm2d(before), nn.Conv2d(before, half, 1, bias=False),
                nn.BatchNorm2d(half), nn.ReLU(),
            )
        self.branch2 = nn.Sequential(
            nn.Conv2d(before if stride > 1 else half, half, 1, bias=False),
            nn.BatchNorm2d(half), nn.ReLU(),
            nn.Conv2d(half, half, 3, stride, 1, groups=half, bias=False), nn.BatchNorm2d(half),
            nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(),
        )
        self.divides = stride == 1

    def forward(self, x):
        first, second = x.chunk(2, dim=1) if self.divides else (x, x)
        y = torch.cat([self.branch1(first), self.branch2(second)], dim=1)
        return y.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)


class ShuffleNetV2(nn.Module):
    """Within a stage, widths are those of the two halves of the channels."""

    def __init__(self, options, width):
        super().__init__()
        small = options["stem"] == "cifar"
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, width(24), 3, 1 if small else 2, 1, bias=False),
            nn.BatchNorm2d(width(24)), nn.ReLU(),
        )
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
        before = width(24)
        for stage, half, many in ((2, 58, 4), (3, 116, 8), (4, 232, 4)):
            units = []
            for place in range(many):
                units.append(ShuffleUnit(before, width(half), 2 if place == 0 else 1))
                before = 2 * width(half)
            self.add_module(f"stage{stage}", nn.Sequential(*units))
        self.conv5 = nn.Sequential(
            nn.Conv2d(before, width(1024), 1, bias=False), nn.BatchNorm2d(width(1024)), nn.ReLU()
        )
        self.fc = nn.Linear(width(1024), options["classes"])

    def forward(self, x):
        x = self.stage4(self.stage3(self.stage2(self.maxpool(self.conv1(x)))))
        return self.fc(self.conv5(x).mean([2, 3]))


class Attention(nn.Module):
    def __init__(self, width, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.qkv = nn.Linear(width, 3 * heads * size)
        self.proj = nn.Linear(heads * size, width)

    def forward(self, x):
        parts = self.qkv(x).unflatten(2, (3, self.heads, self.size)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*parts.unbind(0))
        return self.proj(y.transpose(1, 2).flatten(2))


class VitBlock(nn.Module):
    def __init__(self, width, heads, size, hidden):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads, size)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential()
        self.mlp.add_module("fc1", nn.Linear(width, hidden))
        self.mlp.add_module("act", nn.GELU())
        self.mlp.add_module("fc2", nn.Linear(hidden, width))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """With a distillation token there are two outputs, as during distillation."""

    def __init__(self, options, width):
        super().__init__()
        full, patch = options["width"], options["patch"]
        wide, hidden = width(full), width(4 * full)
        heads, size = width.heads(options["heads"], full // options["heads"])
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, wide, patch, patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, wide))
        tokens = (options["image"] // patch) ** 2 + 1
        self.dist_token = None
        if options["distilled"] == "yes":
            self.dist_token = nn.Parameter(torch.randn(1, 1, wide))
            self.head_dist = nn.Linear(wide, options["classes"])
            tokens += 1
        self.pos_embed = nn.Parameter(torch.randn(1, tokens, wide))
        self.blocks = nn.Sequential(
            *(VitBlock(wide, heads, size, hidden) for _ in range(options["layers"]))
        )
        self.norm = nn.LayerNorm(wide, eps=1e-6)
        self.head = nn.Linear(wide, options["classes"])

    def forward(self, x):
        x = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        tokens = [self.cls_token] + ([] if self.dist_token is None else [self.dist_token])
        x = torch.cat([*(each.expand(len(x), -1, -1) for each in tokens), x], dim=1)
        x = self.norm(self.blocks(x + self.pos_embed))
        first = self.head(x[:, 0])
        return first if self.dist_token is None else (first, self.head_dist(x[:, 1]))


class Generator(nn.Module):
    def __init__(self, options, width):
        super().__init__()
        full, layers, before = options["width"], [], options["latent"]
        for times in (8, 4, 2, 1):
            after = width(times * full)
            step = (1, 0) if times == 8 else (2, 1)
            layers += [nn.ConvTranspose2d(before, after, 4, *step, bias=False),
                       nn.BatchNorm2d(after), nn.ReLU()]
            before = after
        last = nn.ConvTranspose2d(before, options["channels"], 4, 2, 1, bias=False)
        self.main = nn.Sequential(*layers, last, nn.Tanh())

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, options, width):
        super().__init__()
        full, layers, before = options["width"], [], options["channels"]
        for times in (1, 2, 4, 8):
            after = width(times * full)
            layers.append(nn.Conv2d(before, after, 4, 2, 1, bias=False))
            if times > 1:
                layers.append(nn.BatchNorm2d(after))
            layers.append(nn.LeakyReLU(0.2))
            before = after
        self.main = nn.Sequential(*layers, nn.Conv2d(before, 1, 4, bias=False), nn.Sigmoid())

    def forward(self, x):
        return self.main(x).view(-1, 1).squeeze(1)

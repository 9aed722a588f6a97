"""Networks on images and other grids."""

import torch
import torch.nn.functional as F
from corpus import Network, floats, integers, several
from torch import nn


def lenet(k):
    return nn.Sequential(
        nn.Conv2d(1, 3 * k, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(3 * k, 5 * k, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(5 * k * 4, 12 * k), nn.ReLU(), nn.Linear(12 * k, 7 * k), nn.ReLU(),
        nn.Linear(7 * k, 10),
    )


class Vgg(nn.Module):
    def __init__(self, k):
        super().__init__()
        layers, before = [], 3
        for width in (2 * k, "pool", 4 * k, "pool", 4 * k, 4 * k, "pool"):
            if width == "pool":
                layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            else:
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width),
                           nn.ReLU(inplace=True)]
                before = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(
            nn.Linear(before * 2 * 2, 8 * k), nn.ReLU(True), nn.Dropout(), nn.Linear(8 * k, 8 * k),
            nn.ReLU(True), nn.Dropout(), nn.Linear(8 * k, 10),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


class AlexNet(nn.Module):
    """Local response norm, and overlapping pools."""

    def __init__(self, k):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4 * k, 5, stride=2, padding=2)
        self.conv2 = nn.Conv2d(4 * k, 6 * k, 3, padding=1, groups=2)
        self.norm = nn.LocalResponseNorm(5)
        self.fc = nn.Linear(6 * k * 3 * 3, 10)

    def forward(self, x):
        x = F.max_pool2d(self.norm(F.relu(self.conv1(x))), 3, 2)
        x = F.max_pool2d(self.norm(F.relu(self.conv2(x))), 3, 2, padding=1)
        return self.fc(x.view(x.size(0), self.fc.in_features))


def depthwise_multiplier(k):
    """Each channel becomes two; the number of groups is a width."""
    return nn.Sequential(
        nn.Conv2d(3, 2 * k, 3, padding=1), nn.Conv2d(2 * k, 4 * k, 3, groups=2 * k), nn.ReLU(),
        nn.Conv2d(4 * k, 3 * k, 1), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(3 * k, 5),
    )


def shuffled(x, groups):
    batch, channels, height, width = x.size()
    x = x.view(batch, groups, channels // groups, height, width)
    return torch.transpose(x, 1, 2).contiguous().view(batch, -1, height, width)


class ShuffleUnit(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.stride, half = stride, after // 2
        if stride > 1:
            self.branch1 = nn.Sequential(
                nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False),
                nn.BatchNorm2d(before), nn.Conv2d(before, half, 1, bias=False),
                nn.BatchNorm2d(half), nn.ReLU(inplace=True),
            )
        self.branch2 = nn.Sequential(
            nn.Conv2d(before if stride > 1 else half, half, 1, bias=False), nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
            nn.Conv2d(half, half, 3, stride, 1, groups=half, bias=False), nn.BatchNorm2d(half),
            nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(inplace=True),
        )

    def forward(self, x):
        if self.stride == 1:
            kept, changed = x.chunk(2, dim=1)
            return shuffled(torch.cat((kept, self.branch2(changed)), dim=1), 2)
        return shuffled(torch.cat((self.branch1(x), self.branch2(x)), dim=1), 2)


class ShuffleNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(3, 2 * k, 3, 2, 1), nn.BatchNorm2d(2 * k), nn.ReLU())
        self.stage = nn.Sequential(ShuffleUnit(2 * k, 4 * k, 2), ShuffleUnit(4 * k, 4 * k, 1),
                                   ShuffleUnit(4 * k, 4 * k, 1))
        self.fc = nn.Linear(4 * k, 10)

    def forward(self, x):
        return self.fc(self.stage(self.conv1(x)).mean([2, 3]))


def shuffled_groups(k):
    """ShuffleNet's first version: grouped 1x1 convolutions with nn.ChannelShuffle between."""
    return nn.Sequential(
        nn.Conv2d(3, 4 * k, 3, 2, 1), nn.Conv2d(4 * k, 8 * k, 1, groups=4), nn.ChannelShuffle(4),
        nn.Conv2d(8 * k, 8 * k, 3, 1, 1, groups=8 * k), nn.Conv2d(8 * k, 4 * k, 1, groups=4),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * k, 10),
    )


def group_norm(k):
    return nn.Sequential(
        nn.Conv2d(3, 4 * k, 3), nn.GroupNorm(4, 4 * k), nn.SiLU(), nn.Conv2d(4 * k, 8 * k, 3),
        nn.GroupNorm(4, 8 * k), nn.SiLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(8 * k * 4, 6),
    )


def channel_norm(k):
    """Group norm of one group, and of a group for each channel."""
    return nn.Sequential(
        nn.Conv2d(3, 3 * k, 3), nn.GroupNorm(1, 3 * k), nn.GELU(), nn.Conv2d(3 * k, 2 * k, 3),
        nn.GroupNorm(2 * k, 2 * k), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(2 * k, 6),
    )


def instance_norm(k):
    return nn.Sequential(
        nn.ReflectionPad2d(1), nn.Conv2d(3, 2 * k, 3), nn.InstanceNorm2d(2 * k), nn.ReLU(),
        nn.Conv2d(2 * k, 3 * k, 3, 2, 1), nn.InstanceNorm2d(3 * k, affine=True),
        nn.LeakyReLU(0.2), nn.ConvTranspose2d(3 * k, 2 * k, 3, 2, 1, output_padding=1),
        nn.InstanceNorm2d(2 * k, affine=True, track_running_stats=True), nn.ReLU(),
        nn.Conv2d(2 * k, 3, 3, padding=1), nn.Tanh(),
    )


class DenseLayer(nn.Module):
    def __init__(self, before, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, 4 * growth, 1)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, *features):
        x = self.conv1(F.relu(self.norm1(torch.cat(features, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class DenseNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        growth, width = k, 2 * k
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.block1 = nn.ModuleList(DenseLayer(width + i * growth, growth) for i in range(3))
        width += 3 * growth
        self.transition = nn.Conv2d(width, 2 * k, 1)
        self.block2 = nn.ModuleList(DenseLayer(2 * k + i * growth, growth) for i in range(2))
        self.norm = nn.BatchNorm2d(4 * k)
        self.fc = nn.Linear(4 * k, 10)

    @staticmethod
    def dense(x, layers):
        features = [x]
        for layer in layers:
            features.append(layer(*features))
        return torch.cat(features, 1)

    def forward(self, x):
        x = F.avg_pool2d(self.transition(self.dense(self.stem(x), self.block1)), 2)
        x = F.relu(self.norm(self.dense(x, self.block2)))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Inception(nn.Module):
    """Three parallel branches of several widths."""

    def __init__(self, k):
        super().__init__()
        self.stem = nn.Conv2d(3, 2 * k, 3, 2, 1)
        self.branch1 = nn.Conv2d(2 * k, k, 1)
        self.branch2 = nn.Sequential(nn.Conv2d(2 * k, k, 1), nn.Conv2d(k, 3 * k, 3, padding=1))
        self.branch3 = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(2 * k, k, 1))
        self.after = nn.Conv2d(5 * k, 4 * k, (1, 7), padding=(0, 3))
        self.fc = nn.Linear(4 * k + 5 * k, 10)

    def forward(self, x):
        x = F.relu(self.stem(x))
        joined = torch.cat([self.branch1(x), self.branch2(x), self.branch3(x)], dim=1)
        x = torch.cat([self.after(joined), joined], dim=1)
        return self.fc(F.adaptive_avg_pool2d(x, 1).squeeze(-1).squeeze(-1))


class CoordConv(nn.Module):
    """Two channels of coordinates are concatenated to a width w, so that a size is w + 2."""

    def __init__(self, k):
        super().__init__()
        self.conv1 = nn.Conv2d(3 + 2, 3 * k, 3, padding=1)
        self.conv2 = nn.Conv2d(3 * k + 2, 4 * k, 3, padding=1)
        self.norm = nn.BatchNorm2d(3 * k + 2)
        self.fc = nn.Linear(4 * k, 7)

    @staticmethod
    def with_coordinates(x):
        batch, _, height, width = x.shape
        rows = torch.linspace(-1, 1, height).view(1, 1, height, 1).expand(batch, 1, height, width)
        columns = torch.linspace(-1, 1, width).view(1, 1, 1, width).expand(batch, 1, height, width)
        return torch.cat([x, rows, columns], dim=1)

    def forward(self, x):
        x = F.relu(self.conv1(self.with_coordinates(x)))
        x = F.relu(self.conv2(self.norm(self.with_coordinates(x))))
        return self.fc(x.amax(dim=(2, 3)))


class ConvNext(nn.Module):
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.dwconv = nn.Conv2d(width, width, 7, padding=3, groups=width)
            self.norm = nn.LayerNorm(width, eps=1e-6)
            self.pwconv1, self.pwconv2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.gamma = nn.Parameter(1e-6 * torch.ones(width))

        def forward(self, x):
            kept = x
            x = self.dwconv(x).permute(0, 2, 3, 1)
            x = self.pwconv2(F.gelu(self.pwconv1(self.norm(x))))
            x = (self.gamma * x).permute(0, 3, 1, 2)
            return kept + self.drop_path(x)

        @staticmethod
        def drop_path(x, keep=0.8):
            shape = (x.shape[0],) + (1,) * (x.ndim - 1)
            mask = keep + torch.rand(shape, dtype=x.dtype, device=x.device)
            return x.div(keep) * mask.floor_()

    def __init__(self, k):
        super().__init__()
        self.stem = nn.Conv2d(3, 2 * k, 4, 4)
        self.block1, self.block2 = self.Block(2 * k), self.Block(3 * k)
        self.down = nn.Conv2d(2 * k, 3 * k, 2, 2)
        self.norm, self.head = nn.LayerNorm(3 * k), nn.Linear(3 * k, 10)

    def forward(self, x):
        x = self.block2(self.down(self.block1(self.stem(x))))
        return self.head(self.norm(x.mean([-2, -1])))


class Mixer(nn.Module):
    """The hidden size of the map over tokens is a width. The number of tokens is not."""

    class Block(nn.Module):
        def __init__(self, tokens, hidden, width):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.tokens = nn.Sequential(nn.Linear(tokens, hidden), nn.GELU(),
                                        nn.Linear(hidden, tokens))
            self.channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                          nn.Linear(2 * width, width))

        def forward(self, x):
            x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    def __init__(self, k):
        super().__init__()
        self.embed = nn.Conv2d(3, 2 * k, 4, 4)
        self.blocks = nn.Sequential(*(self.Block(16, 3 * k, 2 * k) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(2 * k), nn.Linear(2 * k, 10)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


class NonLocal(nn.Module):
    """Attention over pixels with one head. The size of the head is a width."""

    def __init__(self, k):
        super().__init__()
        self.stem = nn.Conv2d(3, 4 * k, 3, 2, 1)
        self.theta, self.phi = nn.Conv2d(4 * k, 2 * k, 1), nn.Conv2d(4 * k, 2 * k, 1)
        self.g, self.out = nn.Conv2d(4 * k, 3 * k, 1), nn.Conv2d(3 * k, 4 * k, 1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.fc = nn.Linear(4 * k, 10)

    def forward(self, x):
        x = self.stem(x)
        batch, _, height, width = x.shape
        theta = self.theta(x).view(batch, -1, height * width).permute(0, 2, 1)
        phi = self.phi(x).view(batch, -1, height * width)
        g = self.g(x).view(batch, -1, height * width)
        attention = torch.bmm(theta, phi).softmax(dim=-1)
        found = torch.bmm(g, attention.permute(0, 2, 1)).view(batch, -1, height, width)
        return self.fc((x + self.gamma * self.out(found)).mean((2, 3)))


class Cbam(nn.Module):
    """Attention over channels, then over pixels. The latter reduces the dimension of the width."""

    def __init__(self, k):
        super().__init__()
        self.stem = nn.Conv2d(3, 4 * k, 3)
        self.mlp = nn.Sequential(nn.Linear(4 * k, k), nn.ReLU(), nn.Linear(k, 4 * k))
        self.spatial = nn.Conv2d(2, 1, 7, padding=3)
        self.fc = nn.Linear(4 * k, 10)

    def forward(self, x):
        x = self.stem(x)
        scale = torch.sigmoid(self.mlp(x.mean((2, 3))) + self.mlp(x.amax((2, 3))))
        x = x * scale[:, :, None, None]
        pooled = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], dim=1)
        x = x * self.spatial(pooled).sigmoid()
        return self.fc(x.sum(dim=(-1, -2)))


class Film(nn.Module):
    """A condition scales and shifts channels."""

    def __init__(self, k):
        super().__init__()
        self.condition = nn.Embedding(5, 3 * k)
        self.to_scale = nn.Linear(3 * k, 2 * 4 * k)
        self.conv1, self.conv2 = nn.Conv2d(3, 4 * k, 3), nn.Conv2d(4 * k, 4 * k, 3)
        self.norm = nn.BatchNorm2d(4 * k, affine=False)
        self.fc = nn.Linear(4 * k, 10)

    def forward(self, x, kind):
        scale, shift = self.to_scale(self.condition(kind)).unsqueeze(2).unsqueeze(3).chunk(2, 1)
        x = self.norm(self.conv2(F.relu(self.conv1(x))))
        return self.fc(F.relu(x * (1 + scale) + shift).mean((2, 3)))


class Unfolded(nn.Module):
    """A convolution written as unfold and a matrix product, followed by a fold."""

    def __init__(self, k):
        super().__init__()
        self.conv = nn.Conv2d(3, 2 * k, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(3 * k, 2 * k * 9) * 0.1)
        self.back = nn.Linear(3 * k, 2 * 4)

    def forward(self, x):
        columns = F.unfold(self.conv(x), 3, padding=1)
        features = (self.weight @ columns).transpose(1, 2)
        return F.fold(self.back(features)[:, ::4].transpose(1, 2), (8, 8), 2, stride=2)


def temporal_conv(k):
    return nn.Sequential(
        nn.ConstantPad1d((2, 0), 0.0), nn.Conv1d(4, 3 * k, 3), nn.ReLU(), nn.Dropout1d(0.1),
        nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(3 * k, 2 * k, 3, dilation=2),
        nn.BatchNorm1d(2 * k), nn.ReLU(), nn.MaxPool1d(2), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        nn.Linear(2 * k, 5),
    )


def video(k):
    return nn.Sequential(
        nn.Conv3d(1, 2 * k, 3, padding=1), nn.BatchNorm3d(2 * k), nn.ReLU(), nn.MaxPool3d(2),
        nn.Conv3d(2 * k, 3 * k, (3, 1, 1)), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(),
        nn.Linear(3 * k, 4),
    )


def prelu(k):
    return nn.Sequential(
        nn.Conv2d(1, 2 * k, 3), nn.PReLU(2 * k), nn.Conv2d(2 * k, 3 * k, 3), nn.PReLU(),
        nn.Flatten(), nn.Linear(3 * k * 16, 4 * k), nn.PReLU(4 * k), nn.Linear(4 * k, 3),
    )


def weight_norm(k):
    normed = torch.nn.utils.weight_norm
    return nn.Sequential(
        normed(nn.Conv1d(2, 3 * k, 3)), nn.ELU(), normed(nn.Conv1d(3 * k, 2 * k, 3)), nn.ELU(),
        nn.Flatten(), normed(nn.Linear(2 * k * 4, 5 * k)), nn.ELU(), nn.Linear(5 * k, 2),
    )


def parametrized_weight_norm(k):
    normed = torch.nn.utils.parametrizations.weight_norm
    return nn.Sequential(normed(nn.Linear(7, 3 * k)), nn.ReLU(), normed(nn.Linear(3 * k, 4 * k)),
                         nn.ReLU(), nn.Linear(4 * k, 2))


IMAGE = floats(3, 16, 16)

NETWORKS = [
    Network("lenet", lenet, floats(1, 16, 16)),
    Network("vgg", Vgg, IMAGE),
    Network("alexnet", AlexNet, floats(3, 24, 24)),
    Network("depthwise-multiplier", depthwise_multiplier, IMAGE),
    Network("shufflenet", ShuffleNet, IMAGE),
    Network("shuffled-groups", shuffled_groups, IMAGE),
    Network("group-norm", group_norm, IMAGE),
    Network("channel-norm", channel_norm, IMAGE),
    Network("instance-norm", instance_norm, IMAGE),
    Network("densenet", DenseNet, IMAGE),
    Network("inception", Inception, IMAGE),
    Network("coord-conv", CoordConv, floats(3, 8, 8)),
    Network("convnext", ConvNext, IMAGE),
    Network("mixer", Mixer, IMAGE),
    Network("non-local", NonLocal, floats(3, 8, 8)),
    Network("cbam", Cbam, floats(3, 8, 8)),
    Network("film", Film, several(floats(3, 8, 8), integers(5))),
    Network("unfolded", Unfolded, floats(3, 8, 8)),
    Network("temporal-conv", temporal_conv, floats(4, 12)),
    Network("video", video, floats(1, 6, 8, 8)),
    Network("prelu", prelu, floats(1, 8, 8)),
    Network("weight-norm", weight_norm, floats(2, 8)),
    Network("parametrized-weight-norm", parametrized_weight_norm, floats(7)),
]

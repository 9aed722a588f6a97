"""Residual networks on images."""

import torch
import torch.nn.functional as F
from corpus import Network, floats
from torch import nn


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, before, width, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or before != width:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, before, width, stride=1, groups=1, inner=None):
        super().__init__()
        inner = inner or width
        after = self.expansion * width
        self.conv1 = nn.Conv2d(before, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = nn.Conv2d(inner, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, k, block, **more):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 2 * k, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2 * k)
        layers, before = [], 2 * k
        for width, stride in ((2 * k, 1), (2 * k, 1), (4 * k, 2), (8 * k, 2)):
            layers.append(block(before, width, stride, **more))
            before = block.expansion * width
        self.layers = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(before, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.fc(torch.flatten(self.avgpool(self.layers(x)), 1))


class ResNext(nn.Module):
    """The number of groups is fixed, and the width of a group scales."""

    def __init__(self, k):
        super().__init__()
        self.stem = nn.Conv2d(3, 4 * k, 3, padding=1)
        self.block1 = Bottleneck(4 * k, 4 * k, groups=4, inner=8 * k)
        self.block2 = Bottleneck(16 * k, 4 * k, stride=2, groups=4, inner=8 * k)
        self.fc = nn.Linear(16 * k, 10)

    def forward(self, x):
        return self.fc(self.block2(self.block1(self.stem(x))).mean(dim=(2, 3)))


class WideBlock(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(before), nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.same = before == width
        if not self.same:
            self.shortcut = nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.norm1(x))
        kept = x if self.same else self.shortcut(out)
        out = F.dropout(F.relu(self.norm2(self.conv1(out))), p=0.3, training=self.training)
        return torch.add(kept, self.conv2(out))


class WideResNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.width = 4 * k
        self.conv = nn.Conv2d(3, k, 3, padding=1, bias=False)
        self.blocks = nn.Sequential(
            WideBlock(k, 2 * k, 1), WideBlock(2 * k, 2 * k, 1), WideBlock(2 * k, self.width, 2)
        )
        self.norm = nn.BatchNorm2d(self.width)
        self.fc = nn.Linear(self.width, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.blocks(self.conv(x))))
        return self.fc(F.avg_pool2d(x, 4).view(-1, self.width))


class SqueezeExcite(nn.Module):
    def __init__(self, width, squeezed):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(width, squeezed, 1), nn.Conv2d(squeezed, width, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(scale))))


class InvertedResidual(nn.Module):
    def __init__(self, before, inner, after, stride):
        super().__init__()
        self.use_shortcut = stride == 1 and before == after
        self.block = nn.Sequential(
            nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish(True),
            nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner),
            nn.Hardswish(True), SqueezeExcite(inner, inner // 4),
            nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after),
        )

    def forward(self, x):
        return x + self.block(x) if self.use_shortcut else self.block(x)


def mobilenet(k):
    return nn.Sequential(
        nn.Conv2d(3, 2 * k, 3, 2, 1, bias=False), nn.BatchNorm2d(2 * k), nn.ReLU6(inplace=True),
        InvertedResidual(2 * k, 8 * k, 2 * k, 1), InvertedResidual(2 * k, 8 * k, 3 * k, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(3 * k, 8 * k), nn.Hardswish(),
        nn.Dropout(0.2), nn.Linear(8 * k, 10),
    )


IMAGE = floats(3, 16, 16)

NETWORKS = [
    Network("resnet-18", lambda k: ResNet(k, BasicBlock), IMAGE),
    Network("resnet-50", lambda k: ResNet(k, Bottleneck), IMAGE),
    Network("resnext", ResNext, IMAGE),
    Network("wide-resnet", WideResNet, floats(3, 8, 8)),
    Network("mobilenet", mobilenet, IMAGE),
]

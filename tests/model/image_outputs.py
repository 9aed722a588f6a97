"""Networks whose output is an image, or has a value for each place of an image."""

import torch
import torch.nn.functional as F
from corpus import Network, floats, integers, several
from torch import nn


class DoubleConv(nn.Sequential):
    def __init__(self, before, after):
        super().__init__(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                         nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, k, transposed):
        super().__init__()
        self.down1, self.down2 = DoubleConv(3, k), DoubleConv(k, 2 * k)
        self.bottom = DoubleConv(2 * k, 4 * k)
        self.transposed = transposed
        if transposed:
            self.up2 = nn.ConvTranspose2d(4 * k, 2 * k, 2, stride=2)
            self.up1 = nn.ConvTranspose2d(2 * k, k, 2, stride=2)
        else:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.join2 = DoubleConv((2 if transposed else 4) * k + 2 * k, 2 * k)
        self.join1 = DoubleConv((1 if transposed else 2) * k + k, k)
        self.out = nn.Conv2d(k, 2, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        x = self.bottom(F.max_pool2d(second, 2))
        x = self.up2(x) if self.transposed else self.up(x)
        x = self.join2(torch.cat([second, x], dim=1))
        x = self.up1(x) if self.transposed else self.up(x)
        return self.out(self.join1(torch.cat([first, x], dim=1)))


class FeaturePyramid(nn.Module):
    def __init__(self, k):
        super().__init__()
        widths = [k, 2 * k, 4 * k]
        self.stages = nn.ModuleList(
            nn.Conv2d(before, after, 3, 2, 1)
            for before, after in zip([3, k, 2 * k], widths, strict=True)
        )
        self.lateral = nn.ModuleList(nn.Conv2d(width, 3 * k, 1) for width in widths)
        self.heads = nn.ModuleDict({"kinds": nn.Conv2d(3 * k, 6, 3, padding=1),
                                    "boxes": nn.Conv2d(3 * k, 4, 3, padding=1)})

    def forward(self, x):
        maps = []
        for stage in self.stages:
            x = F.relu(stage(x))
            maps.append(x)
        top, found = None, []
        for lateral, each in zip(self.lateral[::-1], maps[::-1], strict=True):
            here = lateral(each)
            if top is not None:
                here = here + F.interpolate(top, size=here.shape[-2:], mode="nearest")
            top = here
            found.append(top)
        kinds = [self.heads["kinds"](each).permute(0, 2, 3, 1).flatten(1, 2) for each in found]
        boxes = [self.heads["boxes"](each).permute(0, 2, 3, 1).flatten(1, 2) for each in found]
        return torch.cat(kinds, 1), torch.cat(boxes, 1)


def generator(k):
    """As in DCGAN: a latent vector of fixed size becomes an image."""
    return nn.Sequential(
        nn.ConvTranspose2d(20, 4 * k, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * k), nn.ReLU(True),
        nn.ConvTranspose2d(4 * k, 2 * k, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * k), nn.ReLU(True),
        nn.ConvTranspose2d(2 * k, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )


class Discriminator(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, 2 * k, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * k, 4 * k, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * k),
            nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(4 * k, 1, 4, 1, 0, bias=False),
        )

    def forward(self, images, labels):
        scores = self.main(images).view(-1)
        return F.binary_cross_entropy_with_logits(scores, labels)


def super_resolution(k):
    return nn.Sequential(
        nn.Conv2d(3, 4 * k, 5, padding=2), nn.Tanh(), nn.Conv2d(4 * k, 2 * k, 3, padding=1),
        nn.Tanh(), nn.Conv2d(2 * k, 3 * 4, 3, padding=1), nn.PixelShuffle(2),
    )


class ShuffledUp(nn.Module):
    """The channels that become pixels are a width: 4 * w channels become w channels."""

    def __init__(self, k):
        super().__init__()
        self.head = nn.Conv2d(3, 3 * k, 3, padding=1)
        self.body = nn.Conv2d(3 * k, 3 * k, 3, padding=1)
        self.up = nn.Conv2d(3 * k, 4 * 2 * k, 3, padding=1)
        self.down = nn.Conv2d(4 * 2 * k, 3 * k, 1)
        self.tail = nn.Conv2d(2 * k + 3, 3, 3, padding=1)

    def forward(self, x):
        features = self.head(x)
        features = features + 0.1 * self.body(F.relu(features))
        up = F.pixel_shuffle(self.up(features), 2)
        again = self.down(F.pixel_unshuffle(up, 2)) + features
        up = up + F.pixel_shuffle(self.up(again), 2)
        return self.tail(torch.cat([up, F.interpolate(x, scale_factor=2, mode="bicubic")], 1))


class Autoencoder(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, k, 3, 2, 1), nn.ReLU(),
                                     nn.Conv2d(k, 2 * k, 3, 2, 1), nn.ReLU())
        self.inner = nn.Linear(2 * k * 4 * 4, 5 * k)
        self.outer = nn.Linear(5 * k, 2 * k * 4 * 4)
        self.decoder = nn.Sequential(
            nn.Unflatten(1, (2 * k, 4, 4)),
            nn.ConvTranspose2d(2 * k, k, 3, 2, 1, output_padding=1), nn.ReLU(),
            nn.ConvTranspose2d(k, 1, 3, 2, 1, output_padding=1), nn.Sigmoid(),
        )

    def forward(self, x):
        code = self.inner(self.encoder(x).flatten(1))
        return F.mse_loss(self.decoder(F.relu(self.outer(code))), x)


class Variational(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(36, 6 * k), nn.Linear(6 * k, 2 * 3 * k)
        self.fc3, self.fc4 = nn.Linear(3 * k, 6 * k), nn.Linear(6 * k, 36)

    def forward(self, x):
        x = torch.sigmoid(x.view(-1, 36))
        mean, log_variance = self.fc2(F.relu(self.fc1(x))).chunk(2, dim=-1)
        code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        again = torch.sigmoid(self.fc4(F.relu(self.fc3(code))))
        distance = F.binary_cross_entropy(again, x, reduction="sum")
        return distance - 0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())


class FullyConvolutional(nn.Module):
    """Two 1x1 convolutions as heads, whose scores are summed up."""

    def __init__(self, k):
        super().__init__()
        self.low = nn.Conv2d(3, 2 * k, 3, 2, 1)
        self.high = nn.Conv2d(2 * k, 5 * k, 3, 2, 1)
        self.score_low, self.score_high = nn.Conv2d(2 * k, 4, 1), nn.Conv2d(5 * k, 4, 1)

    def forward(self, x, targets):
        low = F.relu(self.low(x))
        scores = self.score_low(low)
        scores = scores + F.interpolate(
            self.score_high(F.relu(self.high(low))), scale_factor=2, mode="bilinear"
        )
        return F.cross_entropy(scores, targets)


class Diffusion(nn.Module):
    """forward() computes an embedding of the time step, whose size is fixed."""

    def __init__(self, k):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 4 * k), nn.SiLU(), nn.Linear(4 * k, 2 * k))
        self.enter = nn.Conv2d(3, 2 * k, 3, padding=1)
        self.leave = nn.Conv2d(2 * k, 3, 3, padding=1)
        self.norm = nn.GroupNorm(2, 2 * k)
        self.middle = nn.Conv2d(2 * k, 2 * k, 3, padding=1)

    def forward(self, x, steps):
        frequencies = torch.exp(-6.0 * torch.arange(8, dtype=torch.float32) / 8)
        angles = steps.float()[:, None] * frequencies[None]
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        h = self.enter(x)
        h = h + self.middle(F.silu(self.norm(h) + time[:, :, None, None]))
        return self.leave(h)


IMAGE = floats(3, 16, 16)

NETWORKS = [
    Network("unet-upsampled", lambda k: UNet(k, transposed=False), IMAGE),
    Network("unet-transposed", lambda k: UNet(k, transposed=True), IMAGE),
    Network("feature-pyramid", FeaturePyramid, IMAGE),
    Network("dcgan-generator", generator, floats(20, 1, 1)),
    Network("dcgan-discriminator", Discriminator,
            several(IMAGE, lambda batch: (torch.rand(batch),)), has_loss=True),
    Network("super-resolution", super_resolution, floats(3, 8, 8)),
    Network("shuffled-up", ShuffledUp, floats(3, 8, 8)),
    Network("autoencoder", Autoencoder, floats(1, 16, 16), has_loss=True),
    Network("variational", Variational, floats(1, 6, 6), has_loss=True),
    Network("fully-convolutional", FullyConvolutional,
            several(IMAGE, integers(4, 8, 8)), has_loss=True),
    Network("diffusion", Diffusion, several(floats(3, 8, 8), integers(100))),
]

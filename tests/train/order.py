"""The examples of a step of training and how they are varied, as docs/data.md defines it."""

import functools

import torch

MASK = 2**64 - 1
# The seed of an empty digest (src/base/digest.h).
DIGEST = 0x5155494345
# The first bytes of the secret of XXH3.
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248e")


def rotated(bits, by):
    return (bits << by | bits >> (64 - by)) & MASK


def number_of(text):
    return int.from_bytes(text, "little")


def secret(place):
    return number_of(SECRET[place:place + 8]) ^ number_of(SECRET[place + 8:place + 16])


def xxh3(text, seed):
    """XXH3, of 4 to 16 bytes."""
    assert 4 <= len(text) <= 16
    if len(text) > 8:
        low = number_of(text[:8]) ^ (secret(24) + seed & MASK)
        high = number_of(text[-8:]) ^ (secret(40) - seed & MASK)
        product = low * high
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        bits = len(text) + swapped + high + (product & MASK ^ product >> 64) & MASK
        bits = (bits ^ bits >> 37) * 0x165667919E3779F9 & MASK
        return bits ^ bits >> 32
    seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
    bits = number_of(text[-4:]) + (number_of(text[:4]) << 32) ^ (secret(8) - seed & MASK)
    bits ^= rotated(bits, 49) ^ rotated(bits, 24)
    bits = bits * 0x9FB21C651E98DF25 & MASK
    bits ^= (bits >> 35) + len(text)
    bits = bits * 0x9FB21C651E98DF25 & MASK
    return bits ^ bits >> 28


class Random:
    """xoshiro256**, and streams that are forked from it."""

    def __init__(self, key):
        self.key, self.state = key, []
        for place in range(1, 5):
            word = (key + place * 0x9E3779B97F4A7C15) & MASK
            word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
            word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
            self.state.append(word ^ word >> 31)

    def fork(self, label):
        digest = xxh3(self.key.to_bytes(8, "little"), DIGEST)
        if isinstance(label, int):
            return Random(xxh3(label.to_bytes(8, "little"), digest))
        return Random(xxh3(label.encode(), (digest + len(label)) & MASK))

    def next(self):
        a, b, c, d = self.state
        result = rotated(b * 5 & MASK, 7) * 9 & MASK
        shifted = b << 17 & MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        self.state = [a, b, c ^ shifted, rotated(d, 45)]
        return result

    def below(self, bound):
        least = 2**64 % bound
        while (bits := self.next()) < least:
            pass
        return bits % bound


@functools.cache
def permutation(examples, seed, epoch):
    random = Random(seed).fork("order").fork(epoch)
    places = list(range(examples))
    for place in range(examples - 1, 0, -1):
        other = random.below(place + 1)
        places[place], places[other] = places[other], places[place]
    return places


def examples_of_step(examples, batch, seed, step):
    per_epoch = max(1, examples // batch)
    first = step % per_epoch * batch
    return permutation(examples, seed, step // per_epoch)[first:first + batch]


def varied(images, seed, step, padding, flip):
    """A batch of images [examples, channels, height, width] with crops and flips."""
    height, width = images.shape[-2:]
    padded = torch.nn.functional.pad(images, [padding] * 4)
    found = []
    for position, image in enumerate(padded):
        random = Random(seed).fork("augmentation").fork(step).fork(position)
        top, left = random.below(2 * padding + 1), random.below(2 * padding + 1)
        cut = image[:, top:top + height, left:left + width]
        found.append(cut.flip(-1) if random.below(2) and flip else cut)
    return torch.stack(found)

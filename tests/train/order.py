"""The order of examples in training, as docs/data.md defines it."""

import functools

MASK = 2**64 - 1
# The seed of an empty digest (src/base/digest.h).
DIGEST = 0x5155494345
# Bytes 8 to 23 of the secret of XXH3.
SECRET = bytes.fromhex("7c01812cf721ad1cded46de9839097db")


def rotated(bits, by):
    return (bits << by | bits >> (64 - by)) & MASK


def xxh3(text, seed):
    """XXH3, of 4 to 8 bytes."""
    assert 4 <= len(text) <= 8
    seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
    first, last = (int.from_bytes(part, "little") for part in (text[:4], text[-4:]))
    secret = int.from_bytes(SECRET[:8], "little") ^ int.from_bytes(SECRET[8:], "little")
    bits = (last + (first << 32)) ^ ((secret - seed) & MASK)
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

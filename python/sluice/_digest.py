"""The digests of Sluice (src/base/digest.h) in Python: XXH3 with 64 bits.

The sums over blocks of a long text are PyTorch's, so that a checkpoint of a gigabyte takes seconds.
"""

import torch

_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1
_PRIME32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
            0x27D4EB2F165667C5)  # fmt: skip
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE, _STRIPES_IN_BLOCK = 64, 16
_BLOCK = _STRIPE * _STRIPES_IN_BLOCK
_BLOCKS_AT_ONCE = 256  # so that they stay in the cache


class Digest:
    """A digest of a sequence of texts."""

    def __init__(self):
        self._state = 0x5155494345

    def add(self, text) -> "Digest":
        """Adds bytes, or anything that has them (a bytearray, a memoryview)."""
        text = memoryview(text).cast("B")
        self._state = xxh3(text, (self._state + len(text)) & _MASK64)
        return self

    def hex(self) -> str:
        return f"{self._state:016x}"


def xxh3(text, seed=0) -> int:
    """XXH3_64bits_withSeed of xxHash 0.8."""
    size = len(text)
    if size > 240:
        return _of_long(text, seed)
    if size > 16:
        return _of_middle(text, seed)
    if size > 8:
        low = _word(text, 0) ^ ((_secret(24) ^ _secret(32)) + seed & _MASK64)
        high = _word(text, size - 8) ^ ((_secret(40) ^ _secret(48)) - seed & _MASK64)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _folded(low, high) & _MASK64)
    if size >= 4:
        seed ^= int.from_bytes((seed & _MASK32).to_bytes(4, "little"), "big") << 32
        first, last = int.from_bytes(text[:4], "little"), int.from_bytes(text[-4:], "little")
        keyed = (last + (first << 32)) ^ ((_secret(8) ^ _secret(16)) - seed & _MASK64)
        keyed ^= _turned(keyed, 49) ^ _turned(keyed, 24)
        keyed = keyed * 0x9FB21C651E98DF25 & _MASK64
        keyed = (keyed ^ (keyed >> 35) + size) * 0x9FB21C651E98DF25 & _MASK64
        return keyed ^ keyed >> 28
    if size:
        combined = text[0] << 16 | text[size >> 1] << 24 | text[size - 1] | size << 8
        keys = int.from_bytes(_SECRET[:4], "little") ^ int.from_bytes(_SECRET[4:8], "little")
        return _avalanche_64(combined ^ (keys + seed & _MASK64))
    return _avalanche_64(seed ^ _secret(56) ^ _secret(64))


def _word(text, at) -> int:
    return int.from_bytes(text[at : at + 8], "little")


def _secret(at) -> int:
    return _word(_SECRET, at)


def _turned(number, bits) -> int:
    return (number << bits | number >> 64 - bits) & _MASK64


def _folded(a, b) -> int:
    product = a * b
    return product & _MASK64 ^ product >> 64


def _avalanche(number) -> int:
    number = (number ^ number >> 37) * 0x165667919E3779F9 & _MASK64
    return number ^ number >> 32


def _avalanche_64(number) -> int:
    number = (number ^ number >> 33) * _PRIME64[1] & _MASK64
    number = (number ^ number >> 29) * _PRIME64[2] & _MASK64
    return number ^ number >> 32


def _of_middle(text, seed) -> int:
    size = len(text)

    def mixed(at, secret):
        return _folded(
            _word(text, at) ^ (_secret(secret) + seed & _MASK64),
            _word(text, at + 8) ^ (_secret(secret + 8) - seed & _MASK64),
        )

    total = size * _PRIME64[0]
    if size <= 128:
        for i in range((size - 1) // 32 + 1):
            total += mixed(16 * i, 32 * i) + mixed(size - 16 * (i + 1), 32 * i + 16)
        return _avalanche(total & _MASK64)
    total = _avalanche(total + sum(mixed(16 * i, 16 * i) for i in range(8)) & _MASK64)
    total += sum(mixed(16 * i, 16 * (i - 8) + 3) for i in range(8, size // 16))
    return _avalanche(total + mixed(size - 16, 136 - 17) & _MASK64)


def _of_long(text, seed) -> int:
    secret = b"".join(
        (_secret(at) + (seed if at % 16 == 0 else -seed) & _MASK64).to_bytes(8, "little")
        for at in range(0, len(_SECRET), 8)
    )
    lanes = [_PRIME32[2], *_PRIME64[:4], _PRIME32[1], _PRIME64[4], _PRIME32[0]]
    keys = torch.stack([_words(secret[8 * i : 8 * i + _STRIPE]) for i in range(_STRIPES_IN_BLOCK)])
    scramble = [_word(secret, len(secret) - _STRIPE + 8 * i) for i in range(8)]
    blocks, prime = (len(text) - 1) // _BLOCK, _PRIME32[0]
    for begin in range(0, blocks, _BLOCKS_AT_ONCE):
        end = min(begin + _BLOCKS_AT_ONCE, blocks)
        words = _words(text[begin * _BLOCK : end * _BLOCK]).view(-1, _STRIPES_IN_BLOCK, 8)
        for sums in _sums(words, keys).tolist():
            lanes = [
                ((lane := before + more & _MASK64) ^ lane >> 47 ^ key) * prime & _MASK64
                for before, more, key in zip(lanes, sums, scramble)
            ]
    rest = text[blocks * _BLOCK :]
    stripes = (len(rest) - 1) // _STRIPE
    words = _words(rest[: stripes * _STRIPE]).view(1, stripes, 8)
    last = _words(text[-_STRIPE:]).view(1, 1, 8)
    last_key = _words(secret[-_STRIPE - 7 : -7]).view(1, 8)
    for sums in _sums(words, keys[:stripes]).tolist() + _sums(last, last_key).tolist():
        lanes = [lane + more & _MASK64 for lane, more in zip(lanes, sums, strict=True)]
    total = len(text) * _PRIME64[0]
    for i in range(0, 8, 2):
        total += _folded(
            lanes[i] ^ _word(secret, 11 + 8 * i), lanes[i + 1] ^ _word(secret, 19 + 8 * i)
        )
    return _avalanche(total & _MASK64)


def _words(text) -> torch.Tensor:
    """The bytes as numbers of 64 bits, which wrap around."""
    copy = bytearray(text)
    return torch.frombuffer(copy, dtype=torch.int64) if copy else torch.empty(0, dtype=torch.int64)


def _sums(words, keys) -> torch.Tensor:
    """What the stripes of each block add to the lanes: [blocks, stripes, 8] gives [blocks, 8]."""
    keyed = words ^ keys
    products = (keyed & _MASK32) * (keyed >> 32 & _MASK32)
    swapped = words.view(*words.shape[:-1], 4, 2).flip(-1).reshape(words.shape)
    return (products + swapped).sum(-2)

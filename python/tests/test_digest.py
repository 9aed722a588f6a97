"""Digests are those of the trainer, whose xxHash made the numbers here."""

import pytest

from sluice._digest import Digest, xxh3

TEXT = bytes((i * 2654435761 & 0xFFFFFFFF) >> 24 for i in range(100_000))


@pytest.mark.parametrize("size, seed, expected", [
    (0, 0x0, 0x2D06800538D394C2),
    (0, 0x8123456789abcdef, 0xE1593C01F6375A75),
    (1, 0x0, 0xC44BDFF4074EECDB),
    (1, 0x8123456789abcdef, 0x03912E1E1D418B00),
    (3, 0x0, 0xE14090F554A5EA90),
    (3, 0x8123456789abcdef, 0x3890761736C5AFFA),
    (4, 0x0, 0x2E8D078A566E9749),
    (4, 0x8123456789abcdef, 0x32A2370DAF749B68),
    (8, 0x0, 0xCD1C7F88482FCAEF),
    (8, 0x8123456789abcdef, 0x3881010801E9099B),
    (9, 0x0, 0xBFE43DEF699FA9E3),
    (9, 0x8123456789abcdef, 0x3DAECF0821481E03),
    (16, 0x0, 0x81E9EB8634460BB9),
    (16, 0x8123456789abcdef, 0x8134521AB0CDF464),
    (17, 0x0, 0x9998430FD0A655BE),
    (17, 0x8123456789abcdef, 0xD00DFA14EED73C6A),
    (32, 0x0, 0x938C25DD24C9CF3B),
    (32, 0x8123456789abcdef, 0xE2987D3E3F330239),
    (33, 0x0, 0x0E399D30188E9C8E),
    (33, 0x8123456789abcdef, 0xC4CD9F18163E0C71),
    (128, 0x0, 0x75ECA5C5D5594884),
    (128, 0x8123456789abcdef, 0xB904187E57346207),
    (129, 0x0, 0xA05DA42E7A4E4667),
    (129, 0x8123456789abcdef, 0x53CBBD08919CD502),
    (240, 0x0, 0x5EB2467C8C9E3969),
    (240, 0x8123456789abcdef, 0xD07FA3F9BFB36BB0),
    (241, 0x0, 0x2D431E984C441F15),
    (241, 0x8123456789abcdef, 0xAAAA254C2AE7C742),
    (1024, 0x0, 0xE99DEF1145F12936),
    (1024, 0x8123456789abcdef, 0x13D45FDCF148A399),
    (1025, 0x0, 0x83CBA9B371E4E7F4),
    (1025, 0x8123456789abcdef, 0x1B4F4B60320F563B),
    (1088, 0x0, 0x8E7E69B3A7124813),
    (1088, 0x8123456789abcdef, 0xE5A77EBD077781F7),
    (100000, 0x0, 0x920056915640359F),
    (100000, 0x8123456789abcdef, 0xD3B2C2ABFF93A12E),
])  # fmt: skip
def test_texts_of_every_length_have_their_numbers(size, seed, expected):
    assert xxh3(memoryview(TEXT)[:size], seed) == expected


def test_what_is_added_is_told_apart():
    whole = Digest().add(b"ab").add(b"c").hex()
    assert whole == Digest().add(b"ab").add(bytearray(b"c")).hex()
    assert whole != Digest().add(b"a").add(b"bc").hex()
    assert whole != Digest().add(b"abc").hex()

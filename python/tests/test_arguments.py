"""A call with a wrong argument raises an error that names the mistake."""

import decimal
import fractions

import pytest
from controller import run_outside

from sluice._values import checked_attribute, checked_metrics, checked_work
from sluice._wire import decode, encode


class Scalar:
    """Behaves like a tensor: float() works only if there is one element."""

    def __init__(self, *elements):
        self.elements = elements

    def __float__(self):
        if len(self.elements) != 1:
            raise RuntimeError("only one element can be converted")
        return float(self.elements[0])


class Index:
    def __index__(self):
        return 5


def test_numbers_of_all_kinds():
    given = {"a": 1, "b": 0.5, "c": Scalar(2), "d": decimal.Decimal("0.25")}
    assert checked_metrics(given) == {"a": 1, "b": 0.5, "c": 2.0, "d": 0.25}
    assert checked_metrics({"x": fractions.Fraction(1, 2)}) == {"x": 0.5}
    assert checked_metrics({"x": 1 << 80}) == {"x": float(1 << 80)}


@pytest.mark.parametrize("bad", ["0.9", None, True, [1], 1j, Scalar(1, 2), b"1", 10**400])
def test_what_is_no_number_is_named(bad):
    with pytest.raises(TypeError, match=r"^accuracy: expected a number, found"):
        checked_metrics({"accuracy": bad})


def test_names_are_texts():
    with pytest.raises(TypeError, match="metric's name"):
        checked_metrics({3: 0.5})
    with pytest.raises(ValueError, match="valid Unicode"):
        checked_metrics({"\udc80": 0.5})
    with pytest.raises(TypeError, match="at least one metric"):
        checked_metrics({})


def test_work_is_an_integer():
    assert checked_work(3) == 3
    assert checked_work(Index()) == 5
    for bad in (3.0, "3", None):
        with pytest.raises(TypeError, match="work: expected an integer"):
            checked_work(bad)
    for bad in (-1, 1 << 60):
        with pytest.raises(ValueError, match=str(bad)):
            checked_work(bad)


def test_attributes():
    assert checked_attribute("a", "text") == {"a": "text"}
    assert checked_attribute("a", False) == {"a": False}
    assert checked_attribute("a", Scalar(2)) == {"a": 2.0}
    for bad in (None, [1], {"a": 1}):
        with pytest.raises(TypeError, match="a: expected a text, a number or a boolean"):
            checked_attribute("a", bad)


def test_work_rises(controller, launch):
    process = launch(
        """
import sluice
sluice.report(3, accuracy=1)
for work in (3, 2):
    try:
        sluice.report(work, accuracy=1)
    except ValueError as error:
        print(error)
sluice.report(4, accuracy=1)
"""
    )
    assert process.end() == [
        "work: expected more than the 3 reported last, found 3",
        "work: expected more than the 3 reported last, found 2",
    ]
    assert controller.works() == [3, 4]


def test_metrics_may_be_named_like_arguments():
    script = "import sluice; sluice.report(1, work=2, values=3, self=4, trial=5)"
    assert run_outside(script) == ["epoch 1  work=2  values=3  self=4  trial=5"]


def test_numpy_and_enums_are_sent_as_plain_numbers():
    import enum

    class Float(float):
        def __repr__(self):
            return "np.float64(0.5)"

    class Level(enum.IntEnum):
        HIGH = 3

    line = encode({"type": "report", "values": checked_metrics({"a": Float(0.5), "b": Level.HIGH})})
    assert line == b'{"type":"report","values":{"a":0.5,"b":3}}\n'


@pytest.mark.parametrize("value", [0.1, 1e-320, 1.7976931348623157e308, 2.0, 123456789.123456789])
def test_doubles_survive(value):
    assert decode(encode({"type": "x", "v": value}))["v"] == value


@pytest.mark.parametrize("line", [b"", b"[]", b"{", b'{"a":1} x', b"\xff", b"{'a': 1}", b"3"])
def test_what_is_no_message_is_a_value_error(line):
    with pytest.raises(ValueError):
        decode(line)

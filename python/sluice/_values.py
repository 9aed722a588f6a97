"""Checks of the caller's arguments: an error is raised by the call that made the mistake."""

from _operator import index

# Doubles cannot hold every integer beyond this, and readers of JSON differ in what they do with it.
_EXACT_INTEGERS = 1 << 53
_MOST_CAPACITY = 4096  # that a controller accepts


def checked_work(work) -> int:
    count = _integer("work", work)
    if not 0 <= count < _EXACT_INTEGERS:
        raise ValueError(f"work: expected 0 <= work < 2**53, found {count}")
    return count


def checked_capacity(capacity) -> int:
    return _count("capacity", capacity)


def checked_measures(trials, size_bytes, work_per_second) -> dict:
    """The content of a `profile` message, without the arguments that are None (not measured)."""
    measures = {"trials": _count("trials", trials)}
    if size_bytes is not None:
        measures["bytes"] = _integer("bytes", size_bytes)
        if not 0 <= measures["bytes"] < _EXACT_INTEGERS:
            raise ValueError(f"bytes: expected 0 <= bytes < 2**53, found {measures['bytes']}")
    if work_per_second is not None:
        speed = measures["work_per_second"] = float(_number("work_per_second", work_per_second))
        if not 0 <= speed < float("inf"):
            raise ValueError(
                f"work_per_second: expected a finite number of at least 0, found {speed}"
            )
    return measures


def checked_metrics(metrics: dict) -> dict:
    if not metrics:
        raise TypeError("report: expected at least one metric, as in report(3, accuracy=0.91)")
    return {_checked_name("metric", name): _number(name, metrics[name]) for name in metrics}


def checked_attribute(name, value) -> dict:
    _checked_name("attribute", name)
    if isinstance(value, str):
        return {name: _checked_text(name, value)}
    if isinstance(value, bool):
        return {name: value}
    return {name: _number(name, value, expected="a text, a number or a boolean")}


def _integer(name: str, value) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(
            f"{name}: expected an integer, found {value!r} ({type(value).__name__})"
        ) from None


def _count(name: str, value) -> int:
    """A checked number of trials in a bundle."""
    count = _integer(name, value)
    if not 1 <= count <= _MOST_CAPACITY:
        raise ValueError(f"{name}: expected a number from 1 to {_MOST_CAPACITY}, found {count}")
    return count


def _number(name: str, value, expected: str = "a number"):
    try:
        if isinstance(value, (bool, str, bytes, bytearray)):
            raise TypeError
        if isinstance(value, int) and -_EXACT_INTEGERS < value < _EXACT_INTEGERS:
            return int(value)
        return float(value)
    except Exception as error:  # a tensor's __float__ may raise anything
        why = f": {error}" if str(error) else ""
        raise TypeError(
            f"{name}: expected {expected}, found {value!r:.80} ({type(value).__name__}){why}"
        ) from None


def _checked_name(what: str, name) -> str:
    if not isinstance(name, str):
        raise TypeError(
            f"expected the {what}'s name as a text, found {name!r} ({type(name).__name__})"
        )
    return _checked_text(what, name)


def _checked_text(what: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what}: expected valid Unicode, found {text!r:.80}") from None
    return str(text)

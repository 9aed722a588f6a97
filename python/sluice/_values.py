"""Checks of the caller's arguments: an error is raised by the call that made the mistake."""

from _operator import index

# Beyond this a double no longer holds every integer, and readers of JSON differ.
_EXACT_INTEGERS = 1 << 53


def checked_work(work) -> int:
    try:
        count = index(work)
    except TypeError:
        raise TypeError(
            f"work: expected an integer, found {work!r} ({type(work).__name__})"
        ) from None
    if not 0 <= count < _EXACT_INTEGERS:
        raise ValueError(f"work: expected 0 <= work < 2**53, found {count}")
    return count


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

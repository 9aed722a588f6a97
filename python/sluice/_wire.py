"""Lines of the worker protocol (docs/protocol.md): JSON, one object a line."""

MAX_LINE_BYTES = 1 << 20


class _PlainJson:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# The package `json` imports `re` and `enum`. That would be most of the time that `import sluice`
# takes. The part of `json` in C, `_json`, has all that is needed here.
try:
    from _json import encode_basestring_ascii as _quote
    from _json import make_scanner

    _scan = make_scanner(_PlainJson)
except (ImportError, AttributeError, TypeError):
    from json.decoder import JSONDecoder
    from json.encoder import encode_basestring_ascii as _quote

    _scan = JSONDecoder().scan_once


def decode(line: bytes) -> dict:
    """The object of one line. Raises ValueError for anything else."""
    text = line.decode().strip()
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    if end != len(text) or not isinstance(value, dict):
        raise ValueError(f"expected one JSON object, found {text[:80]!r}")
    return value


def encode(fields: dict) -> bytes:
    """The line of a message: texts, numbers, booleans, and objects and lists of those."""
    line = _object(fields).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(
            f"a message holds at most {MAX_LINE_BYTES} bytes, this {fields['type']} has {len(line)}"
        )
    return line


def _object(fields: dict) -> str:
    return "{" + ",".join([_quote(key) + ":" + _value(fields[key]) for key in fields]) + "}"


def _value(value) -> str:
    if isinstance(value, str):
        return _quote(value)
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list):
        return "[" + ",".join([_value(each) for each in value]) + "]"
    return _object(value)


def _float(value: float) -> str:
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return float.__repr__(value)

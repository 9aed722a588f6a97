"""The examples of docs/python.md run as they stand."""

import re
from pathlib import Path

import pytest
from controller import run_outside

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number):
    run_outside(EXAMPLES[number])


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


def test_every_public_name_is_described():
    import sluice

    for name in sluice.__all__:
        assert f"`sluice.{name}" in PAGE.read_text(), name

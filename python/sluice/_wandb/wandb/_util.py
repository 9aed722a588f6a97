"""The few helpers of wandb.util that scripts call."""

import importlib
import random
import string

_LETTERS = string.ascii_lowercase + string.digits
# Not the script's own generator: with a seed, every trial would have the same id.
_random = random.SystemRandom()


def generate_id(length=8):
    return "".join(_random.choice(_LETTERS) for _ in range(length))


def get_module(name, required=None, lazy=True):
    """The module, or None if it is not there and not required; `required` is the error's text."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if required:
            raise ImportError(required) from None
        return None


def make_artifact_name_safe(name):
    return "".join(c if (c.isalnum() and c.isascii()) or c in "-_." else "_" for c in name)[:128]

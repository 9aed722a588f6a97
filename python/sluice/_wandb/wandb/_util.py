"""The helpers of wandb.util that scripts call."""

import importlib
import random
import string

_LETTERS = string.ascii_lowercase + string.digits
# Not the module's shared generator: if the script seeds that one, every trial gets the same id.
_random = random.SystemRandom()


def generate_id(length=8):
    return "".join(_random.choice(_LETTERS) for _ in range(length))


def get_module(name, required=None, lazy=True):
    """Returns the module, or None if it cannot be imported.

    If `required` is given, raises an ImportError with that text instead of returning None.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        if required:
            raise ImportError(required) from None
        return None


def make_artifact_name_safe(name):
    return "".join(c if (c.isalnum() and c.isascii()) or c in "-_." else "_" for c in name)[:128]

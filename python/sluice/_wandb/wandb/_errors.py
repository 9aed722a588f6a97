"""The errors that the stand-in raises."""


class Error(Exception):
    pass


class CommError(Error):
    pass


class AuthenticationError(CommError):
    pass


class UsageError(Error):
    pass


class UnsupportedError(UsageError):
    pass


class ConfigError(Error):
    pass


def absence(name, instead=""):
    """The message that the stand-in lacks a name of the real package, and what to do instead."""
    return (
        f"{name}: what stands in for wandb in a sweep that Sluice runs does not have it; "
        f"{instead + '; ' if instead else ''}for the real package say 'wandb: real' in the sweep "
        "file, or run SLUICE_WANDB=real sluice tune"
    )


def unsupported(name, instead=""):
    """The error to raise if a script uses a name that the stand-in lacks."""
    return AttributeError(absence(name, instead))

class Error(Exception):
    pass


class CommError(Error):
    pass


class UsageError(Error):
    pass


def unsupported(name):
    """The error to raise where a script wants what is not here."""
    return AttributeError(
        f"{name}: what stands in for wandb in a sweep that Sluice runs does not have it; for the "
        "real package say 'wandb: real' in the sweep file, or run SLUICE_WANDB=real sluice tune"
    )

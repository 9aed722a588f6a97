"""What a run is begun with beside its configuration."""

import os

from wandb._errors import unsupported

NO_ENTITY = "sluice"  # no account is behind a run

_VARIABLES = {
    "entity": "WANDB_ENTITY",
    "project": "WANDB_PROJECT",
    "name": "WANDB_NAME",
    "notes": "WANDB_NOTES",
    "tags": "WANDB_TAGS",
    "group": "WANDB_RUN_GROUP",
    "job_type": "WANDB_JOB_TYPE",
}


class Settings:
    """Accepted and kept; nothing here depends on it."""

    def __init__(self, *args, **settings):
        self.__dict__.update(settings)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.Settings.{name}")


def facts_of(given):
    """What the script says of its run, and where it does not, what wandb's variables say."""
    facts = dict(given)
    for fact, variable in _VARIABLES.items():
        if facts[fact] is None:
            facts[fact] = os.environ.get(variable)
    if isinstance(facts["tags"], str):
        facts["tags"] = facts["tags"].split(",")
    return facts

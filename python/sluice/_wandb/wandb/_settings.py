"""The settings of a run, and the facts about it: its name, its project and so on."""

import os

from wandb._errors import unsupported

NO_ENTITY = "sluice"  # the entity of a run if none is given: there is no account

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
    """Settings that a script gives. They are kept for the script to read, and have no effect."""

    def __init__(self, *args, **settings):
        self.__dict__.update(settings)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.Settings.{name}")


def facts_of(given):
    """The facts about a run: those that the script gives, else those in wandb's variables."""
    facts = dict(given)
    for fact, variable in _VARIABLES.items():
        if facts[fact] is None:
            facts[fact] = os.environ.get(variable)
    if isinstance(facts["tags"], str):
        facts["tags"] = facts["tags"].split(",")
    return facts

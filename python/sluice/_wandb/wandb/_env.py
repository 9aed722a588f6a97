"""Environment variables of wandb that scripts read and set by name."""

import os

DIR = "WANDB_DIR"
ENTITY = "WANDB_ENTITY"
MODE = "WANDB_MODE"
NAME = "WANDB_NAME"
PROJECT = "WANDB_PROJECT"
RUN_GROUP = "WANDB_RUN_GROUP"
RUN_ID = "WANDB_RUN_ID"
SWEEP_ID = "WANDB_SWEEP_ID"


def get_project(default=None):
    return os.environ.get(PROJECT, default)


def get_entity(default=None):
    return os.environ.get(ENTITY, default)


def get_dir(default=None):
    return os.environ.get(DIR, default)


def set_project(value):
    os.environ[PROJECT] = value


def set_entity(value):
    os.environ[ENTITY] = value

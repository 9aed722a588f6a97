"""Artifacts: accepted, not stored. The script's own files stay where they are."""

import contextlib
import os
import tempfile

from wandb._errors import unsupported


class Artifact:
    """A name for files. Reading them back is not supported."""

    def __init__(self, name, type=None, description=None, metadata=None, **options):
        self.name = name
        self.type = type
        self.description = description
        self.metadata = dict(metadata or {})
        self.aliases = []
        self.tags = []
        self.ttl = None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.Artifact.{name}", "no files are kept but those the script writes")

    def add_file(self, *args, **options):
        pass

    def add_dir(self, *args, **options):
        pass

    def add_reference(self, *args, **options):
        pass

    def add(self, *args, **options):
        pass

    @contextlib.contextmanager
    def new_file(self, name, mode="w", encoding=None):
        with tempfile.NamedTemporaryFile(mode, encoding=encoding) as file:
            yield file

    def save(self, *args, **options):
        pass

    def wait(self, *args, **options):
        return self

    @staticmethod
    def _of(given, name=None, type=None, aliases=None):
        """Returns the artifact to log: `given` itself, or a new artifact if `given` is a path."""
        if not isinstance(given, Artifact):
            given = Artifact(name or os.path.basename(os.fspath(given)), type or "unspecified")
        given.aliases = [*given.aliases, *(aliases or ())]
        return given

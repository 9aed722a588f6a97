"""What scripts log beside numbers: accepted, and dropped."""

import contextlib
import os
import tempfile


class _Media:
    def __init__(self, *args, **options):
        self.args = args
        self.options = options


class Audio(_Media):
    pass


class Graph(_Media):
    pass


class Histogram(_Media):
    pass


class Html(_Media):
    pass


class Image(_Media):
    pass


class Molecule(_Media):
    pass


class Object3D(_Media):
    pass


class Plotly(_Media):
    pass


class Video(_Media):
    pass


class Table(_Media):
    def __init__(self, columns=None, data=None, *args, **options):
        super().__init__(*args, **options)
        self.columns = list(columns or [])
        self.data = list(data or [])

    def add_data(self, *row):
        self.data.append(row)

    def add_column(self, name, data, optional=False):
        self.columns.append(name)


class Artifact:
    """A name for files that are kept nowhere but where the script wrote them."""

    def __init__(self, name, type=None, description=None, metadata=None, **options):
        self.name = name
        self.type = type
        self.description = description
        self.metadata = dict(metadata or {})
        self.aliases = []

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
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "file"), mode, encoding=encoding) as file:
                yield file

    def save(self, *args, **options):
        pass

    def wait(self, *args, **options):
        return self


class _Plots:
    """wandb.plot: every chart is dropped."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Media


plot = _Plots()

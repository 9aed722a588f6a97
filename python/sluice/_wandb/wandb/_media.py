"""What scripts log beside numbers, such as images and charts. All of it is accepted and dropped."""

from wandb._errors import unsupported


class _Media:
    def __init__(self, *args, **options):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"wandb.{type(self).__name__}.{name}")


class Audio(_Media):
    pass


class Classes(_Media):
    pass


class CustomChart(_Media):
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
    """A table. Its rows can be read back, because some scripts collect values in a table."""

    def __init__(self, columns=None, data=None, rows=None, dataframe=None, *args, **options):
        super().__init__(*args, **options)
        if dataframe is not None:
            columns, data = dataframe.columns, dataframe.values.tolist()
        if data is None:
            data = rows
        if hasattr(data, "columns"):
            columns, data = columns or data.columns, data.values.tolist()
        self.data = [] if data is None else [list(row) for row in data]
        width = len(self.data[0]) if self.data else 3
        names = [f"Column {i}" for i in range(1, width + 1)] if data is not None else _UNNAMED
        self.columns = list(names if columns is None else columns)

    def add_data(self, *row):
        if len(row) != len(self.columns):
            raise ValueError(
                f"wandb.Table: expected {len(self.columns)} values, for the columns "
                f"{', '.join(map(str, self.columns))}, found {len(row)}"
            )
        self.data.append(list(row))

    def add_row(self, *row):
        self.add_data(*row)

    def add_column(self, name, data, optional=False):
        values = list(data)
        if self.data and len(values) != len(self.data):
            raise ValueError(
                f"wandb.Table: expected {len(self.data)} values, one for each row, found "
                f"{len(values)}"
            )
        if not self.data:
            self.data = [[] for _ in values]
            self.columns = []
        for row, value in zip(self.data, values):
            row.append(value)
        self.columns.append(name)

    def get_column(self, name, convert_to=None):
        if convert_to is not None:
            raise unsupported(f"wandb.Table.get_column(convert_to={convert_to!r})")
        place = self.columns.index(name)
        return [row[place] for row in self.data]

    def get_dataframe(self):
        from pandas import DataFrame

        return DataFrame(self.data, columns=self.columns)

    def iterrows(self):
        yield from enumerate(self.data)


_UNNAMED = ("Input", "Output", "Expected")


def _chart(*args, **options):
    """Stands in for each function of wandb.plot, which returns a chart."""
    return CustomChart()


bar = confusion_matrix = histogram = line = line_series = plot_table = _chart
pr_curve = roc_curve = scatter = visualize = _chart


def _drawn(*args, **options):
    """Stands in for each function of wandb.sklearn, which would log a chart."""


plot_calibration_curve = plot_class_proportions = plot_classifier = plot_clusterer = _drawn
plot_confusion_matrix = plot_elbow_curve = plot_feature_importances = _drawn
plot_learning_curve = plot_outlier_candidates = plot_precision_recall = _drawn
plot_regressor = plot_residuals = plot_roc = plot_silhouette = plot_summary_metrics = _drawn

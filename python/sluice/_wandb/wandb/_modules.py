"""The modules inside wandb that frameworks and scripts import by name.

These modules have no files of their own. Each holds a few names of the stand-in, as the table
MODULES says. Importing any other module of wandb raises an error that names that module.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec

from wandb._errors import absence, unsupported

_KERAS = ("_keras", "WandbCallback WandbMetricsLogger WandbModelCheckpoint")
_LIGHTGBM = ("_lightgbm", "log_summary wandb_callback")
_XGBOOST = ("_xgboost", "WandbCallback")
_SKLEARN = (
    "_media",
    "plot_calibration_curve plot_class_proportions plot_classifier plot_clusterer "
    "plot_confusion_matrix plot_elbow_curve plot_feature_importances plot_learning_curve "
    "plot_outlier_candidates plot_precision_recall plot_regressor plot_residuals plot_roc "
    "plot_silhouette plot_summary_metrics",
)

# For each module: the module that its names come from ("" is wandb itself), and the names.
MODULES = {
    "apis": ("", ""),
    "apis.public": ("_api", "Api Run"),
    "data_types": (
        "_media",
        "Audio Classes Graph Histogram Html Image Molecule Object3D Plotly Table Video",
    ),
    "env": (
        "_env",
        "DIR ENTITY MODE NAME PROJECT RUN_GROUP RUN_ID SWEEP_ID get_dir get_entity get_project "
        "set_entity set_project",
    ),
    "errors": ("_errors", "AuthenticationError CommError Error UnsupportedError UsageError"),
    "errors.term": ("", "termerror termlog termwarn"),
    "integration": ("", ""),
    "integration.keras": _KERAS,
    "integration.lightgbm": _LIGHTGBM,
    "integration.sklearn": _SKLEARN,
    "integration.xgboost": _XGBOOST,
    "keras": _KERAS,
    "lightgbm": _LIGHTGBM,
    "plot": (
        "_media",
        "CustomChart bar confusion_matrix histogram line line_series plot_table pr_curve "
        "roc_curve scatter visualize",
    ),
    "sdk": (
        "",
        "AlertLevel Artifact Config Settings Summary finish init login require setup sweep "
        "teardown",
    ),
    "sdk.artifacts": ("", "Artifact"),
    "sdk.artifacts.artifact": ("", "Artifact"),
    "sdk.data_types": ("", ""),
    "sdk.data_types.histogram": ("_media", "Histogram"),
    "sdk.data_types.image": ("_media", "Image"),
    "sdk.data_types.table": ("_media", "Table"),
    "sdk.data_types.video": ("_media", "Video"),
    "sdk.lib": ("_run", "RunDisabled"),
    "sdk.lib.config_util": ("_errors", "ConfigError"),
    "sdk.lib.disabled": ("_run", "RunDisabled"),
    "sdk.lib.runid": ("_util", "generate_id"),
    "sdk.wandb_alerts": ("", "AlertLevel"),
    "sdk.wandb_config": ("", "Config"),
    "sdk.wandb_init": ("", "init"),
    "sdk.wandb_login": ("", "login"),
    "sdk.wandb_metric": ("_summary", "Metric"),
    "sdk.wandb_run": ("", "Run finish"),
    "sdk.wandb_settings": ("", "Settings"),
    "sdk.wandb_setup": ("", "setup teardown"),
    "sdk.wandb_summary": ("", "Summary"),
    "sklearn": _SKLEARN,
    "util": ("_util", "generate_id get_module make_artifact_name_safe"),
    "wandb_run": ("", "Run"),
    "xgboost": _XGBOOST,
}


def member(module, name):
    """Returns the module `module.name`, or raises AttributeError if the table does not have it.

    The module '' is wandb itself.
    """
    full_name = f"{module}.{name}" if module else name
    if full_name in MODULES:
        try:
            return importlib.import_module(f"wandb.{full_name}")
        except ImportError as error:  # the framework that the module is for is not installed
            raise AttributeError(f"wandb.{full_name}: {error}") from error
    if name.startswith("__"):
        raise AttributeError(f"module 'wandb' has no attribute '{name}'")
    raise unsupported(f"wandb.{full_name}")


class _Finder:
    """The finder and loader of these modules. It comes after the finders that look for files."""

    @staticmethod
    def find_spec(full_name, path=None, target=None):
        package, _, name = full_name.partition(".")
        if package != "wandb":
            return None
        if name not in MODULES:
            # No name= here: with name=, `from wandb import x` would replace the error's text.
            raise ModuleNotFoundError(absence(full_name))
        return ModuleSpec(full_name, _Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        name = module.__name__.partition(".")[2]
        source, names = MODULES[name]
        holder = importlib.import_module(f"wandb.{source}" if source else "wandb")
        for word in names.split():
            setattr(module, word, getattr(holder, word))
        module.__getattr__ = lambda word: member(name, word)


def install():
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)

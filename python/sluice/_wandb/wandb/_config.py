"""The configuration of a run: the script's defaults, overridden by the sweep's values."""

import json
import os
import sys
from collections.abc import Mapping


class Section(dict):
    """A dict whose keys are also attributes. A dotted name such as "a.b" reads a nested value."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"wandb.config has no '{name}'; it has {', '.join(self) or 'nothing'}"
            ) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __setitem__(self, name, value):
        super().__setitem__(name, _sectioned(value))

    def __missing__(self, name):
        inner = self
        for part in str(name).split("."):
            if not isinstance(inner, dict) or not dict.__contains__(inner, part):
                raise KeyError(name)
            inner = dict.__getitem__(inner, part)
        return inner

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def as_dict(self):
        return {
            key: value.as_dict() if isinstance(value, Section) else value
            for key, value in self.items()
        }

    _as_dict = as_dict


class Config(Section):
    """The configuration. A value that the sweep chose cannot be changed.

    If a script tries, the value stays and a message is printed, as with the real wandb.
    """

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "_chosen", {})
        object.__setattr__(self, "_told", set())
        object.__setattr__(self, "_items", self)  # older scripts read `config._items`
        self._begin()

    def __reduce__(self):
        return _sectioned, (self.as_dict(),)  # a copy is a plain Section, which may be changed

    def _begin(self):
        """Drops all values except those that the sweep chose for this trial."""
        self.clear()
        object.__setattr__(self, "_chosen", _chosen_values())
        for key, value in self._chosen.items():
            super().__setitem__(key, value)

    @staticmethod
    def read(given):
        """Returns the configuration that a script passes, in one of several forms, as a dict."""
        if isinstance(given, Mapping):
            return dict(given)
        if isinstance(given, (str, os.PathLike)):
            if not str(given).endswith(".json"):
                raise TypeError(
                    f"config: expected a dict or a .json file, found {given!r}; read the file "
                    "in the script"
                )
            with open(given, encoding="utf-8") as file:
                return dict(json.load(file))
        if hasattr(given, "flag_values_dict"):
            return dict(given.flag_values_dict())
        try:
            return dict(vars(given))
        except TypeError:
            raise TypeError(f"config: expected a dict, found {type(given).__name__}") from None

    def update(self, given=None, allow_val_change=None, **more):
        for key, value in {**self.read(given or {}), **more}.items():
            self[key] = value

    def setdefaults(self, given):
        for key, value in self.read(given).items():
            if key not in self:
                self[key] = value

    def persist(self):
        pass

    def __setitem__(self, name, value):
        chosen = self._chosen
        if name in chosen:
            value = self._under(name, value, chosen[name])
        super().__setitem__(name, value)

    def _under(self, name, value, chosen):
        """The value to keep if the script gives `value` for a name whose value the sweep chose."""
        if isinstance(chosen, dict) and isinstance(value, Mapping):
            merged = {**value}
            for key, inner in chosen.items():
                merged[key] = (
                    self._under(f"{name}.{key}", value[key], inner) if key in value else inner
                )
            return merged
        if value != chosen and name not in self._told:
            self._told.add(name)
            sys.stderr.write(f"wandb: '{name}' is chosen by the sweep: it stays {chosen!r}\n")
        return chosen


def _sectioned(value):
    if isinstance(value, Mapping) and not isinstance(value, Section):
        section = Section()
        for key, inner in value.items():
            section[key] = inner
        return section
    return value


def _chosen_values():
    path = os.environ.get("SLUICE_PARAMS")
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)

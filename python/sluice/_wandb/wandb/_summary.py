"""The summary of a run: one value of each metric, the last unless the script chose another."""

from fnmatch import fnmatchcase

from wandb._errors import Error

# For each kind of summary: the function of its value so far and the new value.
_WAYS = {
    "min": min,
    "max": max,
    "first": lambda before, value: before,
    "last": lambda before, value: value,
}
_OTHERS = ("mean", "best", "copy", "none")


class Metric:
    """The object that define_metric() returns."""

    def __init__(self, name, step_metric, summary):
        self.name = name
        self.step_metric = step_metric
        self.summary = summary


class Rules:
    """How the summary of each metric is made, by its name or by a pattern such as `val/*`."""

    def __init__(self):
        self._by_name = {}
        self._by_pattern = {}

    def define(self, name, summary, goal=None):
        if summary is None:
            return  # the call only names the x axis for charts of the metric
        ways = {way: _WAYS.get(way) for way in summary.lower().split(",")}
        for way in ways:
            if way not in _WAYS and way not in _OTHERS:
                raise Error(
                    f"define_metric: summary: expected some of {', '.join((*_WAYS, *_OTHERS))}, "
                    f"found {way!r}"
                )
        if "best" in ways:
            ways["best"] = max if goal == "maximize" else min
        rules = self._by_pattern if "*" in name else self._by_name
        rules[name] = ways

    def of(self, name):
        if name in self._by_name:
            return self._by_name[name]
        for pattern, ways in self._by_pattern.items():
            if fnmatchcase(name, pattern):
                return ways
        return {"copy": None}


class Summary(dict):
    """The summary: made of the logged values, and of values that the script sets itself."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "_set", set())
        object.__setattr__(self, "_counts", {})
        object.__setattr__(self, "_tell", None)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self:
            raise AttributeError(f"wandb.summary has no '{name}'")
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value

    def __setitem__(self, name, value):
        self._set.add(name)
        super().__setitem__(name, value)
        if self._tell is not None:
            self._tell({name: value})

    def update(self, values=None, **more):
        for name, value in {**(values or {}), **more}.items():
            self[name] = value

    def _begin(self):
        self.clear()
        self._set.clear()
        self._counts.clear()
        object.__setattr__(self, "_tell", None)

    def _finish(self, tell):
        """Returns the values that the script has set. A value that is set later goes to `tell`."""
        object.__setattr__(self, "_tell", tell)
        return {name: self[name] for name in self._set}

    def _log(self, name, value, ways):
        """Takes a logged value into the summary, unless the script has set the metric's value."""
        if name in self._set or "none" in ways:
            return
        if "copy" in ways:
            super().__setitem__(name, value)
            return
        merged = dict.get(self, name)
        if not isinstance(merged, dict):
            merged = {}
        count = self._counts[name] = self._counts.get(name, 0) + 1
        for way, choose in ways.items():
            before = merged.get(way, value)
            if way == "mean":
                merged[way] = before + (value - before) / count
            else:
                merged[way] = choose(before, value)
        super().__setitem__(name, merged)

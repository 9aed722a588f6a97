"""The numbers that a run has logged, for scripts that read them back."""

import time

from wandb._errors import Error

# A row of a few numbers takes about half a kilobyte, so this many rows take 50 MB. Most scripts log
# a few thousand times. Only a script that logs every step of a long training reaches the limit.
_MOST_ROWS = 100_000


class History:
    """A row for each step: the numbers logged at it, `_step`, `_timestamp` and `_runtime`."""

    def __init__(self):
        self._rows = []
        self._began = time.time()
        self._is_cut = False

    def add(self, step, values):
        if not values:
            return
        if self._rows and self._rows[-1]["_step"] == step:
            self._rows[-1].update(values)
        elif len(self._rows) < _MOST_ROWS:
            now = time.time()
            times = {"_timestamp": now, "_runtime": now - self._began}
            self._rows.append({"_step": step, **times, **values})
        else:
            self._is_cut = True

    def last_step(self):
        return self._rows[-1]["_step"] if self._rows else -1

    def read(self, keys=None, min_step=None, max_step=None):
        """Rows of the steps from min_step up to, but not including, max_step.

        With keys: only the rows that have all of them, and only these keys.
        """
        if self._is_cut:
            raise Error(
                f"history: expected at most {_MOST_ROWS} steps, found more, which were not kept; "
                "'sluice export --reports' has all that was reported"
            )
        for row in self._rows:
            if min_step is not None and row["_step"] < min_step:
                continue
            if max_step is not None and row["_step"] >= max_step:
                continue
            if not keys:
                yield dict(row)
            elif all(key in row for key in keys):
                yield {key: row[key] for key in keys}

"""A share of disturb.py: random disturbances of all kinds, for about a minute."""

import subprocess
import sys

from edges import HERE, IS_SOAK, processes_of


def test_random_disturbances(tmp_path):
    """About sixty seconds of them; with SLUICE_SOAK=1 a thousand."""
    share = ["--jobs", "2"] if IS_SOAK else ["--seconds", "45"]
    words = [sys.executable, str(HERE / "disturb.py"), "--count", "1000", "--seed", "1"]
    words += ["--keep", str(tmp_path), *share]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=7200, check=False)
    finally:
        left = processes_of(tmp_path)
        for process in left:
            process.signal(9)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not left

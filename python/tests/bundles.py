"""A script and helpers that several tests of bundles use."""

COMPLETE = {"type": "stop", "why": "complete"}

# Trains one epoch of every trial in each step, and prints the trials of each step.
STEPS = """
import sluice
with sluice.bundle(capacity=4) as bundle:
    epochs = {}
    for step in bundle:
        for trial in step.left:
            print("left", trial.number, trial.should_save(), flush=True)
            del epochs[trial.number]
        for trial in step.joined:
            epochs[trial.number] = trial.work
        print([trial.number for trial in step.trials], step.changed, flush=True)
        for trial in step.trials:
            epochs[trial.number] += 1
            trial.report(epochs[trial.number], accuracy=trial.params["lr"])
"""


def ended(lines):
    """The numbers of the trials that were told to leave, sorted, from a script's output lines."""
    left = [int(line.split()[1]) for line in lines if line.startswith("left")]
    return sorted(left)

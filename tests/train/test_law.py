"""The law of bundles: what a trial becomes does not depend on the bundle that it is trained in, but
for rounding. build/release/bin/law-driver runs it on networks of tests/model and on random ones:
six trials of one bundle differ in all settings, leave, join, wait and diverge, and each is compared
with itself alone (src/train/bundle/test_law.h)."""

import collections
import os
import subprocess

import pytest
from driver import DRIVER
from networks import NETWORKS
from random_networks import network_of
from writing_networks import NETWORKS as WRITING

SOAK = bool(os.environ.get("SLUICE_SOAK"))
LAW_DRIVER = DRIVER.with_name("law-driver")

# What a difference may be at most, by what is compared. In float64 it is a part of the tensor's
# size (FusedCheck::difference), in float32 a part of a bound (src/train/bundle/test_law_float32.h).
BOUNDS = {"float64": 1e-10, "step": 1, "runs": 1}

READ = [network for network in NETWORKS if not network.refused]
RANDOM = 100
# Networks in which rounding decides which way a number goes (a tie in max pooling, a router), with
# the reason. At most 2 % of all.
DISCONTINUOUS = {}
# With the inputs that are drawn, tokens 0 and 1, the wide network's sigmoid is 1, and all of its
# gradients are 0.
SCALES = {"factor-machine": 8}

QUICK = {
    "mlp-norms", "nerf", "dlrm", "embedding-bag", "lenet", "text-cnn", "graph-attention", "film",
    "attention-fused-slices", "experts-top",
}
QUICK_RANDOM = range(8)


def taken():
    if SOAK:
        return [*READ, *WRITING, *map(network_of, range(RANDOM))]
    named = [network for network in READ if network.name in QUICK]
    assert len(named) == len(QUICK)
    return [*named, *WRITING, *map(network_of, QUICK_RANDOM)]


def worst_differences(subject, scale=1):
    """By what is compared and the optimizer: the difference, the trial and the tensor."""
    words = [str(LAW_DRIVER), str(subject), str(scale)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=1200)
    assert ran.returncode == 0, ran.stderr
    found = collections.defaultdict(list)
    for line in ran.stdout.splitlines():
        what, kind, trial, tensor, difference = line.split("\t")
        found[what, kind].append((float(difference), trial, tensor))
    # A difference that is no number is the worst.
    return {key: max(each, key=lambda one: (not one[0] <= one[0], one[0]))
            for key, each in found.items()}


def test_few_networks_are_excused():
    assert set(DISCONTINUOUS) <= {network.name for network in READ} | {
        f"random-{seed}" for seed in range(RANDOM)}
    assert len(DISCONTINUOUS) <= (len(READ) + RANDOM) * 2 // 100


@pytest.mark.parametrize("network", taken(), ids=lambda network: network.name)
def test_a_trial_in_a_bundle_becomes_what_it_becomes_alone(case_of, network):
    if network.name in DISCONTINUOUS:
        pytest.skip(DISCONTINUOUS[network.name])
    case = case_of(network)
    assert not case.refusal, case.refusal
    found = worst_differences(case.subject, SCALES.get(network.name, 1))
    assert set(found) == {("float64", "sgd"), ("float64", "adamw"), ("step", "sgd"),
                          ("runs", "sgd"), ("runs", "adamw")}
    assert not {key: each for key, each in found.items() if not each[0] <= BOUNDS[key[0]]}

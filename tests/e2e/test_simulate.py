"""`sluice simulate`: the documented scenarios, what it prints, the chart, and bad input."""

import json
import re
import xml.etree.ElementTree

import pytest
from house import ROOT

SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))
PAGE = (ROOT / "docs/simulate.md").read_text()

SMALL = """\
scenario: small
seeds: 3
nodes:
  - {name: box, cpus: 8, devices: {kind: A100, count: 2}}
studies:
  - study: first
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    sampler: random
    stopper: asha
    budget: {max: 9}
    trials: 12
    stop_at: {accuracy: 0.93}
    deadline: 10m
    resources: {gpus: 1}
    workload: {unit_time: 10s, start_up: 5s, save: 1s, spread: 0.2}
"""


@pytest.fixture
def small(house):
    return house.write("small.yaml", SMALL)


def test_there_are_scenarios_to_copy():
    assert {path.stem for path in SCENARIOS} >= {
        "one-box",
        "two-studies",
        "elastic",
        "hypersched-1800",
        "fluid-cifar",
        "hypersack-sp4",
        "hydro-bubbles",
        "hydro-gpt3xl",
        "mixed-day",
    }
    for path in SCENARIOS:
        assert path.read_text().startswith("# "), f"{path.name} says what it is about"
        assert f"scenarios/{path.name}" in PAGE


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_documented_scenario_runs(house, path):
    result = house.json("simulate", path, "--seeds", 2)
    assert result["scenario"] == path.stem
    assert result["left_out"] == []
    baseline = "hydro" if path.stem == "hydro-bubbles" else "fifo"
    assert result["policies"][0]["policy"] == baseline
    for run in result["policies"]:
        assert len(run["digests"]) == 2
        assert 0 < run["utilisation"]["mean"] <= 1 + 1e-9
        assert 0 <= run["overhead"]["mean"] < 0.5
        for study in run["studies"]:
            # A deadline or a target may come before any trial is complete.
            ends = [study[measure]["mean"] for measure in ("best_at_deadline", "seconds_to_target")]
            assert study["complete"]["mean"] >= 1 or ends != [None, None]
            assert study["failed"]["mean"] == 0
            assert study["completion_seconds"]["mean"] > 30


@pytest.mark.parametrize(
    ("deadline_s", "published"), [(900, 0.046), (1800, 0.030), (3600, 0.030)], ids=str
)
def test_hypersched_gains_what_it_gained(house, deadline_s, published):
    """Over ASHA, on the same trials: the published gain in accuracy, give or take 0.02."""
    path = ROOT / f"scenarios/hypersched-{deadline_s}.yaml"
    asha, hypersched = (
        run["studies"][0]["best_at_deadline"]["mean"]
        for run in house.json("simulate", path, "--seeds", 50)["policies"]
    )
    assert hypersched - asha == pytest.approx(published, abs=0.02)


HYPERSACK_CLUSTERS = [
    "a100x4",
    "a100x8",
    "a100x16",
    "h100x4",
    "h100x4-a100x6",
    "h100x4-a100x12",
]


@pytest.mark.parametrize("cluster", HYPERSACK_CLUSTERS)
@pytest.mark.parametrize("space", ["sp1", "sp2", "sp3", "sp4"])
def test_hypersack_runs_on_every_cluster(house, space, cluster):
    path = ROOT / f"scenarios/hypersack-{space}.yaml"
    result = house.json("simulate", path, "--cluster", cluster)
    assert result["cluster"] == cluster and result["left_out"] == []
    labels = ["exclusive", "hypersack-ff", "hypersack-ffd", "hypersack-wf", "hypersack-wfd"]
    assert [run["label"] for run in result["policies"]] == labels
    jobs = 384 if space == "sp4" else 96
    exclusive = result["policies"][0]["makespan_seconds"]["mean"]
    for run in result["policies"]:
        assert sum(study["complete"]["mean"] for study in run["studies"]) == jobs
        assert run["makespan_seconds"]["mean"] <= exclusive
        assert 0 < run["occupancy"]["mean"] <= 1


@pytest.mark.parametrize(
    ("cluster", "published"), [("a100x4", 2.6), ("a100x8", 2.7), ("a100x16", 2.7), ("h100x4", 4.0)]
)
def test_hypersack_gains_what_it_gained(house, cluster, published):
    """Worst fit decreasing over one job per GPU, 384 jobs: the published gain, within 15 %."""
    path = ROOT / "scenarios/hypersack-sp4.yaml"
    exclusive, packed = (
        run["makespan_seconds"]["mean"]
        for run in house.json(
            "simulate", path, "--cluster", cluster, "--policy", "exclusive,hypersack-wfd"
        )["policies"]
    )
    assert exclusive / packed == pytest.approx(published, rel=0.15)


@pytest.mark.parametrize(
    ("space", "cluster", "published"), [("sp3", "a100x4", 0.98), ("sp4", "a100x16", 0.995)]
)
def test_hypersack_fills_the_devices_it_filled(house, space, cluster, published):
    path = ROOT / f"scenarios/hypersack-{space}.yaml"
    [wfd] = house.json("simulate", path, "--cluster", cluster, "--policy", "hypersack-wfd")[
        "policies"
    ]
    assert wfd["occupancy"]["mean"] >= published


def test_hydro_gains_what_it_gained(house):
    """From the bubbles of a pipeline job: a makespan 2.7 times shorter, give or take 15 %."""
    result = house.json("simulate", ROOT / "scenarios/hydro-bubbles.yaml")
    exclusive, hydro = result["policies"]
    assert (exclusive["label"], hydro["label"]) == ("exclusive", "hydro")
    gain = exclusive["makespan_seconds"]["mean"] / hydro["makespan_seconds"]["mean"]
    assert gain == pytest.approx(2.7, rel=0.15)


CLUSTERS = SMALL.replace(
    "nodes:\n  - {name: box, cpus: 8, devices: {kind: A100, count: 2}}\n",
    """\
clusters:
  one: [{name: box, cpus: 8, devices: {kind: A100, count: 2}}]
  four: [{name: box, cpus: 8, devices: {kind: A100, count: 8}}]
""",
)


def test_a_cluster_is_chosen_by_name(house, small):
    house.write("clusters.yaml", CLUSTERS)
    first = house.json("simulate", "clusters.yaml")
    assert (first["cluster"], first["devices"]) == ("one", 2)
    assert first["policies"] and "cluster" not in house.json("simulate", small)
    four = house.json("simulate", "clusters.yaml", "--cluster", "four")
    assert (four["cluster"], four["devices"]) == ("four", 8)
    shown = house.run("simulate", "clusters.yaml", "--cluster", "four").stdout
    assert re.search(r"^cluster +four, 1 node: 8 A100, 8 cores$", shown, re.MULTILINE)
    assert re.search(r"^policy .* occupancy ", shown, re.MULTILINE)
    for file, message in [
        ("clusters.yaml", "clusters.yaml: expected one of its clusters (one, four), found 'fuor'"),
        (small, "expected 'clusters' to choose 'fuor' from, found none"),
    ]:
        refused = house.run("simulate", file, "--cluster", "fuor", check=False)
        assert refused.returncode == 2 and refused.stdout == ""
        assert message in refused.stderr


def test_what_is_lent_is_shown(house):
    shown = house.run("simulate", ROOT / "scenarios/hydro-bubbles.yaml", "--seeds", 1).stdout
    assert re.search(r"^cluster +2 nodes: 1 A100, 11 lent A100, 60 cores$", shown, re.MULTILINE)
    assert re.search(r"^pipeline +gpt: .* it lends 11 devices$", shown, re.MULTILINE)


def test_nodes_that_go_down_are_shown(house, small):
    shown = house.run("simulate", ROOT / "scenarios/mixed-day.yaml", "--seeds", 1).stdout
    assert re.search(r"^failures +a1 is down at 6h 00m for 45m 00s, h is", shown, re.MULTILINE)
    house.write("down.yaml", SMALL + "failures: [{node: box, at: 1m, for: 10m}]\n")
    [calm] = house.json("simulate", small)["policies"]
    [down] = house.json("simulate", "down.yaml")["policies"]
    assert down["makespan_seconds"]["mean"] > calm["makespan_seconds"]["mean"]
    assert down["studies"][0]["failed"]["mean"] == 0


def test_a_policy_may_leave_studies_out(house):
    shown = house.run("simulate", ROOT / "scenarios/hydro-vgg11.yaml", "--seeds", 1).stdout
    rows = re.findall(r"^(full-size|hydro) +(search|target) ", shown, re.MULTILINE)
    assert rows == [("full-size", "search"), ("hydro", "search"), ("hydro", "target")]
    result = house.json("simulate", ROOT / "scenarios/hydro-vgg11.yaml", "--seeds", 1)
    studies = [[study["study"] for study in run["studies"]] for run in result["policies"]]
    assert studies == [["search"], ["search", "target"]]


def test_commands_of_the_page_run(house):
    (house.folder / "scenarios").symlink_to(ROOT / "scenarios")
    commands = re.findall(r"^    \$ sluice (.*)$", PAGE, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        house.run(*command.split())
    assert (house.folder / "hypersched.svg").exists()


def test_scenarios_of_the_page_run(house):
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 2
    for number, text in enumerate(blocks):
        house.write(f"s{number}.yaml", text)
        result = house.json("simulate", f"s{number}.yaml", "--seeds", 1)
        assert result["policies"][0]["studies"][0]["complete"]["mean"] >= 1


def test_the_page_names_every_key(house):
    """Unknown keys are answered with the known ones: those are on the page."""
    text = SMALL.replace("seeds: 3", "xxxxxxxxxxxxxx: 3").replace(
        "unit_time: 10s", "xxxxxxxxxxxxxx: 1, curve: {xxxxxxxxxxxxxx: 1}, unit_time: 10s"
    )
    text = text.replace("name: box", "xxxxxxxxxxxxxx: 1, name: box")
    text += "pipeline_jobs: [{xxxxxxxxxxxxxx: 1, stages: 1, micro_batches: 1}]\n"
    text += "failures: [{xxxxxxxxxxxxxx: 1, node: box}]\n"
    house.write("bad.yaml", text)
    refused = house.run("simulate", "bad.yaml", check=False)
    assert refused.returncode == 2
    known = re.findall(r"unknown key; expected one of (.*)", refused.stderr)
    assert len(known) >= 6
    for key in {key for line in known for key in line.split(", ")}:
        assert f"`{key}`" in PAGE, key


def test_people_get_tables(house, small):
    shown = house.run("simulate", small).stdout
    assert re.search(r"^scenario +small$", shown, re.MULTILINE)
    assert re.search(r"^cluster +1 node: 2 A100, 8 cores$", shown, re.MULTILINE)
    heading = next(line for line in shown.splitlines() if line.startswith("policy "))
    for column in ("makespan", "job completion", "utilisation", "decision"):
        assert column in heading
    fifo = [line for line in shown.splitlines() if line.startswith("fifo ")]
    assert len(fifo) == 2 and "±" in fifo[0]
    assert "first" in fifo[1]


def test_one_seed_gives_one_run(house, small):
    once = house.json("simulate", small, "--seeds", 1)["policies"][0]
    again = house.json("simulate", small, "--seeds", 3)["policies"][0]
    assert once["digests"] == again["digests"][:1]
    assert len(set(again["digests"])) == 3
    assert once["makespan_seconds"]["half_width"] is None
    values = again["makespan_seconds"]["values"]
    assert again["makespan_seconds"]["mean"] == pytest.approx(sum(values) / 3)
    assert once["makespan_seconds"]["mean"] == values[0]


LABELS = (
    SMALL
    + """\
policies:
  packed: {policy: fifo, resources: {gpus: 0.5}, workload: {busy: 0.4}}
  hypersched: {stopper: asha-pausing}
compare: [packed, fifo]
"""
)


def test_policies_are_compared_with_what_goes_with_them(house, small):
    house.write("labels.yaml", LABELS)
    packed, fifo = house.json("simulate", "labels.yaml", "--seeds", 2)["policies"]
    assert (packed["label"], packed["policy"]) == ("packed", "fifo")
    assert (fifo["label"], fifo["policy"]) == ("fifo", "fifo")
    assert packed["job_completion_seconds"]["mean"] < fifo["job_completion_seconds"]["mean"]
    [plain] = house.json("simulate", small, "--seeds", 2)["policies"]
    assert fifo["digests"] == plain["digests"]
    chosen = ["lpt", "hypersched", "packed"]
    runs = house.json("simulate", "labels.yaml", "--seeds", 1, "--policy", ",".join(chosen))
    assert [run["label"] for run in runs["policies"]] == chosen

    shown = house.run("simulate", "labels.yaml", "--gantt", "out.svg").stdout
    assert re.search(r"^policy +packed: \{policy: fifo, resources: \{gpus", shown, re.MULTILINE)
    assert len(re.findall(r"^packed  ", shown, re.MULTILINE)) == 2
    assert "packed, seed 1" in (house.folder / "out.svg").read_text()


def test_what_is_not_reached_is_said(house):
    house.write("hard.yaml", SMALL.replace("accuracy: 0.93", "accuracy: 5"))
    [study] = house.json("simulate", "hard.yaml")["policies"][0]["studies"]
    assert study["seconds_to_target"]["mean"] is None
    assert study["seconds_to_target"]["values"] == [None] * 3
    assert study["best_at_deadline"]["mean"] is not None
    assert re.search(r"^fifo +first .* - ", house.run("simulate", "hard.yaml").stdout, re.MULTILINE)


def test_the_chart_is_an_svg_and_new(house, small):
    house.run("simulate", small, "--gantt", "out.svg")
    chart = house.folder / "out.svg"
    root = xml.etree.ElementTree.parse(chart).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = chart.read_text()
    assert "box-gpu1 A100" in text and "first, trial 12: runs" in text
    before = chart.read_bytes()
    refused = house.run("simulate", small, "--gantt", "out.svg", check=False)
    assert refused.returncode == 1
    assert "exists already" in refused.stderr and refused.stdout == ""
    assert chart.read_bytes() == before
    nowhere = house.run("simulate", small, "--gantt", "no/folder/out.svg", check=False)
    assert nowhere.returncode == 2
    assert sorted(path.name for path in house.folder.iterdir()) == ["out.svg", "small.yaml"]


def test_a_bad_scenario_leaves_no_chart(house):
    house.write("bad.yaml", SMALL.replace("kind: A100", "kind: A10"))
    refused = house.run("simulate", "bad.yaml", "--gantt", "out.svg", check=False)
    assert refused.returncode == 2
    assert refused.stderr.startswith("sluice: bad.yaml:4: nodes[0].devices.kind: expected")
    assert "did you mean" in refused.stderr
    assert [path.name for path in house.folder.iterdir()] == ["bad.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds: 3", "seads: 3", "bad.yaml:2: seads: unknown key (did you mean 'seeds'?)"),
        ("kind: A100", "kind: B100", "bad.yaml:4: nodes[0].devices.kind: expected one of V100"),
        ("count: 2", "count: 2, memory: -1GB", "nodes[0].devices.memory: expected a size"),
        ("count: 2", "count: 0", "bad.yaml:4: nodes[0].devices.count: expected"),
        ("unit_time: 10s", "unit_time: -10s", "bad.yaml:16: studies[0].workload.unit_time: exp"),
        ("start_up: 5s", "start_up: -5s", "bad.yaml:16: studies[0].workload.start_up: expected"),
        ("    trials: 12\n", "", "bad.yaml:6: studies[0].trials: expected how many trials"),
        ("gpus: 1", "gpus: 3", "fits nowhere: a trial needs 3 GPUs, and no node has more than 2"),
        ("stopper: asha", "stopper: ahsa", "studies[0].stopper: expected one of"),
        ("seeds: 3", "compare: [fifi]", "bad.yaml:2: compare[0]: expected one of fifo, lpt"),
        ("seeds: 3", "policies: {own: {trials: 1}}", "bad.yaml:2: policies.own: expected the name"),
        ("seeds: 3", "policies: {lpt: {space: 1}}", "bad.yaml:2: policies.lpt.space: expected"),
        ("seeds: 3", "clusters: {a: []}", "bad.yaml:3: nodes: expected either 'nodes' or 'cl"),
        ("seeds: 3", "clusters: {a: []}", "bad.yaml:2: clusters.a: expected at least one node"),
        ("seeds: 3", "compare: [hydro]", "bad.yaml:2: compare[0]: study 'first': the policy hydro"),
    ],
)
def test_bad_scenarios_are_refused(house, old, new, message):
    assert old in SMALL
    house.write("bad.yaml", SMALL.replace(old, new))
    refused = house.run("simulate", "bad.yaml", check=False)
    assert refused.returncode == 2, refused.stdout
    assert message in refused.stderr
    assert refused.stdout == ""


def test_a_job_that_fits_nowhere_is_named_and_the_rest_runs(house):
    huge = SMALL[SMALL.index("  - study: first") :].replace("first", "huge")
    house.write("both.yaml", SMALL + huge.replace("gpus: 1", "gpus: 16"))
    ran = house.run("simulate", "both.yaml")
    assert ran.stderr.startswith("sluice: both.yaml:17: study 'huge' fits nowhere")
    assert "first" in ran.stdout and "huge" not in ran.stdout
    result = json.loads(house.run("simulate", "both.yaml", "--json").stdout)
    assert len(result["left_out"]) == 1 and len(result["policies"][0]["studies"]) == 1


def test_wrong_usage(house, small):
    for words, message in [
        (["--policy", "fifp"], "--policy: expected one of fifo, lpt, "),
        (["--policy", "fifp"], "found 'fifp' (did you mean 'fifo'?)"),
        (["--policy", ""], "found ''"),
        (["--seeds", "none"], "--seeds: expected a whole number"),
        (["--gnatt", "x.svg"], "did you mean '--gantt'?"),
    ]:
        refused = house.run("simulate", small, *words, check=False)
        assert refused.returncode == 2
        assert message in refused.stderr
    assert house.run("simulate", "nothing.yaml", check=False).returncode == 2
    assert not house.store.exists(), "nothing is stored"


FIXED = """\
scenario: fixed
seeds: 2
nodes:
  - {name: box, cpus: 8, devices: {kind: A100, count: 2}}
studies:
  - study: first
    space: {lr: {float: [1e-4, 1], log: true}}
    objective: {maximize: accuracy}
    sampler: random
    budget: {max: 4}
    trials: 7
    resources: {gpus: 1}
    workload: {unit_time: 10s}
policies:
  halves: {policy: fifo, resources: {gpus: 0.5}}
"""


def test_makespans_beside_what_the_work_takes_at_least(house):
    house.write("fixed.yaml", FIXED)
    # 280 s of work on two devices, of which one works for a trial more.
    result = house.json("simulate", "fixed.yaml")
    assert result["bound_seconds"]["values"] == pytest.approx([140, 140])
    assert result["policies"][0]["times_bound"]["values"] == pytest.approx([160 / 140] * 2)
    text = house.run("simulate", "fixed.yaml").stdout
    assert "bound  2m 20s ± 0ms for this work; fifo 1.143x\n" in text
    # A trial on half a device takes twice as long: the whole is the same.
    both = house.json("simulate", "fixed.yaml", "--policy", "halves,lpt")
    assert both["bound_seconds"]["mean"] == pytest.approx(140)
    # A policy that does less work cannot be compared by the bound.
    house.write("fewer.yaml", FIXED + "  fewer: {policy: fifo, trials: 6}\n")
    assert "bound_seconds" not in house.json("simulate", "fewer.yaml", "--policy", "fifo,fewer")


def test_no_bound_where_the_work_is_not_fixed(house, small):
    assert "bound_seconds" not in house.json("simulate", small)
    assert "times_bound" not in house.json("simulate", small)["policies"][0]
    assert "bound" not in house.run("simulate", small).stdout


PACKING = (
    "exclusive,lpt,hypersack-ff,hypersack-ffd,hypersack-wf,hypersack-wfd,hypersack-mip,confluence"
)


@pytest.mark.parametrize(
    "name, cluster, policies",
    [
        ("elastic", "", "fifo,lpt,fluid-static,fluid-dynamic,confluence"),
        *(("hypersack-sp1", cluster, PACKING) for cluster in HYPERSACK_CLUSTERS),
    ],
)
def test_no_policy_ends_before_the_bound(house, name, cluster, policies):
    where = ["--cluster", cluster] if cluster else []
    result = house.json("simulate", ROOT / f"scenarios/{name}.yaml", *where, "--policy", policies)
    times = {each["label"]: each["times_bound"]["values"] for each in result["policies"]}
    assert set(times) == set(policies.split(","))
    for label, values in times.items():
        assert min(values) >= 1 - 1e-6, label
    assert max(times["confluence"]) < 2, "a bound that says something"

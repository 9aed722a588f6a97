"""What the documents show, done."""

import json
import os
import re
import subprocess
import sys

from house import BINARIES, ROOT, SLUICE, VERBS


def blocks(document, language):
    text = (ROOT / document).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_readme_study_runs_as_it_stands(house):
    [study] = blocks("README.md", "yaml")
    [script] = blocks("README.md", "python")
    house.write("study.yaml", study.replace("python train.py", f"{sys.executable} train.py"))
    house.write("train.py", script)
    checked = house.run("check", "study.yaml").stdout
    assert "fashion" in checked
    house.run("tune", "study.yaml", "-q", "--trials", 6)
    assert len(house.states()) == 6
    house.run("resume", "fashion", "--trials", 8, "-q")
    assert len(house.states()) == 8
    assert house.json("best", "fashion")
    house.run("export", "--reports", "-o", "curves.csv")
    assert (house.folder / "curves.csv").read_text().startswith("trial,")
    by_hand = subprocess.run(
        [sys.executable, "train.py"],
        cwd=house.folder,
        env=house.environment(PYTHONPATH=str(ROOT / "python")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "accuracy" in by_hand.stdout


def test_every_verb_has_help_with_examples():
    for verb in VERBS:
        shown = subprocess.run(
            [SLUICE, verb, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert shown.startswith(f"usage: sluice {verb}")
        assert "examples:" in shown and shown.count(f"  sluice {verb}") >= 1


def test_example_studies_are_good():
    for study in ROOT.glob("examples/*/study.yaml"):
        done = subprocess.run(
            [SLUICE, "check", str(study), "--json"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)


def test_example_trains_on_real_data(house):
    """One short trial of the demo: the data is there, the script learns."""
    example = ROOT / "examples/fashion"
    text = (example / "study.yaml").read_text()
    text = (
        re.sub(r"trials: \d+", "trials: 1", text)
        .replace("max: 9", "max: 1")
        .replace("program: python", f"program: {sys.executable}")
    )
    house.write("study.yaml", text)
    house.write("train.py", (example / "train.py").read_text())
    house.run("tune", "study.yaml", "-q")
    [(_, work, metrics)] = house.reports()
    assert work == 1 and metrics["accuracy"] > 0.5


def test_commands_of_the_reference_run(house):
    """Each example line of docs/commands.md, less other programs, on a study like its own."""
    [study] = blocks("README.md", "yaml")
    [script] = blocks("README.md", "python")
    # Trial 7 fails at first, so that the example of `retry` finds a failed trial.
    fails = "sluice.trial().number == 7 and not os.path.exists('mended')"
    script = f"import os, sluice\nif {fails}: exit('no')\n{script}"
    study = study.replace("python train.py", f"{sys.executable} train.py").replace(
        "trials: 32", "trials: 10"
    )
    house.write("study.yaml", study + "retries: 0\n")
    house.write("train.py", script)
    lines = re.findall(r"^    \$ (.*)$", (ROOT / "docs/commands.md").read_text(), re.MULTILINE)
    commands = [part.strip() for line in lines for part in re.split(r"&&", line)]
    commands = [
        re.split(r" [|>]", command)[0] for command in commands if command.startswith("sluice ")
    ]
    assert len(commands) >= 14
    seen = set()
    for command in commands:
        words = command.split()[1:]
        if words[:2] == ["tune", "study.yaml"] and house.store.exists():
            words += ["--name", f"again{len(seen)}"]
        if words[0] == "retry":
            house.write("mended", "")
            words += ["--study", "fashion"]
        if words[0] in ("trials", "best", "logs") and "fashion" not in words:
            words += ["--study", "fashion"] if words[0] == "logs" else ["fashion"]
        seen.add(words[0])
        house.run(*words, "-q" if words[0] in ("tune", "resume") else "--json")
    assert seen >= set(
        "tune check resume studies status watch trials best logs export enqueue retry delete "
        "import doctor data".split()
    )


def test_examples_of_the_data_page_run(house):
    [script] = blocks("docs/data.md", "python")
    house.write("make.py", script)
    subprocess.run([sys.executable, "make.py"], cwd=house.folder, check=True)
    page = (ROOT / "docs/data.md").read_text()
    commands = re.findall(r"^    \$ sluice (.*)$", page, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        found = house.json(*command.split())["data"]
        assert found["train"] > 0 and found["test"] > 0 and found["classes"] > 1


def evidence(*words):
    done = subprocess.run(
        [sys.executable, ROOT / "bench/evidence.py", *words],
        env={**os.environ, "SLUICE_BIN_DIR": str(BINARIES)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if line]


def test_evidence_is_what_its_commands_print():
    """The rows are the same on every machine. After a change to a policy the page must follow."""
    page = (ROOT / "docs/evidence.md").read_text().splitlines()
    rows = evidence("hypersched", "hypersack", "hydro", "--seeds", "50")
    assert len(rows) > 20
    assert [row for row in rows if row not in page] == []
    # The slowest table: that it can be made.
    assert len(evidence("fluid", "--seeds", "2")) == 20

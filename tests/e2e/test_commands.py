"""The verbs of the command `sluice` on a store that a real `sluice tune` made."""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(
    os.environ.get("SLUICE_BINARY", ROOT / "build/release/bin/sluice")
)
TRIALS = 6

# Reports three epochs; the trial with n = 3 fails after its first.
PROGRAM = """\
#!/bin/sh
n=$1
echo "training with $n" >&2
for epoch in 1 2 3; do
  echo "{\\"epoch\\": $epoch, \\"score\\": $((n * 10 + epoch)), \\"time\\": 0.5}"
  if [ "$n" = 3 ]; then echo "n is 3, which is bad" >&2; exit 4; fi
done
"""

STUDY = f"""\
study: tiny
program: ./train.sh {{n}}
space:
  n: {{int: [1, {TRIALS}]}}
objective: {{maximize: score}}
sampler: grid
parallelism: 2
resources: {{cpus: 0.5}}
retries: 0
"""


def sluice(*words, store=None, cwd=None, timeout=120):
    environment = {**os.environ, "SLUICE_STORE": str(store)} if store else os.environ
    return subprocess.run(
        [str(BINARY), *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def good(*words, **options):
    ran = sluice(*words, **options)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def write_study(folder, text=STUDY):
    program = folder / "train.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    study = folder / "study.yaml"
    study.write_text(text)
    return study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with the finished study `tiny`, and what tune printed."""
    folder = tmp_path_factory.mktemp("study")
    store = folder / "store" / "s.db"
    ran = sluice("tune", write_study(folder), "--plain", store=store)
    assert ran.returncode == 0, ran.stderr
    return {"store": store, "folder": folder, "ran": ran}


def test_tune_ends_with_the_best_and_where_everything_is(made):
    out = made["ran"].stdout
    assert "tiny: finished: " in out
    assert f"best: trial {TRIALS}, score {TRIALS * 10 + 3} at epoch 3" in out
    assert f"n: {TRIALS}" in out
    assert str(made["store"]) in out
    assert str(made["store"].with_suffix(".files") / "studies" / "tiny") in out


def test_a_name_that_is_taken_is_refused(made):
    ran = sluice("tune", made["folder"] / "study.yaml", store=made["store"])
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith("sluice: ")
    assert "resume" in ran.stderr


def test_studies(made):
    lines = good("studies", store=made["store"]).splitlines()
    assert len(lines) >= 2
    assert any(
        re.match(rf"tiny +finished: .* {TRIALS}/{TRIALS} ", line) for line in lines
    )
    [tiny] = [
        s
        for s in json.loads(good("studies", "--json", store=made["store"]))
        if s["name"] == "tiny"
    ]
    assert tiny["state"] == "finished"
    assert tiny["trials"]["failed"] == 1


def test_status(made):
    out = good("status", "tiny", store=made["store"])
    assert "finished" in out
    assert f"{TRIALS}/{TRIALS} trials (100%)" in out
    assert f"{TRIALS - 1} complete, 1 failed" in out
    status = json.loads(good("status", "tiny", "--json", store=made["store"]))
    assert status["best"] == {
        "trial": TRIALS,
        "value": TRIALS * 10 + 3,
        "work": 3,
        "params": {"n": TRIALS},
    }
    assert status["running"] == []
    assert status["store"] == str(made["store"])


def test_trials(made):
    lines = good("trials", "tiny", store=made["store"]).splitlines()
    assert lines[0].split()[:6] == ["trial", "state", "score", "epoch", "time", "n"]
    assert len(lines) == TRIALS + 1
    [failed] = json.loads(
        good("trials", "tiny", "--state", "failed", "--json", store=made["store"])
    )
    assert failed["params"] == {"n": 3}
    assert "4" in failed["note"]
    ordered = json.loads(
        good(
            "trials",
            "tiny",
            "--sort",
            "value",
            "--limit",
            2,
            "--json",
            store=made["store"],
        )
    )
    assert [trial["best_value"] for trial in ordered] == [
        TRIALS * 10 + 3,
        TRIALS * 10 - 7,
    ]


def test_best(made):
    out = good("best", "tiny", store=made["store"])
    assert f"./train.sh {TRIALS}" in out
    best = json.loads(good("best", "tiny", "--json", store=made["store"]))
    assert best["trial"] == TRIALS
    again = subprocess.run(
        best["command"],
        shell=True,
        cwd=made["folder"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(again.stdout.splitlines()[-1])["score"] == best["best_value"]
    assert (
        len(json.loads(good("best", "tiny", "--top", 3, "--json", store=made["store"])))
        == 3
    )


def test_logs(made):
    ran = sluice("logs", 3, "--study", "tiny", store=made["store"])
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["score"] == 31
    assert "trial 3 failed" in ran.stderr
    assert "--stderr" in ran.stderr
    assert "n is 3" in good(
        "logs", 3, "--study", "tiny", "--stderr", store=made["store"]
    )
    followed = good("logs", 1, "--study", "tiny", "--follow", store=made["store"])
    assert len(followed.splitlines()) == 3


def test_export_of_trials(made):
    rows = list(
        csv.DictReader(io.StringIO(good("export", "tiny", store=made["store"])))
    )
    assert [int(row["params_n"]) for row in rows] == list(range(1, TRIALS + 1))
    assert [row["state"] for row in rows].count("failed") == 1
    assert float(rows[0]["best_value"]) == 13


def test_export_of_reports(made, tmp_path):
    target = tmp_path / "reports.csv"
    out = good("export", "tiny", "--reports", "-o", target, store=made["store"])
    assert "16 reports" in out
    rows = list(csv.DictReader(target.open()))
    assert len(rows) == 3 * (TRIALS - 1) + 1
    assert {row["metrics_time"] for row in rows} == {"0.5"}
    assert list(tmp_path.iterdir()) == [target]
    lines = good(
        "export", "tiny", "--reports", "--json", store=made["store"]
    ).splitlines()
    assert all(json.loads(line)["metrics"]["time"] == 0.5 for line in lines)


def test_tune_in_json_prints_nothing_but_json(made):
    folder = made["folder"]
    ran = sluice(
        "tune",
        folder / "study.yaml",
        "--name",
        "other",
        "--trials",
        2,
        "--json",
        store=made["store"],
    )
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert lines[-1]["event"] == "summary"
    assert lines[-1]["name"] == "other"
    assert lines[-1]["state"] == "finished"
    assert lines[-1]["trials"]["wanted"] == 2
    assert lines[-1]["best"]["params"] == {"n": 2}
    # The study changed last is the one meant.
    assert json.loads(good("status", "--json", store=made["store"]))["name"] == "other"
    assert good("resume", "other", "--trials", 4, "-q", store=made["store"])
    assert (
        json.loads(good("status", "other", "--json", store=made["store"]))["trials"][
            "made"
        ]
        == 4
    )


def test_the_command_of_a_trial_leaves_variables_to_the_shell(made):
    folder = made["folder"]
    study = folder / "variables.yaml"
    study.write_text(
        "study: variables\nspace: {n: {int: [1, 2]}}\nobjective: {maximize: score}\ntrials: 1\n"
        "program: [sh, -c, 'echo \"{{\\\"score\\\": $0}}\"; echo \"$1\"', '{n}',"
        " 'in {envvar:HOME} for $5']\n"
    )
    good("tune", study, "-q", store=made["store"])
    best = json.loads(good("best", "variables", "--json", store=made["store"]))
    assert best["command"].endswith('"in ${HOME} for \\$5"')
    again = subprocess.run(best["command"], shell=True, capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[-1] == f"in {os.environ['HOME']} for $5"


def test_retry_runs_a_failed_trial_again(made):
    folder = made["folder"]
    (folder / "again.sh").write_text('test -e ok && echo "{\\"score\\": 1}"\n')
    study = folder / "again.yaml"
    study.write_text(
        STUDY.replace("study: tiny", "study: again").replace(
            "./train.sh {n}", "sh again.sh"
        )
    )
    assert (
        sluice("tune", study, "-q", "--trials", 1, store=made["store"]).returncode == 1
    )
    before = json.loads(good("trials", "again", "--json", store=made["store"]))
    assert before[0]["state"] == "failed"
    (folder / "ok").touch()
    assert "resume" in good("retry", 1, "--study", "again", store=made["store"])
    good("resume", "again", "-q", store=made["store"])
    after = json.loads(good("trials", "again", "--json", store=made["store"]))
    assert after[0]["state"] == "complete"


def test_stop_watch_and_follow_from_another_terminal(made, tmp_path):
    store = tmp_path / "s.db"
    study = write_study(tmp_path, STUDY.replace("./train.sh {n}", "./slow.sh {n}"))
    slow = tmp_path / "slow.sh"
    slow.write_text('#!/bin/sh\necho "{\\"score\\": $1}"\nexec sleep 600\n')
    slow.chmod(0o755)
    tune = subprocess.Popen(
        [str(BINARY), "tune", str(study), "-q", "--store", str(store)]
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            ran = sluice("status", "--json", store=store)
            status = json.loads(ran.stdout) if ran.returncode == 0 else {}
            if status.get("best") and len(status["running"]) == 2:
                break
            assert time.monotonic() < deadline, "two trials run and one has reported"
            time.sleep(0.05)
        assert status["state"] == "running"
        assert status["pid"] not in (None, tune.pid)
        watch = subprocess.Popen(
            [str(BINARY), "watch", "--plain", "--store", str(store)],
            stdout=subprocess.PIPE,
            text=True,
        )
        logs = subprocess.Popen(
            [str(BINARY), "logs", "1", "-f", "--store", str(store)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert "stopped" in good("stop", store=store)
        assert tune.wait(timeout=60) == 0
        assert json.loads(logs.communicate(timeout=60)[0])["score"] == 1
        watch.communicate(timeout=60)
        assert watch.returncode == 0
    finally:
        tune.kill()
        tune.wait()
    status = json.loads(good("status", "--json", store=store))
    assert status["state"] == "finished"
    assert status["reason"] == "stopped"


def test_delete_removes_everything(tmp_path):
    store = tmp_path / "s.db"
    good("tune", write_study(tmp_path), "-q", store=store)
    files = tmp_path / "s.files" / "studies" / "tiny"
    assert files.is_dir()
    assert sluice("delete", "tiny", store=store).returncode == 2, "there is no terminal to ask on"
    good("delete", "tiny", "--yes", store=store)
    assert not files.exists()
    assert sluice("status", "tiny", store=store).returncode == 2


def test_check_runs_nothing(tmp_path):
    store = tmp_path / "s.db"
    out = good("check", write_study(tmp_path), store=store)
    assert f"{TRIALS} points" in out
    assert not store.exists()
    assert (
        json.loads(good("check", tmp_path / "study.yaml", "--json", store=store))[
            "trials"
        ]
        == TRIALS
    )
    (tmp_path / "train.sh").unlink()
    ran = sluice("check", tmp_path / "study.yaml", store=store)
    assert ran.returncode == 2
    assert "train.sh" in ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tuen"], "did you mean 'tune'?"),
        (["trials", "--stat", "failed"], "did you mean '--state'?"),
        (["tune"], "expected a study file"),
        (["tune", "missing.yaml"], "missing.yaml"),
        (["status"], "no store here yet"),
        (["logs", "x"], "whole number"),
    ],
)
def test_wrong_usage_exits_with_2(tmp_path, words, said):
    ran = sluice(*words, store=tmp_path / "s.db", cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("sluice: ")
    assert said in ran.stderr


def test_help_of_every_verb():
    overview = good("--help")
    for verb in re.findall(r"^  (\w+) ", overview.split("examples:")[0], re.MULTILINE):
        assert "examples:" in good(verb, "--help"), verb


def test_the_version_is_that_of_the_build():
    version = re.search(
        r"project\(sluice VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()
    ).group(1)
    assert good("--version").strip() == f"sluice {version}"
    assert json.loads(good("--version", "--json")) == {"version": version}


def test_doctor(tmp_path):
    ran = sluice("doctor", "--json", store=tmp_path / "s.db")
    found = json.loads(ran.stdout)
    assert found["ok"], found
    assert {check["check"] for check in found["checks"]} >= {
        "processor",
        "memory",
        "disk",
        "store",
    }

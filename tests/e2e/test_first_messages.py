"""Messages to a user who writes what other tuners would take."""

import pytest
from first_study import ONE_REPORT, edit, prepare

MISLEADING = """
program: ./train {args}
space:
  o: {choice: [a, b]}
  x: {float: [0, 1]}
objective: {minimize: loss}
trials: 3
"""

KIND = "study.yaml:5: x: expected a kind"

OBJECTIVE = "a study has one objective"


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (
            "x: {float: [0, 1]}",
            "x: {float: [0, 1], when: o in ['a', 'b']}",
            "study.yaml:5: expected a condition in quotes",
        ),
        ("minimize: loss", "minimize: \u201closs\u201d", "study.yaml:6: expected straight quotes"),
        ("./train", "\u2018./train\u2019", "study.yaml:2: expected straight quotes"),
        ("trials: 3", "trials:\u00a03", "study.yaml:7: trials:\u00a03: unknown key: it holds"),
        ("trials: 3", "trials: 3\n\u200bseed: 1", "found a zero-width space (U+200B)"),
        ("{float: [0, 1]}", "{type: float, low: 0, high: 1}", "write 'x: {float: [0, 1]}'"),
        (
            "{float: [0, 1]}",
            "{low: 1e-5, high: 0.1, log: true}",
            "write 'x: {float: [1e-5, 0.1], log: true}'",
        ),
        ("{float: [0, 1]}", "{suggest_int: [0, 9]}", "write 'x: {int: [0, 9]}'"),
        ("{float: [0, 1]}", "{min: 1, max: 8}", "write 'x: {int: [1, 8]}'"),
        (
            "{float: [0, 1]}",
            "{distribution: log_uniform_values, min: 1e-5, max: 1}",
            "write 'x: {float: [1e-5, 1], log: true}'",
        ),
        ("{float: [0, 1]}", "{values: [1, 2, 3]}", "write 'x: {choice: [1, 2, 3]}'"),
        ("{float: [0, 1]}", "[1, 2, 3]", "write 'x: {choice: [1, 2, 3]}'"),
        ("{float: [0, 1]}", "{value: 3}", "write 'x: {choice: [3]}'"),
        ("{float: [0, 1]}", "tune.loguniform(1e-4, 1)", "write 'x: {float: [1e-4, 1], log: true}'"),
        ("{float: [0, 1]}", "tune.randint(1, 9)", "write 'x: {int: [1, 9]}'"),
        ("{float: [0, 1]}", "{low: 3}", KIND),
        ("{minimize: loss}", "{minimize: loss, maximize: accuracy}", OBJECTIVE),
        ("{minimize: loss}", "[{minimize: loss}, {maximize: accuracy}]", OBJECTIVE),
        ("{minimize: loss}", "{minimize: [loss, seconds]}", OBJECTIVE),
        ("{minimize: loss}", "loss", "write '{maximize: loss}' or '{minimize: loss}'"),
        ("./train", "$HOME/train", "study.yaml:2: program: expected a program, found nothing at"),
        ("./train", "$HOME/train", "write '{envvar:HOME}/train'"),
        ("./train", "~/train", "write '{envvar:HOME}/train'"),
        ("./train", "python ${DIR}/train.py", "study.yaml:2: program: expected {envvar:DIR}"),
        ("trials: 3", "trials: 3\nn_jobs: 4", "study.yaml:8: n_jobs: unknown key; write 'par"),
        ("trials: 3", "num_samples: 3", "num_samples: unknown key; write 'trials: 3'"),
        ("trials: 3", "trials: 3\nscheduler: asha", "unknown key; write 'stopper: asha'"),
        ("space:", "search_space:", "search_space: unknown key; write 'space:"),
    ],
)
def test_messages_show_the_right_line(house, ours, theirs, said):
    assert ours in MISLEADING
    house.write("study.yaml", MISLEADING.replace(ours, theirs))
    for verb in ("check", "tune"):
        assert said in house.run(verb, "study.yaml", code=2).stderr
    assert not house.store.exists()


def test_a_wrong_of_is_told(house):
    prepare(house, ONE_REPORT, trials=2)
    edit(house, "{minimize: loss}", "{minimize: loss, of: lst}")
    message = house.run("check", "study.yaml", code=2).stderr
    assert "objective.of: expected one of best, last, found lst (did you mean 'last'?)" in message


def test_a_parameter_that_is_not_passed_is_named(house):
    house.write("train.py", "import sys\n")
    house.write(
        "study.yaml",
        "program: python train.py --lr={lr}\n"
        "space:\n  lr: {float: [0.1, 1]}\n  dropout: {float: [0, 1]}\n"
        "objective: {minimize: loss}\ntrials: 3\n",
    )
    shown = house.run("check", "study.yaml").stdout
    assert "warning: study.yaml:1: program: dropout is not passed to it; add --drop" in shown
    house.write("train.py", "import sluice\n")
    assert "not passed" not in house.run("check", "study.yaml").stdout


def test_the_shell_that_is_proposed_passes_the_arguments_on(house):
    line = "python train.py {args} | tee seen.log"
    text = (
        "program: LINE\nspace: {lr: {choice: [0.5]}}\n"
        "objective: {minimize: loss}\ntrials: 1\nretries: 0\n"
    )
    house.write("train.py", "import sys\nprint('{\"loss\": %s}' % sys.argv[1].split('=')[1])\n")
    house.write("study.yaml", text.replace("LINE", line))
    said = house.run("tune", "study.yaml", code=2).stderr
    cure = said.split("; write ")[1].split(", or quote")[0]
    house.write("study.yaml", text.replace("LINE", cure))
    house.run("tune", "study.yaml", "-q")
    assert house.json("best")["value"] == 0.5

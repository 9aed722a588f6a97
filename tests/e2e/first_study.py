"""What the tests of a user's first studies share."""

import json

from house import python_program

STUDY = """
study: first
program: {program}
space: {space}
objective: {{minimize: loss}}
trials: {trials}
seed: 3
{more}
"""


def prepare(house, script, trials=1, more="", space="{x: {float: [0, 1]}}", args="{args}"):
    path = house.write("train.py", script)
    program = json.dumps([*json.loads(python_program(path)), *([args] if args else [])])
    text = STUDY.format(program=program, trials=trials, more=more, space=space)
    return house.write("study.yaml", text)


def edit(house, old, new):
    path = house.folder / "study.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


ONE_REPORT = 'print(\'{"loss": 1}\')\n'

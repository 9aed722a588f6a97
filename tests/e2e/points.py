"""What the tests of enqueued points and of warm starts share."""

import json

STUDY = """
study: {name}
program: {program}
space:
  lr: {{float: [1e-4, 0.1], log: true}}
  width: {{int: [16, 64], step: 16}}
  act: {{choice: [relu, tanh, 3]}}
objective: {{minimize: loss}}
sampler: random
trials: {trials}
parallelism: 1
resources: {{cpus: 0.25}}
seed: 5
{more}
"""

QUICK = ["sh", "-c", "echo '{{\"loss\": 0.5}}'"]


def prepare(house, trials=4, more="", program=QUICK, name="mine", file="study.yaml"):
    text = STUDY.format(name=name, program=json.dumps(program), trials=trials, more=more)
    house.write(file, text)


def params(house, study="mine"):
    return [trial["params"] for trial in house.json("trials", study)]


def refused(house, *words):
    done = house.run(*words, check=False)
    assert done.returncode == 2, (done.returncode, done.stderr)
    return done.stderr

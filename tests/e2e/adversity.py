"""What the tests of bad moments and of misbehaving peers share."""

import json
import socket

from house import SHIM, python_program, wait_until

STUDY = """
study: adv
program: {program}
space: {{x: {{int: [0, 99]}}}}
objective: {{minimize: loss}}
trials: {trials}
seed: 3
resources: {{cpus: {cpus}}}
{more}
"""


def prepare(house, program, trials=1, more="", cpus=0.25):
    if isinstance(program, str):
        program = python_program(house.write("trial.py", program))
    else:
        program = json.dumps(program)
    house.write("study.yaml", STUDY.format(program=program, trials=trials, more=more, cpus=cpus))


def shell(text):
    return ["sh", "-c", text.replace("{", "{{").replace("}", "}}").replace("{{x}}", "{x}")]


def finish(process, code=0):
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, out + err


def slow_disk(house, sync_ms):
    return {
        "LD_PRELOAD": SHIM,
        "SLUICE_FAULT_UNDER": str(house.folder),
        "SLUICE_FAULT_SYNC_MS": str(sync_ms),
    }


def launch_folder(house, trial=1, launch=1):
    return house.files / f"studies/adv/trials/{trial}/launch-{launch}"


class Peer:
    """Speaks the worker protocol by hand."""

    def __init__(self, house):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(house.files / "run/controller.sock"))
        self.file = self.socket.makefile("rb")

    def say(self, **message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def hello(self, worker="1.1", pid=1, **more):
        self.say(type="hello", version=1, worker=worker, pid=pid, client="test", **more)

    def hear(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def close(self):
        self.file.close()
        self.socket.close()


WAITING = """
import os, time
import sluice
sluice.report(1, loss=1)
while not os.path.exists("go"):
    time.sleep(0.005)
sluice.report(2, loss=2)
"""


def start_waiting(house, **more):
    prepare(house, WAITING, **more)
    process = house.start("tune", "study.yaml", "-q")
    wait_until(lambda: house.reports(), what="the first report")
    return process

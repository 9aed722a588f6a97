"""The worker protocol of docs/protocol.md by hand, without any secret.

The tests speak with it from outside of a trial; as a program it speaks for the launch that it was
started in:

    python peer.py witness=FOLDER first=1 last=3 [seq=1] [then=kill|exec] [greets=1|2]

With then=exec it replaces itself by a process that reports the next three and ends. With greets=2
that process says hello to one controller, and reports to the next.
"""

import json
import os
import signal
import socket
import sys
import time


class Peer:
    """One connection. A call that hears nothing for `seconds` raises TimeoutError."""

    def __init__(self, path, seconds=10.0):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        folder = os.open(os.path.dirname(path), os.O_PATH)
        try:  # a path may be longer than a socket's address
            self.socket.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        finally:
            os.close(folder)
        self.file = self.socket.makefile("rb")

    def say(self, **message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def hello(self, worker, pid, **more):
        self.say(type="hello", version=1, worker=worker, pid=pid, client="peer 1", **more)

    def hear(self):
        """The next message, or None where the other end hung up."""
        line = self.file.readline()
        return json.loads(line) if line else None

    def hear_until(self, *types):
        while True:
            message = self.hear()
            if message is None or message["type"] in types:
                return message

    def close(self):
        self.file.close()
        self.socket.close()


def greet(witness, place):
    """Says hello for the launch of this process, and ends the process if that is refused."""
    peer = Peer(os.environ["SLUICE_SOCKET"])
    study = os.environ["SLUICE_STUDY"]
    peer.hello(os.environ["SLUICE_WORKER"], os.getpid(), reuse=False, study=study, **place)
    answer = peer.hear_until("welcome", "refuse")
    witness.note("heard", *place.values(), json.dumps(answer))
    if not answer or answer["type"] != "welcome":
        sys.exit(4)
    return peer


def greet_next(witness, place):
    """Waits for another controller, and says hello to that one."""
    while True:
        try:
            return greet(witness, place)
        except OSError:
            time.sleep(0.02)


def speak(settings):
    """Reports the epochs first..last for the launch of this process, each acknowledged."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs"))
    from witness import Witness

    witness = Witness(settings)
    trial, launch = int(os.environ["SLUICE_TRIAL"]), int(os.environ["SLUICE_LAUNCH"])
    place = {"trial": trial, "launch": launch}
    peer = greet(witness, place)
    if settings.get("then") == "end" and witness.number("greets", 1) == 2:
        peer.hear_until()  # until this controller is gone
        peer = greet_next(witness, place)
    seq = witness.number("seq", 1)
    for epoch in range(witness.number("first"), witness.number("last") + 1):
        peer.say(type="report", seq=seq, work=epoch, values={"loss": epoch}, **place)
        while True:
            answer = peer.hear_until("ack", "refuse")
            if not answer or answer["type"] == "refuse":
                witness.note("unheard", trial, launch, epoch, json.dumps(answer))
                sys.exit(5)
            if answer["seq"] >= seq:
                break
        witness.note("acked", trial, launch, epoch)
        seq += 1
    if settings.get("then") == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if settings.get("then") == "exec":
        last = witness.number("last")
        more = {**settings, "first": last + 1, "last": last + 3, "then": "end"}
        words = [f"{key}={value}" for key, value in more.items()]
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), *words])


if __name__ == "__main__":
    speak(dict(word.split("=", 1) for word in sys.argv[1:]))

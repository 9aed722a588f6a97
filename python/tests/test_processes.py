"""If a trial has several processes, only one of them reports."""

from controller import assignment


def test_a_forked_child_is_inert(controller, launch):
    process = launch(
        """
import os, sys, sluice
sluice.report(1, accuracy=1)
child = os.fork()
if child == 0:
    sluice.report(1, accuracy=2)
    sluice.set_attribute("child", True)
    with sluice.checkpoint(1) as folder:
        (folder / "theirs").touch()
    print(sluice.should_stop(), sluice.params()["lr"], sluice.latest_checkpoint())
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
sluice.report(2, accuracy=1)
"""
    )
    assert process.end() == ["False 0.1 None"]
    assert controller.works() == [1, 2]
    assert controller.connections == 1
    assert not controller.of_type("attributes")
    assert not process.spooled()


def test_a_child_does_not_hold_the_connection(controller, launch):
    process = launch(
        """
import os, sys, sluice
sluice.report(1, accuracy=1)
if os.fork() == 0:
    sys.stdin.readline()
    sys.exit(0)
os._exit(0)
"""
    )
    controller.wait(lambda: controller.closed == 1)
    process.say()
    process.end()


def test_a_fork_among_reporting_threads_does_not_hang(controller, launch):
    process = launch(
        """
import os, sys, threading, warnings, sluice
warnings.simplefilter("ignore")
done = False
def chatter():
    while not done:
        sluice.set_attribute("a", 1)
thread = threading.Thread(target=chatter)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        sluice.set_attribute("b", 1)
        os._exit(0)
    os.waitpid(child, 0)
done = True
thread.join()
"""
    )
    process.end()
    assert all("b" not in one["attributes"] for one in controller.of_type("attributes"))


SPAWN = """
import subprocess, sys, sluice
CHILD = '''
import sluice
sluice.report(5, accuracy=5)
print(sluice.should_stop(), sluice.params()["lr"], len(list(sluice.trials())))
'''
for trial in sluice.trials():
    trial.report(1, accuracy=1)
    subprocess.run([sys.executable, "-c", CHILD], check=True)
"""


def test_a_spawned_child_is_inert_and_knows_the_parameters(tmp_path, controller, launch):
    controller.assignments = [assignment(tmp_path, trial=8, params={"lr": 0.2})]
    assert launch(SPAWN).end() == ["False 0.1 1", "False 0.2 1"]
    assert controller.works() == [1]
    assert controller.connections == 1


def test_a_study_within_a_trial_has_its_own_owner(controller, launch):
    launch(
        "import sluice; sluice.report(1, accuracy=1)",
        SLUICE_OWNER_PID="1 /another/trial.json",
        SLUICE_ASSIGN='{"trial": 99}',
    ).end()
    assert controller.works() == [1]


def test_other_ranks_are_inert(controller, launch):
    script = """
import sluice
sluice.report(1, accuracy=1)
print(sluice.should_stop(), sluice.params()["lr"], sluice.checkpoint_dir().name)
"""
    for name in ("RANK", "OMPI_COMM_WORLD_RANK"):
        assert launch(script, **{name: "1"}).end() == ["False 0.1 7"]
    assert controller.connections == 0
    launch(script, RANK="0").end()
    assert controller.works() == [1]

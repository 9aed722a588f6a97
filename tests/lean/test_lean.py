"""The rooms that a trainer needs (base, wire, client, model, data, recipe) build from the headers
of fmt, nlohmann-json and xxHash alone, link with nothing, and do what they do in the whole
program."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lean-alone"
PROGRAM = BUILD / "bin" / "lean_check"
SLUICE = ROOT / "build" / "release" / "bin" / "sluice"
ARCHIVE = ROOT / "tests/model/archives/attention-torch-2.12.pt2"

# What comes with a compiler, and the three libraries.
SYSTEM = re.compile(
    r"/usr/(lib/gcc|include/c\+\+|include/[\w-]+-linux-gnu/(c\+\+|asm|bits|gnu|sys))/.*|"
    r"/usr/include/(asm-generic|bits|linux|sys)/.*|/usr/include/[\w-]+\.h|"
    r"/usr/include/(fmt|nlohmann)/.*"
)
OURS = ("src/base/", "src/wire/", "src/client/", "src/model/", "src/data/", "src/recipe/",
        "tests/lean/", "build/lean-alone/")
MESSAGES = [
    '{"type":"hello","version":1,"worker":"1.1","pid":7,"client":"python","reuse":false,'
    '"study":"s"}',
    '{"type":"heartbeat"}',
]


@pytest.fixture(scope="module", autouse=True)
def built():
    if not PROGRAM.exists():
        pytest.fail("build/lean-alone is not built: make test ROOM=lean")


def headers_read():
    """Every file that a compilation read, as ninja knows them."""
    listing = subprocess.run(["ninja", "-C", str(BUILD), "-t", "deps"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return sorted({(BUILD / line.strip()).resolve() for line in listing.splitlines()
                   if line.startswith("    ")})


def headers_of_packages():
    """Headers directly in /usr/include are of many packages: those that are of the C library's."""
    listing = subprocess.run(["dpkg", "-L", "libc6-dev", "linux-libc-dev", "libxxhash-dev"],
                             check=True, text=True, stdout=subprocess.PIPE).stdout
    return {pathlib.Path(line).resolve() for line in listing.splitlines()}


def test_nothing_else_is_read():
    allowed = headers_of_packages()
    read = headers_read()
    assert read, "ninja knows what was read"
    strange = []
    for path in read:
        if path.is_relative_to(ROOT):
            if not str(path.relative_to(ROOT)).startswith(OURS):
                strange.append(path)
        elif not SYSTEM.fullmatch(str(path)) or (
                path.parent == pathlib.Path("/usr/include") and path not in allowed):
            strange.append(path)
    assert not strange, f"headers that the lean rooms may not need: {strange}"


def test_nothing_else_is_looked_for_or_linked():
    cache = (BUILD / "CMakeCache.txt").read_text()
    found = re.findall(r"^(\w+)_DIR:PATH=(?!.*NOTFOUND)", cache, re.MULTILINE)
    assert set(found) <= {"CMAKE_BINARY", "sluice_BINARY", "sluice_SOURCE"}, found
    needed = subprocess.run(["readelf", "-d", PROGRAM], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    libraries = re.findall(r"\(NEEDED\).*\[([^\]]+)\]", needed)
    assert set(libraries) <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
                              "ld-linux-aarch64.so.1"}, libraries


@pytest.mark.parametrize("network", ["zoo:resnet18", "zoo:gpt", str(ARCHIVE)])
def test_networks_are_those_of_the_whole_program(network):
    lean = subprocess.run([PROGRAM, network], check=True, text=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)
    whole = subprocess.run([SLUICE, "model", "show", network, "--json"], check=True, text=True,
                           stdout=subprocess.PIPE)
    assert lean.stdout == whole.stdout


def test_messages_are_read_and_written():
    run = subprocess.run([PROGRAM, "zoo:resnet18"], check=True, text=True,
                         input="\n".join(MESSAGES), stdout=subprocess.PIPE)
    again = run.stdout.splitlines()[1:]
    once_more = subprocess.run([PROGRAM, "zoo:resnet18"], check=True, text=True,
                               input="\n".join(again), stdout=subprocess.PIPE)
    assert len(again) == len(MESSAGES)
    assert once_more.stdout == run.stdout


def test_the_client_is_linked():
    run = subprocess.run([PROGRAM, "--client"], check=False, text=True, env={},
                         stderr=subprocess.PIPE)
    assert run.returncode == 1 and "SLUICE_TRIAL_FILE" in run.stderr


def test_a_message_that_is_none_is_refused():
    run = subprocess.run([PROGRAM, "zoo:resnet18"], check=False, text=True, input="{}",
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert run.returncode == 1 and run.stderr.strip()

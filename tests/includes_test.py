"""Holds the code to ARCHITECTURE.md: which room may include which, where each library may be used,
that nothing below exec reads a clock, starts a thread or draws from a standard distribution, that
SQL is the ledger's alone, and that the sources of a room can be compiled as one."""

import collections
import fnmatch
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The rooms a room names directly. It may include those, and all that they may include.
USES = {
    "base": [],
    "config": ["base"],
    "space": ["config"],
    "search": ["space"],
    "cluster": ["base"],
    "policy": ["cluster"],
    "engine": ["search", "policy", "recipe"],
    "wire": ["base"],
    "client": ["wire"],
    "bubble": ["base"],
    "ledger": ["engine"],
    "control": ["ledger", "wire"],
    "sim": ["control"],
    "launcher": [],  # linked statically, alone
    "exec": ["control", "bubble", "launcher"],
    "model": ["base"],
    "data": ["base"],
    "recipe": ["data"],
    "unpack": ["data", "model"],
    "train": ["client", "model", "recipe", "bubble"],
    "serve": ["exec", "sim", "model", "data"],
    "cli": ["serve", "unpack"],
    "apps": ["cli", "train"],
    "rig": ["sim"],  # what tests are made of: no room includes it
}

# Below exec nothing depends on when or where it runs.
PURE_ROOMS = [
    "base", "config", "space", "search", "cluster", "policy", "engine", "wire", "ledger",
    "control", "sim", "rig", "data", "recipe", "unpack",
]

# Who may include a library's header, as patterns of paths. Tests may look at JSON as they like.
LIBRARIES = {
    r"nlohmann/json\.hpp": [
        "src/*codec*.cc",
        "src/*json*.cc",
        "src/*_test.cc",
        "src/*/test_*.h",
        "tests/*",
    ],
    r"CLI/.*": ["src/cli/command_line.cc"],
    r"coin/.*": ["src/policy/solve/linear_program.cc"],
    r"png\.h": ["src/unpack/png_sheet.cc"],
    r"zlib\.h": ["src/unpack/inflate.cc", "src/unpack/test_packed.h"],
    r"sqlite3\.h": ["src/ledger/*", "tests/rig/*"],
    r"yaml-cpp/.*": ["src/config/yaml_reader.cc"],
    r"(torch|ATen|c10)/.*": ["src/train/*"],
    r"boost/.*": ["src/serve/*"],
}

# Word patterns that the pure rooms do without, and the files that have a reason not to.
BANNED = {
    r"std::chrono::\w*_clock|\b(system|steady|high_resolution)_clock\b": [],
    r"\b(clock_gettime|gettimeofday)\s*\(|\bstd::time\s*\(": [],
    r"<(thread|mutex|condition_variable|future|stop_token)>|\bstd::(jthread|thread|async)\b": [
        "src/base/worker_thread.cc",  # the one class of threads, for writers and samplers
        "src/base/worker_thread.h",
    ],
    r"std::\w+_distribution\b|\bstd::(random_device|mt19937\w*|shuffle)\b|\bs?rand\s*\(": [],
}

# The ledger alone knows the schema of the store: no SQL but there.
SQL = re.compile(
    r"\bSELECT\b[^;]*?\bFROM\b|\b(?:INSERT INTO|DELETE FROM|CREATE TABLE|PRAGMA) \w+"
    r"|\bUPDATE \w+ SET\b|\"(?:BEGIN|COMMIT|ROLLBACK)\b")
SQL_USERS = ["src/ledger/*", "tests/rig/*"]

MOST_COLUMNS = 100

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def reach(room):
    """All rooms that `room` may include, itself among them."""
    found = {room}
    for used in USES[room]:
        found |= reach(used)
    return found


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] in ("src", "tests") else parts[0]


def violations_in(path, text):
    """What a file does against the rules, a message each. `path` is as in src/base/ids.h."""
    room = room_of(path)
    if room not in USES:
        return [f"{path}: '{room}' is not a room known to tests/includes_test.py"]
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        where = f"{path}:{number}"
        other = header.split("/")[0]
        if quoted and "/" in header and (ROOT / "src" / other).is_dir() and other not in USES:
            found.append(f"{where}: '{other}' is not a room known to tests/includes_test.py")
        elif other in USES and header.endswith(".h") and other not in reach(room):
            found.append(f"{where}: {room} may not include {other} ({header})")
        elif quoted and "/" not in header:
            found.append(f'{where}: include by the path from src, not "{header}"')
        elif header.startswith(".."):
            found.append(f'{where}: include by the path from src, not "{header}"')
        for library, users in LIBRARIES.items():
            if re.fullmatch(library, header) and not matches(path, users):
                found.append(f"{where}: {header} is only for {', '.join(users)}")
    if room in PURE_ROOMS and not path.endswith("_test.cc"):
        code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
        for number, line in enumerate(code.splitlines(), start=1):
            for pattern, exempt in BANNED.items():
                hit = re.search(pattern, line)
                if hit and path not in exempt:
                    found.append(f"{path}:{number}: '{hit.group()}' is not for rooms below exec")
    if not matches(path, SQL_USERS):
        for hit in SQL.finditer(text):
            number = text.count("\n", 0, hit.start()) + 1
            found.append(f"{path}:{number}: SQL is only for {', '.join(SQL_USERS)}")
    return found


def sources():
    for folder in ("src", "apps", "tests/rig"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".c", ".cu", ".cuh"):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_the_rooms_keep_to_the_plan():
    files = list(sources())
    assert files, "there are sources to look at"
    found = [message for path, text in files for message in violations_in(path, text)]
    assert not found, "\n" + "\n".join(found)


UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What begins a line in a namespace: a type, else the first name before ( { = [ or ;
DEFINES = re.compile(r"(?:struct|class|enum class|enum) (\w+)|using (?:\w+::)*(\w+)"
                     r"|.*?\b(\w+)(?:\(|\{| =|\[|;)")
MAY_REPEAT = re.compile(
    r"using (::)?(std|testing)::|namespace fs =|TEST|INSTANTIATE|template|requires")


def local_names(text):
    """The names that a source has for itself, each with the line that defines it."""
    names = {}
    for body in UNNAMED.findall(text):
        for line in body.splitlines():
            if line and line[0] not in " }/#)" and not MAY_REPEAT.match(line):
                match = DEFINES.match(line)
                if match:
                    names[match.group(match.lastindex)] = line
    return names


def repeated_names(files):
    """Of the sources of one unit: names that two of them have in an unnamed namespace. An alias of
    the same type may be there twice."""
    owners = collections.defaultdict(dict)
    for path, text in files:
        for name, line in local_names(text).items():
            owners[name][path] = line
    return [f"{name}: {', '.join(sorted(lines))}" for name, lines in sorted(owners.items())
            if len(lines) > 1 and not (len(set(lines.values())) == 1
                                       and next(iter(lines.values())).startswith("using "))]


def test_names_of_its_own_are_one_sources_alone():
    """Several sources of a room are one unit of the compiler, and which ones changes with each new
    file: so a name in an unnamed namespace is unique among a room's sources and its tests."""
    units = collections.defaultdict(list)
    for path, text in sources():
        if path.endswith(".cc"):
            units[room_of(path), path.endswith("_test.cc")].append((path, text))
    found = [message for files in units.values() for message in repeated_names(files)]
    assert not found, "\n" + "\n".join(found)


def test_a_repeated_name_is_found():
    def source(line):
        return f"namespace sluice {{\nnamespace {{\n\n{line}\n\n}}  // namespace\n}}\n"

    def repeated(one, other):
        return repeated_names([("a.cc", source(one)), ("b.cc", source(other))])

    assert repeated("constexpr int kMost = 1;", "constexpr double kMost = 2;")
    assert repeated("int Width(int x) {", "double Width(double x, int y) {")
    assert repeated("struct Row {", "class Row {")
    assert not repeated("int Width(int x) {", "int Height(int x) {")
    assert not repeated("using Json = nlohmann::json;", "using Json = nlohmann::json;")
    assert not repeated("using model::Law;", "using model::Parameter;")
    assert repeated("using model::Law;", "using policy::Law;")
    assert not repeated("using ::testing::Not;", "using ::testing::Not;")


def long_lines(path, text):
    return [f"{path}:{number}: {len(line)} columns, more than {MOST_COLUMNS}"
            for number, line in enumerate(text.splitlines(), start=1) if len(line) > MOST_COLUMNS]


def test_lines_keep_to_their_columns():
    """clang-format leaves comments and texts as they are."""
    files = [path for folder in ("src", "apps", "tests", "bench")
             for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".h", ".cc", ".c", ".cu", ".cuh")]
    found = [message for path in files
             for message in long_lines(path.relative_to(ROOT), path.read_text(encoding="utf-8"))]
    assert not found, "\n" + "\n".join(found)
    assert long_lines("a.cc", "// " + "x" * 98)


# A longer file says near its top why it is one idea: "Long because: ...".
MOST_LINES = 500
REASON_WITHIN_LINES = 10
REASON = re.compile(r"\bLong because: \S")
SOURCE_SUFFIXES = (".h", ".cc", ".c", ".cu", ".cuh", ".py", ".sh")


def too_long(path, text):
    lines = text.splitlines()
    if len(lines) <= MOST_LINES or REASON.search("\n".join(lines[:REASON_WITHIN_LINES])):
        return []
    return [f"{path}: {len(lines)} lines, more than {MOST_LINES}: split it by idea, or say in its "
            f"first {REASON_WITHIN_LINES} lines why it is one ('Long because: ...')"]


def test_files_are_short_or_say_why_not():
    folders = ("src", "apps", "tests", "bench", "python", "setup", "examples")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in SOURCE_SUFFIXES]
    assert len(files) > 500, "where are the sources?"
    found = [message for path in files
             for message in too_long(path.relative_to(ROOT), path.read_text(encoding="utf-8"))]
    assert not found, "\n" + "\n".join(found)


def test_a_long_file_is_found():
    line = "int x;\n"
    assert not too_long("a.cc", line * 500)
    assert too_long("a.cc", line * 501)
    assert not too_long("a.cc", "// Long because: it is one table.\n" + line * 500)
    assert too_long("a.cc", "// Long because:\n" + line * 500), "a reason is more than its name"
    assert too_long("a.cc", line * 10 + "// Long because: it is one table.\n" + line * 490)


def test_no_folder_of_sources_has_more_than_forty_files():
    folders = collections.Counter(pathlib.PurePosixPath(path).parent for path, _ in sources())
    found = [f"{folder}: {count} files" for folder, count in folders.items() if count > 40]
    assert not found, "\n" + "\n".join(found)


def test_the_plan_has_no_way_round():
    for room in USES:
        for used in USES[room]:
            assert room not in reach(used), f"{room} and {used} include each other"


def test_the_build_links_no_more_than_the_plan_allows():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    for name, rest in re.findall(r"^sluice_room\((\w+)([^)]*)\)", text, re.MULTILINE):
        uses = re.search(r"USES ([\w ]+?)(?: LINK|$)", rest.strip())
        for used in uses.group(1).split() if uses else []:
            assert used in reach(name), f"CMakeLists.txt links {name} with {used}"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/base/ids.h", '#include "engine/engine.h"'),
        ("src/space/space.h", '#include "search/sampler.h"'),
        ("src/search/samplers/tpe.cc", '#include "cluster/cluster.h"'),
        ("src/policy/published/fifo.cc", '#include "search/stopper.h"'),
        ("src/engine/engine.cc", '#include "ledger/ledger.h"'),
        ("src/engine/engine.cc", '  #  include "wire/message.h"'),
        ("src/wire/codec.cc", '#include "space/space.h"'),
        ("src/sim/world.cc", '#include "exec/process.h"'),
        ("src/train/fused.cc", '#include "engine/engine.h"'),
        ("src/client/client.cc", '#include "control/workforce.h"'),
        ("src/control/workforce.cc", '#include "client/client.h"'),
        ("src/exec/process.cc", '#include "cli/cli.h"'),
        ("src/sim/simulation.cc", '#include "rig/checker.h"'),
        ("src/engine/engine.h", '#include "study.h"'),
        ("src/engine/engine.h", '#include "../base/ids.h"'),
        ("src/attic/old.cc", ""),
        ("src/engine/study.cc", "#include <nlohmann/json.hpp>"),
        ("src/cli/show.cc", "#include <CLI/CLI.hpp>"),
        ("src/exec/run.cc", "#include <sqlite3.h>"),
        ("src/engine/study.cc", "#include <yaml-cpp/yaml.h>"),
        ("src/model/graph.cc", "#include <torch/torch.h>"),
        ("src/engine/engine.cc", "auto now = std::chrono::steady_clock::now();"),
        ("src/base/time.cc", "using std::chrono::system_clock;"),
        ("src/ledger/ledger.cc", "#include <thread>"),
        ("src/search/samplers/tpe.cc", "std::normal_distribution<double> draw;"),
        ("src/sim/world.cc", "std::mt19937_64 generator(seed);"),
        ("src/cli/view/progress.cc", 'Prepare("SELECT state FROM trials");'),
        ("src/cli/view/progress.cc", 'Prepare("SELECT state "\n        "FROM trials");'),
        ("src/cli/verbs/doctor.cc", 'Prepare("PRAGMA quick_check(1)");'),
        ("src/cli/main_test.cc", 'Execute("UPDATE trials SET work = 4");'),
        ("src/exec/session.cc", 'Execute("BEGIN IMMEDIATE; DELETE FROM reports; COMMIT");'),
        ("src/exec/session.cc", 'Execute("BEGIN");'),
    ],
)
def test_a_planted_violation_is_found(path, text):
    assert violations_in(path, f"#pragma once\n{text}\n"), f"{text} in {path} went unnoticed"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/engine/engine.cc", '#include "search/stopper.h"'),
        ("src/engine/engine.cc", '#include "cluster/cluster.h"'),
        ("src/ledger/ledger.cc", '#include "space/space.h"'),
        ("src/exec/process.cc", '#include "wire/message.h"'),
        ("src/exec/process.cc", "#include <thread>"),
        ("src/client/client.cc", "auto now = std::chrono::steady_clock::now();"),
        ("src/cli/cli.cc", '#include "sim/world.h"'),
        ("src/wire/codec.cc", "#include <nlohmann/json.hpp>"),
        ("src/space/space.h", "#include <nlohmann/json_fwd.hpp>"),
        ("src/base/worker_thread.cc", "std::thread worker;"),
        ("src/base/random.cc", "// unlike std::normal_distribution, the same everywhere"),
        ("src/base/random.cc", 'Fail("no steady_clock here");'),
        ("src/base/random.cc", "double operand(int x);"),
        ("src/ledger/reader.cc", 'Prepare("SELECT state FROM trials");'),
        ("tests/rig/checker.cc", 'Prepare("PRAGMA quick_check(1)");'),
        ("src/cli/verbs/doctor.cc", "// select what is from the store\n#pragma once"),
    ],
)
def test_what_is_allowed_passes(path, text):
    assert not violations_in(path, f"{text}\n")

"""Counts which branches of engine, ledger, wire and control the fault simulation takes. Fails if a
branch is taken by no seed and is not excused.

    python setup/branches.py SLUICE_FAULTS [--seed FIRST] [--seeds N] [--events N] [--jobs N]
                             [--page FILE]

SLUICE_FAULTS is the program sluice-faults of a build with coverage (cmake --preset coverage). Three
kinds of worlds are counted, with the same seeds: worlds of one study, worlds in which that study
has a program that trains several trials at once (--bundles), and worlds of several studies
(--several). Each world runs in a process of its own, so that it is known which seeds take a branch.
A branch is one side of a condition, a case of a switch, an exception handler, or the call of a
function. A branch inside a macro counts at the line that uses the macro.
tests/sim/unreached.txt lists the branches that no seed needs to take, with reasons: the excuses.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import datetime
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("engine", "ledger", "wire", "control")
EXCUSES = ROOT / "tests" / "sim" / "unreached.txt"
# The kinds of worlds, with the flags that make them.
KINDS = {"": (), " with bundles": ("--bundles",), " of several studies": ("--several",)}
RAREST = 40
CODE, EXPANSION = 0, 1  # kinds of regions: the numbers that llvm-cov uses


@dataclasses.dataclass(frozen=True, order=True)
class Branch:
    file: str
    line: int
    column: int
    what: str  # the source text, and which side of it
    function: str

    def anchor(self):
        """The name of the branch in the list of excuses. It has no line number: lines move."""
        return f"{self.file} | {self.function} | {self.what}"

    def __str__(self):
        return f"{self.file}:{self.line}: {self.function}: {self.what}"


@dataclasses.dataclass
class Excuse:
    pattern: str
    reason: str
    uses: int = 0

    def covers(self, anchor):
        return glob(self.pattern).fullmatch(anchor)


@functools.cache
def glob(pattern):
    """A regular expression for a pattern in which a star matches anything.

    A pattern that is only a file matches every branch in that file.
    """
    pattern += "" if " | " in pattern else " | *"
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")))


def read_excuses(path):
    """Reads the list of excuses.

    The file has paragraphs. Each is a reason, and below it, indented, the branches that it excuses:
    FILE, or FILE | FUNCTION | SOURCE.
    """
    excuses, reason, listing = [], "", True
    for line in path.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            excuses.append(Excuse(line.strip(), reason))
            listing = True
        else:
            reason = line.strip() if listing else f"{reason} {line.strip()}"
            listing = False
    return excuses


@functools.cache
def source(file):
    return (ROOT / file).read_text().splitlines()


def text_of(file, first_line, first, last_line, last):
    lines = source(file)[first_line - 1:last_line]
    lines[-1] = lines[-1][:last - 1]
    lines[0] = lines[0][first - 1:]
    return " ".join(" ".join(lines).split())


def call_at(file, line, column):
    """The source text of the macro's use that begins there, with its arguments."""
    lines = source(file)[line - 1:line + 12]
    text, depth = " ".join(" ".join([lines[0][column - 1:], *lines[1:]]).split()), 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return text[:at + 1]
    return text


def short_name(demangled):
    """The function's name without namespaces and arguments; lambdas also lose their numbers.

    For example: Engine::On for sluice::Engine::On(sluice::Reported const&).
    """
    name = re.sub(r"\(anonymous namespace\)::|sluice::|\[abi:\w+\]", "", demangled)
    name = re.sub(r"'lambda\d*'", "lambda", name)
    name = re.sub(r"operator\(\)", "operator", name)
    depth, kept = 0, []
    for letter in name:
        depth += letter in "(<"
        if depth == 0:
            kept.append(letter)
        depth -= letter in ")>"
    words = "".join(kept).replace(" const", "").replace("::operator", "").split()
    return words[-1] if words else demangled


def demangle(names):
    """The names as in the source, as far as llvm-cxxfilt reads them."""
    # It cannot read the names that Clang gives to lambdas.
    mangled = [re.sub(r"\d\$_\d+", "6lambda", name) for name in names]
    read = subprocess.run(["llvm-cxxfilt-19"], input="\n".join(mangled), check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()
    return [enclosing(name) + "::lambda" if name.startswith("_ZZ") else name for name in read]


def enclosing(mangled):
    """The function that a generic lambda is in, whose name llvm-cxxfilt cannot read either.

    For example: sluice::Workforce::Renumber for _ZZN6sluice9Workforce8RenumberERNS0_4HostE...
    """
    rest, parts = re.sub(r"^_ZZNK?", "", mangled), []
    while (digits := re.match(r"\d+", rest)):
        end = digits.end() + int(digits[0])
        parts.append(rest[digits.end():end])
        rest = rest[end:]
    return "::".join(part for part in parts if not part.startswith("_GLOBAL__N"))


@functools.cache
def own_file(name):
    """The path of a source whose branches count, or None for any other file."""
    path = pathlib.Path(name).resolve()
    if not path.is_relative_to(ROOT / "src"):
        return None
    file = path.relative_to(ROOT)
    return str(file) if file.parts[1] in ROOMS and not file.stem.startswith("test_") else None


class Map:
    """For each counter in the program's profiles, the place in the sources."""

    def __init__(self, functions):
        names = demangle(function["name"].rsplit(";", 1)[-1].rsplit(":", 1)[-1]
                         for function in functions)
        self.functions = []  # which, its call, its branches' sides, its handlers
        for which, (function, name) in enumerate(zip(functions, names, strict=True)):
            file = own_file(function["filenames"][0])
            if file is not None:
                self.functions.append((which, *self.read(function, file, short_name(name))))

    @staticmethod
    def read(function, file, name):
        regions = function["regions"]
        first = next(region for region in regions if region[5] == 0)
        called = Branch(file, first[0], first[1], "is called", name)
        uses = {region[6]: region for region in regions if region[7] == EXPANSION}
        sides = []
        for branch in function["branches"]:
            at, use = branch[6], None
            while at in uses:
                use = uses[at]
                at = use[5]
            place = use if use else branch
            before = source(file)[place[0] - 1][:place[1] - 1]
            what = call_at(file, *use[:2]) if use else text_of(file, *branch[:4])
            words = ("is true", "is false")
            if what.startswith("SLUICE_CHECK"):
                words = (None, None)  # a check that fails ends the program: no branch to count
            elif what.startswith("SLUICE_"):
                words = ("fails", "holds")
            elif what.startswith(("case ", "default")):
                words = ("is met", None)
            elif before.endswith("switch ("):
                words = (None, None)  # no default is taken: each value of the enum has a case
            elif what == ":":
                what = " ".join(source(file)[place[0] - 1].split()).removesuffix(" {")
                words = ("goes round", "ends")
            sides.append([Branch(file, place[0], place[1], f"{what} {word}", name) if word else None
                          for word in words])
        handlers = []
        for which, region in enumerate(regions):
            line = source(file)[region[0] - 1][:region[1] - 1] if region[5] == 0 else ""
            if region[7] == CODE and re.search(r"catch \([^)]*\) $", line):
                what = line[line.index("catch"):].strip() + " is entered"
                handlers.append((which, Branch(file, region[0], region[1], what, name)))
        return called, sides, handlers

    def count(self, functions):
        """How often a seed took each branch.

        Branches that the seed could not have taken are left out, because their function was not
        called, or because their condition is known at compile time.
        """
        counts = collections.Counter()
        for which, called, sides, handlers in self.functions:
            function = functions[which]
            counts[called] += function["count"]
            if function["count"] == 0:
                continue
            for (yes, no), branch in zip(sides, function["branches"], strict=True):
                if branch[4] + branch[5] > 0:  # else not reached, or decided at compile time
                    counts[yes] += branch[4]
                    counts[no] += branch[5]
            for region, handler in handlers:
                counts[handler] += function["regions"][region][4]
        counts.pop(None, None)
        return counts


@dataclasses.dataclass(frozen=True)
class World:
    seed: int
    kind: str  # of KINDS

    def __str__(self):
        return f"{self.seed}{self.kind}"


def run_world(program, world, events, folder):
    """Runs one world, and returns the functions in its profile."""
    raw, merged = (folder / f"{world}.{ending}" for ending in ("profraw", "profdata"))
    # The profile counts only one side of a condition. It gets the other side by subtracting that
    # from the visits of the condition. If a controller dies inside a call, an exception leaves the
    # condition before it is decided, and the subtraction would count a side that was not taken. So
    # controllers do not die inside calls here (--no-unwinding).
    run = subprocess.run([program, "--seed", str(world.seed), "--seeds", "1", "--events",
                          str(events), "--no-unwinding", *KINDS[world.kind]],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env={"LLVM_PROFILE_FILE": str(raw)})
    if run.returncode != 0:
        sys.exit(f"expected no problems in a seed that is counted, found:\n{run.stdout}")
    subprocess.run(["llvm-profdata-19", "merge", "-o", merged, raw], check=True)
    exported = subprocess.run(
        ["llvm-cov-19", "export", "-skip-expansions", "-instr-profile", merged, program],
        check=True, stdout=subprocess.PIPE).stdout
    raw.unlink()
    merged.unlink()
    return json.loads(exported)["data"][0]["functions"]


def count_worlds(program, worlds, events, jobs):
    """For each branch: the worlds that took it, in order, and how often they took it in all."""
    takers, times, where = collections.defaultdict(list), collections.Counter(), None
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = (pool.submit(run_world, program, world, events, pathlib.Path(folder))
                for world in worlds)
        waiting = collections.deque()
        for world in worlds:
            while len(waiting) < 2 * jobs and (run := next(runs, None)):
                waiting.append(run)
            functions = waiting.popleft().result()
            where = where or Map(functions)
            for branch, count in where.count(functions).items():
                takers[branch] += [world] if count else []
                times[branch] += count
    return takers, times


def own_sources():
    return [str(path.relative_to(ROOT)) for room in ROOMS
            for path in sorted((ROOT / "src" / room).rglob("*.cc"))
            if not path.stem.endswith("_test")]


def write_page(path, options, takers, times, excused):
    per_file = collections.defaultdict(lambda: [0, 0, 0])
    for branch, worlds in takers.items():
        row = per_file[branch.file]
        row[0] += 1
        row[1] += bool(worlds)
        row[2] += branch in excused
    absent = [file for file in own_sources() if file not in per_file]
    rare = sorted((b for b in takers if takers[b]), key=lambda b: (len(takers[b]), times[b], b))
    lines = [
        "# Branches that the world of faults takes",
        "",
        f"Seeds {options.seed} to {options.seed + options.seeds - 1} of `sluice-faults --events "
        f"{options.events} --no-unwinding`, each alone in a build that counts, and the same seeds "
        f"with `--bundles` and with `--several`, so {len(KINDS) * options.seeds} worlds; "
        f"`make branches`, {datetime.date.today()}. A branch is one side of a "
        "condition, a case of a switch, a handler, or the call of a function. What no world takes "
        "is excused with a reason in `tests/sim/unreached.txt`, or `make branches` fails.",
        "",
        "| file | branches | taken | excused |",
        "|---|---|---|---|",
    ]
    for file, row in sorted(per_file.items()):
        lines.append(f"| {file} | {row[0]} | {row[1]} | {row[2]} |")
    total = [sum(row[i] for row in per_file.values()) for i in range(3)]
    lines += [f"| all | {total[0]} | {total[1]} | {total[2]} |", "",
              "Not part of the program, and excused as a whole: "
              + ", ".join(f"`{file}`" for file in absent) + ".", "",
              f"The {RAREST} rarest of those that are taken:", "",
              "| worlds | times | first | branch |", "|---|---|---|---|"]
    for branch in rare[:RAREST]:
        what = branch.what.replace("|", "\\|")
        lines.append(f"| {len(takers[branch])} | {times[branch]} | {takers[branch][0]} | "
                     f"{branch.file}, {branch.function}: `{what}` |")
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()

    worlds = [World(seed, kind) for kind in KINDS
              for seed in range(options.seed, options.seed + options.seeds)]
    takers, times = count_worlds(options.program, worlds, options.events, options.jobs)
    excuses = read_excuses(EXCUSES)
    files = {branch.file for branch in takers}
    unreached = sorted(branch for branch, takers_of in takers.items() if not takers_of)
    unreached += [Branch(file, 1, 1, "is part of the program", "-") for file in own_sources()
                  if file not in files]
    excused, missed = set(), []
    for branch in unreached:
        covering = [excuse for excuse in excuses if excuse.covers(branch.anchor())]
        for excuse in covering:
            excuse.uses += 1
        if covering:
            excused.add(branch)
        else:
            missed.append(branch)
    for branch in missed:
        print(f"{branch}\n    {branch.anchor()}")
    idle = [excuse for excuse in excuses if excuse.uses == 0]
    for excuse in idle:
        print(f"{EXCUSES.name}: not needed any more: {excuse.pattern}")
    if options.page:
        write_page(options.page, options, takers, times, excused)
    taken = sum(map(bool, takers.values()))
    print(f"{len(takers)} branches: {taken} taken by {len(worlds)} worlds, "
          f"{len(excused)} excused, {len(missed)} missed; {len(idle)} excuses not needed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Mutation testing: changes one token of a package at a time, runs its tests, prints what they let pass.

  python -m benchmarks.engineering.mutants cfr --sample 20
  python -m benchmarks.engineering.mutants written --of tree/

A mutant that survives is a gap in the tests, or changes nothing that matters. Each runs in a process of
its own on a copy of the package, first with the package's tests whose names share a word with the changed
file, then with all, until the first fails. Tests that never end are stopped; the limit counts processor time,
so a busy machine does not matter.

`written` mutants are those of mutants.toml, each with its tests: the quick ones first, or alone. In C++ they
are expressions, and all of them are compiled at once: a variable of the environment chooses one.
"""

import ast
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.machine import flags

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = Path(__file__).with_suffix(".toml")
PACKAGES = {  # folder, and the tests that are meant for it, those first that find most for their time
  "tree": ("ps_cfr_spiel/tree", ["tree", "solvers/test_locks.py", "solvers/test_solver.py",
                                 "compiler/test_general_games.py"]),
  "cfr": ("ps_cfr_spiel/cfr", ["cfr/test_rules.py", "cfr/test_averages.py", "abstraction/test_fpira.py",
                               "solvers/test_bounds.py", "solvers/test_solver.py"]),
  "mccfr": ("ps_cfr_spiel/sampling/mccfr", ["mccfr", "solvers/test_online_sampling.py"]),
  "subgames": ("ps_cfr_spiel/resolving/subgames", ["subgames"]),
  "search": ("ps_cfr_spiel/resolving/search", ["search", "solvers/test_resolve.py"]),
  "games": ("games", ["poker", "pursuit", "cheat"]),
  "abstraction": ("ps_cfr_spiel/abstraction", ["abstraction"]),
  "histories": ("ps_cfr_spiel/compilation/histories", ["histories", "compiler"]),
  "policy": ("ps_cfr_spiel/policy", ["policy", "solvers/test_solver.py"]),
  "keyed": ("ps_cfr_spiel/sampling/keyed", ["keyed", "solvers/test_keyed_mccfr.py"]),
  "batches": ("ps_cfr_spiel/batches", ["batches"]),
  "learning": ("ps_cfr_spiel/learning", ["learning"]),
  "hierarchical": ("ps_cfr_spiel/hierarchical", ["hierarchical", "solvers/test_hierarchical.py",
                                                 "pictures/test_cluster_pictures.py"]),
}  # fmt: skip
OPERATORS = {
  ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*"),
  ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
  ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
  ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
NAMES = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "all": "any", "any": "all"}


class Mutant(NamedTuple):
  """One change of one file.

  Attributes:
    file: below the root.
    start, stop: the characters that are replaced.
    new: by what.
    line: where, from 1.
    tests: those of a written one, below tests.
    equal: why no test can tell, of a written one.
  """

  file: Path
  start: int
  stop: int
  new: str
  line: int
  tests: tuple[str, ...] = ()
  equal: str = ""

  def apply(self, source: str) -> str:
    """The file's text after the change."""
    return source[: self.start] + self.new + source[self.stop :]

  def choose(self, source: str, number: int) -> str:
    """The C++ file's text with a choice between its own expression and, if MUTANT is `number`, the other."""
    chosen = f"(mutant == {number} ? ({self.new}) : ({source[self.start : self.stop]}))"
    return source[: self.start] + chosen + source[self.stop :]

  def describe(self, source: str) -> str:
    """The line before, and after."""
    before, after = (text.splitlines()[self.line - 1].strip() for text in (source, self.apply(source)))
    return f"{self.file}:{self.line}\n  - {before}\n  + {after}"


def mutants_of(file: Path, source: str) -> Iterator[Mutant]:
  """All changes of a file: operators, comparisons, numbers, `not`, and names such as max; no annotations."""
  lines = [0]
  for line in source.splitlines(keepends=True):
    lines.append(lines[-1] + len(line))

  def at(line: int, column: int) -> int:
    text = source.splitlines()[line - 1].encode()[:column].decode()
    return lines[line - 1] + len(text)

  def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Mutant]:
    start, stop = at(left.end_lineno or 0, left.end_col_offset or 0), at(right.lineno, right.col_offset)
    found = re.search(rf"(?<![\w*/<>=!]){re.escape(old)}(?![\w*/<>=])", source[start:stop])
    if found:
      place = start + found.start()
      yield Mutant(file, place, place + len(old), new, source.count("\n", 0, place) + 1)

  tree = ast.parse(source)
  skipped = {id(n) for node in ast.walk(tree) for field in _annotations(node) for n in ast.walk(field)}
  for node in ast.walk(tree):
    if id(node) in skipped:
      continue
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
      yield from between(node.left, node.right, *OPERATORS[type(node.op)])
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
      yield from between(node.left, node.comparators[0], *OPERATORS[type(node.ops[0])])
    elif isinstance(node, ast.BoolOp):
      yield from between(node.values[0], node.values[1], *OPERATORS[type(node.op)])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
      start = at(node.lineno, node.col_offset)
      yield Mutant(file, start, at(node.operand.lineno, node.operand.col_offset), "", node.lineno)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
      start, stop = at(node.lineno, node.col_offset), at(node.lineno, node.end_col_offset or 0)
      yield Mutant(file, start, stop, repr(node.value + 1), node.lineno)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
      stop = at(node.end_lineno or 0, node.end_col_offset or 0)
      yield Mutant(file, stop - len(node.attr), stop, NAMES[node.attr], node.end_lineno or 0)


def written() -> list[Mutant]:
  """The mutants of mutants.toml; ValueError for one whose text is not in its file, or more than once."""
  mutants = []
  for given in tomllib.loads(WRITTEN.read_text())["mutant"]:
    source = (ROOT / given["file"]).read_text()
    if source.count(given["old"]) != 1:
      raise ValueError(f"{given['file']} has {given['old']!r} {source.count(given['old'])} times, not once.")
    start = source.index(given["old"])
    line, place = source.count("\n", 0, start) + 1, (start, start + len(given["old"]))
    tests, equal = tuple(given["tests"]), given.get("equal", "")
    mutants.append(Mutant(Path(given["file"]), *place, given["new"], line, tests, equal))
  return mutants


def _annotations(node: ast.AST) -> list[ast.AST]:
  """What a node says of types: it is never run, or nothing depends on it."""
  fields = [getattr(node, name, None) for name in ("annotation", "returns")]
  return [field for field in fields if isinstance(field, ast.AST)]


def _parses(text: str) -> bool:
  """Whether a change has left a program: without its `not` a parenthesis may be lost."""
  try:
    ast.parse(text)
  except SyntaxError:
    return False
  return True


SWITCH = """#ifndef MUTANT
#define MUTANT
#include <cstdlib>
static const int mutant = std::getenv("MUTANT") ? std::atoi(std::getenv("MUTANT")) : 0;
#endif
"""


def build(copy: Path, mutants: dict[int, Mutant]) -> None:
  """Compile the copy with a choice between these mutants in C++; exits where that fails."""
  for number, mutant in sorted(mutants.items(), key=lambda item: -item[1].start):
    path = copy / mutant.file
    path.write_text(mutant.choose(path.read_text(), number))
  for file in {mutant.file for mutant in mutants.values()}:
    (copy / file).write_text(SWITCH + (copy / file).read_text())
  setup = copy / "setup.py"
  setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))  # in less time
  command = [sys.executable, "setup.py", "build_ext", "--inplace"]
  made = subprocess.run(command, cwd=copy, capture_output=True, text=True)
  if made.returncode or "failed" in made.stdout + made.stderr:
    sys.exit("\n".join(line for line in made.stderr.splitlines() if "rror" in line))


class Outcome(NamedTuple):
  """What tests say of a mutant: "killed", "no end", or "SURVIVES"; and the first test that failed."""

  said: str
  test: str = ""


def outcome(
  copy: Path, tests: list[str], seconds: int, words: str = "", marks: str = "", mutant: int = 0
) -> Outcome:
  """What the tests say of the copy.

  Args:
    copy: the package and its tests.
    tests: files and folders below it.
    seconds: most, of the processor.
    words: only tests with one of these in their names, "loop or batch"; there may be none.
    marks: only tests with these marks, "not slow".
    mutant: the number of the one in C++ that is chosen; 0: none.
  """

  def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

  # What others have compiled with JAX is read: a mutant of a program has another name there.
  own = {"PYTHONPATH": copy, "PYTHONDONTWRITEBYTECODE": 1, "MUTANT": mutant}
  own["JAX_COMPILATION_CACHE_DIR"] = ROOT / ".pytest_cache" / "compiled"
  environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
  flags = ["-x", "-q", "-m", marks, "-p", "no:cacheprovider", *tests, "-k", words]
  command = [sys.executable, "-m", "pytest", *flags]
  result = subprocess.run(
    command, cwd=copy, env=environment, capture_output=True, text=True, preexec_fn=limited
  )
  if result.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
    return Outcome("no end")
  if result.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
    return Outcome("SURVIVES")
  failed = re.search(r"^(?:FAILED|ERROR) tests/([^\s\[]*)", result.stdout, re.MULTILINE)
  return Outcome("killed", failed.group(1) if failed else f"exit status {result.returncode}")


def of_package(copy: Path, package: str, options: Any) -> None:
  """Runs a sample of a package's mutants."""
  folder, tests = PACKAGES[package]
  tests = options.tests or [f"tests/{test}" for test in tests]
  files = sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
  sources = {file: (ROOT / file).read_text() for file in files}
  mutants = [m for file, text in sources.items() for m in mutants_of(file, text) if _parses(m.apply(text))]
  if options.sample:
    mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
  if outcome(copy, tests, options.seconds).said != "SURVIVES":
    sys.exit(f"The tests {tests} do not pass without a mutant.")
  left = 0
  for mutant in mutants:
    source = sources[mutant.file]
    (copy / mutant.file).write_text(mutant.apply(source))
    words = " or ".join(filter(None, mutant.file.stem.split("_")))
    found = outcome(copy, tests, options.seconds, words)
    if found.said == "SURVIVES":
      found = outcome(copy, tests, options.seconds)
    (copy / mutant.file).write_text(source)
    left += found.said == "SURVIVES"
    print(f"{found.said:8}", mutant.describe(source), flush=True)
  print(f"{len(mutants) - left} of {len(mutants)} mutants of {package} were killed.")


def of_file(copy: Path, options: Any) -> None:
  """Runs the written mutants."""
  mutants = {k: m for k, m in enumerate(written(), start=1) if options.of in str(m.file)}
  native = {k: m for k, m in mutants.items() if m.file.suffix != ".py"}
  if native:
    build(copy, native)
  counts, killers = Counter[str](), dict[str, None]()
  for number, mutant in mutants.items():
    tests, source = [f"tests/{test}" for test in mutant.tests], (ROOT / mutant.file).read_text()
    if number not in native:
      (copy / mutant.file).write_text(mutant.apply(source))
    found, by = outcome(copy, tests, options.seconds, "", "not slow", number), ""
    if found.said == "SURVIVES" and not options.quick:
      found, by = outcome(copy, tests, options.seconds, "", "slow", number), " by slow tests alone"
    if number not in native:
      (copy / mutant.file).write_text(source)
    said = "equal" if found.said == "SURVIVES" and mutant.equal else found.said
    if said == "killed":
      said += by
      killers[f"tests/{found.test}"] = None
    counts[said] += 1
    print(f"{said}: {found.test or mutant.equal}\n{mutant.describe(source)}", flush=True)
  if killers and (found := outcome(copy, [*killers], len(killers) * options.seconds)).said != "SURVIVES":
    sys.exit(f"{found.test} fails without a mutant, too.")
  print(f"{len(mutants)} written mutants: {', '.join(f'{n} {said}' for said, n in counts.items())}.")


def main() -> None:
  """Runs the mutants of one package, or the written ones."""
  packages = (*PACKAGES, "written")
  options = flags(__doc__, package=packages, sample=20, seed=0, tests=[], seconds=900, of="", quick=False)
  with tempfile.TemporaryDirectory() as name:
    copy = Path(name)
    for part in ("ps_cfr_spiel", "games", "tests", "benchmarks", "docs", "pyproject.toml", "setup.py"):
      here = ROOT / part
      (shutil.copytree if here.is_dir() else shutil.copy2)(here, copy / part)
    of_file(copy, options) if options.package == "written" else of_package(copy, options.package, options)


if __name__ == "__main__":
  main()

"""Mutation testing: changes one token of a room at a time, runs the room's tests, prints what they let pass.

  python -m benchmarks.engineering.mutants cfr --sample 20

A mutant that survives is a gap in the tests, or changes nothing that matters. Each runs in a process of
its own on a copy of the package, first with the room's tests whose names share a word with the changed file,
then with all, until the first fails. Tests that never end are stopped; the limit counts processor time, so a
busy machine does not matter.
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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.machine import flags

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {  # folder, and the tests that are meant for it, those first that find most for their time
  "tree": ("ps_cfr_spiel/tree", ["tree", "solvers/test_locks.py", "solvers/test_solver.py",
                                 "compiler/test_general_games.py"]),
  "cfr": ("ps_cfr_spiel/cfr", ["cfr/test_rules.py", "cfr/test_averages.py", "abstraction/test_fpira.py",
                               "solvers/test_bounds.py", "solvers/test_solver.py"]),
  "mccfr": ("ps_cfr_spiel/mccfr", ["mccfr", "solvers/test_online_sampling.py"]),
  "subgames": ("ps_cfr_spiel/subgames", ["subgames"]),
  "search": ("ps_cfr_spiel/search", ["search", "solvers/test_resolve.py"]),
  "games": ("games", ["poker", "pursuit", "cheat"]),
  "abstraction": ("ps_cfr_spiel/abstraction", ["abstraction"]),
  "histories": ("ps_cfr_spiel/histories", ["histories", "compiler"]),
  "policy": ("ps_cfr_spiel/policy", ["policy", "solvers/test_solver.py"]),
  "simulated": ("ps_cfr_spiel/simulated", ["simulated", "solvers/test_simulated.py"]),
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
  """

  file: Path
  start: int
  stop: int
  new: str
  line: int

  def apply(self, source: str) -> str:
    """The file's text after the change."""
    return source[: self.start] + self.new + source[self.stop :]

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


def outcome(copy: Path, tests: list[str], seconds: int, words: str = "") -> str:
  """What the tests say of the copy: it "SURVIVES", is "killed", or has "no end" within its seconds.

  Args:
    copy: the package and its tests.
    tests: files and folders below it.
    seconds: most, of the processor.
    words: only tests with one of these in their names, "loop or batch"; there may be none.
  """

  def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

  own = {"PYTHONPATH": copy, "PYTHONDONTWRITEBYTECODE": 1, "JAX_COMPILATION_CACHE_DIR": copy / "compiled"}
  environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
  command = [
    sys.executable,
    "-m",
    "pytest",
    "-x",
    "-q",
    "-m",
    "",
    "-p",
    "no:cacheprovider",
    *tests,
    "-k",
    words,
  ]
  result = subprocess.run(command, cwd=copy, env=environment, capture_output=True, preexec_fn=limited)
  if result.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
    return "no end"
  return "SURVIVES" if result.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else "killed"


def main() -> None:
  """Runs the mutants of one room."""
  options = flags(__doc__, room=tuple(ROOMS), sample=20, seed=0, tests=[], seconds=900)
  folder, tests = ROOMS[options.room]
  tests = options.tests or [f"tests/{test}" for test in tests]
  files = sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
  sources = {file: (ROOT / file).read_text() for file in files}
  mutants = [m for file, text in sources.items() for m in mutants_of(file, text) if _parses(m.apply(text))]
  if options.sample:
    mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
  with tempfile.TemporaryDirectory() as name:
    copy = Path(name)
    for part in ("ps_cfr_spiel", "games", "tests", "pyproject.toml"):
      here = ROOT / part
      (shutil.copytree if here.is_dir() else shutil.copy)(here, copy / part)
    if outcome(copy, tests, options.seconds) != "SURVIVES":
      sys.exit(f"The tests {tests} do not pass without a mutant.")
    left = 0
    for mutant in mutants:
      source = sources[mutant.file]
      (copy / mutant.file).write_text(mutant.apply(source))
      words = " or ".join(filter(None, mutant.file.stem.split("_")))
      found = outcome(copy, tests, options.seconds, words)
      if found == "SURVIVES":
        found = outcome(copy, tests, options.seconds)
      (copy / mutant.file).write_text(source)
      left += found == "SURVIVES"
      print(f"{found:8}", mutant.describe(source), flush=True)
  print(f"{len(mutants) - left} of {len(mutants)} mutants of {options.room} were killed.")


if __name__ == "__main__":
  main()

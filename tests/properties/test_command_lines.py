"""Random command lines, made from the flags themselves: done, or refused in one line.

For longer: `pytest tests/properties --hypothesis-profile=hour`.
"""

import io
import re

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program

GAMES = (
  "kuhn_poker",
  "tiny_hanabi",
  "matrix_rps",
  "kuhn_poker(players=3)",
  "nonsense",
  "hearts",
  "blotto(",
  "",
)
# NaN, for what prints "nan" then is a number of ours, and no file of that name.
JUNK = ("", "-1", "0", "1", "3", "NaN", "inf", "1e400", "x", "0.5%", "[]", "é", "1,0", "99999999999999999999")
SMALL = {  # values that keep a run short
  "iterations": ("0", "1", "3", "-3", str(10**30)),
  "limit": ("1", "100", "10000", "0"),
  "batch": ("1", "2", "0"),
  "value_iterations": ("1", "2", "x"),
  "module": ("", "no_such_module", "./no_such_file.py"),
}
SHORT = {  # of commands that take minutes by themselves; what is drawn comes later, and counts
  "learn": ("--draws=2", "--chains=1", "--steps=3", "--width=8"),
  "train": ("--iterations=1", "--games=2"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  """A folder with a saved run and a saved policy."""
  folder = tmp_path_factory.mktemp("lines")
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.save(folder / "run.safetensors")
  solver.average_policy().save(folder / "policy.safetensors")
  (folder / "junk.safetensors").write_bytes(b"junk")
  return folder


@st.composite
def lines(draw):
  """A command with some of its flags, and games or files; {} stands for the folder."""
  command = draw(st.sampled_from([*program.COMMANDS.values()]))
  files = tuple(
    f"{{}}/{name}"
    for name in ("run.safetensors", "policy.safetensors", "junk.safetensors", "none.safetensors")
  )
  listed = command.flags()
  words = [command.name, *SHORT.get(command.name, ())]
  for name in draw(st.lists(st.sampled_from(sorted(listed)), max_size=3, unique=True)):
    flag = listed[name]
    choices = getattr(flag.parser, "enum_values", None) or ()
    own = SMALL.get(name) or (*choices, *JUNK, *(files if name in ("resume", "opponent", "picture") else ()))
    if flag.boolean and draw(st.booleans()):
      words.append(draw(st.sampled_from([f"--{name}", f"--no{name}"])))
    else:
      words.append(f"--{name}={draw(st.sampled_from(own))}")
  words += draw(st.lists(st.sampled_from((*GAMES[:3], *GAMES, *files)), max_size=2))
  if command.name in ("solve", "resolve"):
    words += ["--output={}/out", "--limit=10000", f"--iterations={draw(st.sampled_from(['0', '1', '3']))}"]
    if not any(word in GAMES for word in words) and not any("--resume" in word for word in words):
      words.append("kuhn_poker")  # not the default, which takes long to compile
  if command.name == "compare":  # by itself it runs every solver for a second, and each compiles
    words += ["--solvers=CFR+", "--seconds=0.001", "kuhn_poker"]
  if command.name == "explore":
    words.append("kuhn_poker")  # which it refuses; else it serves until Ctrl-C
  if command.name == "generate":
    words += ["--count=2", "--iterations=1", "--bets=a", "--ratios=1", "--output={}/data"]
  return words


@settings(max_examples=4 * settings().max_examples)
@given(lines())
def test_any_command_line_is_done_or_refused(folder, line):
  words = [word.replace("{}", str(folder)) for word in line]
  out, error = io.StringIO(), io.StringIO()
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr("sys.stdin", io.StringIO("0\nquit\n"))
    patch.setattr("sys.stdout", out)
    patch.setattr("sys.stderr", error)
    patch.chdir(folder)
    code = program.run(words)
  assert code in (0, 1, 2), line
  if code == 2:
    assert error.getvalue().splitlines()[-1].startswith("ps-cfr-spiel: error: "), line
  assert not re.search(r"Traceback|\bnan\b", out.getvalue() + error.getvalue().split("error: ")[0]), line

"""The package can be imported from any folder, installed or not, and loads no more than it must."""

import fnmatch
import importlib
import os
import shutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

import ps_cfr_spiel

GROUPS = {"apps", "resolving", "cards", "compilation", "sampling", "backend"}  # packages of packages
PACKAGE = Path(ps_cfr_spiel.__file__).parent
GAMES = Path(ps_cfr_spiel.games.__file__).parent
WITHOUT_EDITABLE = (  # the finder of an editable install would find the games for any copy
  "import sys; sys.meta_path[:] = [f for f in sys.meta_path if f.__module__.startswith('_frozen_')]; "
)
USE = (
  "import pickle, pyspiel, ps_cfr_spiel; from ps_cfr_spiel.games.cheat import bots; "
  "assert pickle.loads(pickle.dumps(bots.NaiveBot)) is bots.NaiveBot; "
  "pyspiel.load_game('river_subgame'), pyspiel.load_game('glasses'); "
  "print(ps_cfr_spiel.__file__, ps_cfr_spiel.games.__file__, ps_cfr_spiel.__version__, sep='\\n')"
)


def python(*words, cwd, path=None):
  """What Python prints, in a process of its own that finds modules in its folder and in `path` first."""
  environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
  environment.pop("PYTHONPATH", None)
  if path is not None:
    environment["PYTHONPATH"] = str(path)
  result = subprocess.run(
    [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
  )
  assert result.returncode == 0, result
  return result.stdout.split()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
  """The package as in a checkout, games beside it, version 9.9; as installed, games inside; and neither."""
  top = tmp_path_factory.mktemp("folders")
  for name, games in (("checkout", "games"), ("installed", "ps_cfr_spiel/games")):
    ignore = shutil.ignore_patterns("__pycache__", *(["games"] if GAMES.parent == PACKAGE else []))
    shutil.copytree(PACKAGE, top / name / "ps_cfr_spiel", ignore=ignore)
    shutil.copytree(GAMES, top / name / games, ignore=shutil.ignore_patterns("__pycache__"))
  (top / "checkout" / "ps_cfr_spiel" / "version.py").write_text('__version__ = "9.9"\n')
  (top / "elsewhere").mkdir()
  return top


@pytest.mark.parametrize(
  ("cwd", "path", "found"),
  [
    ("checkout", None, "checkout"),
    ("checkout", "installed", "checkout"),
    ("elsewhere", "checkout", "checkout"),
    ("elsewhere", "installed", "installed"),
  ],
)
def test_the_package_is_found_with_its_games(cwd, path, found, folders):
  """Without an install, with one that the folder at hand shadows, by PYTHONPATH, and installed."""
  out = python("-c", WITHOUT_EDITABLE + USE, cwd=folders / cwd, path=path and folders / path)
  package, games, version = out
  place = folders / found
  assert Path(package) == place / "ps_cfr_spiel" / "__init__.py"
  inside = place / "ps_cfr_spiel" if found == "installed" else place
  assert Path(games) == inside / "games" / "__init__.py"
  assert version == ("9.9" if found == "checkout" else ps_cfr_spiel.__version__)


def test_python_m_is_the_program(folders):
  assert python("-m", "ps_cfr_spiel", "--version", cwd=folders / "checkout") == ["ps-cfr-spiel", "9.9"]


def test_the_library_loads_only_what_all_need(folders):
  """The games alone without JAX; then no program, no pictures, nor what few use and takes long to import."""
  code = "import ps_cfr_spiel, pyspiel, sys; print(*sys.modules); print(pyspiel.load_game('river_subgame'))"
  loaded = set(python("-c", code, cwd=folders / "checkout"))
  assert {"numpy", "ps_cfr_spiel.games.poker.river_subgame"} <= loaded
  assert loaded.isdisjoint({"jax", "ps_cfr_spiel.tree", "scipy"})
  code = "from ps_cfr_spiel import *; import sys; print(*sys.modules)"
  loaded = set(python("-c", code, cwd=folders / "checkout"))
  assert {"ps_cfr_spiel.solvers", "ps_cfr_spiel.rules"} <= loaded
  for name in ("ps_cfr_spiel.apps.commands", "ps_cfr_spiel.apps.pictures", "matplotlib"):
    assert name not in loaded
  assert loaded.isdisjoint({"jaxtyping", "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.stats"})


NOT_FOR_HELP = {"jax", "matplotlib", "open_spiel.python.games", "pdb", "pokerkit", "tqdm"}


def program_with(words):
  """The program's exit, and of the modules in `NOT_FOR_HELP` those that it has imported at its end."""
  code = (
    "import atexit, sys; from ps_cfr_spiel.apps.commands.program import main\n"
    f"atexit.register(lambda: print('imported:', *{NOT_FOR_HELP} & {{*sys.modules}}, file=sys.stderr))\n"
    "main()"
  )
  done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120)
  return done, done.stderr.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("words", [["--help"], ["solve", "--help"], ["train", "--metod=plays"], ["nothing"]])
def test_help_and_mistakes_in_flags_need_no_jax(words):
  done, imported = program_with(words)
  assert done.returncode == (0 if "--help" in words else 2)
  assert "Usage:" in done.stdout or "error: Unknown" in done.stderr
  assert imported == []


@pytest.mark.parametrize("game", ["kuhn_poker", "python_kuhn_poker"])
def test_openspiels_games_in_python_are_imported_where_one_is_named(game):
  """They would import pokerkit and others, which takes longer than the whole command."""
  pytest.importorskip("pokerkit")
  done, imported = program_with(["summary", game])
  assert done.returncode == 0 and f"{game}()" in done.stdout, done.stderr
  in_python = {"open_spiel.python.games", "pokerkit"}
  assert set(imported) == {"jax"} | (in_python if game == "python_kuhn_poker" else set())


SOLVING = """
import sys, types
from ps_cfr_spiel.apps.commands.program import main
sys.argv = ["ps-cfr-spiel", "solve", "kuhn_poker", "--iterations=1", "--noplot", "--output=run"]
try:
  main()
except SystemExit as ended:
  assert not ended.code
print("imported:", *sys.modules)
from ps_cfr_spiel import options, solvers
print("kinds:", solvers.Solver.kind_for(options.VRMCCFROptions).__name__)
file = types.SimpleNamespace(header={"kind": "run", "solver": "FPIRASolver"})
print("in a file:", solvers.Solver.kind_in(file).__name__)
"""


def test_a_solver_imports_no_others_and_all_are_known_by_options_and_in_files(tmp_path):
  """In a process of its own, where nothing has imported the others; searches took a third of a short run."""
  path = PACKAGE.parent if GAMES.parent != PACKAGE else None
  words = " ".join(python("-c", SOLVING, cwd=tmp_path, path=path))
  loaded = words.rpartition("imported:")[2].split()
  assert "ps_cfr_spiel.solvers.ps_cfr" in loaded
  packages = ("resolving", "sampling", "evaluation.comparison", "abstraction.cfr_ira", "solvers.agents")
  assert not [name for name in loaded if name.startswith(tuple(f"ps_cfr_spiel.{p}" for p in packages))]
  assert not {"matplotlib", "tqdm", "jaxtyping"} & {*loaded}  # no picture, a small game, shapes unread
  assert words.endswith("kinds: VRMCCFRSolver in a file: FPIRASolver")


DRAWING = """
import atexit, gc, sys
from ps_cfr_spiel.apps.commands.program import main
usual, collections = gc.get_threshold(), []
gc.callbacks.append(lambda phase, _: collections.append(phase))
sys.argv = ["ps-cfr-spiel", "solve", "kuhn_poker", "--quiet", "--output=run"]
try:
  main()
except SystemExit as ended:
  gc.callbacks.clear()
  assert not ended.code
assert gc.get_threshold() == usual
print("collections:", collections.count("start"), "imported:", *sys.modules)
"""


def test_a_solve_with_pictures_imports_no_other_pictures_and_collects_no_imports(tmp_path):
  """Where collections run as rarely as Python's own thresholds let them, a tenth of the time is theirs.

  One is left for other versions of JAX and matplotlib. Who called the program has the thresholds of before.
  """
  pytest.importorskip("matplotlib")
  path = PACKAGE.parent if GAMES.parent != PACKAGE else None
  words = python("-c", DRAWING, cwd=tmp_path, path=path)
  assert int(words[words.index("collections:") + 1]) <= 1
  package = "ps_cfr_spiel.apps.pictures."
  drawn = {word.removeprefix(package) for word in words if word.startswith(package)}
  assert drawn == {"curves", "style"}
  assert (tmp_path / "run" / "exploitability.png").is_file()


def test_names_come_with_their_packages():
  """Each name of the top is the one that its package exports, however it is asked for; others are none."""
  for name in ps_cfr_spiel.__all__:
    thing = getattr(ps_cfr_spiel, name)
    if isinstance(thing, types.ModuleType):
      assert thing.__name__.rpartition(".")[2] == name
    elif not isinstance(thing, str):
      parts = thing.__module__.split(".")
      home = ".".join(parts[: 3 if parts[1] in GROUPS else 2])
      assert getattr(importlib.import_module(home), name) is thing
  assert set(ps_cfr_spiel.__all__) <= set(dir(ps_cfr_spiel))
  assert ps_cfr_spiel.apps.views is importlib.import_module("ps_cfr_spiel.apps.views")
  for name in ("nothing", "_nothing", "make_rule"):
    with pytest.raises(AttributeError, match=f"No ps_cfr_spiel attribute {name}"):
      getattr(ps_cfr_spiel, name)


def test_what_is_not_python_is_in_the_package():
  """Type checkers look for py.typed, imports on first use for __init__.pyi, `show --html` for its page.

  Setuptools takes only what it is told of.
  """
  listed = Path(__file__).parents[1] / "pyproject.toml"
  for name in ("py.typed", "__init__.pyi", "tree/__init__.pyi", "apps/views/explore.html"):
    assert (PACKAGE / name).is_file()
    if listed.exists():
      *room, file = name.split("/")
      data = tomllib.loads(listed.read_text())["tool"]["setuptools"]["package-data"]
      patterns = data["*"] + data.get(".".join(["ps_cfr_spiel", *room]), [])
      assert any(fnmatch.fnmatch(file, pattern) for pattern in patterns)

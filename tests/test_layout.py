"""The house has rooms, and imports run one way: the rule of docs/index.md, read from the code itself.

Every import counts, also one inside a function or for a type only.
"""

import ast
import functools
import graphlib
import importlib
import inspect
import re
import typing
from pathlib import Path

import pytest

import ps_cfr_spiel

PACKAGE = Path(ps_cfr_spiel.__file__).parent
GAMES = Path(ps_cfr_spiel.games.__file__).parent
DOORS = {"abstractions", "matches", "rules", "runtime", "values"}  # of users; the room `batches` is one too
FILES = {"version", "arguments", "faces", "reports", "storage"}
GROUND = (("version",), ("arguments", "faces", "reports", "storage"), ("notation",), ("native", "poker"))
FLOORS = (  # a room imports from floors before its own, never from a neighbour; games from the ground alone
  *GROUND,
  ("device",),
  ("tree",),
  ("histories", "cfr"),
  ("compiler",),
  ("policy", "mccfr", "subgames"),
  ("search", "abstraction", "batches", "simulated"),
  ("hierarchical",),
  ("solvers", "learning", "games"),
  ("evaluation",),
  ("views", "protocols"),
  ("pictures",),
  ("commands",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
KEEPERS = {
  "matplotlib": "pictures",
  "pokerkit": "protocols",
  "absl": "commands",
  "equinox": "learning",
  "optax": "learning",
}  # libraries that live in one room
PUBLIC = {"_replace", "_fields", "_asdict", "os._exit"}  # public in spite of their names
MOST_FILES = 23  # of a room, `__init__` not counted; a command has a file of its own


def modules():
  """{dotted name: parsed source} of all files of the package and of the games, wherever they lie."""
  found = {}
  for folder, name in ((PACKAGE, "ps_cfr_spiel"), (GAMES, "ps_cfr_spiel.games")):
    for path in sorted(folder.rglob("*.py")):
      parts = path.relative_to(folder).with_suffix("").parts
      found[".".join((name, *(p for p in parts if p != "__init__")))] = ast.parse(path.read_text())
  return found


@functools.cache
def imports(module, source, is_package):
  """[(module, name)] of everything that a file imports; the name is None for `import module`."""
  return [*_imports(module, source, is_package)]


def _imports(module, source, is_package):
  for node in ast.walk(source):
    if isinstance(node, ast.Import):
      yield from ((alias.name, None) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      above = module.split(".")[: len(module.split(".")) - node.level + is_package] if node.level else []
      origin = ".".join([*above, *([node.module] if node.module else [])])
      yield from ((origin, alias.name) for alias in node.names)
    elif isinstance(node, ast.Attribute) and re.fullmatch(r"ps\.(\w+)\.(\w+)", ast.unparse(node)):
      _, room, name = ast.unparse(node).split(".")  # commands use rooms as attributes of the top
      yield f"ps_cfr_spiel.{room}", name


def room_of(module):
  """The room, or file on the ground, that a module of the package is in; None for its face and `-m`."""
  return [*module.removesuffix(".__main__").split("."), None][1]


def faults(sources):
  """What breaks the import rule in {dotted name: parsed source}, in words."""
  packages = {name for name in sources if any(other.startswith(f"{name}.") for other in sources)}
  found = []
  for module, source in sources.items():
    here = room_of(module)
    for origin, name in imports(module, source, module in packages):
      top = origin.split(".")[0]
      where = f"{module} imports {name or ''} from {origin}"
      if top in KEEPERS and here != KEEPERS[top]:
        found.append(f"{where}: {top} lives in {KEEPERS[top]}")
      if top != "ps_cfr_spiel":
        continue
      if name is not None and name.startswith("_") and not name.startswith("__"):
        found.append(f"{where}: a private name")
      if here is None or here in DOORS:
        continue  # the public face and its doors take what they like
      if (origin, name) == ("ps_cfr_spiel", None):
        if here != "commands":
          found.append(f"{where}: the top is for commands")
        continue
      if origin == "ps_cfr_spiel":  # a room's face as a module, or a file on the ground
        origin, name = f"{origin}.{name}", None
      there = room_of(origin)
      if there == here:
        if origin.count(".") < 2 and f"{origin}.{name}" not in sources:
          found.append(f"{where}: inside a room import by file")
        continue
      if there not in FLOOR:
        found.append(f"{where}: no such room")
      elif here == "games" and FLOOR[there] >= len(GROUND):
        found.append(f"{where}: games use the ground alone")
      elif FLOOR[there] >= FLOOR[here]:
        found.append(f"{where}: {there} is not below {here}")
      elif there not in FILES and origin.count(".") > 1:
        found.append(f"{where}: past the face of {there}")
      elif there not in FILES and name is not None and name not in face(sources[f"ps_cfr_spiel.{there}"]):
        found.append(f"{where}: not in the face of {there}")
  return found


@functools.cache
def face(source):
  """The names that a room hands to other rooms: those that its `__init__.py` imports or defines."""
  nodes = [*ast.walk(source)]
  own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
  return own | {
    alias.asname or alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
  }


@pytest.fixture(scope="module")
def sources():
  return modules()


def test_imports_run_one_way(sources):
  assert faults(sources) == []


@pytest.mark.parametrize(
  ("module", "line", "fault"),
  [
    ("ps_cfr_spiel.tree.traverse", "from ps_cfr_spiel.cfr import Rule", "cfr is not below tree"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.compiler import build_tree", "compiler is not below cfr"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel import solvers", "solvers is not below cfr"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.tree.leaves import pick", "past the face of tree"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.tree import pick", "not in the face of tree"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.cfr import Rule", "import by file"),
    ("ps_cfr_spiel.views.charts", "from ps_cfr_spiel.matches import Played", "no such room"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.cfr.rules import _x", "a private name"),
    ("ps_cfr_spiel.views.cheating", "from ps_cfr_spiel.games.cheat import Rules", "past the face of games"),
    ("ps_cfr_spiel.solvers.ps_cfr", "from ps_cfr_spiel.games import cheat", "games is not below solvers"),
    ("ps_cfr_spiel.games.cheat.rules", "from ps_cfr_spiel.device import jit", "games use the ground alone"),
    ("ps_cfr_spiel.games.cheat.rules", "from ps_cfr_spiel.poker.suits import Deck", "past the face of poker"),
    ("ps_cfr_spiel.solvers.sampling", "import ps_cfr_spiel", "the top is for commands"),
    ("ps_cfr_spiel.commands.show", "ps.tree.pick", "not in the face of tree"),
    ("ps_cfr_spiel.views.charts", "import matplotlib.figure", "lives in pictures"),
    ("ps_cfr_spiel.solvers.sampling", "def f():\n  from absl import flags", "lives in commands"),
  ],
)
def test_the_rule_has_teeth(sources, module, line, fault):
  """Each way to break the rule is found, also inside a function."""
  broken = faults({**sources, module: ast.parse(ast.unparse(sources[module]) + "\n" + line)})
  assert len(broken) == 1 and fault in broken[0], broken


def reaches(sources):
  """Attributes with an underscore that a file takes from another file's objects, in words."""
  found = []
  for module, source in sources.items():
    nodes = list(ast.walk(source))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    own |= {n.target.id for n in nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    own |= {n.attr for n in attributes if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls")}
    for node in attributes:
      name = node.attr
      private = name.startswith("_") and not name.startswith("__")
      if private and name not in own and ast.unparse(node) not in PUBLIC and name not in PUBLIC:
        found.append(f"{module} reaches into {ast.unparse(node)}")
  return found


def test_nobody_reaches_into_the_private_parts_of_others(sources):
  assert reaches(sources) == []
  broken = ast.parse("def f(solver):\n  return solver._tree")
  assert reaches({"ps_cfr_spiel.views.x": broken}) == ["ps_cfr_spiel.views.x reaches into solver._tree"]


def test_no_circles(sources):
  """No two files import each other, however long the way; types included."""
  packages = {name for name in sources if any(other.startswith(f"{name}.") for other in sources)}
  graph = {
    module: {
      f"{origin}.{name}" if f"{origin}.{name}" in sources else origin
      for origin, name in imports(module, source, module in packages)
      if origin in sources and origin != "ps_cfr_spiel"
    }
    for module, source in sources.items()
  }
  graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_every_room_says_what_it_is_and_keeps_its_face(sources):
  for room in FLOOR.keys() - FILES:
    text = ast.get_docstring(sources[f"ps_cfr_spiel.{room}"]) or ""
    assert text.split("\n")[0].endswith("."), room
    module = importlib.import_module(f"ps_cfr_spiel.{room}")
    missing = [name for name in face(sources[f"ps_cfr_spiel.{room}"]) if not hasattr(module, name)]
    assert not missing, (room, missing)
    files = [name for name in sources if name.rpartition(".")[0] == f"ps_cfr_spiel.{room}"]
    assert len(files) <= MOST_FILES, room
  for module, source in sources.items():
    assert ast.get_docstring(source), module


def test_every_public_method_is_documented_in_its_class_or_a_base(sources):
  """In place of ruff's D102: an override has the docstring of its base, a property its line of the class."""
  loaded = [importlib.import_module(name) for name in sources if not name.endswith("__main__")]
  classes = {c for module in loaded for c in vars(module).values() if inspect.isclass(c)}
  undocumented = [
    f"{c.__module__}.{c.__qualname__}.{name}"
    for c in classes
    if c.__module__.startswith("ps_cfr_spiel.") and not c.__name__.startswith("_")
    for name, member in vars(c).items()
    if hasattr(member, "__get__") and (not name.startswith("_") or name == "__call__")
    if not any(vars(base)[name].__doc__ for base in c.__mro__ if name in vars(base))
    if not (
      isinstance(member, property | functools.cached_property)
      and any(name in str(base.__doc__) for base in c.__mro__)
    )
  ]
  assert not undocumented


def types_of(hint):
  """Types of the package in an annotation."""
  parts = hint if isinstance(hint, list) else typing.get_args(hint)
  if parts:
    return {found for part in parts for found in types_of(part)}
  ours = isinstance(hint, type) and hint.__module__.split(".")[0] == "ps_cfr_spiel"
  return {hint} if ours else set()


def annotated(thing):
  """(name, types of the package) of a function, or of a class's public fields, properties and methods."""
  functions = {"": thing}
  if inspect.isclass(thing):
    names = [name for name in dir(thing) if not name.startswith("_")]
    values = {name: inspect.getattr_static(thing, name) for name in [*names, "__init__"]}
    functions = {
      name: getattr(value, "fget", getattr(value, "__func__", value)) for name, value in values.items()
    }
    fields = typing.get_type_hints(thing)
    yield from ((name, types_of(hint)) for name, hint in fields.items() if not name.startswith("_"))
  for name, function in functions.items():
    if inspect.isfunction(function):
      yield name, set().union(*map(types_of, typing.get_type_hints(function).values()))


def test_every_type_of_the_public_interface_is_in_a_face():
  """All that the top and the doors take and return: the top, a door or a room shows its type."""
  doors = [ps_cfr_spiel, *(getattr(ps_cfr_spiel, name) for name in (*DOORS, "batches"))]
  public = [getattr(door, name) for door in doors for name in door.__all__]
  rooms = [importlib.import_module(f"ps_cfr_spiel.{room}") for room in FLOOR]
  shown = [*public, *(value for room in rooms for value in vars(room).values())]
  hidden = {
    f"{thing.__module__}.{thing.__qualname__} {name}: {kind.__name__}"
    for thing in public
    if inspect.isroutine(thing) or inspect.isclass(thing)
    for name, kinds in annotated(thing)
    for kind in kinds
    if not any(getattr(room, kind.__name__, None) is kind for room in rooms)  # some come on first use
    if not any(kind is other for other in shown)
  }
  assert not hidden


def test_the_top_shows_its_names_alone():
  shown = {name for name in dir(ps_cfr_spiel) if not name.startswith("_")}
  modules = {name for name in shown if inspect.ismodule(getattr(ps_cfr_spiel, name))}
  assert shown - modules == {name for name in ps_cfr_spiel.__all__ if not name.startswith("_")} - modules
  assert modules <= {*FLOOR, *DOORS}
  assert DOORS | {"batches"} <= {*ps_cfr_spiel.__all__}
  assert len(shown - modules) <= 22  # before a name is added, ask which door it belongs behind


def test_the_drawing_shows_every_room_once():
  page = Path(__file__).parents[1] / "docs" / "index.md"
  if not page.exists():
    pytest.skip("outside the checkout")
  house = page.read_text().split("## The house")[1].split("```")[1]
  for name in FLOOR:
    shown = f"{name}.py" if name in FILES else rf"(^|│) {name}\b"
    assert len(re.findall(shown, house, re.M)) == 1, name


def test_installed_packages_are_all_rooms_and_families():
  """What setuptools is told to install; a folder that is not listed would be missing from the wheel."""
  tomllib = importlib.import_module("tomllib")
  project = Path(__file__).parents[1] / "pyproject.toml"
  if not project.exists():
    pytest.skip("outside the checkout")
  listed = set(tomllib.loads(project.read_text())["tool"]["setuptools"]["packages"])
  rooms = {f"ps_cfr_spiel.{p.parent.name}" for p in PACKAGE.glob("*/__init__.py") if p.parent.name != "games"}
  families = {f"ps_cfr_spiel.games.{p.parent.name}" for p in GAMES.glob("*/__init__.py")}
  data = {"ps_cfr_spiel.learning.pretrained"}  # setuptools warns of folders of data that are not listed
  assert listed == {"ps_cfr_spiel", "ps_cfr_spiel.games"} | rooms | families | data

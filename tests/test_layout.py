"""Packages lie in layers, and imports run one way: the rule of docs/index.md, read from the code itself.

Every import counts, also one inside a function or for a type only. Names of modules and of variables are
counted too.
"""

import ast
import collections
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
SUBMODULES = {
  "abstractions",
  "matches",
  "measures",
  "rules",
  "runtime",
  "values",
}  # for users, with the package `batches`
BASE_MODULES = {
  "version",
  "arguments",
  "loading",
  "memory",
  "progress_bars",
  "reports",
  "storage",
  "keyed_game",
}
BASE_LAYERS = (
  ("version", "backend.array_shapes"),
  ("arguments",),
  ("progress_bars",),
  ("reports", "storage", "keyed_game"),
  ("cards.notation", "loading", "options", "backend.uninterrupted"),
  ("backend.native", "cards.poker"),
  ("memory",),
)
LAYERS = (  # a package imports from earlier layers, never from its own; games from the base layers alone
  *BASE_LAYERS[:-2],
  ("backend.device",),
  *BASE_LAYERS[-2:],
  ("tree",),
  ("compilation.histories", "cfr"),
  ("compilation.compiler",),
  ("policy", "sampling.mccfr", "resolving.subgames"),
  ("resolving.search", "abstraction", "batches", "sampling.keyed"),
  ("hierarchical",),
  ("solvers", "learning", "games"),
  ("evaluation",),
  ("apps.views", "apps.protocols"),
  ("apps.pictures",),
  ("apps.commands",),
)
GROUPS = {name.split(".")[0] for layer in LAYERS for name in layer if "." in name}  # packages of packages
LAYER = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}
IMPORTERS = {
  "matplotlib": "apps.pictures",
  "pokerkit": "apps.protocols",
  "mcp": "apps.protocols",
  "absl": "apps.commands",
  "equinox": "learning",
  "optax": "learning",
  "safetensors": "storage",
}  # libraries that one package alone imports
APPS = ("apps.commands", "apps.pictures", "apps.protocols", "apps.views")  # on top of the public API
PUBLIC = {"_replace", "_fields", "_asdict", "_make", "os._exit"}  # public in spite of their names
MOST_FILES = 15  # of a folder, `__init__` not counted
MOST_LINES = 400  # of a file


def modules():
  """{dotted name: parsed source} of all files of the package and of the games, wherever they lie.

  The names that an `__init__.py` imports on first use are in its `__init__.pyi`.
  """
  sources = {}
  for folder, name in ((PACKAGE, "ps_cfr_spiel"), (GAMES, "ps_cfr_spiel.games")):
    for path in sorted(folder.rglob("*.py")):
      parts = path.relative_to(folder).with_suffix("").parts
      stub = path.with_suffix(".pyi")
      text = path.read_text() + (stub.read_text() if stub.exists() else "")
      sources[".".join((name, *(p for p in parts if p != "__init__")))] = ast.parse(text)
  return sources


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
      group = origin.removeprefix("ps_cfr_spiel.") in GROUPS  # whose packages are imported whole
      yield from ((f"{origin}.{a.name}", None) if group else (origin, a.name) for a in node.names)
    elif isinstance(node, ast.Attribute):
      match node:  # commands use packages as attributes of the top
        case ast.Attribute(ast.Attribute(ast.Name("ps"), package), name) if package[0].islower():
          full = next((other for other in LAYER if other.split(".")[-1] == package), package)
          yield f"ps_cfr_spiel.{full}", name


def package_of(module):
  """The subpackage or base module that a module is in; None for the top-level package and `-m`."""
  parts = [*module.removesuffix(".__main__").split("."), None]
  return ".".join(parts[1:3]) if parts[1] in GROUPS and parts[2] else parts[1]


def faults(sources, checked=None):
  """What breaks the import rule in {dotted name: parsed source}, in words; of all modules or those named."""
  packages = {name.rpartition(".")[0] for name in sources}
  top_names = {*ps_cfr_spiel.__all__} - {name.split(".")[-1] for name in LAYER}
  broken = []
  for module in checked or sources:
    package = package_of(module)
    for origin, name in imports(module, sources[module], module in packages):
      top = origin.split(".")[0]
      line = f"{module} imports {name or ''} from {origin}"
      if top in IMPORTERS and package != IMPORTERS[top]:
        broken.append(f"{line}: {top} is for {IMPORTERS[top]} alone")
      if top != "ps_cfr_spiel":
        continue
      if name is not None and name.startswith("_") and not name.startswith("__"):
        broken.append(f"{line}: a private name")
      if package is None or package in SUBMODULES:
        continue  # the public API imports from every package
      if (origin, name) == ("ps_cfr_spiel", None):
        if package != "apps.commands":
          broken.append(f"{line}: the top is for commands")
        continue
      if origin == "ps_cfr_spiel" and name in top_names and package in APPS:
        continue
      if origin == "ps_cfr_spiel":  # a package or a base module, imported whole
        origin, name = f"{origin}.{name}", None
      target = package_of(origin)
      if target == package:
        if origin == f"ps_cfr_spiel.{package}" and f"{origin}.{name}" not in sources:
          broken.append(f"{line}: inside a package import by file")
        continue
      if target in SUBMODULES and package in APPS:
        if name not in getattr(ps_cfr_spiel, target).__all__:
          broken.append(f"{line}: not in the public {target}")
      elif target not in LAYER:
        broken.append(f"{line}: no such package")
      elif package == "games" and not any(target in layer for layer in BASE_LAYERS):
        broken.append(f"{line}: games use base layers alone")
      elif LAYER[target] >= LAYER[package]:
        broken.append(f"{line}: {target} is not below {package}")
      elif target not in BASE_MODULES and origin != f"ps_cfr_spiel.{target}":
        broken.append(f"{line}: past {target}'s __init__")
      elif target in BASE_MODULES or name is None:
        continue
      elif name not in public_names(sources[f"ps_cfr_spiel.{target}"]):
        broken.append(f"{line}: not in {target}'s __init__")
  return broken


@functools.cache
def public_names(source):
  """The names of a package for other packages: those that its `__init__.py` imports or defines."""
  nodes = [*ast.walk(source)]
  defined = {node.name for node in source.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
  return defined | {
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
    (
      "ps_cfr_spiel.cfr.loop",
      "from ps_cfr_spiel.compilation.compiler import build_tree",
      "compiler is not below cfr",
    ),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel import solvers", "solvers is not below cfr"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.tree.evaluators.leaves import pick", "past tree's __init__"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.tree import pick", "not in tree's __init__"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.cfr import Rule", "import by file"),
    ("ps_cfr_spiel.policy.rows", "from ps_cfr_spiel.matches import Played", "no such package"),
    ("ps_cfr_spiel.apps.views.charts", "from ps_cfr_spiel.matches import cut", "not in the public matches"),
    ("ps_cfr_spiel.cfr.loop", "from ps_cfr_spiel.cfr.regret_rules import _x", "a private name"),
    (
      "ps_cfr_spiel.apps.views.table_page",
      "from ps_cfr_spiel.games.cheat import Rules",
      "past games's __init__",
    ),
    ("ps_cfr_spiel.solvers.ps_cfr", "from ps_cfr_spiel.games import cheat", "games is not below solvers"),
    (
      "ps_cfr_spiel.games.cheat.cheat_rules",
      "from ps_cfr_spiel.backend.device import jit",
      "games use base layers alone",
    ),
    (
      "ps_cfr_spiel.games.cheat.cheat_rules",
      "from ps_cfr_spiel.cards.poker.suits import Deck",
      "past cards.poker's __init__",
    ),
    ("ps_cfr_spiel.solvers.sampling", "import ps_cfr_spiel", "the top is for commands"),
    ("ps_cfr_spiel.apps.commands.show", "ps.tree.pick", "not in tree's __init__"),
    ("ps_cfr_spiel.apps.views.charts", "import matplotlib.figure", "is for apps.pictures alone"),
    ("ps_cfr_spiel.solvers.sampling", "def f():\n  from absl import flags", "is for apps.commands alone"),
  ],
)
def test_every_breach_is_reported(sources, module, line, fault):
  """Each way to break the rule is reported, also inside a function."""
  broken = faults({**sources, module: ast.parse(ast.unparse(sources[module]) + "\n" + line)}, [module])
  assert len(broken) == 1 and fault in broken[0], broken


def reaches(sources):
  """Attributes with an underscore that a file takes from another file's objects, in words."""
  taken = []
  for module, source in sources.items():
    nodes = list(ast.walk(source))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    defined |= {n.target.id for n in nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    defined |= {n.attr for n in attributes if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls")}
    for node in attributes:
      name = node.attr
      private = name.startswith("_") and not name.startswith("__")
      if private and name not in defined and ast.unparse(node) not in PUBLIC and name not in PUBLIC:
        taken.append(f"{module} reaches into {ast.unparse(node)}")
  return taken


def test_private_attributes_are_used_in_their_file_alone(sources):
  assert reaches(sources) == []
  broken = ast.parse("def f(solver):\n  return solver._tree")
  assert reaches({"ps_cfr_spiel.apps.views.x": broken}) == [
    "ps_cfr_spiel.apps.views.x reaches into solver._tree"
  ]


def test_no_circles(sources):
  """No two files import each other, however long the way; types included."""
  packages = {name.rpartition(".")[0] for name in sources}
  graph = {
    module: {
      f"{origin}.{name}" if f"{origin}.{name}" in sources else origin
      for origin, name in imports(module, source, module in packages)
      if origin in sources and origin != "ps_cfr_spiel"
    }
    for module, source in sources.items()
  }
  graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_every_package_has_a_docstring_and_its_public_names(sources):
  for package in LAYER.keys() - BASE_MODULES:
    text = ast.get_docstring(sources[f"ps_cfr_spiel.{package}"]) or ""
    assert text.split("\n")[0].endswith("."), package
    module = importlib.import_module(f"ps_cfr_spiel.{package}")
    missing = [name for name in public_names(sources[f"ps_cfr_spiel.{package}"]) if not hasattr(module, name)]
    assert not missing, (package, missing)
  paths = [*PACKAGE.rglob("*.py"), *GAMES.rglob("*.py")]
  assert not [path for path in paths if len(path.read_text().splitlines()) > MOST_LINES]
  folders = collections.Counter(path.parent for path in paths)
  assert {path for path, files in folders.items() if files - 1 > MOST_FILES} <= {PACKAGE}
  assert len({name.split(".")[0] for name in LAYER.keys() - BASE_MODULES - {"games"}}) <= 16
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
    return {kind for part in parts for kind in types_of(part)}
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


def test_every_type_of_the_public_interface_is_public():
  """All that the public API takes and returns: the top level, a submodule or a package has its type."""
  submodules = [ps_cfr_spiel, *(getattr(ps_cfr_spiel, name) for name in (*SUBMODULES, "batches"))]
  public = [getattr(submodule, name) for submodule in submodules for name in submodule.__all__]
  packages = [importlib.import_module(f"ps_cfr_spiel.{package}") for package in LAYER]
  shown = [*public, *(value for package in packages for value in vars(package).values())]
  hidden = {
    f"{thing.__module__}.{thing.__qualname__} {name}: {kind.__name__}"
    for thing in public
    if inspect.isroutine(thing) or inspect.isclass(thing)
    for name, kinds in annotated(thing)
    for kind in kinds
    if not any(getattr(package, kind.__name__, None) is kind for package in packages)  # or on first use
    if not any(kind is other for other in shown)
  }
  assert not hidden


def test_the_top_level_has_its_names_alone():
  shown = {name for name in dir(ps_cfr_spiel) if not name.startswith("_")}
  modules = {name for name in shown if inspect.ismodule(getattr(ps_cfr_spiel, name))}
  assert shown - modules == {name for name in ps_cfr_spiel.__all__ if not name.startswith("_")} - modules
  assert modules <= {*(name.split(".")[-1] for name in LAYER), *SUBMODULES, *GROUPS}
  assert SUBMODULES | {"batches"} <= {*ps_cfr_spiel.__all__}
  assert len(shown - modules) <= 22  # before a name is added, ask which submodule it belongs in


def test_the_list_of_packages_has_each_once_above_all_that_it_imports(sources):
  page = Path(__file__).parents[1] / "docs" / "index.md"
  if not page.exists():
    pytest.skip("outside the checkout")
  text = page.read_text().split("## The layers")[1].split("```")[1]
  lines = {}
  for name in {name.split(".")[0] for name in LAYER}:
    shown = rf"\b{name}\.py" if name in BASE_MODULES else rf"^ {name}\b"
    (place,) = re.finditer(shown, text, re.M)
    lines[name] = text.count("\n", 0, place.start())
  packages = {name.rpartition(".")[0] for name in sources}
  for module, source in sources.items():
    package = (package_of(module) or "").split(".")[0]
    for origin, name in imports(module, source, module in packages):
      if package in lines and origin.split(".")[0] == "ps_cfr_spiel":
        target = (name if origin == "ps_cfr_spiel" else package_of(origin)) or ""
        assert lines.get(target.split(".")[0], 100) >= lines[package], f"{module} imports {target}"


def test_installed_packages_are_all_subpackages_and_families():
  """What setuptools is told to install; a folder that is not listed would be missing from the wheel."""
  tomllib = importlib.import_module("tomllib")
  project = Path(__file__).parents[1] / "pyproject.toml"
  if not project.exists():
    pytest.skip("outside the checkout")
  listed = set(tomllib.loads(project.read_text())["tool"]["setuptools"]["packages"])
  folders = [path.parent.relative_to(PACKAGE).parts for path in PACKAGE.glob("*/**/__init__.py")]
  packages = {".".join(["ps_cfr_spiel", *parts]) for parts in folders if parts[0] != "games"}
  families = {f"ps_cfr_spiel.games.{p.parent.name}" for p in GAMES.glob("*/__init__.py")}
  data = {"ps_cfr_spiel.learning.pretrained"}  # setuptools warns of folders of data that are not listed
  assert listed == {"ps_cfr_spiel", "ps_cfr_spiel.games"} | packages | families | data


def internal_names(sources):
  """{(package, name)} that the program, charts, pages and protocols take from elsewhere than the public API.

  That is the top level, the public submodules, the base layers, and what games and their users share.
  """
  base = {name for layer in BASE_LAYERS for name in layer}
  free = {*APPS, *base, *SUBMODULES, "batches", "games", None, *ps_cfr_spiel.__all__} - LAYER.keys() | base
  free |= {*APPS, "batches", "games"}
  packages = {name.rpartition(".")[0] for name in sources}
  used = set()
  for module, source in sources.items():
    if package_of(module) not in APPS:
      continue
    for origin, name in imports(module, source, module in packages):
      package = name if origin == "ps_cfr_spiel" else package_of(origin)
      if origin.split(".")[0] == "ps_cfr_spiel" and package not in free:
        used.add((package, name))
  return used


def test_the_program_uses_the_public_interface(sources):
  """So that all it does can be done by a user of the public API."""
  assert internal_names(sources) == set()
  extra = {
    "ps_cfr_spiel.apps.commands.x": ast.parse(
      "ps.policy.saved, ps.matches.player, ps.batches.situation\n"
      "from ps_cfr_spiel import TreePolicy, solvers\n"
      "from ps_cfr_spiel.tree import Labels"
    )
  }
  assert internal_names(extra) == {("policy", "saved"), ("solvers", "solvers"), ("tree", "Labels")}


OF_ONE_GAME = {"cheat", "glasses", "graph_pursuit", "pursuit"}


def names_a_game(source):
  """Lines outside the games that compare with the name of one, or import it."""
  for node in ast.walk(source):
    if isinstance(node, ast.Constant) and node.value in OF_ONE_GAME:
      yield node.lineno
    if (
      isinstance(node, ast.ImportFrom)
      and {*str(node.module).split("."), *(a.name for a in node.names)} & OF_ONE_GAME
    ):
      yield node.lineno


def test_packages_name_no_game_of_their_own(sources):
  """They ask every game in one way (`games.ForPeople`, `keyed_form`); poker alone is a part of them."""
  named = {
    (module, line)
    for module, source in sources.items()
    if package_of(module) not in ("games", None)
    for line in names_a_game(source)
  }
  assert not named
  assert [*names_a_game(ast.parse('from ps_cfr_spiel.games import cheat\nname == "glasses"'))] == [1, 2]


#: Words that ask nothing of a value's type, or ask for it at run time; may only fall.
UNTYPED_WORDS = {r"\bAny\b": 344, r"\b(hasattr|getattr)\b": 34, r"# pyright: ignore": 11}
VAGUE_NAMES = {"found", "own", "here"}


def defined_names(source):
  """The names of a file's variables, fields, arguments, functions and classes, each as often as it is set."""
  for node in ast.walk(source):
    match node:
      case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
        yield name
      case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
        yield name


def test_no_two_modules_have_the_same_name(sources):
  """A file's name says what it is for only if no other file has it."""
  files = collections.defaultdict(list)
  for module in sources:
    if not any(other.startswith(f"{module}.") for other in sources) and not module.endswith("__main__"):
      files[module.rpartition(".")[2]].append(module)
  repeated = {name: modules for name, modules in files.items() if len(modules) > 1}
  assert not repeated


def test_no_name_is_vague(sources):
  """A result is named after the thing that it is."""
  vague = {module: VAGUE_NAMES.intersection(defined_names(source)) for module, source in sources.items()}
  assert not {module: names for module, names in vague.items() if names}


@pytest.mark.parametrize("word", UNTYPED_WORDS)
def test_values_without_a_type_only_become_fewer(word):
  """A base class, a protocol or a type variable says what is asked of a value; lower the ceilings."""
  files = [path for folder in (PACKAGE, GAMES) for path in folder.rglob("*.py")]
  counts = {str(path): len(re.findall(word, path.read_text())) for path in files}
  assert sum(counts.values()) <= UNTYPED_WORDS[word], {name: n for name, n in counts.items() if n}


def test_names_of_every_kind_are_counted():
  text = "found = 1\ndef own(found, *, here=0):\n  self.found = here\n  for here in ():\n    pass"
  assert sorted(defined_names(ast.parse(text))) == ["found"] * 3 + ["here"] * 2 + ["own"]

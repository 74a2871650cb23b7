"""How Sphinx builds the documentation: `sphinx-build -W docs docs/_build` with the extra `docs`."""

import importlib.metadata
import re
import sys

import jaxtyping
import sphinx.ext.napoleon

sys.modules["ps_cfr_spiel.backend.array_shapes"] = jaxtyping  # before the package: signatures show shapes

from ps_cfr_spiel.apps.commands.program import COMMANDS
from ps_cfr_spiel.measures import SolvedGame, solved

# Napoleon asks members for a __qualname__, which some type objects have as None; its filter is not used.
sphinx.ext.napoleon._skip_member = lambda *_: None
project = "ps_cfr_spiel"
version = release = importlib.metadata.version(project)
extensions = [
  "myst_parser",
  "sphinx.ext.apidoc",
  "sphinx.ext.autodoc",
  "sphinx.ext.napoleon",
  "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["ref.python"]  # names in annotations that several classes have as attributes
html_theme = "furo"
html_title = project
html_show_copyright = False
myst_heading_anchors = 4
default_role = "code"
apidoc_modules = [
  {"path": "../ps_cfr_spiel", "destination": "api", "separate_modules": True, "module_first": True}
]
autodoc_default_options = {
  "members": True,
  "member-order": "bysource",
  "ignore-module-all": True,  # what the package exports is described once, with its module
}
autodoc_typehints = "signature"
napoleon_custom_sections = [("Attributes", "params_style")]  # described once, with their class

SECTIONS = {"Args:", "Attributes:", "Raises:", "Returns:", "Yields:"}


def _to_rst(app, what, name, obj, options, lines):
  """Docstrings are plain text with backticks and indented formulas: to reStructuredText, before napoleon."""
  out, formula = [], False
  meaning = False  # in Args and the like, and below a list's dash, where indentation has a meaning of its own
  for line in lines:
    indented = line.startswith("  ")
    if line.strip() and not indented:
      meaning = line.strip() in SECTIONS or line.startswith("- ")
      if formula:
        out.append("")
      formula = False
    if indented and not meaning and not formula:
      out += ["", "::", ""]
      formula = True
    out.append(line if formula else _escape(line))
  lines[:] = out


def _escape(line):
  """Escape the letter after `Link` in `Link`s, and names such as P_ that are not references."""
  line = re.sub(r"(`[^`]+`)(\w?)", lambda m: rf"{m[1]}\ {m[2]}" if m[2] else m[1], line)
  pieces = re.split(r"(`[^`]*`)", line)
  return "".join(p if p.startswith("`") else re.sub(r"(?<=\w)_(?!\w)", r"\_", p) for p in pieces)


def _tables(app, page, source):
  """The comments of pages become tables: `flags` those of all commands, `solved` that of solved games."""
  if "<!-- flags -->" in source[0]:
    tables = "\n".join(f"### {command.name}\n\n{_table(command)}\n" for command in COMMANDS.values())
    source[0] = source[0].replace("<!-- flags -->", tables)
  if "<!-- solved -->" in source[0]:
    source[0] = source[0].replace("<!-- solved -->", _solved())


def _solved():
  """The table of solved games in Markdown."""
  head = [name.replace("_", " ") for name in SolvedGame._fields]
  lines = [[f"`{line.game}`", *(f"{number:,.6g}" for number in line[1:])] for line in solved()]
  rows = [head, ["---"] * len(head), *lines]
  return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _table(command):
  """A command's flags in Markdown."""
  cells = [
    (f"`{flag.form}`", re.sub(r"(--\w+(?:=[\w.]+)?)", r"`\1`", re.sub(r"([<*])", r"\\\1", meaning)))
    for flag in command.listed[:-1]
    for meaning in [flag.text if flag.group == "Flags" else f"{flag.group}: {flag.text}"]
  ]
  rows = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in cells]
  return "\n".join(f"| {row} |" for row in ("flag | meaning", "---|---", *rows))


def setup(app):
  """Sphinx calls it."""
  app.connect("source-read", _tables)
  app.connect("autodoc-process-docstring", _to_rst, priority=400)

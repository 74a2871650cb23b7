"""The notebooks: what is stored in them, and that they run from top to bottom with this checkout."""

import base64
import importlib.util
import pathlib
import re
import struct
import tomllib

import nbformat
import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "colab"
NAMES = (
  "public_states",
  "quickstart",
  "compare_with_openspiel",
  "variance_reduction",
  "re_solving",
  "cheat",
  "turn",
  "gpu",
  "learned_values",
)
SHORTER = {  # long runs of cells in the tests, and repeated ones: what a cell does is the same
  "cheat": {
    "games=500": "games=20",
    "curve(solver, 500)": "curve(solver, 50)",
    "run(400": "run(8",
    "max_turns=5": "max_turns=2",
  },
  "compare_with_openspiel": {
    "seconds=1)": "seconds=0.05)",
    '"glasses"': '"glasses(turns=1)"',
    '"leduc_poker"': '"kuhn_poker"',
    '"liars_dice"': '"kuhn_poker"',
  },
  "learned_values": {
    '"leduc_poker"': '"kuhn_poker"',
    "draws=300": "draws=20",
    "steps=1500": "steps=50",
    "(10, 30, 100, 300, 1000)": "(3,)",
    '  "pretrained": pretrained(game),\n': "",  # of Leduc; docs/value_functions.md has it
    '  "10 iterations of CFR": ps_cfr_spiel.values.CFRValues(10),\n': "",
  },
  "quickstart": {
    '"leduc_poker"': '"kuhn_poker"',
    "curve(solver, 500)": "curve(solver, 30)",
    "run(100)": "run(10)",
  },
  "re_solving": {
    '"glasses"': '"glasses(turns=1)"',
    "iterations=100": "iterations=10",
    "(10, 30, 100, 300)": "(3, 10)",
    '("cfr-d", "max-margin", "unsafe")': '("cfr-d",)',
    "curve(game, gadget=gadget)": "curve(game, (3, 10), gadget=gadget)",
    "games=200": "games=10",
  },
  "gpu": {
    "timed(solver, 100)": "timed(solver, 10)",
    "timed(flop, 100)": "timed(flop, 10)",
    "else 300": "else 200",
    "stack={stack})": "stack={stack},ranges=TT+ AQs+;TT+ AQs+)",
  },
  "turn": {"run(100,": "run(10,", "stack=1000)": "stack=600,ranges=TT+ AQs+;TT+ AQs+)"},
  "variance_reduction": {
    '"leduc_poker"': '"kuhn_poker"',
    "range(8)": "range(2)",
    '  "MCCFR": {"baseline": "zero"},\n': "",
    '  "VR-MCCFR+, oracle": {"baseline": "oracle", "rule": "rm+"},\n': "",
    '  "MCCFR+": {"baseline": "zero", "rule": "rm+"},\n  "VR-MCCFR": {"baseline": "learned"},\n': "",
    "[100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]": "[10, 30]",
  },
}
LARGEST = 1_000_000  # bytes: what GitHub still shows at once
LONGEST = 10  # lines of a cell; what is longer belongs into the package
MACHINE = re.compile(r"/(tmp|home|root|work|usr|opt|Users)/|site-packages|[A-Z]:\\")


def load_execute():
  spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
  assert spec is not None and spec.loader is not None
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module.execute


def read(name):
  return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code_cells(notebook):
  return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell):
  """All that a cell has put out, pictures left out."""
  for output in cell.outputs:
    yield output.get("text", "")
    yield from (str(value) for kind, value in output.get("data", {}).items() if not kind.startswith("image"))


def pictures(notebook):
  return [
    len([output for output in cell.outputs if "image/png" in output.get("data", {})])
    for cell in code_cells(notebook)
  ]


def address():
  with open(ROOT / "pyproject.toml", "rb") as file:
    return tomllib.load(file)["project"]["urls"]["Repository"]


def test_these_are_the_notebooks():
  assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_format(name):
  notebook = read(name)
  nbformat.validate(notebook)
  assert notebook.nbformat == 4
  assert notebook.metadata.kernelspec.name == "python3"
  assert set(notebook.metadata) == {"kernelspec", "language_info"}
  assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST
  for cell in notebook.cells:
    assert not cell.metadata
    if cell.cell_type == "code":
      assert len(cell.source.splitlines()) <= LONGEST, cell.source


@pytest.mark.parametrize("name", NAMES)
def test_the_first_cell_installs_only_what_is_missing(name):
  first, *others = code_cells(read(name))
  package, *extras = re.findall(r"^if .*?\n  %pip .*?$", first.source, re.DOTALL | re.MULTILINE)
  assert 'find_spec("ps_cfr_spiel") is None' in package  # elsewhere it is not touched
  assert package.endswith("\n  %pip install --quiet --find-links=. {source}")
  assert len(extras) == (name == "learned_values")
  for extra in extras:  # also where the package alone is installed
    for module in extra.rpartition("--quiet ")[2].split():
      assert f'"{module}"' in extra
  assert not any("pip " in cell.source for cell in others)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_stored(name):
  notebook = read(name)
  cells = code_cells(notebook)
  assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
  assert sum(pictures(notebook)) >= 1
  for cell in cells:
    assert all(output.output_type != "error" and output.get("name") != "stderr" for output in cell.outputs)
    for text in texts(cell):
      assert not MACHINE.search(text), text


@pytest.mark.parametrize("name", NAMES)
def test_outputs_fit_on_a_page(name):
  """A line of text is 17 pixels high, and a picture at most 1,143 wide, in Chromium at a width of 1,280."""
  height = 0
  for cell in code_cells(read(name)):
    for output in cell.outputs:
      if picture := output.get("data", {}).get("image/png"):
        wide, high = struct.unpack(">II", base64.b64decode(picture)[16:24])
        height += high * min(1, 1143 / wide)
      else:
        height += 17 * sum(text.count("\n") + 1 for text in texts(nbformat.from_dict({"outputs": [output]})))
  assert 0 < height < 4000


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_have_badges_once_these_can_work(name):
  """Owners on GitHub have no underscore: until pyproject.toml has a real address, nothing can lead there."""
  readme, first = (ROOT / "README.md").read_text(), read(name).cells[0].source
  assert f"colab/{name}.ipynb)" in readme
  url = f"{address()}/blob/main/colab/{name}.ipynb".replace(
    "https://github.com", "https://colab.research.google.com/github"
  )
  can_work = "_" not in address().split("/")[-2]
  assert [url in text and "colab-badge" in text for text in (readme, first)] == [can_work, can_work]
  assert can_work or "upload the wheel" in first


def shortened(name):
  """The code cells of a notebook in which `SHORTER` has replaced its numbers."""
  cells = code_cells(read(name))
  for old, new in SHORTER.get(name, {}).items():
    assert any(old in cell.source for cell in cells), old
    for cell in cells:
      cell.source = cell.source.replace(old, new)
  return cells


def test_notebooks_run(tmp_path):
  """Any error in a cell is raised here; the pictures are where they were when the outputs were stored.

  All run in one process, whose start would be half of the time: one after the other, each in a folder of its
  own and without the names of those before it.
  """
  cells = {name: shortened(name) for name in NAMES}
  for name, own in cells.items():
    (tmp_path / name).mkdir()
    own[0].source = f"%reset -f\n%cd -q {tmp_path / name}\n{own[0].source}"
  together = read(NAMES[0])
  together.cells = [cell for own in cells.values() for cell in own]
  nbformat.write(together, tmp_path / "together.ipynb")
  done = iter(load_execute()(tmp_path / "together.ipynb", tmp_path).cells)
  for name, own in cells.items():
    together.cells = [next(done) for _ in own]
    said = [
      output.text for cell in together.cells for output in cell.outputs if output.get("name") == "stderr"
    ]
    assert not said, name  # notebooks show it in pink
    assert pictures(together) == pictures(read(name)), name

"""Every command and every Python snippet of the README and of docs/*.md runs, in order, page by page.

A page's blocks share a folder and, if in Python, their names, as for a reader who follows the page. The
page's process also runs its simple commands, most of whose time would go to a start; a shell runs the others,
and all of the README. A block that is not to be run says why, in a comment right above it:
<!-- not run: the reason -->. What installs things or runs the tests themselves is left out by `LEFT_OUT`.
"""

import ast
import io
import os
import re
import shlex
import shutil
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

import forked
import pytest

import ps_cfr_spiel

REPOSITORY = Path(__file__).parents[1]
PAGES = sorted(
  path for path in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")) if path.exists()
)
if not PAGES:
  pytest.skip("the documentation is not part of the wheel", allow_module_level=True)
TEXTS = (*PAGES, *REPOSITORY.glob("[BC]*.md"))
NOTES = [REPOSITORY / name for name in ("BUILD_NOTES.md", "CONTRIBUTING.md", "tests/defects.md")]
SHELL, PYTHON = ("sh", "bash", "shell", "console"), ("python", "py")
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+)(?P<language>[^`\n]*)$")
NOT_RUN = re.compile(r"^<!--\s*not run:\s*(?P<reason>\S.*?)\s*-->$")
LEFT_OUT = {  # parts of a command line, by how they begin
  r"python3? -m venv\b": "makes an environment; .ci/run does it",
  r"(\.venv/bin/|\$\S+/bin/)?(python3? -m )?pip3? install\b": "installs; .ci/run does it",
  r"(uv|conda|apt(-get)?|source|deactivate)\b": "installs, or changes the environment",
  r"\.? ?\.venv/bin/activate\b": "changes the environment",
  r"git clone\b": "this is the clone",
  r"cd ps_cfr_spiel\b": "the page runs beside copies of the repository's folders",
  r"(\.venv/bin/)?(python3? -m )?pytest\b": "these are the tests",
  r"(\./)?\.ci/run\b": "runs the tests",
  r"(\.venv/bin/)?sphinx-build\b": "needs the extra docs; .ci/run does it",
  r"(taskset -c \S+ )?(\.venv/bin/)?python3? (-m )?benchmarks\b": "takes minutes; benchmarks are run by hand",
}


SHORTER = {  # long runs of blocks, and larger games: what they do is the same
  "abstractions.md": {
    "leduc_poker(suit_isomorphism=True)": "kuhn_poker",
    "run(300)": "run(10)",
    "run(150)": "run(10)",
    "run(200)": "run(10)",
  },
  "asked.md": {
    "leduc_poker": "kuhn_poker",
    "run(100)": "run(10)",
    "iterations=100": "iterations=10",
    "glasses(turns=2)": "glasses(turns=1)",
  },
  "batches.md": {
    "iterations=50, values": "iterations=2, values",
    '"Ks7d2c", "pot": 100, ': '"Ks7d2c", "pot": 100, "ranges": "AA;QQ", ',
    "--target=0.1%": "--target=20%",
    "0.75 a": "a",
  },
  "command_line.md": {"--iterations=100": "--iterations=5", "--iterations=2000": "--iterations=20"},
  "comparing.md": {"--rules=all": "--rules=rm+", "--seconds=0.2": "--seconds=0.05"},
  "index.md": {"leduc_poker": "kuhn_poker", "run(200)": "run(10)"},
  "larger_games.md": {'load_game("leduc_poker")': 'load_game("kuhn_poker")'},
  "matches.md": {"--hands=10": "--hands=2", ", 200, mirrored": ", 20, mirrored"},
  "quickstart.md": {"--iterations=200": "--iterations=20", "run(300": "run(30"},
  "rl.md": {"leduc_poker": "kuhn_poker", "run(200)": "run(10)"},
  "rivers.md": {  # single hands: each number of hands that a turn leaves compiles anew
    "--target=2%": "--target=40%",
    "--board='Ks 7s 2d'": "--board='Ks 7s 2s'",
    "'AA, KQs; TT, AQ'": "'9h9d; 8h8d'",
  },
  "value_functions.md": {
    "learn leduc_poker": "learn kuhn_poker",
    "resolve leduc_poker": "resolve kuhn_poker",
    "--turns=3 ": "--turns=1 --draws=10 --steps=20 --iterations=10 ",
    "--lookahead=1 --values": "--lookahead=1 --iterations=10 --values",
  },
}


class Block(NamedTuple):
  """A fenced block: its language, its text, its first line's number, and why it is not run, if so."""

  language: str
  text: str
  line: int
  reason: str | None


def blocks(text):
  """The fenced blocks of a page, in order."""
  found, lines, n, reason = [], text.splitlines(), 0, None
  while n < len(lines):
    fence = FENCE.match(lines[n])
    marker = NOT_RUN.match(lines[n].strip())
    if fence is None:
      reason = marker["reason"] if marker else reason if not lines[n].strip() else None
      n += 1
      continue
    end = n + 1
    while end < len(lines) and lines[end].strip() != fence["fence"]:
      end += 1
    assert end < len(lines), f"line {n + 1}: the block is not closed"
    body = [line.removeprefix(fence["indent"]) for line in lines[n + 1 : end]]
    found.append(Block(fence["language"].strip().lower(), "\n".join(body), n + 2, reason))
    n, reason = end + 1, None
  return found


def commands(block):
  """A shell block as a script, continued lines joined, less the parts of lines that are left out."""
  lines = block.text.replace("\\\n", " ").splitlines()
  if block.language == "console":
    lines = [line[2:] for line in lines if line.startswith("$ ")]
  kept = []
  for line in lines:
    parts = [part for part in re.split(r"\s*&&\s*", line) if not left_out(part)]
    kept.append(re.sub(r"(?<!\S)\.venv/bin/", "", " && ".join(parts)))
  return "\n".join(kept)


def left_out(part):
  return next((reason for start, reason in LEFT_OUT.items() if re.match(start, part.strip())), None)


def call(command):
  """The Python that runs a command of the package without a shell; None for any other command."""
  name, *words = shlex.split(command, comments=True) or [""]
  ours = name == "ps-cfr-spiel" and "--module" not in command
  return f"importlib.import_module('ps_cfr_spiel.apps.commands.program').run({words!r})" if ours else None


def script(page, found):
  """A Python program that runs a page's blocks in order and names each before it begins."""
  lines = ["import importlib, io, subprocess, sys", "names = {'__name__': '__main__'}"]
  for block in found:
    where = f"{page.name}:{block.line}"
    if block.language in PYTHON and block.reason is None:
      lines.append(f"print('--', {where!r}, flush=True)")
      lines.append(f"exec(compile({block.text!r}, {where!r}, 'exec'), names)")
    elif block.language in SHELL and block.reason is None:
      text = commands(block)
      own = [*filter(None, text.splitlines())] if page.name != "README.md" else []
      for part in own if any(map(call, own)) else [text]:
        bash = ["bash", "-euo", "pipefail", "-c", part]
        shell = f"subprocess.run({bash}, input='quit\\n', text=True).returncode"
        lines.append(f"print('--', {where!r}, {part!r}, flush=True)")
        lines.append("sys.stdin = io.StringIO('quit\\n')")
        code = (call(part) if part in own else None) or shell
        lines.append(f"if {code}: sys.exit({f'{where} failed: {part}'!r})")
  return "\n".join(lines)


def environment():
  """Variables by which a program finds this Python and opens no window."""
  return {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "MPLBACKEND": "Agg",
    "JAX_PLATFORMS": "cpu",
  }


def run_page(page, folder):
  """Runs a page in a folder that has copies of the repository's folders beside it."""
  for name in ("examples", "benchmarks", "docs", "colab", "games"):
    if (REPOSITORY / name).is_dir():
      shutil.copytree(
        REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("_build", "__pycache__")
      )
  text = page.read_text()
  for old, new in SHORTER.get(page.name, {}).items():
    assert old in text, old
    text = text.replace(old, new)
  return forked.run(script(page, blocks(text)), environment=environment(), folder=folder)


def has_something_to_run(page):
  return any(b.reason is None and b.language in SHELL + PYTHON for b in blocks(page.read_text()))


@pytest.mark.parametrize("page", [*filter(has_something_to_run, PAGES)], ids=lambda page: page.name)
def test_all_that_a_page_shows_runs(page, tmp_path):
  result = run_page(page, tmp_path)
  assert result.returncode == 0, f"{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
  assert "Traceback" not in result.stderr


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=lambda page: page.name)
def test_included_files_and_pictures_exist(page):
  text = page.read_text()
  named = re.findall(r"^```\{literalinclude\} (\S+)$", text, re.M) + re.findall(
    r"!\[[^]]*\]\(([^)#]+)\)", text
  )
  named += re.findall(r"(?<!!)\[[^]]*\]\(([^)#\s]+)\)", text)
  for path in named:
    if not re.match(r"[a-z]+:", path):
      assert (page.parent / path).exists(), path


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=lambda page: page.name)
def test_linked_headings_exist(page):
  for path, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text()):
    headings = re.findall(r"^#+ (.*)$", (page.parent / path if path else page).read_text(), re.M)
    assert anchor in {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings}, path


def test_every_page_of_the_documentation_is_in_the_table_of_contents():
  index = (REPOSITORY / "docs" / "index.md").read_text()
  lists = re.findall(r"^```\{toctree\}\n(?::.*\n)*([^`]*)```", index, re.M)
  listed = set(re.findall(r"[\w/]+(?=>?$)", "".join(lists), re.M))
  pages = {path.stem for path in (REPOSITORY / "docs").glob("*.md")} - {"index"}
  assert pages <= listed
  assert listed - pages == {"api/modules"}


def test_the_python_interface_is_documented_whole():
  """Each public module is on the page with all names of its `__all__`."""
  page = (REPOSITORY / "docs" / "python_api.md").read_text()
  whole = re.findall(r"^\.\. automodule:: ps_cfr_spiel\.?(.*)\n   :no-ignore-module-all:$", page, re.M)
  submodules = {path.stem for path in Path(str(ps_cfr_spiel.__file__)).parent.glob("*.py")} & {
    *vars(ps_cfr_spiel)["__all__"]
  }
  assert {"", "batches", "options", "apps.pictures", *submodules} <= {*whole}


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page):
  """As `folder/test_file.py::test_name`, below tests/."""
  for file, name in re.findall(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)(?:::(\w+))?`", page.read_text()):
    source = (REPOSITORY / "tests" / file).read_text()
    assert not name or f"\ndef {name}(" in source, f"{file}::{name}"


CEILINGS = {  # phrases against the English of CONTRIBUTING.md, with their counts, which may only fall
  r"¶(?:what|who|where|how|whether|of|by|with|from|as)\b": 36,
  r"¶(?:add|ask|build|delete|give|let|make|play|print|raise|read|save|send|solve|take|write|yield)s\b": 0,
  r"(?<=[.!?] )(?-i:What|Who|Where|Whether)\b": 15,
  r"\bnobody\b|\bno one\b": 0,
  r"\b(?:so|as|equally) (?:many|few|often)\b": 2,
  r"\btold\b|\btells?\b": 0,
  r"\bwhat (?:is|are|was|were|has|have|had|can|may|an?|the|it|they|there)\b": 6,
  r"\b(?:is|are|was|were|be) none\b|\bnone (?:is|are|that|of)\b": 9,
  r"\bbe had\b|\b(?:a|any|no) say\b": 0,
  r"\bwh(?:o|at|er)ever\b|\bthose who\b": 1,
  r"\bas (?:ever|before|(?:it|they) (?:is|are|was|were))\b": 5,
  r"\bsays? (?:nothing|of|it|itself)\b|\bspeaks?\b": 0,
  r"\bmend(?:s|ed|ing)?\b|\b(?:go|goes|gone|going|went) on with\b": 0,
  r"\b(?:rooms|doors?|laws?)\b|\bthe (?:ground|house)\b": 0,
  r"\bwalk(?:s|ed|ing)?\b": 13,
}


def prose():
  """The pages, and all strings and comments of the package and its games; "¶" begins a docstring."""
  for path in TEXTS:
    yield path.read_text()
  for path in (*(REPOSITORY / "ps_cfr_spiel").rglob("*.py"), *(REPOSITORY / "games").rglob("*.py")):
    source = path.read_text()
    nodes = [*ast.walk(ast.parse(source))]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = (n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    yield from ("¶" * (id(node) in docstrings) + str(node.value) for node in strings)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield " ".join(token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)


@pytest.fixture(scope="module")
def words():
  return "\n".join(re.sub("`[^`]*`", "`", " ".join(text.split())) for text in prose())


@pytest.mark.parametrize("pattern", CEILINGS)
def test_counts_of_phrases_to_avoid_only_fall(pattern, words):
  found = [words[max(m.start() - 40, 0) : m.end() + 40] for m in re.finditer(pattern, words, re.IGNORECASE)]
  assert len(found) <= CEILINGS[pattern], "\n".join(found)


FORMULA = re.compile(r"\$\$.*?\$\$|\$(?! )[^$`]*?\$", re.DOTALL)
MOST_WORDS = {"all": 19_950, "measurements.md": 3_900}  # of pages and notes; may only fall


def test_pages_only_become_shorter():
  """Words, without bars and formulas: a thing is said once, and a script prints its figures on demand."""
  words = {page.name: sum(map(has_letters, FORMULA.sub("", page.read_text()).split())) for page in TEXTS}
  counts = {"all": sum(words.values()), **words}
  assert all(counts[name] <= most for name, most in MOST_WORDS.items()), counts


def has_letters(word):
  return any(map(str.isalnum, word))


# --- The tests' own tools -----------------------------------------------------------------------

PAGE = """
Text.

<!-- not run: needs a network -->

```sh
curl example.org
```

```sh
python3 -m venv .venv && .venv/bin/pip install -e '.[plot]' && .venv/bin/true one \\
  two
```
```python
number = 3
```
- an item
  ```python
  assert number == 3
  ```
```console
$ echo $((1 + 1)) > two.txt
2
```
```text
not a command
```
"""


def test_blocks_are_found_and_run_in_order(tmp_path):
  found = blocks(PAGE)
  assert [b.language for b in found] == ["sh", "sh", "python", "python", "console", "text"]
  assert [b.reason for b in found] == ["needs a network", *[None] * 5]
  assert commands(found[1]).split() == ["true", "one", "two"]
  assert found[3].text == "assert number == 3"
  (tmp_path / "page.md").write_text(PAGE)
  result = run_page(tmp_path / "page.md", tmp_path)
  assert result.returncode == 0, result
  assert (tmp_path / "two.txt").read_text() == "2\n"
  assert "curl" not in result.stdout


@pytest.mark.parametrize(
  ("block", "message"),
  [
    ("```sh\ntrue\nfalse\n```", "page.md:2 failed: true\nfalse"),
    ("```sh\nfalse | cat\n```", "page.md:2 failed: false | cat"),
    ("```sh\nfor x in 1 2; do\n  test $x = 1\ndone\n```", "page.md:2 failed: for x in 1 2"),
    ("```python\nassert 1 == 2\n```", "AssertionError"),
    ("```python\n1 +\n```", "SyntaxError"),
  ],
)
def test_what_fails_is_noticed(block, message, tmp_path):
  (tmp_path / "page.md").write_text(block)
  result = run_page(tmp_path / "page.md", tmp_path)
  assert result.returncode != 0
  assert message in result.stderr
  assert "page.md:2" in result.stdout


def test_a_reason_is_needed():
  (block,) = blocks("<!-- not run: -->\n```sh\nfalse\n```")
  assert block.reason is None

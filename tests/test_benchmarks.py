"""Every benchmark can be imported and says what it takes, and pages name benchmarks that exist."""

import re
import sys
from pathlib import Path

import pytest
from benchmark_scripts import NAMES, script

REPOSITORY = Path(__file__).parents[1]
PAGES = [
  path for pattern in ("*.md", "docs/*.md", "ps_cfr_spiel/**/*.py") for path in REPOSITORY.glob(pattern)
]


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_takes(name, monkeypatch, capsys):
  module = script(name)
  assert module.__doc__
  if hasattr(module, "main"):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as done:
      module.main()
    assert done.value.code == 0 and "--help" in capsys.readouterr().out


def test_pages_name_benchmarks_that_exist():
  for page in PAGES:
    text = page.read_text()
    assert set(re.findall(r"-m (benchmarks[.\w]*\w)", text)) <= set(NAMES), page
    for path in re.findall(r"\bbenchmarks/[\w/]+\.\w+", text):
      assert (REPOSITORY / path).exists(), f"{page}: {path}"

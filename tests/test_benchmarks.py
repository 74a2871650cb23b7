"""Every benchmark can be imported and says what it takes, and pages name benchmarks that exist."""

import re
import sys
from pathlib import Path

import pytest
from benchmark_scripts import NAMES, script

from ps_cfr_spiel import build_tree

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


def test_games_of_the_abstraction_papers_load():
  """Kuhn poker with five cards has 2 infostates a card and player."""
  games = script("benchmarks.papers.abstraction_games")
  for name in ("GS3", "GS3+", "P111", "Kuhn", "Kuhn5"):
    assert games.load(name, None).num_players() == 2
  tree = build_tree(games.load("Kuhn5", None))
  assert [tree.names.num_infostates(player) for player in (0, 1)] == [10, 10]

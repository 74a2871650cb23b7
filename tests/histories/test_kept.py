"""Walks kept in a folder open as the same tree; those of other versions, and damaged ones, are refused."""

import json

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.histories import kept, walker


@pytest.mark.parametrize(
  "name, options",
  [
    ("leduc_poker", {}),
    ("kuhn_poker", {"public_states": "observer"}),
    ("first_sealed_auction(max_value=3)", {"public_states": "none"}),
    ("goofspiel(num_cards=3)", {}),  # infostates are pasts
    ("python_kuhn_poker", {}),
  ],
)
def test_a_kept_walk_is_not_walked_again(name, options, tmp_path, monkeypatch):
  from open_spiel.python import games  # noqa: F401  (registers those in Python)

  game, folder = pyspiel.load_game(name), tmp_path / "walks"
  expected = build_tree(game, **options)
  first = build_tree(game, **options, cache=folder)
  monkeypatch.setattr("ps_cfr_spiel.compiler.build.walk", None)
  again = build_tree(game, **options, cache=folder)
  for tree in (first, again):
    assert tree.summary() == expected.summary()
    assert list(tree.names.decisions) == list(expected.names.decisions)
    assert list(tree.names.public_states) == list(expected.names.public_states)
    for x, y in zip(jax.tree.leaves(tree), jax.tree.leaves(expected), strict=True):
      np.testing.assert_array_equal(x, y)
  assert len(list(folder.iterdir())) == 1  # nothing temporary is left


@pytest.fixture
def place(tmp_path):
  """The folder of a kept walk of Kuhn poker in `tmp_path`."""
  build_tree(pyspiel.load_game("kuhn_poker"), cache=tmp_path)
  return next(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["OpenSpiel", "ps_cfr_spiel"])
def test_a_walk_of_another_version_is_refused_in_a_line(name, place, monkeypatch):
  other = {**kept.versions(), name: "0.0.1"}
  header = json.loads((place / kept.HEADER).read_text())
  (place / kept.HEADER).write_text(json.dumps({**header, "versions": other}))
  with pytest.raises(
    ValueError, match=rf"kept by {name} 0\.0\.1, and this is \d.*Delete the folder"
  ) as error:
    build_tree(pyspiel.load_game("kuhn_poker"), cache=place.parent)
  assert "\n" not in str(error.value)


@pytest.mark.parametrize("file", ["walk.json", "parent.npy", "infostate0.npy", "text1.npy"])
def test_a_damaged_walk_is_refused_in_a_line(file, place):
  whole = (place / file).read_bytes()
  (place / file).write_bytes(whole[: len(whole) // 2])
  with pytest.raises(ValueError, match=f"{place}.* is damaged") as error:
    build_tree(pyspiel.load_game("kuhn_poker"), cache=place.parent)
  assert "\n" not in str(error.value)


def test_a_game_with_a_form_keeps_nothing(tmp_path):
  build_tree(pyspiel.load_game("river_subgame(ranges=AsAd QsQd;JsJd Ah8h)"), cache=tmp_path)
  assert not list(tmp_path.iterdir())


def test_an_interrupted_writer_leaves_nothing(tmp_path, monkeypatch):
  def interrupt(*_):
    raise KeyboardInterrupt

  monkeypatch.setattr(kept, "write_array", interrupt)
  with pytest.raises(KeyboardInterrupt):
    build_tree(pyspiel.load_game("kuhn_poker"), cache=tmp_path)
  assert not list(tmp_path.iterdir()) and walker.walk

"""Parts of a strategy: what is kept is what was played, the rest is uniform."""

import numpy as np
import pytest
from cuts import TURN
from random_policies import random_policy

from ps_cfr_spiel import build_tree, load_policy, storage
from ps_cfr_spiel.apps.views import spot
from ps_cfr_spiel.policy import PartialStrategy

PARTS = [
  ("kuhn_poker", ["pass"], {(), ("Pass",)}),
  ("kuhn_poker", ["pass ..."], {(), ("Pass",), ("Pass", "Bet")}),
  (TURN, ["check, check, 6c, check"], {(), ("Check",), ("Check", "Check", "Deal 6c")}),
  (TURN, ["all-in, call, 6d ...", "check"], {(), ("All-in 200",), ("Check",)}),
]


@pytest.mark.parametrize(
  "name, lines, some", PARTS, ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value)
)
def test_what_is_kept(name, lines, some, tmp_path):
  policy = random_policy(name)
  policy.save(tmp_path / "all.safetensors")
  policy.save(tmp_path / "part.safetensors", lines)
  found = load_policy(tmp_path / "part.safetensors")
  kept = set(found.info["part"])
  assert some <= {spot(policy, f"#{number}").history for number in kept}
  for decision in policy.labels.decisions:
    alive = [h for h, name in enumerate(decision.infostates) if name is not None]
    expected = policy.table(decision) if decision.public_state in kept else 1 / len(decision.legal_actions)
    np.testing.assert_allclose(
      found.table(decision)[:, alive], np.broadcast_to(expected, policy.table(decision).shape)[:, alive]
    )
  size = [storage.read(tmp_path / file).shapes for file in ("all.safetensors", "part.safetensors")]
  assert sum(np.prod(shape) for shape, _ in size[1].values()) < sum(
    np.prod(shape) for shape, _ in size[0].values()
  )


@pytest.mark.parametrize(
  "lines, message",
  [
    ([], "lines must be a list of at least one line"),
    ("pass", "lines must be a list of at least one line, each a text, got 'pass'"),
    ([5], r"lines must be a list of at least one line, each a text, got \[5\]"),
    (5, "lines must be a list of at least one line, each a text, got 5"),
    (["bet, pass, pass"], "The game is over after Bet, Pass"),
    (["raise"], "'raise' is not legal here. Legal: Pass, Bet"),
  ],
)
def test_wrong_lines(lines, message, tmp_path):
  with pytest.raises(ValueError, match=message):
    random_policy("kuhn_poker").save(tmp_path / "part.safetensors", lines)


def test_parts_of_another_game():
  tree = build_tree(random_policy("kuhn_poker").game)
  for states, count in (((2,), 5), ((200,), 2)):
    with pytest.raises(ValueError, match="do not fit kuhn_poker"):
      PartialStrategy(states, np.ones(count)).rows(tree)

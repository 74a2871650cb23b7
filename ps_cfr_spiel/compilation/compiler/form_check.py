"""The comparison of a game's own Bayesian form with its histories."""

import numpy as np

from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.tree import PublicTree, evaluate

TOLERANCE = 1e-6  # of values in float64, relative to the largest


def form_fault(form: PublicTree, enumerated: PublicTree) -> str | None:
  """The difference of a form's tree from that found by enumeration; None if infostates and values are equal.

  Values are those of a random strategy profile and of best responses to it; every leaf contributes.
  """
  actions = [
    {(d.player, name): d.legal_actions for d, _, name in tree.names.infostates()}
    for tree in (form, enumerated)
  ]
  places = ("in the form", "in the game")
  for k, j in ((0, 1), (1, 0)):
    for key, legal in actions[k].items():
      other = actions[j].get(key, "none")
      if other != legal:
        return f"player {key[0]}'s infostate {key[1]!r} has actions {legal} {places[k]}, {other} {places[j]}"
  generator = np.random.default_rng(0)
  profile = {key: generator.dirichlet(np.ones(len(legal))) for key, legal in sorted(actions[0].items())}
  values = [_values(tree, profile) for tree in (form, enumerated)]
  if not np.allclose(*values, rtol=TOLERANCE, atol=TOLERANCE * np.abs(values).max()):
    texts = [", ".join(f"{v:.9g}" for v in value) for value in values]
    return f"value and best responses of a random profile are {texts[0]} by the form, {texts[1]} by the game"
  return None


def _values(tree: PublicTree, profile: dict[tuple[int, str], np.ndarray]) -> np.ndarray:
  """Each player's best response value, and the values of a profile; in a zero-sum game that to player 0."""
  strategies = tuple(
    tuple(np.full(shape, 1 / shape[0]) for shape in player.block_shapes) for player in tree.players
  )
  for decision, h, name in tree.names.infostates():
    strategies[decision.player][decision.block][:, decision.row, h] = profile[decision.player, name]
  with precision("float64"):
    result = evaluate(*to_device((tree, strategies), "float64"))
    return np.array([*result.best_response, result.value, *(result.others or ())], float)

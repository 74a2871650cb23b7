"""The game of `new_game` with its own Bayesian form: compiled without visiting a history."""

import numpy as np
import pyspiel
from new_game import HalfStreet, kind

from ps_cfr_spiel.cards.poker import BayesianForm, Betting

NAME, CARDS, OVER = "half_street_by_form", np.arange(3), int(pyspiel.PlayerId.TERMINAL)


class Form(BayesianForm):
  """The public states start, check, bet, bet and fold, bet and call; see `poker.BayesianForm`."""

  betting = Betting.create(
    parent=[-1, 0, 0, 2, 2],
    action=[-1, 0, 1, 0, 1],
    player=[0, OVER, 1, OVER, OVER],
    fold_payoff=[0, 0, 0, 1, 0],  # to player 0, whatever the cards
    showdown_payoff=[0, 1, 0, 0, 2],  # to the player with the stronger card
  )
  types, weights, strength = (("0", "1", "2"),) * 2, (np.ones(3),) * 2, (CARDS,) * 2
  cards = tuple(np.stack([CARDS, CARDS + own], 1) for own in (10, 20))  # the second is a dummy of this player
  first, answer = (tuple(f"card ({card},), then {line}" for card in CARDS) for line in ("()", "(1,)"))
  infostates = (first, (), answer, (), ())


class HalfStreetByForm(HalfStreet):
  """The same game; `build_tree` takes the form of a game that has one."""

  def __init__(self, params=None):
    super().__init__(params, NAME)

  def bayesian_form(self):
    """The form, for `build_tree`."""
    return Form()


pyspiel.register_game(kind(NAME), HalfStreetByForm)

"""The joint prior of two players' types, dealt from one deck; in NumPy, so that a look needs no JAX."""

import numpy as np


def deal_weights(form) -> np.ndarray:
  """[H0, H1]: the joint prior of the types times Z; `form` is a `BayesianForm`."""
  return form.weights[0][:, None] * form.weights[1][None, :] * ~shares_card(*form.cards)


def shares_card(cards0: np.ndarray, cards1: np.ndarray) -> np.ndarray:
  """bool[H0, H1]: do the hands [H0, 2] and [H1, 2] have a card in common?"""
  shares = np.zeros((len(cards0), len(cards1)), bool)
  for first in cards0.T:
    for second in cards1.T:
      shares = shares | (first[:, None] == second[None])  # the cards may be traced by JAX
  return shares

"""The joint prior of two players' types, dealt from one deck; in NumPy, so that a look needs no JAX."""

from typing import Protocol, runtime_checkable

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int


@runtime_checkable
class DealtTypes(Protocol):
  """Types that are dealt from one deck, of a `BayesianForm` or on one of its boards (`BoardTypes`).

  Arrays may be JAX's, and may have the same axes in front: many boards.
  """

  @property
  def weights(self) -> tuple[np.ndarray, np.ndarray]:
    """For each player [H]: a type's weight; those of a pair that shares no card are multiplied."""
    ...

  @property
  def cards(self) -> tuple[np.ndarray, np.ndarray]:
    """For each player int[H, 2]."""
    ...


@runtime_checkable
class WeightedTypes(DealtTypes, Protocol):
  """The same with strengths, as evaluators of card games read them."""

  @property
  def strength(self) -> tuple[np.ndarray, np.ndarray]:
    """For each player int[H]; the larger wins."""
    ...


def deal_weights(form: DealtTypes) -> Float[np.ndarray, "... H0 H1"]:
  """The joint prior of the types times Z."""
  return form.weights[0][..., :, None] * form.weights[1][..., None, :] * ~shares_card(*form.cards)


def shares_card(
  cards0: Int[np.ndarray, "H0 2"], cards1: Int[np.ndarray, "H1 2"]
) -> Bool[np.ndarray, "H0 H1"]:
  """Do the hands have a card in common?"""
  shares = np.zeros((len(cards0), len(cards1)), bool)
  for first in cards0.T:
    for second in cards1.T:
      shares = shares | (first[:, None] == second[None])  # the cards may be traced by JAX
  return shares

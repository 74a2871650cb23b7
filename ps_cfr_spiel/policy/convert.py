"""The conversion of any OpenSpiel policy to strategies of a public tree."""

import contextlib
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.loading import check_is_game, is_same_game
from ps_cfr_spiel.options import TreeOptions
from ps_cfr_spiel.policy.state_answers import are_strangers
from ps_cfr_spiel.policy.tree_policy import TreePolicy
from ps_cfr_spiel.reports import quiet_stderr
from ps_cfr_spiel.tree import Decision, Labels, PublicTree, information_state_string

OpenSpielPolicy: TypeAlias = openspiel_policy.Policy | pyspiel.Policy  # any, in Python or in C++


def tree_for(
  game: pyspiel.Game,
  policy: OpenSpielPolicy | None,
  tree: PublicTree | None,
  progress: bool | None,
  /,
  **options: object,
) -> PublicTree:
  """Compile a game with the options with which a `TreePolicy` was made, changed by `options`.

  A `tree` that is given is the result instead; ValueError if it is another game's. `progress` is of
  `build_tree`.
  """
  if tree is not None:
    check_tree_of(game, tree)
    return tree
  usual = policy.tree_options if isinstance(policy, TreePolicy) else {}
  return build_tree(game, TreeOptions.of(**{**usual, **options}), progress=progress)


def check_tree_of(game: pyspiel.Game, tree: PublicTree) -> None:
  """ValueError unless a tree is of a game, which is sequential."""
  if not is_same_game(tree.names.start().get_game(), game):
    raise ValueError(f"tree is of {tree.names.game}, not of {game}; give that of build_tree(game).")


def strategies_of(
  tree: PublicTree, policy: OpenSpielPolicy, decisions: Collection[Decision] | None = None
) -> tuple[tuple[np.ndarray, ...], ...]:
  """Any OpenSpiel policy as strategies of the tree: for each player float64 [A, rows, H] for each block.

  Only these decisions are asked for, all by default; other rows are zero. ValueError if the policy has no
  entry for an infostate, or its probabilities are not a distribution over the legal actions; TypeError if it
  is not a policy.
  """
  labels = tree.names
  shapes = [player.block_shapes for player in tree.players]
  if (
    isinstance(policy, TreePolicy)
    and declared(policy, "tabulated")
    and policy.labels.game == labels.game
    and [[block.shape for block in blocks] for blocks in policy.strategies] == shapes
  ):
    return policy.strategies
  look_up = _lookup(labels, policy)
  strategies = tuple(tuple(np.zeros(shape) for shape in blocks) for blocks in shapes)
  for decision, h, name in labels.infostates(decisions):
    column = _column(look_up, decision, h, name)
    strategies[decision.player][decision.block][:, decision.row, h] = column
  return strategies


def row_strategies(labels: Labels, policy: OpenSpielPolicy, decision: Decision, types: int) -> np.ndarray:
  """The strategy of a policy in one row, float64 [A, H]; uniform for impossible types.

  Arguments and errors as for `strategies_of`; `types` is H.
  """
  look_up, legal = _lookup(labels, policy), len(decision.legal_actions)
  strategy = np.full((legal, types), 1 / legal)
  for h, name in enumerate(decision.infostates):
    if name is not None:
      strategy[:, h] = _column(look_up, decision, h, name)
  return strategy


def _column(look_up, decision: Decision, h: int, name: str) -> np.ndarray:
  """float64[A]: the probabilities at one infostate, checked."""
  return as_distribution(look_up(decision, h, name), decision.legal_actions, f"information state {name!r}")


def as_distribution(answer: Any, actions: Sequence[int], where: str) -> np.ndarray:
  """float64[A]: a policy's answer as probabilities of actions; ValueError unless it is a distribution."""
  try:
    values = np.array([answer.get(action, 0.0) for action in actions], float)
    total = float(sum(answer.values()))
  except (AttributeError, TypeError, ValueError):
    values, total = np.full(len(actions), np.nan), np.nan
  if not ((values >= 0).all() and abs(values.sum() - 1) < 1e-5 and abs(total - 1) < 1e-5):  # NaN fails too
    raise ValueError(
      f"The policy's probabilities at {where} are {answer}; expected a distribution over the legal actions "
      f"{list(actions)}."
    )
  return values / values.sum()


def answer_of(policy: OpenSpielPolicy, state: pyspiel.State, player: int) -> dict[int, float]:
  """The answer of a policy in Python or C++ for a player who acts at a state."""
  if isinstance(policy, pyspiel.Policy):  # it answers for the acting player, and takes no other
    return dict(policy.action_probabilities(state))
  return policy.action_probabilities(state, player)


def check_policy_of(game: pyspiel.Game, policy: OpenSpielPolicy) -> None:
  """ValueError if a policy declares another game; TypeError unless `game` is a game and `policy` a policy."""
  check_is_game(game)
  if not isinstance(policy, openspiel_policy.Policy | pyspiel.Policy):
    raise TypeError(f"Expected an OpenSpiel policy, got {type(policy).__name__}.")
  declared = getattr(policy, "game", None)
  if declared is not None and are_strangers(declared, game):
    raise ValueError(f"The policy is for {declared}, not for {game}.")


def _lookup(labels: Labels, policy: OpenSpielPolicy):
  """A function (row, type, infostate string) -> {action: probability}, by the policy's kind."""
  if isinstance(policy, pyspiel.Policy):
    strings = labels.infostate is information_state_string

    def by_string(decision, h, name):
      answer = None
      if strings:
        # Some of OpenSpiel's policies know states only.
        with contextlib.suppress(RuntimeError), quiet_stderr():
          answer = dict(policy.action_probabilities(name))
      if answer is None:
        answer = dict(policy.action_probabilities(labels.state(decision, h)))
      if not answer:
        raise ValueError(f"The policy has no entry for information state {name!r}.")
      return answer

    return by_string
  if isinstance(policy, openspiel_policy.Policy):

    def by_state(decision, h, name):
      try:
        return policy.action_probabilities(labels.state(decision, h), decision.player)
      except KeyError as error:
        raise ValueError(f"The policy has no entry for information state {name!r}.") from error

    return by_state
  raise TypeError(f"Expected an OpenSpiel policy, got {type(policy).__name__}.")

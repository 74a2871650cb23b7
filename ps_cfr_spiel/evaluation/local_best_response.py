"""Local best response: the gain of a short search against a policy, a lower bound on its exploitability.

Lisý and Bowling 2017; Schmid 2021, Section 18.1.2. At each decision the searcher knows the opponent's range,
by the opponent's policy and Bayes' rule, tries every allowed action, and plays the best. It looks
at its own next `depth` decisions, with the opponent's policy in between; beyond, both follow a *rollout*.
On a compiled game all searches are a table, whose value is exact (`local_search`); in hold'em, which is too
large for one, hands are sampled (`hand_search`).
"""

from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.evaluation.hand_search import Answers, sampled_wins
from ps_cfr_spiel.evaluation.local_search import Actions, LocalSearch
from ps_cfr_spiel.options import LocalResponseOptions
from ps_cfr_spiel.policy import OpenSpielPolicy, TreePolicy, probabilities_at, strategies_of
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers import SearchPolicy
from ps_cfr_spiel.tree import gain_of


class LocalBestResponse(NamedTuple):
  """The gains of local best responses, in the game's utility."""

  values: tuple[float, float]  #: to player 0, and to player 1, when they respond to the other's policy
  mean: float  #: over both seats; in sampled hands, over all of them
  error: float  #: the standard error of the mean; 0 if the values are exact
  policy: TreePolicy | None  #: the responses of both, each to the policy of the other; None in sampled hands
  wins: np.ndarray | None  #: float64[hands], of each sampled deal, seat after seat; None if values are exact

  @property
  def exploitability(self) -> float:
    """The mean, at least 0: at most the policy's exploitability, up to the error."""
    return gain_of(self.mean)


def local_best_response(
  game: pyspiel.Game,
  policy: OpenSpielPolicy | Answers,
  options: LocalResponseOptions | Actions = None,
  *,
  progress: bool | None = None,
  **keywords: object,
) -> LocalBestResponse:
  """The value of a local best response to a policy, from both seats: exact, or in sampled hands.

  Args:
    game: any that `build_tree` takes, with public states; with `hands` a poker for two: `holdem` with a whole
      deck, or for a policy by lines `universal_poker` with public cards or `leduc_poker`.
    policy: any OpenSpiel policy of both players; with `hands` also one by lines, of
      `HierarchicalMCCFRSolver`, or a function such as `hierarchical.by_lines` makes of it.
    options: all options, or the actions alone.
    progress: of the sampled hands, show a bar; None: on a terminal or in a notebook, after two seconds.
    **keywords: options by name, see `LocalResponseOptions`; for the exact value also those of `build_tree`.

  ValueError for a wrong argument, or a game without public states; TypeError if `policy` or `rollout` is not
  a policy.
  """
  given = LocalResponseOptions.of(options, **LocalResponseOptions.picked(keywords))
  of_tree = {name: value for name, value in keywords.items() if name not in vars(given)}
  actions, depth, rollout, hands = given.actions, given.depth, given.rollout, given.hands
  if hands is not None:
    if depth != 1 or rollout not in (None, "call") or of_tree:
      other = ", ".join(["depth", "rollout", *of_tree])
      raise ValueError(f"hands={hands!r} samples searches of depth 1 that then call; leave {other} out.")
    wins = sampled_wins(game, policy, actions, hands, given.seed, progress)
    values = float(wins[::2].mean()), float(wins[1::2].mean())
    return LocalBestResponse(
      values, float(wins.mean()), float(wins.std(ddof=1) / len(wins) ** 0.5), None, wins
    )
  search = LocalSearch.of(game, actions, depth, rollout, **of_tree)
  strategies = strategies_of(search.tree, policy)
  with waiting("Searching responses"):
    tables = [search.response(player, strategies[1 - player]) for player in (0, 1)]
    first, second = (search.value(player, table, strategies) for player, table in enumerate(tables))
  info = {**search.options, "policy": "local best response"}
  responses = TreePolicy(game, search.tree.names, tables, info)
  return LocalBestResponse((first, second), (first + second) / 2, 0.0, responses, None)


class LocalBestResponsePolicy(SearchPolicy):
  """Local best responses of both players to policies that answer too slowly for a table of all answers.

  It asks the policy only about the way to each decision, and the answers to the actions there.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    policy: OpenSpielPolicy,
    options: LocalResponseOptions | Actions = None,
    **keywords: object,
  ):
    """Compile the game, without searching; arguments and errors as of `local_best_response`, no `hands`."""
    super().__init__(game)
    self.options = given = LocalResponseOptions.of(options, **LocalResponseOptions.picked(keywords))
    if given.hands is not None:
      raise ValueError(f"hands={given.hands}: this policy samples no hands; leave it out.")
    of_tree = {name: value for name, value in keywords.items() if name not in vars(given)}
    self._policy = policy
    self._search = LocalSearch.of(game, given.actions, given.depth, given.rollout, **of_tree)
    self._strategies = [
      [np.zeros(shape) for shape in player.block_shapes] for player in self._search.tree.players
    ]
    self._known: set[tuple[int, int, int]] = set()  # (player, block, row) of the known answers

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """The action that the search finds, with probability 1."""
    return probabilities_at(state, player_id, self.game, self._at)

  def _at(self, state: pyspiel.State, player: int) -> dict[int, float]:
    search, opponent = self._search, 1 - player
    decision, h = search.tree.names.decision_at(state, player)
    with self.searching():
      asked = [d for d in search.asked(decision) if (opponent, d.block, d.row) not in self._known]
      answers = strategies_of(search.tree, self._policy, asked)[opponent]
      for d in asked:
        self._strategies[opponent][d.block][:, d.row] = answers[d.block][:, d.row]
        self._known.add((opponent, d.block, d.row))
      level = int(search.levels[player].level[decision.public_state])
      choices = search.choices(player, self._strategies[opponent], level)
    choice = choices[decision.block][:, decision.row, h]
    return dict(zip(decision.legal_actions, choice.tolist(), strict=True))

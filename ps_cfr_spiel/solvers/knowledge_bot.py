"""A search by the player's knowledge for games too large to compile: 1-KLSS, to a limited depth.

The game that a decision solves is made at the decision (Zhang and Sandholm 2021; with sampled histories Zhang
and Sandholm 2025). Particles are the histories that the player holds possible; for each of them more
particles are those that the opponent then holds possible. A few moves beyond all of these are enumerated, the
ends are valued, by default by plays of the blueprint, and `search.Searcher` solves the result as it
solves any game: the player's decisions are new, the opponent begins in each infostate that touches the
player's, and is promised the value of the best response against the blueprint there.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.cfr import Rule, make_rule
from ps_cfr_spiel.compiler import build_general, with_recall
from ps_cfr_spiel.histories import Histories, free_memory, grow
from ps_cfr_spiel.policy import check_policy_of, strategies_of
from ps_cfr_spiel.search import Search, Searcher, SearchSettings
from ps_cfr_spiel.simulated import OpenSpielStates, Particles, thinned
from ps_cfr_spiel.solvers.rollout_bot import ROLLOUTS, RolloutBot
from ps_cfr_spiel.subgames import Gadget, KnownSubgames, unsafe
from ps_cfr_spiel.tree import TERMINAL, PublicTree

DEPTH, ITERATIONS, HISTORIES = 2, 200, 40
MOST_ANSWERS = 2_000  # that are kept
MORE = 10  # particles on the way for each history in the end

Columns = dict[str, np.ndarray]  # strategies by infostate
Values = Callable[[list[pyspiel.State]], np.ndarray]  # float[n], to player 0


class KnowledgeBot(RolloutBot):
  """A bot that solves a small game around each of its decisions.

  A search starts from the results of those at the own decisions before, and from the blueprint elsewhere.
  Answers are kept, so a question has one answer. The promises to the opponent hold if all histories are there
  and the ends' values are right; with samples they are estimates. With depth 1 the opponent never replies, so
  the answer exploits the blueprint, at the price of being exploitable.
  `sizes` has the number of histories of each search so far.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    player: int,
    policy: openspiel_policy.Policy | pyspiel.Policy | None = None,
    depth: int | None = DEPTH,
    iterations: int | None = None,
    seconds: float | None = None,
    histories: int = HISTORIES,
    values: Values | None = None,
    rollouts: int = ROLLOUTS,
    gadget: str | Gadget = "max-margin",
    rule: Rule | str | None = None,
    tremble: float = 0.01,
    seed: int = 0,
  ):
    """Make a bot; nothing is searched yet. ValueError for a wrong argument, or a policy of another game.

    Args:
      game: zero-sum, of two players who move one after the other.
      player: its seat.
      policy: the blueprint of both players, any OpenSpiel policy; uniform by default.
      depth: moves, of both players, from the decision to the ends; None: to the end of the game.
      iterations: of a decision's search; by default 200, or by the time alone.
      seconds: the time of a decision's iterations, above 0; its game and the values come on top.
      histories: the most that a search begins in, at least 2: the player's, and at least one more for each
        infostate of the opponent.
      values: the value to player 0 of each of a list of states, where the depth ends; by default the mean
        return of plays by the blueprint.
      rollouts: plays of a decision without `values`, at least one from each end.
      gadget: as of `ContinualResolving`; "unsafe" makes no promises. With "cfr-d" a move that beats the
        blueprint a little is as good as any better one.
      rule: regret rule or its name.
      tremble: share of uniform play that is mixed into the blueprint before the ends, both players', so that
        no surprise rules out all histories; from 0 to 1.
      seed: of all random numbers.
    """
    policy = openspiel_policy.UniformRandomPolicy(game) if policy is None else policy
    check_policy_of(game, policy)
    kind = game.get_type()
    if game.num_players() != 2 or kind.utility != kind.utility.ZERO_SUM:
      raise ValueError(f"{game}: searches are for zero-sum games of two players; use RolloutBot for others.")
    self.histories = check_count("histories", histories, 2)
    super().__init__(game, policy, player, rollouts, seconds, MORE * self.histories, tremble, seed)
    self.form = OpenSpielStates(game, policy, tremble)
    self.particles.form = self.form
    self.depth = None if depth is None else check_count("depth", depth, 1)
    if iterations is None:
      iterations = ITERATIONS if seconds is None else 10**6
    rule = make_rule(rule, iterations)
    self.settings = SearchSettings(iterations, rule, gadget, knowledge=1, keep=False)  # pyright: ignore[reportArgumentType]
    if values is not None and not callable(values):
      raise ValueError(f"values must be a function of a list of states, got {values!r}.")
    self.ends, self.sizes = values, []
    self._shapes: dict[tuple[int, int], Any] = {}
    self._answers: dict[tuple[Any, ...], tuple[dict[int, float], Columns]] = {}
    self._so_far: Columns = {}  # results of the searches on the way to a decision
    self._found: Columns = {}  # and of its own

  def probabilities(self, state: pyspiel.State) -> dict[int, float]:
    """The strategy of the search, which goes on from those of the own decisions before."""
    seen, now, number = self.form.seen(state, self.player), self.form.game.new_initial_state(), 0
    answer, self._so_far = {}, {}
    for action in (*state.history(), None):
      if now.current_player() == self.player:
        known = tuple(seen[: 2 * number + 2])
        if known not in self._answers:
          if len(self._answers) >= MOST_ANSWERS:
            self._answers.clear()
          self._found = {}
          self._answers[known] = super().probabilities(now), self._found
        answer, found = self._answers[known]
        self._so_far |= found
        number += 1
      if action is not None:
        now.apply_action(action)
    return answer

  def search(self, state: pyspiel.State, actions: list[int]) -> dict[int, float]:
    """The average strategy of a search at the decision."""
    roots = self.roots(state)
    seen = self.form.seen(state, self.player)
    way = [(at[1], did[1]) for at, did in zip(seen[1:-1:2], seen[2::2], strict=True)]
    grown, ends, states = grow(self.form.game, roots, self.player, way, self.depth)
    self.sizes.append(len(grown.parent))
    tree = self._tree(grown, ends, states)
    subgames = KnownSubgames(tree, 1)
    labels = tree.names
    safe = self.settings.gadget is not unsafe
    asked = [d for d in labels.decisions if d.player == self.player or not safe]
    found = strategies_of(tree, self.form.game, self.policy, asked)
    first, second = (
      [np.where(x.sum(0) > 0, (1 - (t := self.form.tremble)) * x + t / len(x), 1 / len(x)) for x in own]
      for own in found
    )
    searcher = Searcher(subgames, self.settings, self._shapes, self.limit)
    decision, _ = labels.decision_at(state, self.player)
    place, own = searcher.problems.place(decision), (first, second)[self.player]
    mine = {n: d for n, d in enumerate(labels.decisions) if d.player == self.player}
    for d in mine.values():
      if (column := self._so_far.get(str(d.infostates[0]))) is not None:
        own[d.block][:, d.row, 0] = column
    start = Search(self.player, np.inf, (first, second), (), {}, 0.0)
    tables = searcher.resolve(start, [place]).tables[self.player]
    self._found |= {
      str(d.infostates[0]): tables[d.block][:, d.row, 0]
      for n, d in mine.items()
      if place in subgames.above(n)
    }
    column = tables[decision.block][:, decision.row, 0]
    return dict(zip(decision.legal_actions, (column / column.sum()).tolist(), strict=True))

  def roots(self, state: pyspiel.State) -> dict[tuple[int, ...], float]:
    """The histories that the search of a decision begins in, with weights to multiply chance by.

    These are, for each of the player's histories, the ones that the opponent thought possible after the own
    last decision. The weights are 1 if these are all.
    """
    self.particles.follow(state)
    own, known = self.particles, len(self.form.seen(state, self.player))  # not the moves that are hidden
    random = np.random.default_rng([own.seed, known, 1])
    hidden, _ = thinned(own.hidden, own.weights, self.histories // 2, random)
    begins = [self.form.since(now, 1 - self.player) for now in hidden]
    touching: dict[Any, set[tuple[int, ...]]] = {}
    for begin in begins:
      seen = self.form.seen(begin, 1 - self.player)
      touching.setdefault((*seen[:-1], ("is", seen[-1][1])), set()).add(tuple(begin.history()))
    each = max((self.histories - self.histories // 2) // len(touching), 1)
    found: dict[tuple[int, ...], float] = {}
    for seen, known in touching.items():
      found |= dict.fromkeys(known, 1.0)
      others = Particles(self.form, 1 - self.player, MORE * (each + len(known)), int(random.integers(2**31)))
      others.observe([*seen])
      paths = [tuple(now.history()) for now in others.hidden]
      rest = np.array([n for n, path in enumerate(paths) if path not in known], int)
      some, weights = thinned(rest, others.weights[rest], each, random)
      for n, weight in zip(some, weights, strict=True):
        found[paths[n]] = weight * others.total / self.form.weight(others.hidden[n], 1 - self.player)
    return found

  def _rolled(self, states: list[pyspiel.State]) -> np.ndarray:
    """Mean returns to player 0 of plays by the blueprint."""
    assert self.rollouts is not None
    each = max(self.rollouts // len(states), 1)
    played = self.form.plays([now for now in states for _ in range(each)], 0, self._random)
    return played.reshape(-1, each).mean(1)

  def _tree(self, grown: Histories, ends: list[int], states: list[pyspiel.State]) -> PublicTree:
    """The grown histories with values at their ends, as a tree."""
    if ends:
      values = np.asarray((self.ends or self._rolled)(states), float)
      if values.shape != (len(ends),) or not np.isfinite(values).all():
        raise ValueError(
          f"values must give {len(ends)} finite numbers, one for each state; got {values.shape} of them."
        )
      player, utility = grown.player.copy(), grown.utility.copy()
      player[ends], utility[ends] = TERMINAL, values
      grown = dataclasses.replace(grown, player=player, utility=utility)
    histories, choices, fault = with_recall(self.form.game, grown, free_memory() / 2)
    if fault:
      raise ValueError(f"{self.form.game}: {fault}")
    return build_general(self.form.game, histories, choices, None, "sparse")

"""Searches from sampled histories, at each decision of games too large to compile.

Particles are the histories, or hidden states, that a player holds possible, weighted by Bayes' rule and a
policy of all players, the blueprint. A search from them has a depth, the number of moves that are enumerated.

With depth 0 it tries each action by plays of the blueprint to the end. The best one is played (policy
improvement by rollouts: Tesauro and Galperin 1996); against the blueprint itself this is a sampled local best
response (Lisý and Bowling 2017), and as predictable as one. With a temperature, each action is played with
the blueprint's probability times exp(value / temperature): a step of mirror descent from the blueprint,
taken at the decision (Sokota et al. 2024, update-equivalence). For all values, the strategy stays within
2 u / temperature of the blueprint in relative entropy, u the largest utility: its safety is that of a small
step, not of a gadget.

With more depth the search makes a game at the decision and solves it: 1-KLSS (Zhang and Sandholm 2021; with
sampled histories Zhang and Sandholm 2025). For each of the player's particles more particles are those that
the opponent then holds possible. A few moves beyond all of these are enumerated, the ends are valued, by
default by plays of the blueprint, and `search.Searcher` solves the result as it solves any game: the player's
decisions are new, the opponent begins in each infostate that touches the player's, and is promised the value
of the best response against the blueprint there.
"""

import dataclasses
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import is_integer
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.compilation.compiler import build_general, with_recall
from ps_cfr_spiel.compilation.histories import Histories, grow, moves_beyond
from ps_cfr_spiel.keyed_game import HiddenStates
from ps_cfr_spiel.loading import is_same_game
from ps_cfr_spiel.memory import free_memory
from ps_cfr_spiel.options import ParticleBotOptions
from ps_cfr_spiel.policy import check_policy_of, strategies_of
from ps_cfr_spiel.resolving.search import Search, Searcher, SearchSettings
from ps_cfr_spiel.resolving.subgames import KnownSubgames, PaddedShapes
from ps_cfr_spiel.sampling.keyed import KeyedPolicy, OpenSpielStates, Particles, halving, thinned
from ps_cfr_spiel.solvers.agents.search_policy import PolicyBot
from ps_cfr_spiel.tree import TERMINAL, PublicTree

ROLLOUTS, PARTICLES, ITERATIONS, HISTORIES = 4000, 2000, 200, 40
GADGET = "max-margin"
MOST_ANSWERS = 2_000  # that are kept
MORE = 10  # particles on the way for each history in the end

Columns = dict[str, np.ndarray]  # strategies by infostate
Values = Callable[[list[pyspiel.State]], np.ndarray]  # float[n], to player 0


class ParticleBot(PolicyBot):
  """A bot that searches from particles at each of its decisions.

  It is no `SearchPolicy`, because its particles belong to its seat and to the game that it follows.
  With depth 0 a decision is searched by itself. With more depth a search starts from the results of those at
  the player's decisions before, and from the blueprint elsewhere; answers are kept, so a question has one
  answer. The promises to the opponent hold if all histories are there and the ends' values are right; with
  samples they are estimates. With depth 1 the opponent never replies, so the answer exploits the blueprint,
  at the price of being exploitable.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    player: int,
    policy: openspiel_policy.Policy | pyspiel.Policy | None = None,
    options: ParticleBotOptions | int | None = None,
    **keywords: Any,
  ):
    """Make a bot; nothing is searched yet. ValueError for a wrong argument, or a policy of another game.

    Args:
      game: any whose players move one after the other; with depth zero-sum, of two players.
      player: its seat.
      policy: the blueprint of all players, any OpenSpiel policy; uniform by default.
      options: all options, or the depth alone.
      **keywords: options by name; see `ParticleBotOptions`.
    """
    self.options = options = ParticleBotOptions.of(options, **keywords)  #: as given
    policy = openspiel_policy.UniformRandomPolicy(game) if policy is None else policy
    check_policy_of(game, policy)
    self.game = game  #: as given
    self._plays = np.random.default_rng(options.seed)  # random numbers of plays, and of moves
    if not (is_integer(player) and 0 <= player < game.num_players()):
      raise ValueError(f"player={player!r}: {game} has seats 0 to {game.num_players() - 1}.")
    super().__init__(player, self._plays, policy)
    by_time = options.seconds is not None and options.depth == 0
    self.rollouts = ROLLOUTS if options.rollouts is None and not by_time else options.rollouts
    if options.depth == 0:
      form, most = hidden_states(game, policy, options.tremble), PARTICLES
    else:
      form = self._prepare(game, policy, options)
      most = MORE * self.histories
    most = most if options.particles is None else options.particles
    self.particles = Particles(form, player, most, options.seed)  #: the hidden states that it holds possible
    self.blind = 0  #: the number of decisions without a particle, which the policy alone made
    self.sizes: list[int] = []  #: with depth, the number of histories of each search so far

  def _prepare(
    self,
    game: pyspiel.Game,
    policy: openspiel_policy.Policy | pyspiel.Policy,
    options: ParticleBotOptions,
  ) -> OpenSpielStates:
    """Prepare searches with depth; the hidden states are histories."""
    kind = game.get_type()
    if game.num_players() != 2 or kind.utility != kind.utility.ZERO_SUM:
      raise ValueError(f"{game}: searches with depth are for zero-sum games of two players; give depth=0.")
    self.histories = HISTORIES if options.histories is None else options.histories
    iterations = options.iterations
    if iterations is None:
      iterations = ITERATIONS if options.seconds is None else 10**6
    self.settings = SearchSettings(
      iterations=iterations,
      rule=make_rule(options.rule, iterations),
      gadget=GADGET if options.gadget is None else options.gadget,
      knowledge=1,
      keep=False,
    )
    self.ends: Values = self._played if options.values is None else options.values
    self._states = OpenSpielStates(game, policy, options.tremble)
    self._shapes = PaddedShapes()
    self._answers: dict[Hashable, tuple[dict[int, float], Columns]] = {}
    return self._states

  def probabilities(self, state: pyspiel.State) -> dict[int, float]:
    """The strategy of the search, that of the policy where no particle fits."""
    if not is_same_game(state.get_game(), self.game):
      raise ValueError(f"This bot is for {self.game}; the state is of another game, {state.get_game()}.")
    if self.options.depth == 0:
      return self._decision(state, {})[0]
    answer, results = {}, {}
    for known, decision in self._path(state):
      if known not in self._answers:
        if len(self._answers) >= MOST_ANSWERS:
          self._answers.clear()
        self._answers[known] = self._decision(decision, results)
      answer, columns = self._answers[known]
      results = results | columns
    return answer

  def _path(self, state: pyspiel.State) -> Iterator[tuple[Hashable, pyspiel.State]]:
    """The player's knowledge at each decision on the way to a state, the last of them, and the decision."""
    seen, now, number = self._states.seen(state, self.player), self._states.game.new_initial_state(), 0
    for action in (*state.history(), None):
      if now.current_player() == self.player:
        yield tuple(seen[: 2 * number + 2]), now
        number += 1
      if action is not None:
        now.apply_action(action)

  def _decision(self, state: pyspiel.State, results: Columns) -> tuple[dict[int, float], Columns]:
    """The strategy at a decision, and with depth those of the search at and below it, by infostate.

    `results` are the columns of the searches on the way.
    """
    actions = state.legal_actions()
    if len(actions) == 1:
      return {actions[0]: 1.0}, {}
    self.particles.follow(state)
    if not len(self.particles):
      self.blind += 1
      warnings.warn(
        f"No hidden state fits the play so far, by the policy of the others; player {self.player} plays the "
        "policy without a search. A larger tremble or more particles keep some.",
        stacklevel=3,
      )
      return self.policy.action_probabilities(state), {}
    return self._solved(state, results) if self.options.depth != 0 else (self._tried(state, actions), {})

  def _tried(self, state: pyspiel.State, actions: list[int]) -> dict[int, float]:
    """The strategy by plays after each action."""
    if not self.options.temperature:
      values, left = self.values(state, actions)
      return {a: float(n == np.argmax(np.where(left, values, -np.inf))) for n, a in enumerate(actions)}
    given = self.policy.action_probabilities(state)
    with np.errstate(divide="ignore"):
      prior = self.options.temperature * np.log([given.get(action, 0.0) for action in actions])
    worth = self.values(state, actions, prior)[0] + prior
    weights = np.exp((worth - worth.max()) / self.options.temperature)
    return dict(zip(actions, (weights / weights.sum()).tolist(), strict=True))

  def values(
    self, state: pyspiel.State, actions: list[int], bonus: np.ndarray | float = 0.0
  ) -> tuple[np.ndarray, np.ndarray]:
    """Estimated values of actions to the player; bool[A], whether one did not fall behind (`halving`)."""
    form, random, legal = self.particles.form, self._plays, np.array(actions)

    def returns(tried: np.ndarray, each: int) -> np.ndarray:
      hidden = self.particles.hidden[np.tile(self.particles.draw(each, random), len(tried))]
      chosen = np.repeat(legal[tried], each)
      return form.rollouts(state, self.player, hidden, chosen, random).reshape(len(tried), each)

    return halving(returns, len(actions), self.rollouts, self.options.seconds, bonus)

  def _solved(self, state: pyspiel.State, results: Columns) -> tuple[dict[int, float], Columns]:
    """`_decision` by a game around it: the average strategy of a search."""
    game, roots = self._states.game, self.roots(state)
    seen = self._states.seen(state, self.player)
    path = [(at[1], did[1]) for at, did in zip(seen[1:-1:2], seen[2::2], strict=True)]
    tree = self._tree(*grow(game, roots, moves_beyond(game, self.player, path, self.options.depth)))
    subgames, labels = KnownSubgames(tree, 1), tree.names
    players = (self.player,) if self.settings.safe else (0, 1)
    strategies = strategies_of(tree, self.policy, [d for d in labels.decisions if d.player in players])
    first, second = ([self._trembling(block) for block in blocks] for blocks in strategies)
    searcher = Searcher(subgames, self.settings, self._shapes, self.options.seconds)
    decision, _ = labels.decision_at(state, self.player)
    place, start = searcher.problems.place(decision), (first, second)[self.player]
    mine = {n: d for n, d in enumerate(labels.decisions) if d.player == self.player}
    for d in mine.values():
      if (column := results.get(str(d.infostates[0]))) is not None:
        start[d.block][:, d.row, 0] = column
    search = searcher.resolve(Search(self.player, np.inf, (first, second), (), {}, 0.0), [place])
    table = search.tables[self.player]
    columns = {
      str(d.infostates[0]): table[d.block][:, d.row, 0] for n, d in mine.items() if place in subgames.above(n)
    }
    column = table[decision.block][:, decision.row, 0]
    return dict(zip(decision.legal_actions, (column / column.sum()).tolist(), strict=True)), columns

  def _trembling(self, block: np.ndarray) -> np.ndarray:
    """The blueprint [A, rows, H] with its tremble, uniform where it is not known."""
    tremble = self._states.tremble
    return np.where(block.sum(0) > 0, (1 - tremble) * block + tremble / len(block), 1 / len(block))

  def roots(self, state: pyspiel.State) -> dict[tuple[int, ...], float]:
    """The histories that the search of a decision begins in, with weights to multiply chance by.

    These are, for each of the player's histories, the ones that the opponent thought possible after the own
    last decision. The weights are 1 if these are all.
    """
    self.particles.follow(state)
    form, opponent, particles = self._states, 1 - self.player, self.particles
    known = len(form.seen(state, self.player))  # not the moves that are hidden
    random = np.random.default_rng([particles.seed, known, 1])
    hidden, _ = thinned(particles.hidden, particles.weights, self.histories // 2, random)
    touching: dict[tuple[Hashable, ...], set[tuple[int, ...]]] = {}
    for begin in [form.since(now, opponent) for now in hidden]:
      seen = form.seen(begin, opponent)
      touching.setdefault((*seen[:-1], ("is", seen[-1][1])), set()).add(tuple(begin.history()))
    each = max((self.histories - self.histories // 2) // len(touching), 1)
    roots: dict[tuple[int, ...], float] = {}
    for seen, paths in touching.items():
      roots |= dict.fromkeys(paths, 1.0)
      others = Particles(form, opponent, MORE * (each + len(paths)), int(random.integers(2**31)))
      others.observe([*seen])
      histories = [tuple(now.history()) for now in others.hidden]
      rest = np.array([n for n, path in enumerate(histories) if path not in paths], int)
      some, weights = thinned(rest, others.weights[rest], each, random)
      for n, weight in zip(some, weights, strict=True):
        roots[histories[n]] = weight * others.total / form.weight(others.hidden[n], opponent)
    return roots

  def _played(self, states: list[pyspiel.State]) -> np.ndarray:
    """Mean returns to player 0 of plays by the blueprint."""
    assert self.rollouts is not None
    each = max(self.rollouts // len(states), 1)
    played = self._states.plays([now for now in states for _ in range(each)], 0, self._plays)
    return played.reshape(-1, each).mean(1)

  def _tree(self, grown: Histories, ends: list[int], states: list[pyspiel.State]) -> PublicTree:
    """The grown histories with values at their ends, as a tree."""
    self.sizes.append(len(grown.parent))
    if ends:
      values = np.asarray(self.ends(states), float)
      if values.shape != (len(ends),) or not np.isfinite(values).all():
        raise ValueError(
          f"values must give {len(ends)} finite numbers, one for each state; got {values.shape} of them."
        )
      player, utility = grown.player.copy(), grown.utility.copy()
      player[ends], utility[ends] = TERMINAL, values
      grown = dataclasses.replace(grown, player=player, utility=utility, bound=0.0)
    histories, choices, fault = with_recall(self._states.game, grown, free_memory() / 2)
    if fault:
      raise ValueError(f"{self._states.game}: {fault}")
    return build_general(self._states.game, histories, choices, None, "sparse")


def hidden_states(
  game: pyspiel.Game, policy: openspiel_policy.Policy | pyspiel.Policy, tremble: float
) -> HiddenStates:
  """The hidden states of a game under a policy: its own arrays where it has them, else OpenSpiel's states."""
  states = None
  if isinstance(policy, KeyedPolicy) and isinstance(policy.table, np.ndarray):
    states = policy.form.hidden_states(policy.table, tremble)
  return OpenSpielStates(game, policy, tremble) if states is None else states

"""Continual re-solving for any compiled game: as a bot, as a policy, and as a table for evaluation.

Schmid 2021, Sections 20.5 to 20.7 (Algorithm 7); Moravčík et al. 2017. Single searches: `search`.
"""

import collections
import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import (
  check_binds,
  check_count,
  check_flag,
  check_integer,
  check_option,
  check_player,
  is_integer,
)
from ps_cfr_spiel.cfr import NRMPlus, Rule, make_rule, num_tables, rule_header
from ps_cfr_spiel.compiler import check_memory
from ps_cfr_spiel.device import check_dtype
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.policy import TreePolicy, probabilities_at
from ps_cfr_spiel.reports import progress_bar, waiting
from ps_cfr_spiel.search import ROUND, CFRValues, Search, Searcher, SearchSettings, ValueFunction
from ps_cfr_spiel.solvers.bots import SolvingBot
from ps_cfr_spiel.subgames import GADGETS, Gadget, Subgames

CACHE = 256  # searches kept, at most
CACHE_BYTES = 2**30  # most memory of their tables together


class ContinualResolving:
  """A solver that solves again at each decision of a player, carrying range and opponent values from search
  to search.

  The first search solves the game from its start, and the first decision of the game is played from it. At
  each later decision the subgame that begins there is solved anew. A search depends on nothing but the
  public states on the way, so a bot, a policy asked out of the blue and `tabularise` all do the same, up to
  rounding: between two actions that are equally good a last bit may decide (see BUILD_NOTES.md).

  Attributes:
    game: the game.
    tree: its public tree, on the host.
    seconds: duration of each search so far (of each pass in `tabularise`), compilation included.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    iterations: int = 1000,
    rule: Rule | str | None = None,
    gadget: str | Gadget = "cfr-d",
    lookahead: int | str | None = None,
    value_function: ValueFunction | None = None,
    actions: Collection[int] | None = None,
    alternating: bool = True,
    skip: int = 0,
    dtype: str = "float32",
    public_states: str = "closure",
    limit: int = LIMIT,
    memory: float | None = None,
  ):
    """Compile the game; searches begin when their results are needed.

    Args:
      game: any that `build_tree` takes.
      iterations: of CFR in each search.
      rule: regret rule or its name; `NRMPlus()` by default.
      gadget: "cfr-d", "max-margin" or "unsafe", or a function like these; see `gadgets`.
      lookahead: number of own decisions that a search looks ahead, 1 for only the next; "round" until chance
        has moved in the open again, such as by a public card; None to the end.
      value_function: the values beyond; `CFRValues()` by default.
      actions: OpenSpiel actions that searches consider (others may still be played by the opponent, where the
        player acts next); all by default.
      alternating: update order of CFR.
      skip: iterations that each search leaves out of its averages at the start (Schmid 2021, Table 21.1).
      dtype: "float32" or "float64".
      public_states: where they come from; see `build_tree`.
      limit: most histories to walk.
      memory: most bytes to take; see `build_tree`.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    self.game = game
    if not callable(gadget):
      gadget = GADGETS[check_option("gadget", gadget, GADGETS)]
    iterations, skip = check_count("iterations", iterations, 1), check_count("skip", skip, 0)
    if lookahead is None and value_function is not None:
      raise ValueError("A value function is for limited lookahead; give lookahead=1 or more with it.")
    if lookahead is not None and lookahead != ROUND:
      lookahead = check_count("lookahead", lookahead, 1)
    if value_function is not None:
      check_binds("value_function", value_function, "CFRValues()")
    if skip >= iterations:
      raise ValueError(f"skip must be less than iterations={iterations}, got {skip}.")
    self.settings = SearchSettings(
      iterations=iterations,
      rule=make_rule(NRMPlus() if rule is None else rule),
      gadget=gadget,
      lookahead=lookahead,
      value_function=CFRValues() if value_function is None else value_function,
      actions=_check_actions(game, actions),
      alternating=check_flag("alternating", alternating),
      skip=skip,
      dtype=check_dtype(dtype),
    )
    kept = num_tables(self.settings.rule, self.settings.dtype)
    check_memory(game, memory, kept, np.dtype(self.settings.dtype).itemsize, folded=False)
    subgames = Subgames.of(game, public_states=public_states, limit=limit, memory=memory)
    self._build, self.tree, self.labels = subgames.options, subgames.tree, subgames.labels
    self.searcher = Searcher(subgames, self.settings)
    self.seconds: list[float] = []
    table = sum(8 * math.prod(shape) for player in self.tree.players for shape in player.block_shapes)
    self._kept = max(min(CACHE, CACHE_BYTES // max(table, 1)), 2 * len(self.searcher.paddings))
    self._starts: dict[int, Search] = {}
    self._searches: collections.OrderedDict[tuple[int, int], Search] = collections.OrderedDict()

  @property
  def description(self) -> str:
    """The method with its settings, as text."""
    s, header = self.settings, self._header()
    ahead = "to the end" if s.lookahead is None else f"lookahead {s.lookahead}, then {s.value_function}"
    rule = type(s.rule).__name__
    return f"re-solving, {s.iterations:,} iterations of {rule}, {header['gadget']}, {ahead}, {s.dtype}"

  def start(self, player: int, progress: bool | None = None) -> Search:
    """The search from the start of the game; ValueError if the player is not 0 or 1.

    Args:
      player: the searching player.
      progress: None shows progress after two seconds on a terminal; any other value: never.
    """
    player = check_player(player)
    known = player if self.settings.lookahead is not None else 0  # full lookahead is the same for both
    if known not in self._starts:
      with waiting("Searching", progress):
        self._starts[known] = self.searcher.start(known)
      self.seconds.append(self._starts[known].seconds)
    return self._starts[known]._replace(player=player)

  def search(self, public_state: int) -> Search:
    """The search from a public state in which a player acts, after those on the way.

    Raises:
      ValueError: no player acts there, or there is no such public state.
    """
    states = self.labels.public_states
    if not is_integer(public_state) or not 0 <= public_state < len(states):
      raise ValueError(
        f"{self.labels.game} has the public states 0..{len(states) - 1}, got {public_state!r}."
      )
    player = states[public_state].player
    if player < 0:
      raise ValueError(
        f"No player acts in public state {public_state} of {self.labels.game}; choose one of a decision."
      )
    way = [public_state]
    while states[way[-1]].parent >= 0:
      way.append(states[way[-1]].parent)
    search = self.start(player)
    for s in reversed(way):
      if states[s].player == player and self.searcher.levels[player].decided[s]:
        search = self._search(search, s)
    return search

  def _search(self, last: Search, public_state: int) -> Search:
    """One step, from the cache if it is there."""
    key = (last.player, public_state)
    if key not in self._searches:
      with waiting("Searching"):
        self._searches[key] = self.searcher.resolve(last, [public_state])
      self.seconds.append(self._searches[key].seconds)
      if len(self._searches) > self._kept:
        self._searches.popitem(last=False)
    self._searches.move_to_end(key)
    return self._searches[key]

  def at(self, player: int, infostate: str) -> dict[int, float]:
    """Probability of every legal action at an information state string.

    Raises:
      ValueError: the player has no such information state.
    """
    decision, h = self.labels.find(player, infostate)
    table = self.search(decision.public_state).tables[player]
    column = table[decision.block][:, decision.row, h]
    return dict(zip(decision.legal_actions, (column / column.sum()).tolist(), strict=True))

  def policy(self) -> "ResolvingPolicy":
    """An OpenSpiel policy that searches when it is asked."""
    return ResolvingPolicy(self)

  def bot(self, player: int, seed: int | None = None) -> "ResolvingBot":
    """A bot that searches at each of its decisions.

    Args:
      player: 0 or 1.
      seed: of its choice among actions; None for one of its own.

    Raises:
      ValueError: an argument is not one of the allowed.
    """
    seed = None if seed is None else check_integer("seed", seed, 0)
    return ResolvingBot(self, check_player(player), seed)

  def tabularise(self, progress: bool | None = None) -> TreePolicy:
    """The strategy of the searches at all decisions (Schmid 2021, Section 7.6), for exact evaluation.

    Subgames that begin at a player's decisions of one number do not overlap, so those that end alike are all
    solved in one pass: a few passes for each number rather than a search for every public state.

    Args:
      progress: show a progress bar; None shows it after two seconds on a terminal.
    """
    passes = [levels.passes() for levels in self.searcher.levels]
    tables = []
    total = sum(len(own) + 1 for own in passes)
    with progress_bar(progress, total=total, unit=" passes", desc="Re-solving") as bar:
      for player in (0, 1):
        search = self.start(player, progress)
        bar.update()
        for states in passes[player]:
          with waiting("Searching", progress):
            search = self.searcher.resolve(search, states)
          self.seconds.append(search.seconds)
          bar.update()
        tables.append(search.tables[player])
    return TreePolicy(self.game, self.labels, tables, self._header())

  def _header(self) -> dict[str, Any]:
    """The description of a policy's origin."""
    own = getattr(self.settings.gadget, "__name__", repr(self.settings.gadget))
    gadget = next((name for name, function in GADGETS.items() if function is self.settings.gadget), own)
    return {
      "solver": type(self).__name__,
      "policy": "re-solving",
      "iteration": self.settings.iterations,
      "rule": rule_header(self.settings.rule),
      "gadget": gadget,
      "lookahead": self.settings.lookahead,
      "value_function": None if self.settings.lookahead is None else repr(self.settings.value_function),
      "actions": None if self.settings.actions is None else sorted(self.settings.actions),
      "alternating": self.settings.alternating,
      "skip": self.settings.skip,
      "dtype": self.settings.dtype,
      **self._build,
    }


class ResolvingPolicy(openspiel_policy.Policy):
  """Continual re-solving as an OpenSpiel policy; the searches on the way answer each question."""

  def __init__(self, resolving: ContinualResolving):
    """A policy of both players."""
    super().__init__(resolving.game, [0, 1])
    self.resolving = resolving

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state; see `probabilities_at`."""
    return probabilities_at(state, player_id, self.resolving.game, self.resolving.at)


class ResolvingBot(SolvingBot):
  """Continual re-solving as an OpenSpiel bot; decisions are fast where searches are remembered.

  Attributes:
    policy: the policy that it follows.
  """

  def __init__(self, resolving: ContinualResolving, player: int, seed: int | None):
    """See `ContinualResolving.bot`."""
    super().__init__(player, seed)
    self.policy = resolving.policy()

  def probabilities(self, state: pyspiel.State) -> dict[int, float]:
    """Search, unless the searches are remembered."""
    return self.policy.action_probabilities(state, self.player)


def _check_actions(game: pyspiel.Game, actions: Collection[int] | None) -> frozenset[int] | None:
  """The actions that searches consider."""
  if actions is None:
    return None
  count = game.num_distinct_actions()
  if (
    not isinstance(actions, Collection)
    or not actions
    or not all(is_integer(a) and 0 <= a < count for a in actions)
  ):
    raise ValueError(f"actions must be among 0..{count - 1} of {game}, got {actions!r}.")
  return frozenset(int(a) for a in actions)

"""Continual re-solving for any compiled game: as a bot, as a policy, and as a table for evaluation.

Schmid 2021, Sections 20.5 to 20.7 (Algorithm 7); Moravčík et al. 2017. Single searches: `search`.
"""

import collections
import math
from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_player, is_integer
from ps_cfr_spiel.backend.device import Uninterrupted
from ps_cfr_spiel.cfr import make_rule, num_tables, rule_header
from ps_cfr_spiel.compilation.compiler import TreeUse, check_memory, form_of, index_of
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import ContinualResolvingOptions, SearchOptions
from ps_cfr_spiel.policy import TreePolicy, check_policy_of, probabilities_at, strategies_of
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.resolving.search import Search, Searcher, SearchSettings
from ps_cfr_spiel.resolving.subgames import KnownSubgames, Subgames
from ps_cfr_spiel.solvers.agents.search_policy import SearchPolicy, describe, gadget_name

CACHE = 256  # searches kept, at most
CACHE_BYTES = 2**30  # most memory of their tables together


class ContinualResolving(SearchPolicy):
  """A policy that solves again at each decision, carrying range and opponent values from search to search.

  The first search solves the game from its start, and the first decision of the game is played from it. At
  each later decision the subgame that begins there is solved anew. A search depends on nothing but the
  public states on the way, so a bot, the policy asked out of the blue and `tabularise` all do the same, up to
  rounding: between two actions that are equally good a last bit may decide (see BUILD_NOTES.md).

  `tree` is the game's public tree, and `settings` are those of each search; `seconds` has the duration of
  each pass in `tabularise`.
  """

  options_type: ClassVar[type[ContinualResolvingOptions]] = ContinualResolvingOptions

  def __init__(
    self,
    game: pyspiel.Game,
    options: ContinualResolvingOptions | int | None = None,
    **keywords: Any,
  ):
    """Compile the game, without searching yet; ValueError for a wrong option or game.

    Args:
      game: from `pyspiel.load_game`.
      options: all options, or the iterations alone.
      **keywords: options by name; see `options_type`.
    """
    game = sequential(game)
    super().__init__(game)
    self.options = options = self.options_type.of(options, **keywords)
    made = {
      "rule": make_rule(options.rule, options.iterations, options.alternating),
      "actions": _check_actions(game, options.actions),
    }
    self.settings = SearchSettings(**{**options.values(SearchOptions), **made})
    if self.settings.value_function is not None:
      self.settings.value_function.check_game(str(game))
    limit, memory, blueprint = options.limit, options.memory, options.blueprint
    kept = num_tables(self.settings.rule, self.settings.dtype)
    values = self.settings.value_function
    listed = values is None or not values.reads_histories  # games compiled from a form lack histories
    if listed and (form := form_of(game)) is not None:
      use = TreeUse(kept, np.dtype(self.settings.dtype).itemsize, folded=False)
      check_memory(game, index_of(game, form, memory), memory, use)
    if self.settings.knowledge is None:
      built = {} if listed else {"leaves": "sparse"}
      try:
        subgames = Subgames.of(game, public_states=options.public_states, limit=limit, memory=memory, **built)
      except TooLarge as error:
        if listed:
          raise
        raise TooLarge(
          f"{game} has more histories than limit= or memory= allows, and its values read all of them. Give "
          "more, or play it by OnDemandResolving, which enumerates the states of a search alone."
        ) from error
    else:
      subgames = KnownSubgames.of(game, self.settings.knowledge, limit=limit, memory=memory)
    self.searcher = self._make_searcher(subgames)
    self._problems = self.searcher.problems
    self._build, self.tree, self.labels = subgames.options, subgames.tree, subgames.labels
    self._blueprint = None if blueprint is None else self._strategies(blueprint)
    self._keeps, self._done = self.settings.knowledge is not None and self.settings.keep, set()
    self._latest: dict[int, Search] = {}
    table = sum(8 * math.prod(shape) for player in self.tree.players for shape in player.block_shapes)
    self._kept = max(min(CACHE, CACHE_BYTES // max(table, 1)), 2 * self._problems.kinds)
    self._starts: dict[int, Search] = {}
    self._searches: collections.OrderedDict[tuple[int, int], Search] = collections.OrderedDict()

  def _make_searcher(self, subgames: Subgames) -> Searcher:
    return Searcher(subgames, self.settings)

  @property
  def description(self) -> str:
    """The method with its settings, as text."""
    return f"re-solving{describe(self.settings)}"

  def start(self, player: int, progress: bool | None = None) -> Search:
    """A player's search from the start of the game; ValueError unless `player` is 0 or 1."""
    player = check_player(player)
    known = player if self.settings.lookahead is not None else 0  # full lookahead is the same for both
    if self._blueprint is not None:
      return Search(player, np.inf, self._blueprint, (), {}, 0.0)
    if known not in self._starts:
      with self.searching(progress):
        self._starts[known] = self.searcher.start(known)
    return self._starts[known]._replace(player=player)

  def _strategies(
    self, blueprint: openspiel_policy.Policy | pyspiel.Policy
  ) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """A policy's tables; uniform for impossible types."""
    if self.settings.lookahead is not None:
      raise ValueError("A blueprint is for searches to the end of the game; leave lookahead out.")
    check_policy_of(self.game, blueprint)
    first, second = (
      [np.where(block.sum(0) > 0, block, 1 / len(block)) for block in blocks]
      for blocks in strategies_of(self.tree, blueprint)
    )
    return first, second

  def search(self, place: int) -> Search:
    """The search from a public state, or with knowledge from a decision, given by its number in `labels`.

    Those on the way come before it. ValueError unless a player acts there.
    """
    player, path = self._problems.searches_on_path(place)
    search = self.start(player)
    for s in path:
      search = self._search(search, s)
    return search

  def _search(self, last: Search, place: int) -> Search:
    """One step, from the cache if it is there."""
    player = last.player
    if self._keeps:
      if (player, place) not in self._done:
        search = self._resolve(self._latest.get(player, last), (place,))
        with Uninterrupted():
          self._latest[player] = search
          self._done.add((player, place))
      return self._latest[player]
    key = (player, place)
    if key not in self._searches:
      self._searches[key] = self._resolve(last, (place,))
      if len(self._searches) > self._kept:
        self._searches.popitem(last=False)
    self._searches.move_to_end(key)
    return self._searches[key]

  def _resolve(self, last: Search, places: tuple[int, ...], progress: bool | None = None) -> Search:
    with self.searching(progress):
      return self.searcher.resolve(last, places)

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state."""
    name = self.labels.infostate
    return probabilities_at(state, player_id, self.game, lambda at, i: self.at(i, name(at, i)))

  def at(self, player: int, infostate: str) -> dict[int, float]:
    """Probability of every legal action at an information state string; ValueError for an unknown string."""
    decision, h = self.labels.find(player, infostate)
    table = self.search(self._problems.place(decision)).tables[player]
    column = table[decision.block][:, decision.row, h]
    return dict(zip(decision.legal_actions, (column / column.sum()).tolist(), strict=True))

  def tabularise(self, progress: bool | None = None) -> TreePolicy:
    """The strategy of the searches at all decisions (Schmid 2021, Section 7.6), for exact evaluation.

    Subgames that begin at a player's decisions of one number do not overlap, so those that end alike are all
    solved in one pass: a few passes for each number rather than a search for every public state.
    """
    passes = [self._problems.passes(player) for player in (0, 1)]
    tables = []
    total = sum(len(passes_of_player) + 1 for passes_of_player in passes)
    with progress_bar(progress, total=total, unit=" passes", desc="Re-solving") as bar:
      for player in (0, 1):
        search = self.start(player, progress)
        bar.update()
        table = [block.copy() for block in search.tables[player]]
        for places in passes[player]:
          if self.settings.keep:
            search = self._resolve(search, places, progress)
            table = search.tables[player]
          else:
            d = self.labels.decisions[places[0]]
            table[d.block][:, d.row] = self.search(places[0]).tables[player][d.block][:, d.row]
          bar.update()
        tables.append(table)
    return TreePolicy(self.game, self.labels, tables, self._header())

  def _header(self) -> dict[str, Any]:
    values = None if self.settings.lookahead is None else repr(self.settings.value_function)
    actions = None if self.settings.actions is None else sorted(self.settings.actions)
    rule = rule_header(self.settings.rule)
    objects = {
      "rule": rule,
      "gadget": gadget_name(self.settings.gadget),
      "value_function": values,
      "actions": actions,
    }
    options = {**self.options.header(), **self.settings.header(), **objects, **self._build}
    return {
      "solver": type(self).__name__,
      "policy": "re-solving",
      "iteration": self.settings.iterations,
      "options": options,
    }


def _check_actions(game: pyspiel.Game, actions: Collection[int] | None) -> frozenset[int] | None:
  if actions is None:
    return None
  count, numbers = game.num_distinct_actions(), [*actions] if isinstance(actions, Collection) else []
  if not numbers or not all(is_integer(a) and 0 <= a < count for a in numbers):
    raise ValueError(f"actions must be among 0..{count - 1} of {game}, got {actions!r}.")
  return frozenset(map(int, numbers))

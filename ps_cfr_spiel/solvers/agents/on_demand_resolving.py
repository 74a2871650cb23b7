"""Continual re-solving in games too large to enumerate: as a policy and as a bot.

Student of Games (Schmid et al. 2023) and ReBeL (Brown et al. 2020) search like this, with learned values
where the lookahead ends.
"""

import collections
from collections.abc import Sequence
from typing import Any, ClassVar

import pyspiel

from ps_cfr_spiel.arguments import check_player
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.compilation.histories import is_zero_sum
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.memory import readable_bytes
from ps_cfr_spiel.options import OnDemandResolvingOptions, SearchOptions
from ps_cfr_spiel.policy import probabilities_at
from ps_cfr_spiel.resolving.search import GrowingSearches, SearchesOnDemand, SearchSettings, Step, column
from ps_cfr_spiel.resolving.subgames import PublicStates, public_states_of
from ps_cfr_spiel.solvers.agents.search_policy import SearchPolicy, describe

CACHE_BYTES = 2**30  # most memory of the trees of searches that are kept
MOST_LISTED = 20  # legal actions in a message


class OnDemandResolving(SearchPolicy):
  """Continual re-solving that makes the public tree of each search when play comes there.

  It plays as `ContinualResolving` does up to rounding, but where regrets tie rounding decides, and strategies
  may differ. It needs memory for the histories of a search alone:
  those in the public state of a decision, and all below it. With a lookahead and values that need nothing
  below (`ValueFunction.solves` is False) these end with the lookahead; otherwise with the game, and the first
  search has all of it.

  With `expansions` trees grow where simulations lead instead; see `search.growing_searches`.

  The answer at a state follows from the public states on the way. `seconds` has the duration of each search.
  """

  options_type: ClassVar[type[OnDemandResolvingOptions]] = OnDemandResolvingOptions

  def __init__(
    self,
    game: pyspiel.Game,
    options: OnDemandResolvingOptions | int | None = None,
    **keywords: Any,
  ):
    """Make the policy, without searching yet; ValueError for a wrong option or game.

    Args:
      game: from `pyspiel.load_game`.
      options: all options, or the iterations alone.
      **keywords: options by name; see `options_type`.
    """
    game = sequential(game)
    players = game.num_players()
    if players != 2 or not is_zero_sum(game):
      kind = f"has {players} players" if players != 2 else "is of general sum"
      raise ValueError(
        f"{game} {kind}; searches are for two players, zero-sum. matches.ParticleBot plays this game."
      )
    super().__init__(game)
    self.options = options = self.options_type.of(options, **keywords)
    rule = make_rule(options.rule, options.iterations, options.alternating)
    given = {**options.values(SearchOptions), "rule": rule}
    if options.expansions is not None:
      given["lookahead"] = 1  # trees end with the growth, not with a lookahead, but at values too
    settings = SearchSettings(**given)
    states = self._make_states(settings)
    if settings.value_function is not None:
      settings.value_function.check_game(str(game))
    self.searches = self._make_searches(states, settings)
    self._steps: collections.OrderedDict[tuple[int, tuple[int, ...]], Step] = collections.OrderedDict()
    self._bytes: dict[tuple[int, tuple[int, ...]], int] = {}  # of each of these

  def _make_states(self, settings: SearchSettings) -> PublicStates:
    options, values = self.options, settings.value_function
    by_histories = values is not None and values.reads_histories
    make = PublicStates if by_histories else public_states_of
    return make(self.game, options.public_states, options.limit, options.memory)

  def _make_searches(self, states: PublicStates, settings: SearchSettings) -> SearchesOnDemand:
    options = self.options
    if options.expansions is None:
      return SearchesOnDemand(states, settings, options.seconds)
    return GrowingSearches(states, settings, options.seconds, options.expansions, options.seed)

  @property
  def description(self) -> str:
    """The method with its settings, as text."""
    growing, settings = self.options.expansions, self.searches.settings
    if growing is None:
      return f"re-solving on demand{describe(settings)}"
    known = describe(settings.changed(lookahead=None, value_function=None))
    ends = f"{growing:,} expansions, then {settings.value_function}"
    return f"re-solving on demand{known.replace('to the end', ends)}"

  @property
  def kept_bytes(self) -> int:
    """About the memory of the searches and public states that are kept for further questions."""
    return sum(self._bytes.values()) + self.searches.states.kept_bytes

  @property
  def largest_tree(self) -> int:
    """The histories of the largest tree of the searches that are kept."""
    return max((step.searcher.subgames.labels.histories for step in self._steps.values()), default=0)

  @property
  def kept(self) -> str:
    """The searches and public states that are kept, as text, with the largest tree."""
    largest, opened = self.largest_tree, max((step.opened for step in self._steps.values()), default=0)
    grown = "" if self.options.expansions is None else f", with up to {opened:,} public states opened"
    size = readable_bytes(self.kept_bytes)
    return f"{len(self._steps):,} searches in {size}, of at most {largest:,} histories{grown}"

  def search(self, history: Sequence[int], player: int) -> Step:
    """The search from a history in which the player acts, given by its actions, after those on the way.

    ValueError for an impossible history, or one in which the player does not act.
    """
    player, asked = check_player(player), self._places(history, player)
    step = self._start(player)
    for number in asked:
      step = self._later(step, history[:number])
    return step

  def _places(self, history: Sequence[int], player: int) -> list[int]:
    """The numbers of moves before which the player searches, on the way to a history and in it."""
    state, decided, places = self.game.new_initial_state(), False, []
    for number, action in enumerate((*history, None)):
      mover = state.current_player()
      if mover == player and decided:
        places.append(number)
      decided |= mover >= 0
      if action is None and mover != player:
        acts = f"player {mover} acts" if mover >= 0 else "no player acts"
        raise ValueError(f"Player {player} does not act after {list(history)}: {acts} there.")
      if action is not None:
        chances = dict(state.chance_outcomes()) if state.is_chance_node() else {}
        legal = [a for a in state.legal_actions() if chances.get(a, 1) > 0]
        if action not in legal:
          some = f"{legal[:MOST_LISTED]}{', ...' if len(legal) > MOST_LISTED else ''}"
          raise ValueError(
            f"The history {list(history)} is impossible: {action} (move {number}) is not among {some}."
          )
        state.apply_action(action)
    return places

  def _start(self, player: int) -> Step:
    if (player, ()) not in self._steps:
      with self.searching():
        self._keep((player, ()), self.searches.start(player))
    return self._steps[player, ()]

  def _later(self, last: Step, history: Sequence[int]) -> Step:
    members = self.searches.states.members(history)
    key = last.search.player, members[0]
    if key not in self._steps:
      with self.searching():
        self._keep(key, self.searches.later(last, members))
    self._steps.move_to_end(key)
    return self._steps[key]

  def _keep(self, key: tuple[int, tuple[int, ...]], step: Step) -> None:
    """Keep a search; the oldest go where they take too much memory, but those from the start."""
    self._steps[key] = step
    self._bytes[key] = self.searches.states.tree_bytes(step.searcher.subgames)
    old = [other for other in self._steps if other[1] and other != key]
    while old and self.kept_bytes > CACHE_BYTES:
      dropped = old.pop(0)
      del self._steps[dropped], self._bytes[dropped]

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state."""

    def at(state: pyspiel.State, player: int) -> dict[int, float]:
      history = state.history()
      return column(self.searches.states, self.search(history, player), history)

    return probabilities_at(state, player_id, self.game, at)

"""A policy for the whole of heads-up no-limit hold'em: a blueprint, then searches from some street on.

The way of Libratus (Brown and Sandholm 2018) in its simplest form. At first the agent plays a blueprint for
few bet sizes, other bets being understood as sizes around them (`policy.Translation`). On the turn and
on the river it solves the rest of the hand, a `holdem_subgame`, from the street's first decision on, and
again after a bet that the tree lacks, with this bet among its sizes. Ranges come by Bayes' rule from the
strategies played: those of the blueprint, then those of the searches.

With a value function of turns, the way of DeepStack (Moravčík et al. 2017), the agent searches the flop too,
whose tree ends when the turn comes; with values of flops besides, it searches from the first move on, and the
blueprint plays nowhere. A bet that the tree of a search lacks is answered by a new search on every street
that is searched, with this bet among its sizes.

Each search is safe by one of `subgames.gadgets`. It promises the opponent, in each hand, the value of a best
response in the search before: at a street's first decision, or at the decision before the bet that its tree
lacks, where no bet is worth more (Brown and Sandholm 2017, nested subgame solving). Where the blueprint
played the street before, a best response to the blueprint is promised, in the tree that is searched: the
blueprint, with bets translated, is a strategy there like that of a search, for all hands and boards. On a
flop that tree ends with values of turns, at the ranges of both strategies; after a flop's search they are
the promises on the turn, and values of flops those on the flop. A search from the hand's first move on needs
no promises.

A search begins with the strategies whose best responses it promises, from the first move on with those of
the blueprint, as if it had come to them in `BEGUN`
iterations (strategies as a warm start: Brown and Sandholm 2016). Few iterations, under a limit of time,
break promises less: ten from uniform play lose more than a blueprint does. The strategies before are kept if
best responses may win more from those of the search. After a bet that the search before lacks, it begins with
the answers to the sizes around the bet, mixed as in action translation.

All this follows from the public part of a hand and is the same for all cards, so it is a policy, whose
probabilities are known for all hands at once; the seed chooses among actions alone. Safe searches are those
of the player to move.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.device import Device, on
from ps_cfr_spiel.batches import StreetValues
from ps_cfr_spiel.cards.notation import BetSizes, add_sizes, nearest_sizes, parse_sizes, size_text, sizes_text
from ps_cfr_spiel.cards.poker import (
  betting,
  cards,
  check_streets,
  check_unraked,
  set_numbers,
)
from ps_cfr_spiel.compilation.compiler import form_of, index_of, solved_actions
from ps_cfr_spiel.options import STREET_NAMES, HoldemPolicyOptions, agent_bets, agent_searches
from ps_cfr_spiel.policy import Recent, Translation, WrappedPolicy, check_turn
from ps_cfr_spiel.resolving.search import Problem, Search, SearchSettings, SubgameSolver, responses
from ps_cfr_spiel.resolving.subgames import Subgames, gadget_of, unsafe
from ps_cfr_spiel.solvers.agents.holdem_searches import (
  DTYPE,
  NUM_HANDS,
  HandSearch,
  StreetSearch,
  reweighted,
  street_of,
)
from ps_cfr_spiel.solvers.agents.public_hand import BLUEPRINTS, HOLDEM, Game, PublicHand, State, check_stakes
from ps_cfr_spiel.solvers.agents.search_policy import SearchPolicy

BEFORE_FLOP, FLOP, TURN = 0, 1, 2  # streets
KEPT = 16  # ranges and searches
TREES = 2  # compiled subgames that are kept for another search: those of both players begin in the same
FIRST = 5  # iterations of a search before the first look at the clock
# Iterations that the strategies with which a search begins count as. With 10 or 20, few move too far; but
# after a bet that the search before lacks, they are a guess, and with 40 few cannot leave it.
BEGUN, BEGUN_AFTER_BET = 40, 10


class HoldemPolicy(SearchPolicy):
  """See the module; for both players. It never looks at the opponent's cards in a state."""

  def __init__(
    self,
    game: pyspiel.Game,
    blueprint: openspiel_policy.Policy,
    options: HoldemPolicyOptions | str | None = None,
    **keywords: Any,
  ):
    """Make a policy; nothing is searched yet. ValueError for a wrong argument.

    Args:
      game: `holdem` with any bets.
      blueprint: an OpenSpiel policy of `holdem` or `universal_poker` with the same blinds, for few bet sizes;
        in small decks of `holdem`. One without a method `for_hands_at` takes minutes in the whole deck.
      options: all options, or the bet sizes alone.
      **keywords: options by name; see `HoldemPolicyOptions`.
    """
    self.options = options = HoldemPolicyOptions.of(options, **keywords)
    super().__init__(game)
    if game.get_type().short_name != HOLDEM:
      raise ValueError(f"HoldemPolicy plays holdem, got {game}.")
    check_unraked(game, "searches")
    theirs = getattr(blueprint, "game", None)
    if theirs is None or theirs.get_type().short_name not in BLUEPRINTS:
      given = blueprint if theirs is None else f"one of {theirs}"
      raise ValueError(f"blueprint must be a policy of {' or '.join(BLUEPRINTS)}, got {given}.")
    self._deck: cards.Board = game.deck  # pyright: ignore[reportAttributeAccessIssue]
    dealt = len(theirs.new_initial_state().legal_actions())
    if (getattr(theirs, "deck", cards.WHOLE_DECK), dealt) != (self._deck, len(self._deck)):
      raise ValueError(f"blueprint must be a policy for the deck of {game}, got one of {theirs}.")
    check_stakes(game, theirs)
    self._values = self._by_street(game, options.values)
    self._first = min(self._values, default=TURN)
    if options.street is not None:
      self._first = STREET_NAMES.index(options.street)
    streets = len(cards.BOARD_SIZES) - self._first
    rules: betting.BettingRules = game.rules  # pyright: ignore[reportAttributeAccessIssue]
    self._betting, self._rules = rules, rules._replace(bets=rules.streets)  # as given, with bets of any size
    self._bets = _bets_of(options, rules.bets, streets)
    for number, street in enumerate(sorted(self._values)):
      alone = self._bets[number : number + 1] or self._bets[-1:]
      check_streets(sizes_text(alone), cards.BOARD_SIZES[street])
    self.blueprint = WrappedPolicy(game, blueprint, Translation(options.mapping))
    self._gadget = gadget_of(options.gadget)
    self._safe = self._gadget.keeps_promises
    searches = agent_searches(options.preset, options.iterations)
    more = {"gadget": options.gadget, "tremble": options.tremble, "dtype": DTYPE}
    self._methods = [SearchSettings(**{**settings, **more}) for settings in searches.values()]  # by street
    self._known, self._trees = Recent(KEPT), Recent[Hashable, tuple[Game, Subgames]](TREES)

  def _by_street(self, game: pyspiel.Game, given: Any) -> dict[int, StreetValues]:
    """The value functions by the street that each ends; ValueError for others than `values` may be."""
    every = given if isinstance(given, tuple | list) else [given] if given is not None else []
    sizes = [one.cards if isinstance(one, StreetValues) else 0 for one in every]
    if sizes not in ([], [cards.BOARD_SIZES[TURN]], [*cards.BOARD_SIZES[FLOP : TURN + 1]]):
      raise ValueError(f"values must be of turns, or of flops and then of turns; got {given!r}.")
    if any(one.deck != self._deck for one in every):
      raise ValueError(f"values must be for the deck of {game}, got {given!r}.")
    return dict(zip(range(TURN - len(every), TURN), every, strict=True))

  def action_probabilities(self, state: State, player_id: int | None = None) -> dict[int, float]:
    """The probability of every action that may be played at a state of a player's turn."""
    player = state.current_player() if player_id is None else player_id
    check_turn(state, player)
    if (last := self._last(state)) is None:
      probabilities = self.blueprint.action_probabilities(state, player)
    else:
      h = int(set_numbers(np.array(state.hole(player))))
      odds = self._searched(state.public_state, *last)
      probabilities = {action: float(chances[h]) for action, chances in odds.items()}
    return {action: chance for action, chance in probabilities.items() if chance}

  def for_hands_at(self, state: State) -> dict[int, np.ndarray]:
    """See `policy.for_hands`."""
    last = self._last(state)
    return self.blueprint.for_hands_at(state) if last is None else self._searched(state.public_state, *last)

  def _last(self, state: State) -> tuple[HandSearch, int] | None:
    """The search of the player to move, and its line at a state; None where the blueprint plays."""
    hand = PublicHand.of(state)
    return self._on_path(hand, state.current_player()) if hand.street >= self._first else None

  def forget(self) -> None:
    """Forget the last searches, which take up memory."""
    self._known.clear()
    self._trees.clear()

  def ranges(self, state: State) -> np.ndarray:
    """float64[2, 1326]: the weights of both players' hands (`cards.ALL_HANDS`) when the street began.

    They are as an opponent who knows the policy would compute them. ValueError before the first searches.
    """
    hand = PublicHand.of(state)
    if hand.street < self._first:
      raise ValueError(f"There are ranges from the first searched street on, not at {state}.")
    return self._both(hand.until(hand.on_street(self._rules, hand.street)[0], hand.street))

  def _on_path(self, hand: PublicHand, player: int) -> tuple[HandSearch, int]:
    """The last of a player's searches on the way to a place, and its line there."""
    last: tuple[HandSearch, int] | None = None
    for street in range(self._first, hand.street + 1):
      start, chips = hand.on_street(self._rules, street)
      search = self._search(hand.until(start, street), player, last)
      line = search.root
      for k, n in enumerate(chips, 1):
        if (after := search.after(line, n)) is None:
          search = self._search(hand.until(start + k, street), player, (search, line))
          after = search.root
        line = after
      last = search, line
    assert last is not None
    return last

  def _before(self, hand: PublicHand, player: int) -> tuple[HandSearch, int] | None:
    """The search before the one that begins at a place, and its last line; None for the first one."""
    start, chips = hand.on_street(self._rules, hand.street)
    if not chips and hand.street == self._first:
      return None
    # Also after a bet that the search before lacks, a search begins at the decision before it.
    return self._on_path(hand.until(start + max(len(chips) - 1, 0), hand.street - (not chips)), player)

  def _planned(self, hand: PublicHand) -> HandSearch:
    """The blueprint from the first decision of a street on, as a search of the tree to be searched."""
    *_, (start, _) = self._moves(hand)
    return self._empty(hand, self._bets).following(self.blueprint, start)

  def _free(self, board: cards.Board) -> np.ndarray:
    """bool[1326]: the hands of the deck that hold no card of the board."""
    return cards.unblocked({*cards.WHOLE_DECK} - {*self._deck} | {*board})

  def _moves(self, hand: PublicHand) -> Iterator[tuple[State, int | None]]:
    """The state, with any hands, before each move until a street, and the action; then the last state."""
    state, place = self.game.new_initial_state(), self._deck.index
    for card in [card for card in self._deck if card not in hand.board][: 2 * cards.HAND_SIZE]:
      state.apply_action(place(card))
    came = iter(hand.board)
    for _, chips in hand.moves(self._rules, hand.street):
      while state.is_chance_node():
        state.apply_action(place(next(came)))
      action = self._betting.action(state.public_state, chips)
      assert action is not None
      yield state, action
      state.apply_action(action)
    for card in came:
      state.apply_action(place(card))
    yield state, None

  def _ranges(self, hand: PublicHand) -> np.ndarray:
    """float64[2, 1326]: both players' ranges when the first searched street begins, by the blueprint."""
    weights = np.ones((2, NUM_HANDS))
    weights[:, ~self._free(hand.board[: min(cards.STREETS)])] = 0
    for state, action in self._moves(hand):
      if action is not None:
        odds, player = self.blueprint.for_hands_at(state), state.current_player()
        played = odds.get(action, np.zeros(NUM_HANDS))
        weights[player] = reweighted(weights[player], played, 0 if self._safe else len(odds))
    return weights

  def _range(self, hand: PublicHand, player: int, last: tuple[HandSearch, int] | None) -> np.ndarray:
    """float64[1326]: a player's range where a search begins, by `last`, the player's own search before.

    A move that a search never makes changes nothing.
    """
    if last is None:
      weights = self._known.once(("ranges", hand), lambda: self._ranges(hand))[player]
    else:
      weights = last[0].range_at(last[1], player, trembling=not self._safe)
      *_, (state, chips) = hand.moves(self._betting, hand.street + 1)
      if state.street == hand.street and state.player == player:  # the last search ends before this move
        odds = self._searched(state, *last)
        action = self._betting.action(state, chips)
        assert action is not None
        played = odds.get(action, np.zeros(NUM_HANDS))
        weights = reweighted(weights, played, 0 if self._safe else len(odds))
    free = self._free(hand.board)
    return weights * free if (weights * free).any() else free.astype(float)

  def _searched(self, state: betting.BettingState, search: HandSearch, line: int) -> dict[int, np.ndarray]:
    """The moves of the game that the player's search finds at a line, for all hands."""
    lines = search.betting
    player = int(lines.player[line])
    hands = search.hands(player)
    probabilities: dict[int, np.ndarray] = {}
    for child, chances in zip(lines.children(line), search.row(line), strict=True):
      action = int(lines.action[child])
      if action not in (betting.FOLD, betting.CALL):
        action = self._betting.nearest_bet(state, search.spent(child, player))
      probabilities.setdefault(action, np.zeros(NUM_HANDS))[hands] += chances
    return probabilities

  def _search(self, hand: PublicHand, player: int, last: tuple[HandSearch, int] | None) -> HandSearch:
    """A player's search from a place on; `last` is the one before, and its line there."""
    player *= self._safe  # else the searches of both are the same
    return self._known.once((hand, player), lambda: self._resolved(hand, player, last))

  def _both(self, hand: PublicHand) -> np.ndarray:
    """float64[2, 1326]: both players' ranges at the start of a street."""
    return np.array([self._range(hand, player, self._before(hand, player)) for player in (0, 1)])

  def _resolved(self, hand: PublicHand, player: int, last: tuple[HandSearch, int] | None) -> HandSearch:
    """The search from a street's first decision, or from a bet on that the last search lacks."""
    bets, (_, chips) = self._bets, hand.on_street(self._rules, hand.street)
    if chips:
      bets = add_sizes(bets, hand.street - self._first, hand.sizes(self._rules, hand.street))
    search = self._empty(hand, bets, chips)
    subgame, opponent = search.subgames.subgame_at(search.place(search.root)), 1 - player
    safe = self._safe and (last is not None or hand.street > BEFORE_FLOP)  # else the hand begins
    gadget = self._gadget if safe else unsafe
    promising = None
    if self._safe:
      # The blueprint promises before the first search, to both players.
      promising = last or (self._known.once(("planned", hand), lambda: self._planned(hand)), 0)
    known = False  # whether there is a strategy to begin with, whose best responses are promised
    if promising is not None and (known := promising[0].goes_to(hand.board)):
      came = hand.board[len(promising[0].game.board) :]
      search.continuing(promising[0], promising[1] if came else 0, came)  # on a street both begin there
    # The opponent's range is by this player's searches, too, unless the search answers or values it.
    theirs = last
    if self._gadget.expects or (promising is not None and isinstance(promising[0], StreetSearch)):
      theirs = self._before(hand, opponent)
    for i, before in ((player, last), (opponent, theirs)):
      search.ranges[i] = self._range(hand, i, before)
    first, second = ((r / r.max())[search.hands(i)][None] for i, r in enumerate(search.ranges))
    promises = None
    if safe and promising is not None:
      earlier, line = promising
      key: Hashable = hand
      if chips:  # after each bet at a decision the same is promised
        key = "bet", hand.until(len(hand.chips) - 1, hand.street)
      worths = self._known.once(
        ("promised", key, player), lambda: earlier.promised(line, hand.board, opponent, search.ranges)
      )
      promises = worths[search.hands(opponent)] * subgame.prior.weight(opponent, (first, second)[player])
    begins = Search(player, np.inf, (search.tables[0], search.tables[1]), (), {}, 0.0)
    before = None
    if known and not chips:  # after a bet, the beginning is a guess
      before = promises
      if before is None:
        before = responses(subgame, player, (first, second), begins.tables, DTYPE)
    begun = (BEGUN_AFTER_BET if chips else BEGUN) if known else 0
    problem = Problem(begins, subgame, (first, second), promises, None, np.inf, (), begun, before)
    settings, device = self._methods[hand.street], self._device(lambda: search.size)
    with self.searching(progress=False):
      solver = SubgameSolver(search.subgames, settings, self.options.seconds, device, FIRST)
      search.tables = [*solver.solve(problem, gadget).tables]
    return search

  def _empty(self, hand: PublicHand, bets: BetSizes, moves: Sequence[int] = ()) -> HandSearch:
    """A search of the rest of a hand from the first decision of the street on, begun after some moves.

    With values beyond, it ends with the street.
    """
    rest = bets[hand.street - self._first :] or bets[-1:]
    values = self._values.get(hand.street)
    text = _game_text(rest) if values is None else f"{_game_text(rest[:1])} / x"
    if hand.street == BEFORE_FLOP:
      name, parameters = HOLDEM, {**self.game.get_parameters(), "bets": text}
    else:
      start, _ = hand.on_street(self._rules, hand.street)
      name, parameters = (
        "holdem_subgame",
        {
          "board": cards.card_names(hand.board),
          "pot": 2 * hand.chips[start - 1],  # of each player, after the moves that end the street before
          "stack": self._rules.stack,
          "bets": text,
          "deck": self.game.get_parameters()["deck"],
        },
      )

    def compiled() -> tuple[Game, Subgames]:
      game = pyspiel.load_game(name, parameters)
      if values is not None:
        return game, street_of(game, values)
      with on(self._device(lambda: _actions(game))):
        return game, Subgames.of(game)

    made = self._trees.once((name, *parameters.items()), compiled)
    return HandSearch(*made, moves) if values is None else StreetSearch(*made, values, moves)

  def _device(self, actions: Callable[[], int]) -> Device | None:
    """The device of a search with this number of actions of all infostates."""
    return cfr.place(self.options.device, actions).device


def _bets_of(
  options: HoldemPolicyOptions, allowed: Sequence[betting.Numbered] | int, streets: int
) -> BetSizes:
  """The bet sizes of searches on the last streets: those given, or the game's nearest to a preset's.

  A size that the game lacks could only be played as another, for which no strategy was computed: ValueError.
  """
  text = agent_bets(options.preset, streets) if options.bets is None else options.bets
  sizes = parse_sizes(text)
  betting.numbered(sizes, streets, text)  # raises for more streets
  if any(first != second for first, second in sizes):
    raise ValueError(f"bets={text!r}: give sizes for both players alike, such as '1 a / 0.5 1 a'.")
  if isinstance(allowed, int):  # of bets of any size
    return sizes
  of_game = betting.sizes_of(allowed[-streets:])
  searched, lacking = nearest_sizes(sizes, of_game)
  if options.bets is not None and lacking:
    sizes_lacking = ", ".join(map(size_text, lacking))
    raise ValueError(
      f"bets={text!r}: the game lacks {sizes_lacking} there; give sizes of {sizes_text(of_game)}."
    )
  return searched


def _actions(game: pyspiel.Game) -> int:
  """The number of actions of all infostates of a `holdem_subgame`."""
  form = form_of(game)
  assert form is not None
  return solved_actions(index_of(game, form), folded=False)


def _game_text(bets: BetSizes) -> str:
  return sizes_text(bets).replace(",", "")

"""An agent for the whole of heads-up no-limit hold'em: a blueprint, and searches from the turn on.

The way of Libratus (Brown and Sandholm 2018) in its simplest form. Before the turn the agent plays a
blueprint for few bet sizes, other bets being understood as sizes around them (`policy.TranslatedPolicy`). On
the turn and on the river it solves the rest of the hand from the street's first decision on, a
`holdem_subgame`, with the bets that were made added to its sizes. Both players' ranges come by
Bayes' rule from the strategies that were played or, for the opponent, predicted: those of the blueprint, then
those of the search on the turn. The search is unsafe: the opponent's range is believed.

All this follows from the public part of a hand and is the same for all cards, so it is a policy, whose
probabilities are known for all hands at once; the seed chooses among actions alone.
"""

import collections
import functools
import itertools
import re
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_count, check_integer, check_player, check_seconds
from ps_cfr_spiel.poker import betting, cards, range_text
from ps_cfr_spiel.policy import TranslatedPolicy, check_turn
from ps_cfr_spiel.solvers.bots import SolvingBot
from ps_cfr_spiel.solvers.ps_cfr import PSCFRSolver

LEAST = 1e-6  # weight of a hand in a range, over the largest
TREMBLE = 0.01  # share of uniform play in the strategies by which ranges are updated
FIRST_SEARCH = 2  # the street: flop 1, turn 2, river 3
KEPT = 8  # ranges and searches
CHUNK = 5  # iterations between looks at the clock
BLUEPRINTS = ("holdem", "universal_poker")
NUM_HANDS = len(cards.ALL_HANDS)


class HoldemPolicy(openspiel_policy.Policy):
  """The strategy of `HoldemAgent`, for both players."""

  def __init__(
    self,
    game: pyspiel.Game,
    blueprint: openspiel_policy.Policy,
    bets: str = "1 a / 1 a",
    iterations: int = 100,
    limit: float | None = None,
    mapping: str = "pseudo-harmonic",
  ):
    """Arguments and errors as of `HoldemAgent`."""
    super().__init__(game, [0, 1])
    given = game.get_parameters()
    if game.get_type().short_name != BLUEPRINTS[0] or given["deck"] != "13x4":
      raise ValueError(f"HoldemAgent plays holdem with a whole deck, got {game}.")
    theirs = getattr(blueprint, "game", None)
    if theirs is None or theirs.get_type().short_name not in BLUEPRINTS:
      raise ValueError(f"blueprint must be a policy of {' or '.join(BLUEPRINTS)}, got {blueprint!r}.")
    if len(theirs.new_initial_state().legal_actions()) != len(cards.WHOLE_DECK):
      raise ValueError(f"blueprint must be a policy for a whole deck, got one of {theirs}.")
    streets = betting.parse_bets(bets, 2)
    if isinstance(streets, betting.DrawnLines) or "|" in bets:
      raise ValueError(f"bets={bets!r}: give sizes for both players alike, such as '1 a / 0.5 1 a'.")
    self.blueprint, self._bets = TranslatedPolicy(game, blueprint, mapping), bets
    self._iterations = check_count("iterations", iterations, 1)
    self._limit = None if limit is None else check_seconds("limit", limit)
    rules: betting.Betting = game.betting  # pyright: ignore[reportAttributeAccessIssue]
    self._betting, self._rules = rules, rules._replace(bets=rules.streets)  # as given, with bets of any size
    self._known: collections.OrderedDict[Hashable, Any] = collections.OrderedDict()

  def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
    """The probability of every action that may be played at a state of a player's turn."""
    player = state.current_player() if player_id is None else player_id
    check_turn(state, player)
    if state.public_state.street < FIRST_SEARCH:
      found = self.blueprint.action_probabilities(state, player)
    else:
      h = int(cards.hand_numbers(np.array(sorted(state.hole(player), reverse=True))))
      found = {action: float(chances[h]) for action, chances in self.for_hands_at(state).items()}
    return {action: chance for action, chance in found.items() if chance}

  def for_hands_at(self, state: Any) -> dict[int, np.ndarray]:
    """See `policy.for_hands`."""
    street = state.public_state.street
    return self._searched(state) if street >= FIRST_SEARCH else self.blueprint.for_hands_at(state)

  def restart(self) -> None:
    """Forget searches, which take up memory."""
    self._known.clear()

  def ranges(self, state: Any) -> np.ndarray:
    """float64[2, 1326]: the weights of both players' hands (`cards.ALL_HANDS`) when a turn or river began.

    They are as an opponent who knows the policy would compute them. ValueError before the turn.
    """
    hand = View.of(state)
    if hand.street < FIRST_SEARCH:
      raise ValueError(f"There are ranges from the turn on, not at {state}.")
    return self._ranges_at(hand, hand.street)

  def _ranges(self, hand: "View") -> np.ndarray:
    """float64[2, 1326]: both players' ranges when the turn begins, by the blueprint."""
    weights = np.ones((2, NUM_HANDS))
    weights[:, ~cards.unblocked(hand.board[: min(cards.STREETS)])] = 0
    state, came = self.game.new_initial_state(), iter(hand.board)
    for card in [card for card in cards.WHOLE_DECK if card not in hand.board][: 2 * cards.HAND_SIZE]:
      state.apply_action(card)  # any
    for before, chips in hand.moves(self._rules, FIRST_SEARCH):
      while state.is_chance_node():
        state.apply_action(next(came))
      odds = self.blueprint.for_hands_at(state)
      action = self._betting.action(before, chips)
      assert action is not None
      weights[before.player] *= _trembling(odds.get(action, 0.0), len(odds))
      state.apply_action(action)
    return weights

  def _searched(self, state: Any) -> dict[int, np.ndarray]:
    """The moves that a search from the beginning of the street finds, for all hands."""
    hand = View.of(state)
    search, node = self._search(hand, hand.street)
    public = search.game.public_states[node]
    hands = cards.hand_numbers(search.game.ranges[public.player].cards)
    found: dict[int, np.ndarray] = {}
    for (action, child), chances in zip(public.children.items(), search.row(node), strict=True):
      if action not in (betting.FOLD, betting.CALL):
        chips = search.game.public_states[child].spent[public.player]
        action = self._betting.nearest_bet(state.public_state, chips)
      found.setdefault(action, np.zeros(NUM_HANDS))[hands] += chances
    return found

  def _search(self, hand: "View", street: int) -> "tuple[Search, int]":
    """The search on a street, in which all moves made there are possible, and the place reached."""
    start, chips = hand.on_street(self._rules, street)
    bets = self._bets
    for _ in range(2):
      solve = functools.partial(self._solve, hand, street, bets)
      search = self._once(("search", hand.until(start, street), bets), solve)
      nodes = search.walk(chips)
      if len(nodes) == len(chips) + 1:
        return search, nodes[-1]
      bets = _with_bets(self._bets, street - FIRST_SEARCH, hand.sizes(self._rules, street))
    raise AssertionError(f"{hand} left the tree of {bets}")

  def _solve(self, hand: "View", street: int, bets: str) -> "Search":
    start, _ = hand.on_street(self._rules, street)
    spent = hand.chips[start - 1]  # of each player, after the moves that end the street before
    board = hand.board[: cards.BOARD_SIZES[street]]
    ranges = self._ranges_at(hand, street)
    ranges = np.maximum(ranges / ranges.max(1, keepdims=True), LEAST)
    ranges[:, ~cards.unblocked(board)] = 0
    parameters = {
      "board": cards.card_names(board),
      "pot": 2 * spent,
      "stack": self._rules.stack,
      "bets": _bets_from(bets, street),
      "ranges": ";".join(map(range_text, ranges)),
    }
    solver = PSCFRSolver(pyspiel.load_game("holdem_subgame", parameters))
    began = time.perf_counter()
    while solver.iteration < self._iterations:
      solver.run(min(CHUNK, self._iterations - solver.iteration))
      if self._limit is not None and time.perf_counter() - began > self._limit:
        break
    return Search(solver.game, solver.average_policy())

  def _ranges_at(self, hand: "View", street: int) -> np.ndarray:
    if street == FIRST_SEARCH:
      start, _ = hand.on_street(self._rules, street)
      return np.array(self._once(("ranges", hand.until(start, street)), lambda: self._ranges(hand)))
    ranges = self._ranges_at(hand, street - 1)
    _, chips = hand.on_street(self._rules, street - 1)
    search, _ = self._search(hand, street - 1)
    nodes = search.walk(chips)
    for here, after in itertools.pairwise(nodes):
      public = search.game.public_states[here]
      row = search.row(here)
      played = row[list(public.children.values()).index(after)]
      held = search.game.ranges[public.player].cards
      ranges[public.player, cards.hand_numbers(held)] *= _trembling(played, len(row))
    return ranges

  def _once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
    if key not in self._known:
      self._known[key] = compute()
      while len(self._known) > KEPT:
        self._known.popitem(last=False)
    self._known.move_to_end(key)
    return self._known[key]


class HoldemAgent(SolvingBot):
  """See the module. It never looks at the opponent's cards in a state."""

  policy: HoldemPolicy

  def __init__(
    self,
    game: pyspiel.Game,
    blueprint: openspiel_policy.Policy,
    player: int,
    bets: str = "1 a / 1 a",
    iterations: int = 100,
    limit: float | None = None,
    mapping: str = "pseudo-harmonic",
    seed: int = 0,
  ):
    """An agent for a seat; ValueError for a wrong argument.

    Args:
      game: `holdem` with a whole deck, with any bets.
      blueprint: an OpenSpiel policy of `holdem` or `universal_poker` with the same blinds, for few bet sizes.
      player: 0 or 1.
      bets: sizes of the searches on turn and river, as in `holdem_subgame`, no "|" and no lines.
      iterations: of each search.
      limit: most seconds of a search; the iterations then depend on the machine, and with them the moves.
      mapping: of foreign bets before the turn, see `policy.TranslatedPolicy`.
      seed: of the choice among actions.
    """
    seed = check_integer("seed", seed, 0)
    super().__init__(
      check_player(player), seed, HoldemPolicy(game, blueprint, bets, iterations, limit, mapping)
    )

  def restart(self) -> None:
    self.policy.restart()


class View(NamedTuple):
  """All that is public in a hand."""

  board: tuple[int, ...]  #: the public cards; those of a street ascending
  chips: tuple[int, ...]  #: see `BettingState.invested`
  street: int  #: 0 before the flop

  @classmethod
  def of(cls, state: Any) -> "View":
    """That of a state of `holdem`."""
    here = state.public_state
    board = [card for street in state.board_by_street() for card in street]
    return cls(tuple(board), here.invested, here.street)

  def moves(self, rules: betting.Betting, before: int) -> list[tuple[betting.BettingState, int]]:
    """The moves before some street: the state, and the mover's chips afterwards."""
    found, here = [], rules.root
    for chips in self.chips:
      while here is not None and here.player == betting.CHANCE:
        here = rules.after(here, betting.ANY_CARD)
      assert here is not None
      if here.street >= before:
        break
      found.append((here, chips))
      action = rules.action(here, chips)
      assert action is not None
      here = rules.after(here, action)
    return found

  def on_street(self, rules: betting.Betting, street: int) -> tuple[int, tuple[int, ...]]:
    """The number of moves before a street, and the chips of the moves on it."""
    start, end = (len(self.moves(rules, s)) for s in (street, street + 1))
    return start, self.chips[start:end]

  def sizes(self, rules: betting.Betting, street: int) -> list[tuple[int, float]]:
    """The bets made on a street: how many came before each on it, and its size in pots."""
    made = [(here, n) for here, n in self.moves(rules, street + 1) if here.street == street]
    return [
      (here.num_bets, (n - max(here.spent)) / (2 * max(here.spent)))
      for here, n in made
      if n > max(here.spent)
    ]

  def until(self, moves: int, street: int) -> "View":
    """The same when a street began."""
    return self._replace(
      chips=self.chips[:moves], board=self.board[: cards.BOARD_SIZES[street]], street=street
    )


class Search(NamedTuple):
  """A solved rest of a hand: the subgame and its strategies."""

  game: Any
  policy: Any

  def walk(self, chips: Sequence[int]) -> list[int]:
    """The public states on the way, the root first; it ends early where a move is missing."""
    nodes = [0]
    for n in chips:
      here = self.game.public_states[nodes[-1]]
      after = [c for a, c in here.children.items() if self.game.public_states[c].spent[here.player] == n]
      if here.player < 0 or not after:
        break
      nodes += after[:1]
    return nodes

  def row(self, node: int) -> np.ndarray:
    """float64[A, H]: the strategy of the player to act."""
    public = self.game.public_states[node]
    name = self.game.infostate_string(public.player, self.game.ranges[public.player].names[0], public.line)
    return self.policy.table(self.policy.labels.find(public.player, name)[0])


def _trembling(chance: Any, actions: int) -> Any:
  return (1 - TREMBLE) * chance + TREMBLE / actions


def _bets_from(bets: str, street: int) -> str:
  """The sizes of searches on a street and later."""
  texts = [text.strip() for text in bets.split("/")]
  texts = texts[street - FIRST_SEARCH :] or texts[-1:]
  return " / ".join(f"{text};{text}" if re.fullmatch(r"[0-9.]+", text) else text for text in texts)


def _with_bets(bets: str, street: int, made: Sequence[tuple[int, float]]) -> str:
  """Sizes of searches with bets added, each at its place in the order of the street's bets."""
  texts = bets.split("/")
  texts += texts[-1:] * (street + 1 - len(texts))
  groups = ["1 a" if group.strip() == "fcpa" else group.strip() for group in texts[street].split(";")]
  groups += groups[-1:] * (max(number for number, _ in made) + 2 - len(groups))
  for number, size in made:
    groups[number] = f"{groups[number].removeprefix('x')} {size:.12f}".strip()
  texts[street] = ";".join(groups)
  return "/".join(texts)

"""The searches of a local best response in sampled hands of large games; see `local_best_response`.

At each decision the searcher knows the range
of the opponent, by the policy and Bayes' rule. The worth of a call is the mean win if both check and call
from then on. A bet wins the pot if the opponent folds; else both check and call after it. The best action is
played. In place of the win of a hand the searcher is credited with this mean win at the start and with the
change of it by each decision, the opponent's in expectation over the range. That has the expectation of the
win, and a smaller variance (AIVAT, Burch et al. 2018).

A deal is of public cards, some for each street: the opponent has a range, and the searcher many hands, each
with its own decisions. At each decision all are credited, and all ways are followed whose stake times
probability is at least `LEAST` stakes of the start; of the others each with a chance in proportion to that,
and with weights that make up for it (Russian roulette). So the ways of one deal share its luck, and large
pots are never left out.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_count, check_integer
from ps_cfr_spiel.cards.notation import split_streets
from ps_cfr_spiel.cards.poker import CardDeal, CardGame, Deck, betting, card_sets, cards, check_unraked
from ps_cfr_spiel.evaluation.local_search import Actions
from ps_cfr_spiel.hierarchical import DEAD, by_lines, card_game, hand_strengths, has_clusters
from ps_cfr_spiel.policy import for_hands
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.tree import CHANCE

# Ways in which cards may come, all of which are looked at; of more than these some are drawn.
MOST_BOARDS, SOME_BOARDS = 1_500, 300
TOGETHER = 32  # hands of the searcher in a deal that share the answers of the opponent's policy
# Ways in which the cards of each street come in a deal; more cost more than they help.
BOARDS = 1
LEAST = 1.0  # a way is always followed if its stake times its probability is this many stakes of the start
FCPA = "fcpa"  # fold, call, pot, all-in
ALL_SIZES = " ".join(f"{k / 10}" for k in range(1, 56)) + " a"  # of "56bets"

# From a line and a board to [A, H], as of `hierarchical.by_lines`.
Answers = Callable[[int, tuple[int, ...]], np.ndarray]
Place = Any  # in the betting: a line of `_Table`, or a state of `_Holdem`


def sampled_wins(
  game: pyspiel.Game,
  policy: openspiel_policy.Policy | Answers,
  actions: Actions,
  hands: int,
  seed: int,
  progress: bool | None,
) -> np.ndarray:
  """float64[hands], the wins of a local best response in each deal, a mean over hands; seats alternate.

  Arguments as of `local_best_response`. Each deal has draws of its own, so that all policies meet the same
  boards and hands, and differences between them are less noisy than each.
  """
  policy = by_lines(policy) if has_clusters(policy) else policy
  by_states = isinstance(policy, openspiel_policy.Policy)
  if not by_states and actions is not None:
    raise ValueError(f"actions={actions!r} needs an OpenSpiel policy of holdem; others are met with all.")
  if actions is not None and not isinstance(actions, str):
    raise ValueError(f"actions in sampled hands are bets of each street, such as 'c/fcpa', got {actions!r}.")
  table: _Table = _Lines(card_game(game), policy) if not by_states else _Holdem(game, policy, actions)
  if isinstance(table, _Lines) and not table.deal.all_alike:
    raise ValueError(f"{game} deals hands of ranges; expected a game that deals all hands alike.")
  seed = check_integer("seed", seed, 0)
  bar = progress_bar(progress, iterable=range(check_count("hands", hands, 2)), unit="hand", desc="Responding")
  return np.array([_play(table, number % 2, np.random.default_rng([seed, number])) for number in bar])


class _Table(Protocol):
  """A game and the opponent's policy, as a searcher needs them."""

  hands: np.ndarray  #: int[H, n], all hands
  deck: Deck  #: the cards
  came: tuple[int, ...]  #: for each street the number of public cards

  def start(self, dealt: list[int]) -> Place:
    """The start of betting; `dealt` are some cards for the hands, which do not matter."""
    ...

  def actor(self, place: Place) -> int:
    """The player to move; negative for none."""
    ...

  def moves(self, place: Place) -> list[tuple[int, Place]]:
    """The actions that the searcher may take, and the places after them."""
    ...

  def after(self, place: Place, action: int) -> Place:
    """The place after an action of the opponent."""
    ...

  def dealt(self, place: Place, board: Sequence[int]) -> Place:
    """The place after the public cards of a street."""
    ...

  def answers(self, place: Place, board: tuple[int, ...]) -> Mapping[int, np.ndarray]:
    """The opponent's policy: for each action float64[H]."""
    ...

  def folded(self, place: Place) -> float | None:
    """The win of player 0 after a fold; None elsewhere."""
    ...

  def down(self, place: Place) -> float:
    """The winner's gain if both check and call from here on."""
    ...

  def closed(self, place: Place) -> bool:
    """Whether no player acts any more."""
    ...


class _Lines:
  """A game of dealt cards; see `_Table`."""

  def __init__(self, game: CardGame[CardDeal], answers: Answers):
    check_unraked(game.game, "responses in sampled hands")
    self.deal, self._answers = game.deal, answers
    self.hands, self.deck = self.deal.hands, self.deal.deck
    self.came = tuple(itertools.accumulate(self.deal.public))
    self._lines = lines = game.betting
    self._down = lines.showdown_payoff.copy()
    self._closed = lines.player < 0
    for line in reversed(range(len(lines))):
      if after := dict(self.moves(line)):
        self._down[line] = self._down[after[betting.CALL if lines.player[line] >= 0 else -1]]
        self._closed[line] &= self._closed[list(after.values())].all()

  def start(self, dealt: list[int]) -> Place:
    del dealt
    return 0

  def actor(self, place: Place) -> int:
    return int(self._lines.player[place])

  def moves(self, place: Place) -> list[tuple[int, Place]]:
    return list(zip(self._lines.legal_actions(place), self._lines.children(place), strict=True))

  def after(self, place: Place, action: int) -> Place:
    return self._lines.child(place, action)

  def dealt(self, place: Place, board: Sequence[int]) -> Place:
    del board
    return self._lines.children(place)[0]

  def answers(self, place: Place, board: tuple[int, ...]) -> Mapping[int, np.ndarray]:
    return dict(zip(self._lines.legal_actions(place), self._answers(place, board), strict=True))

  def folded(self, place: Place) -> float | None:
    ends = not self._lines.moves[place] and self._lines.showdown_payoff[place] == 0
    return float(self._lines.fold_payoff[place, 0]) if ends else None

  def down(self, place: Place) -> float:
    return float(self._down[place])

  def closed(self, place: Place) -> bool:
    return bool(self._closed[place])


class _Holdem:
  """The whole of hold'em, whose places are its states; see `_Table`."""

  hands, deck, came = cards.ALL_HANDS, Deck.of(cards.WHOLE_DECK), cards.BOARD_SIZES

  def __init__(self, game: pyspiel.Game, policy: openspiel_policy.Policy, actions: str | None):
    if game.get_type().short_name != "holdem" or game.get_parameters()["deck"] != "13x4":
      raise ValueError(f"The local best response plays holdem with a whole deck, got {game}.")
    check_unraked(game, "responses in sampled hands")
    streets = [text.strip() for text in split_streets(FCPA if actions is None else actions)]
    texts = ["x" if text in ("c", "fc") else ALL_SIZES if text == "56bets" else text for text in streets]
    bets = betting.parse_bets(" / ".join(texts), len(cards.BOARD_SIZES))
    self._folds = [text != "c" for text in streets]
    self._game, self._policy, self._sizes = game, policy, game.rules._replace(bets=bets)

  def start(self, dealt: list[int]) -> Place:
    state = self._game.new_initial_state()
    for card in dealt:
      state.apply_action(card)
    return state

  def actor(self, place: Place) -> int:
    return place.current_player()

  def moves(self, place: Place) -> list[tuple[int, Place]]:
    rules, public, actions = self._game.rules, place.public_state, dict[int, None]()
    for action, chips in self._sizes.moves(public).items():
      if action > betting.CALL:
        actions[rules.nearest_bet(public, chips)] = None
      elif action == betting.CALL or self._folds[min(public.street, len(self._folds) - 1)]:
        actions[action] = None
    return [(action, place.child(action)) for action in actions]

  def after(self, place: Place, action: int) -> Place:
    return place.child(action)

  def dealt(self, place: Place, board: Sequence[int]) -> Place:
    state = place.clone()
    for card in board:
      state.apply_action(card)
    return state

  def answers(self, place: Place, board: tuple[int, ...]) -> Mapping[int, np.ndarray]:
    del board
    return for_hands(self._policy, place)

  def folded(self, place: Place) -> float | None:
    end = place.public_state
    return end.fold_payoff[0] if place.is_terminal() and not end.showdown_payoff else None

  def down(self, place: Place) -> float:
    return float(max(place.public_state.spent))

  def closed(self, place: Place) -> bool:
    return place.current_player() < 0 and (place.is_terminal() or self.down(place) == self._game.rules.stack)


class _Way(NamedTuple):
  """A place that play has come to in a deal."""

  place: Place
  reach: np.ndarray  # the opponent's, float64[H]
  weights: np.ndarray  # of the searcher's hands, float64[K]


Boards = list[tuple[list[int], "Boards"]]  # the cards of a street, and those of the next ones behind them


def _play(table: _Table, seat: int, generator: np.random.Generator) -> float:
  """The credit of the searcher in one deal, a mean over its hands; see the module."""
  boards = _boards(table, (), 1, generator)
  used = {card for street in _streets(boards) for card in street}
  left = [card for card in generator.permutation(table.deck.size).tolist() if card not in used]
  search = _Search(table, seat, generator.permutation(len(table.hands))[:TOGETHER], generator)
  search.look(())
  count = len(search.own_hands)
  start = _Way(
    table.start(left[: 2 * table.hands.shape[1]]), np.ones(len(table.hands)), np.full(count, 1 / count)
  )
  total = start.weights @ search.worth(start.place, start.reach)
  return float(total + _street(search, [start], (), boards, LEAST * table.down(start.place)))


def _boards(table: _Table, board: tuple[int, ...], street: int, generator: np.random.Generator) -> Boards:
  """Cards that come from a street on, after those of a board."""
  if street == len(table.came):
    return []
  rest = np.setdiff1d(np.arange(table.deck.size), board)
  sets = rest[card_sets(len(rest), table.came[street] - table.came[street - 1])]
  drawn = generator.permutation(len(sets))[:BOARDS]
  return [(dealt, _boards(table, (*board, *dealt), street + 1, generator)) for dealt in sets[drawn].tolist()]


def _streets(boards: Boards) -> Iterator[list[int]]:
  """The cards of all streets."""
  for dealt, later in boards:
    yield dealt
    yield from _streets(later)


def _street(
  search: "_Search", ways: list[_Way], board: tuple[int, ...], boards: Boards, least: float
) -> float:
  """The credit from a street's first decisions on; `least` is `LEAST`, in the game's chips."""
  table, total, leaving = search.table, 0.0, list[_Way]()
  while ways:
    way = place, reach, weights = ways.pop()
    if table.actor(place) == CHANCE:
      leaving.append(way)
      continue
    total -= weights @ search.worth(place, reach)
    for after, left, shares in search.ways(place, board, reach):
      if not (mass := float(weights @ shares)):
        continue
      total += weights * shares @ search.worth(after, left)
      stake = 0.0 if table.closed(after) else mass * table.down(after)
      chance = 1.0 if stake >= least else stake / least
      if stake and search.generator.random() < chance:
        ways.append(_Way(after, left, weights * shares / chance))
  for dealt, later in boards if leaving else ():
    came = [search.dealt(way, board, dealt) for way in leaving]
    search.look((*board, *dealt))
    total += _street(search, came, (*board, *dealt), later, least) / len(boards)
  return float(total)


def _apart(table: _Table, held: np.ndarray | Sequence[int]) -> np.ndarray:
  """float64[H]: 1 for hands without these cards."""
  return (~np.isin(table.hands, held).any(1)).astype(float)


class _Search:
  """The searcher's view of one deal, for K own hands at once; `reach` is the opponent's, float64[H]."""

  def __init__(self, table: _Table, seat: int, own_hands: np.ndarray, generator: np.random.Generator):
    self.table, self.own_hands, self.generator, self._seat = table, own_hands, generator, seat
    self._apart = np.array([_apart(table, table.hands[hand]) for hand in own_hands])

  def look(self, board: tuple[int, ...]) -> None:
    """New public cards: float64[K, H], how often each hand wins against each, less how often it loses.

    The net wins by which hands are credited do not know the draws by which they are played, or the best of
    several actions would seem better than it is.
    """
    self._net_wins, drawn = self._net_wins_on(board)
    self._credit = self._net_wins_on(board)[0] if drawn else self._net_wins

  def share(self, left: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """float64[K]: the probability of a move that leaves some reach."""
    return _over(self._apart @ left, self._apart @ reach)

  def dealt(self, way: _Way, board: tuple[int, ...], cards: Sequence[int]) -> _Way:
    """A way after the public cards of a street, each weighed by its odds over those if no hand were dealt."""
    table, (place, reach, weights) = self.table, way
    size = table.hands.shape[1]
    for came, card in enumerate(cards, len(board)):
      free, left = _apart(table, [card]), table.deck.size - came
      weights = weights * free[self.own_hands] * self.share(reach * free, reach) * left / (left - 2 * size)
      reach = reach * free
    return _Way(table.dealt(place, cards), reach, weights)

  def worth(self, place: Place, reach: np.ndarray) -> np.ndarray:
    """float64[K]: the mean win if both check and call from a place on, by the net wins for credits."""
    return self._worth(place, reach, self._credit)

  def ways(
    self, place: Place, board: tuple[int, ...], reach: np.ndarray
  ) -> list[tuple[Place, np.ndarray, np.ndarray]]:
    """The places after all actions, the opponent's reach there, and float64[K], the shares of own hands."""
    table = self.table
    if table.actor(place) == self._seat:
      return [(after, reach, shares) for after, shares in self._best(place, board, reach)]
    ways = [(table.after(place, a), reach * odds) for a, odds in table.answers(place, board).items()]
    return [(after, left, self.share(left, reach)) for after, left in ways]

  def _best(self, place: Place, board: tuple[int, ...], reach: np.ndarray) -> list[tuple[Place, np.ndarray]]:
    """The places after own actions, and for each float64[K], 1 for the hands whose best action it is."""
    table, places, worths = self.table, list[Place](), list[np.ndarray]()
    for action, after in table.moves(place):
      passive = action == betting.CALL or table.actor(after) != 1 - self._seat
      answers = {} if passive or table.folded(after) is not None else table.answers(after, board)
      kept, worth = reach, 0.0
      if betting.FOLD in answers and table.folded(end := table.after(after, betting.FOLD)) is not None:
        kept = reach * (1 - answers[betting.FOLD])
        worth = (1 - self.share(kept, reach)) * self._worth(end, reach, self._net_wins)
      places.append(after)
      worths.append(worth + self.share(kept, reach) * self._worth(after, kept, self._net_wins))
    best = np.argmax(worths, 0)
    return [(after, (best == k).astype(float)) for k, after in enumerate(places)]

  def _worth(self, place: Place, reach: np.ndarray, net_wins: np.ndarray) -> np.ndarray:
    folded = self.table.folded(place)
    if folded is not None:
      return np.full(len(self.own_hands), folded * (1 - 2 * self._seat))
    return self.table.down(place) * _over(net_wins @ reach, self._apart @ reach)

  def _net_wins_on(self, board: tuple[int, ...]) -> tuple[np.ndarray, bool]:
    """The net wins over all cards that may come, or over some that are drawn, and whether they are."""
    table = self.table
    rest = np.setdiff1d(np.arange(table.deck.size), board)
    left = table.came[-1] - len(board)
    drawn = math.comb(len(rest), left) > MOST_BOARDS
    if drawn:
      more = np.array([self.generator.permutation(rest)[:left] for _ in range(SOME_BOARDS)])
    else:
      more = rest[card_sets(len(rest), left)] if left else rest[:0][None]
    whole = np.concatenate([np.broadcast_to(np.array(board, int), (len(more), len(board))), more], 1)
    ranks = hand_strengths(table.deck, table.hands.shape[1], whole)
    dead = ranks == DEAD  # neither stronger nor weaker than any
    lowest, alive = np.where(dead, -1, ranks), (~dead).astype(np.float32)
    shape = self._apart.shape
    ahead, some, added = np.zeros(shape, np.int32), np.zeros(shape, np.int8), 0
    wins, losses = np.empty((2, *shape), bool)
    for low, high in zip(lowest, ranks, strict=True):
      np.greater(low[self.own_hands, None], high, out=wins)
      np.less(high[self.own_hands, None], low, out=losses)
      some += np.subtract(wins.view(np.int8), losses.view(np.int8), out=wins.view(np.int8))
      added += 1
      if added == np.iinfo(np.int8).max:  # sums in single bytes are quick
        ahead, added = ahead + some, 0
        some[:] = 0
    return self._apart * (ahead + some) / np.maximum(alive[:, self.own_hands].T @ alive, 1), drawn


def _over(some: np.ndarray, whole: np.ndarray) -> np.ndarray:
  return np.divide(some, whole, out=np.zeros_like(some), where=whole > 0)

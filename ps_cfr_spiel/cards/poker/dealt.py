"""Poker games as cards that are dealt and betting that does not depend on them, with public cards to come.

Their histories are never enumerated: the betting is traversed twice with fixed cards, which gives the payoffs
of each line of betting, and the cards give the winner of a showdown.
"""

import functools
import re
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.cards.poker.betting import BettingRules
from ps_cfr_spiel.cards.poker.betting_lines import Betting
from ps_cfr_spiel.cards.poker.card_game import CardGame
from ps_cfr_spiel.cards.poker.cards import STREETS, card_sets, parse_deck
from ps_cfr_spiel.cards.poker.deals import PLAYERS, CardDeal
from ps_cfr_spiel.cards.poker.infostate_names import ADVICE, HoldemNames, StateNames
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.cards.poker.suits import Deck

MAX_LINES = 2_000_000
HOLES = (1, 2)  # cards of a hand
TRIES = 1000


def is_by_name(game: pyspiel.Game) -> bool:
  """True for the game that its string makes, not one of a derived class or another of the same name.

  Facts known of a game by its name hold for such a game alone.
  """
  kind = type(game)
  if kind.__module__.startswith("pyspiel"):  # OpenSpiel's own
    return True
  try:
    return type(pyspiel.load_game(str(game))) is kind
  except pyspiel.SpielError:
    return False


def read_card_game(game: Any) -> CardGame[CardDeal]:
  """`universal_poker`, `leduc_poker` and `kuhn_poker` for two, `holdem`, or a game whose form is this.

  Strings of the first forget the order of more than two public cards. ValueError for another game, or one
  with payoffs that depend on more than the better hand.
  """
  if (describes := declared(game, "bayesian_form")) is not None:
    form = describes()
    if isinstance(form, CardGame) and isinstance(form.deal, CardDeal):
      return form
  deck, hole, public = cards_of(game)
  if public[0] or not all(public[1:]):
    raise ValueError(
      f"{game} deals {', '.join(map(str, public))} public cards before its rounds; expected none before the "
      f"first and some before each other."
    )
  if hole not in HOLES:
    raise ValueError(f"{game} deals hands of {hole} cards; expected one or two.")
  if deck.size < PLAYERS * hole + sum(public):
    raise ValueError(
      f"{game}: {deck.size} cards are too few for {PLAYERS} hands and {sum(public)} on the board."
    )
  winner, loser, board = _a_winner(deck, hole, sum(public))
  # What player 0 gets with the better hand and with the worse, and player 1 with the worse and the better.
  lines, won = _walk(game, [*winner, *loser, *board], hole, public)
  same, lost = _walk(game, [*loser, *winner, *board], hole, public)
  first, second = ((won - lost) / 2).T
  if not np.array_equal(lines, same) or not np.array_equal(first, -second):
    raise ValueError(f"{game}: its betting or what showdowns pay depends on more than the better hand.")
  parent, action, player, street = lines.T
  betting = Betting.create(parent, action, player, (won + lost) / 2, first, street)
  deal = CardDeal.create(deck, hole, public)
  if game.get_type().short_name == "holdem":
    lines = functools.partial(_texts, game.rules)
    return CardGame(betting, deal, HoldemNames(game.header, lines, deal, advice=ADVICE), game)
  return CardGame(betting, deal, StateNames(game, betting, deal), game)


def _texts(rules: BettingRules) -> list[str]:
  return [state.line for state in rules.states(MAX_LINES)]


def _check_by_name(game: pyspiel.Game) -> None:
  """ValueError for a game of a derived class, whose rules are not known by its name."""
  if not is_by_name(game):
    raise ValueError(
      f"{game} is a {type(game).__name__}, not the game that pyspiel.load_game makes of this string, and its "
      "rules may differ; load that, or use a solver that enumerates the game."
    )


def cards_of(game: pyspiel.Game) -> tuple[Deck, int, tuple[int, ...]]:
  """The deck, cards of a hand, and public cards before each round; ValueError for another game."""
  _check_by_name(game)
  name, given = game.get_type().short_name, game.get_parameters()
  if name == "leduc_poker" and game.num_players() == PLAYERS and not given.get("suit_isomorphism", False):
    return Deck(PLAYERS + 1, 2), 1, (0, 1)
  if name == "kuhn_poker" and game.num_players() == PLAYERS:
    return Deck(PLAYERS + 1, 1), 1, (0,)
  if name == "parametric_poker":
    raise ValueError(
      f"{game}: its players do not distinguish copies of a rank; expected cards with suits, as of "
      "universal_poker."
    )
  begins_later = given.get("boardCards") or given.get("handReaches")  # which weighs hands
  if name == "universal_poker" and game.num_players() == PLAYERS and not begins_later:
    public = tuple(int(n) for n in re.findall(r"\d+", str(given["numBoardCards"])))
    return Deck(given["numRanks"], given["numSuits"]), given["numHoleCards"], public[: given["numRounds"]]
  if name == "holdem" and given["bets"].strip() != "fullgame":
    return Deck.of(parse_deck(given["deck"])), HOLES[-1], (0, *np.diff([0, *STREETS]).tolist())
  raise ValueError(
    f"{game}: expected universal_poker for two without boardCards or handReaches, holdem with sizes "
    "of bets, holdem_subgame, kuhn_poker, or leduc_poker without suit_isomorphism."
  )


def _a_winner(deck: Deck, hole: int, size: int) -> tuple[list[int], list[int], list[int]]:
  """Two hands without a common card, the first of which beats the other on a board."""
  hands, generator = card_sets(deck.size, hole), np.random.default_rng(0)
  for _ in range(TRIES):
    board = generator.permutation(deck.size)[:size]
    free = hands[~np.isin(hands, board).any(1)]
    ranks = strengths(deck.whole(board)[None], deck.whole(free))[0]
    apart = (free[:, None, :, None] != free[None, :, None, :]).all((2, 3))
    won = np.argwhere(apart & (ranks[:, None] > ranks[None]))
    if len(won):
      return *free[won[0]].tolist(), board.tolist()
  raise ValueError(f"No hand of {hole} of {deck.size} cards was found that beats another.")


def _walk(
  game: pyspiel.Game, cards: list[int], hole: int, public: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
  """All lines with these cards: int[N, 4] (parent, action, player, street), and float[N, 2], the returns."""
  root = game.new_initial_state()
  for card in cards[: PLAYERS * hole]:
    root.apply_action(card)
  lines, returns = [], []
  pending = [(root, -1, -1, 0)]
  while pending:
    state, parent, action, number = pending.pop()
    line = len(lines)
    if line == MAX_LINES:
      raise ValueError(f"{game} has more than {MAX_LINES:,} lines of betting; allow fewer bets.")
    lines.append((parent, action, state.current_player(), number))
    returns.append(state.returns() if state.is_terminal() else [0.0, 0.0])
    if state.is_chance_node():
      start = PLAYERS * hole + sum(public[: number + 1])
      for card in cards[start : start + public[number + 1]]:
        state.apply_action(card)
      pending.append((state, line, -1, number + 1))
    elif not state.is_terminal():
      pending += [(state.child(move), line, move, number) for move in reversed(state.legal_actions())]
  return np.array(lines), np.array(returns)

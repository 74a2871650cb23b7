"""The games of Čermák, Lisý and Bošanský (2020) by their names there.

GP5+1 is GP5 with 1 for the attacker when time runs out, as in the library of the paper's authors. In GS3 to
GS6, OpenSpiel's game, the last card plays itself; in GS3+ to GS5+ it is a decision with one action, as the
paper counts. Nothing of the game is lost without it, but an algorithm that splits all that it visits, as
FPIRA does, splits these too.

"river" and "turn" are no games of the paper: hold'em with all hands. They have forms and are not enumerated:
61,000,831 histories, and 575,567,641, which would take 58 GB.

P111, P222 and P224 have their actions in the order of that library, with which FPIRA and double oracle find
smaller games: they begin with the first action and prefer it in ties.
"""

import itertools
import pathlib

import pyspiel

GOOFSPIEL = (
  "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending,"
  "returns_type=point_difference))"
)
GAMES = {
  **{f"GS{n}": GOOFSPIEL.format(n) for n in (3, 4, 5, 6)},
  **{
    f"P{b}{r}{c}": f"parametric_poker(bets={b},raises={r},max_raises={c},fold_last=true)"
    for b, r, c in ((1, 1, 1), (2, 2, 2), (2, 2, 4))
  },
  "GP5": "graph_pursuit(edges={},start=0:7 13,goal=10,turns=5)",
  "GP5+1": "graph_pursuit(edges={},start=0:7 13,goal=10,turns=5,timeout=1.0)",
  "GP6": "graph_pursuit(edges={},start=0:7 13,goal=10,turns=6)",
  "river": "river_subgame",
  "turn": "holdem_subgame(stack=600,bets=a)",
  "Kuhn": "kuhn_poker",
  # OpenSpiel takes a list of one number for a number, unless a blank follows.
  "Kuhn5": "universal_poker(betting=limit,numPlayers=2,numRounds=1,blind=1 1,firstPlayer=1 ,numSuits=1,"
  "numRanks=5,numHoleCards=1,numBoardCards=0 ,raiseSize=1 ,maxRaises=1 )",
  "GS3+": "3",
  "GS4+": "4",
  "GS5+": "5",
}

ONE_ACTION = {"GS3": 56, "GS4": 576, "GS5": 7824, "GS6": 131520}  # infostates not in OpenSpiel's game


def load(name: str, graph: str | None) -> pyspiel.Game:
  """A game of the paper by its name there; a pursuit's graph is a file."""
  if name.startswith("GP") and graph:
    return pyspiel.load_game(GAMES[name].format(graph_edges(graph)))
  return goofspiel(int(GAMES[name])) if GAMES[name].isdigit() else pyspiel.load_game(GAMES[name])


def graph_edges(path: str) -> str:
  """The edges of an adjacency matrix, as graph_pursuit writes them."""
  rows = [line.split() for line in pathlib.Path(path).read_text().splitlines()[1:] if line.strip()]
  return " ".join(f"{i}>{j}" for i, row in enumerate(rows) for j, joined in enumerate(row) if joined == "1")


def goofspiel(cards: int) -> pyspiel.Game:
  """The game for both players' cards 1 to `cards` and prizes `cards` to 1, utility the difference in points.

  A player knows the own cards played, and of each round whether it was won, lost or drawn.
  """
  numbers: tuple[dict, dict] = ({}, {})  # of each player's infostates
  lines, count = ['EFG 2 R "goofspiel" { "0" "1" } ""'], itertools.count(1)

  def decide(player: int, known: tuple, hand: tuple[int, ...]) -> None:
    number = numbers[player].setdefault(known, len(numbers[player]) + 1)
    actions = " ".join(f'"{card}"' for card in hand)
    name = " ".join(map(str, itertools.chain(*known)))
    lines.append(f'p "" {player + 1} {number} "{player}: {name}" {{ {actions} }} 0')

  def play(hands: tuple, played: tuple, results: tuple[int, ...], points: int) -> None:
    if not hands[0]:
      lines.append(f't "" {next(count)} "" {{ {points} {-points} }}')
      return
    decide(0, (played[0], results), hands[0])
    for first in hands[0]:
      decide(1, (played[1], results), hands[1])
      for second in hands[1]:
        left = tuple(tuple(c for c in h if c != x) for h, x in zip(hands, (first, second), strict=True))
        result = (first > second) - (first < second)
        after = (*played[0], first), (*played[1], second)
        play(left, after, (*results, result), points + result * len(hands[0]))

  whole = tuple(range(1, cards + 1))
  play((whole, whole), ((), ()), (), 0)
  return pyspiel.load_efg_game("\n".join(lines) + "\n")

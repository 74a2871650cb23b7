"""Pictures of hierarchical abstractions: the boards of each cluster, and the hands of each bucket."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ps_cfr_spiel.abstractions import Hierarchy, shares_beaten
from ps_cfr_spiel.apps.pictures.hand_charts import boxes
from ps_cfr_spiel.apps.pictures.style import BETS, DPI, INK, LINES, NEVER, SOFT
from ps_cfr_spiel.cards.poker import RANKS, CardDeal, CardGame

ROW, COLUMN, MARGIN = 0.15, 0.3, 0.9  # inches
SMALL = 6  # size of letters


def cluster_chart(game: CardGame[CardDeal], abstraction: Hierarchy) -> Figure:
  """All boards of the clustered round up to names of suits: a row for each cluster, the largest first.

  A board is shown by the ranks of its cards; the colour is the number of suits.
  """
  boards, deck = game.deal.tables[abstraction.clustered_round].cards, game.deal.deck
  suits = np.array([len(set(cards.tolist())) for cards in boards % deck.suits])
  ranks = np.sort(boards // deck.suits, 1)[:, ::-1]
  members = [np.flatnonzero(abstraction.clusters == k) for k in range(abstraction.count)]
  most = max(map(len, members))
  figure, axes = _paper(most * COLUMN, len(members) * ROW)
  axes.set(xlim=(0, most), ylim=(len(members), 0))
  for row, cluster in enumerate(sorted(range(len(members)), key=lambda k: (-len(members[k]), k))):
    axes.text(-0.4, row + 0.5, str(cluster), fontsize=SMALL, color=SOFT, ha="right", va="center")
    order = sorted(members[cluster], key=lambda board: (suits[board], *ranks[board]), reverse=True)
    for column, board in enumerate(order):
      name = "".join(RANKS[rank] for rank in ranks[board])
      color = LINES[suits[board] - 1]
      axes.text(column + 0.5, row + 0.5, name, fontsize=SMALL, color=color, ha="center", va="center")
  _title(figure, f"{len(members)} clusters of {len(boards):,} boards up to names of suits")
  for number in sorted(set(suits.tolist())):
    where = {"x": 0.99 - 0.9 * (number - 1) / figure.get_figwidth(), "y": 0.2 / figure.get_figheight()}
    name = f"{number} suit{'s' if number > 1 else ''}"
    figure.text(s=name, fontsize=8, color=LINES[number - 1], ha="right", **where)
  return figure


def bucket_chart(game: CardGame[CardDeal], abstraction: Hierarchy, board: Sequence[int]) -> Figure:
  """The buckets of all hands on a board: a box for each pair of cards, or each card.

  Boxes of one bucket have one colour; it is redder if its hands beat more hands on average over the cards to
  come. The board has its cards in the order of their rounds; ValueError if no betting follows.
  """
  deck, hands, taken = game.deal.deck, game.deal.hands, list(board)
  alive = ~np.isin(hands, [*game.deal.board, *taken]).any(1)
  seen = [game.deal.seen(hand.tolist(), taken) for hand in hands[alive]]
  buckets = np.array([abstraction.find(places)[1] for places in seen])
  number, place = len(seen[0]) - 1, seen[0][-1][0]
  shares = shares_beaten(game.deal, number, place)[[places[-1][1] for places in seen]]
  means = np.bincount(buckets, shares) / np.maximum(np.bincount(buckets), 1)
  depth = means[buckets]
  depth = (depth - depth.min()) / max(np.ptp(depth), 1e-9)
  side = deck.size if hands.shape[1] == 2 else 1
  figure, axes = _paper(max(deck.size * ROW, 4), max(side * ROW, 0.4))
  axes.set(xlim=(0, deck.size), ylim=(0, side))
  both = [hands, hands[:, ::-1]] if hands.shape[1] == 2 else [np.pad(hands, ((0, 0), (0, 1)))]
  for pairs in both:
    axes.add_collection(boxes(pairs[:, 0] + 0.04, pairs[:, 1] + 0.04, 0.92, 0.92, NEVER))
    left, top = pairs[alive].T + 0.04
    axes.add_collection(boxes(left, top, 0.92, 0.92, BETS(depth)))
  for rank in range(deck.ranks):
    middle = deck.suits * (rank + 0.5)
    axes.text(middle, -0.5, RANKS[rank], fontsize=SMALL + 2, color=INK, ha="center", va="top")
    if side > 1:
      axes.text(-0.5, middle, RANKS[rank], fontsize=SMALL + 2, color=INK, ha="right", va="center")
  cluster = f"cluster {abstraction.find(seen[0])[0]}, " if number >= abstraction.clustered_round else ""
  where = deck.names(taken) if taken else "no board"
  _title(figure, f"{where}: {cluster}{len(set(buckets.tolist())):,} buckets of {alive.sum():,} hands")
  return figure


def _paper(width: float, height: float) -> tuple[Figure, Axes]:
  """A white figure around axes of this size in inches, without ticks."""
  whole = width + MARGIN, height + MARGIN
  figure = Figure(figsize=whole, dpi=DPI, facecolor="white")
  axes = figure.add_axes((MARGIN / 2 / whole[0], MARGIN / 2 / whole[1], width / whole[0], height / whole[1]))
  axes.axis("off")
  return figure, axes


def _title(figure: Figure, title: str) -> None:
  top = 1 - 0.22 / figure.get_figheight()
  figure.text(0.03, top, title, fontsize=11, color=INK, weight="bold", va="center")

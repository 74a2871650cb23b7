"""Pictures of public trees."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from matplotlib.figure import Figure

from ps_cfr_spiel import PublicTree
from ps_cfr_spiel.apps.pictures.style import DPI, FAINT, INK, LINES, SOFT
from ps_cfr_spiel.apps.views import check_public_states, title_of


def public_tree(tree: PublicTree, depth: int | None = None) -> Figure:
  """The public tree, root at the top: a dot for each public state, coloured by the acting player.

  In small trees, actions have names, decisions the number of infostates, and ends player 0's possible
  winnings. Public states more than `depth` steps below the root are left out. ValueError if the tree has no
  public states, or more than `MOST_DOTS` would be drawn.
  """
  check_public_states(tree)
  labels, game = tree.names, tree.names.start().get_game()
  place = _tree_layout(tree, depth)
  if len(place) > MOST_DOTS:
    raise ValueError(
      f"{len(place):,} public states are too many for a picture; set a depth with at most {MOST_DOTS:,}."
    )
  width = max(x for x, _ in place.values()) + 1
  figure = Figure(figsize=(min(4 + 0.45 * width, 40), 2 + 1.1 * max(y for _, y in place.values())), dpi=DPI)
  axes = figure.add_axes((0.01, 0.02, 0.98, 0.9))
  axes.set_axis_off()
  named = len(place) <= MOST_NAMES
  for number, (x, y) in place.items():
    state = labels.public_states[number]
    if state.parent >= 0:
      above = place[state.parent]
      axes.plot((above[0], x), (-above[1], -y), color=FAINT, linewidth=0.8, zorder=1)
      if named:
        seen = state.action >= 0 or labels.source.public_cards(number)
        name = labels.move_to(number) if seen else HIDDEN
        style = {"ha": "center", "va": "bottom", "rotation": 30}
        axes.text(x, -y + 0.16, name, fontsize=7.5, color=SOFT, bbox=BEHIND, zorder=1.5, **style)
    if named and (note := _note(tree, number)):
      below: Any = {"xytext": (0, -8), "textcoords": "offset points", "ha": "center", "va": "top"}
      axes.annotate(note, (x, -y), fontsize=7.5, color=INK, bbox=BEHIND, zorder=1.5, **below)
  players = [(f"player {i}", i, PLAYERS[i % len(PLAYERS)]) for i in range(game.num_players())]
  for name, player, color in (("chance", CHANCE, FAINT), *players, ("end", TERMINAL, INK)):
    dots = [place[n] for n in place if labels.public_states[n].player == player]
    if dots:
      x, y = np.transpose(dots)
      wins = ", and player 0's winnings" if named and player == TERMINAL else ""
      label = f"{name} ({len(dots):,}){wins}"
      axes.scatter(x, -y, s=45 if named else 12, color=color, label=label, zorder=2)
  axes.set_ylim(-max(y for _, y in place.values()) - 0.35, 0.2)
  axes.legend(loc="upper left", fontsize=8, frameon=False)
  figure.suptitle(f"Public tree of {title_of(game)}: {len(place):,} public states", fontsize=11)
  return figure


def _note(tree: PublicTree, number: int) -> str:
  """The text under a dot."""
  labels, player = tree.names, tree.names.public_states[number].player
  if player >= 0:
    count = len(labels.source.possible_infostates(number)[player])
    return f"{count:,} infostate{'s' * (count > 1)}"
  return payoffs_text(labels.source.payoffs(number)) if player == TERMINAL else ""


def payoffs_text(payoffs: Sequence[float]) -> str:
  """Player 0's possible winnings, ascending, in short: "-1", "±2", "-2, 0, 2", "-5 to 5"."""
  if len(payoffs) > MOST_PAYOFFS:
    return f"{payoffs[0]:,g} to {payoffs[-1]:,g}"
  if len(payoffs) == 2 and payoffs[0] == -payoffs[1]:
    return f"±{payoffs[1]:,g}"
  return ", ".join(f"{payoff:,g}" for payoff in payoffs)


CHANCE, TERMINAL = pyspiel.PlayerId.CHANCE, pyspiel.PlayerId.TERMINAL
MOST_DOTS, MOST_NAMES = 20_000, 80
MOST_PAYOFFS = 3  # written one by one
HIDDEN = "(hidden)"
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # keeps lines out of the words
PLAYERS = (LINES[1], LINES[0], *LINES[2:])


def _tree_layout(tree: PublicTree, depth: int | None) -> dict[int, tuple[float, int]]:
  """The place of each public state: leaves side by side, parents in the middle above; (x, depth)."""
  place: dict[int, tuple[float, int]] = {}
  leaves = itertools.count()

  def visit(number: int, level: int) -> float:
    children = tree.names.children[number] if depth is None or level < depth else []
    xs = [visit(child, level + 1) for child in children]
    x = (xs[0] + xs[-1]) / 2 if xs else float(next(leaves))
    place[number] = x, level
    return x

  visit(0, 0)
  return place

"""Strategies as text: hold'em hands as the 13 x 13 chart of poker players, others as a table."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.apps.views.public_state_view import Spot, SpotWorth
from ps_cfr_spiel.apps.views.units import POSITIONS, number_text
from ps_cfr_spiel.arguments import check_player
from ps_cfr_spiel.cards.notation import grouped, is_hand, letters
from ps_cfr_spiel.cards.poker import CLASSES, named_hands

RANKS = "AKQJT98765432"
WIDEST = 120  # characters of a table's line; a wider one is split into a line for each action
NOTHING = 1e-6  # of a unit: rounding
RARE = 1e-3  # of the largest presence; a chart leaves out hands with less


class HandChart(NamedTuple):
  """Hold'em hands by kind: suited above the diagonal, pairs on it, offsuit below; ranks from A to 2."""

  #: float64[A, 13, 13], how often each action is played with the cell's hands, weighted by their presence;
  #: nan for none.
  frequency: np.ndarray
  combos: np.ndarray  #: int[13, 13], number of hands of the kind in the player's range
  presence: np.ndarray  #: float64[13, 13], probability of a hand of the cell here, relative to the largest

  @classmethod
  def of(cls, spot: Spot) -> "HandChart":
    """The strategy at a spot as a chart; ValueError if the player's types are not hold'em hands."""
    if not has_hands(spot):
      raise ValueError(
        f"A chart needs hold'em hands such as AhKd; this game's types are like {spot.types[0]!r}."
      )
    places = np.array([row * 13 + column for row, column in map(cell, spot.types)])

    def total(values):
      return np.bincount(places, values, 169).reshape(13, 13)

    combos, weight = total(None), total(spot.weight)
    played = np.stack([total(probability * spot.weight) for probability in spot.probability])
    frequency = np.divide(played, weight, out=np.full_like(played, np.nan), where=weight > 0)
    mean = weight / np.maximum(combos, 1)
    return cls(frequency, combos, mean / (mean.max() or 1.0))

  @property
  def shown(self) -> np.ndarray:
    """bool[13, 13]: whether the hands of a cell come here often enough for their strategy to matter."""
    return self.presence > RARE


def has_hands(spot: Spot) -> bool:
  """True if all types are hold'em hands."""
  return all(map(is_hand, spot.types))


def deals_hands(policy: TreePolicy) -> bool:
  """True if the policy's game deals hold'em hands, so it has charts."""
  return all(map(is_hand, (name for names in policy.labels.types for name in names)))


def cell(hand: str) -> tuple[int, int]:
  """Row and column of a hand such as AhKd."""
  high, low = sorted((RANKS.index(hand[0]), RANKS.index(hand[2])))
  return (high, low) if hand[1] == hand[3] else (low, high)


def cell_name(row: int, column: int) -> str:
  """The name of a cell in poker: AKs, AKo, AA."""
  suffix = "" if row == column else "s" if row < column else "o"
  return RANKS[min(row, column)] + RANKS[max(row, column)] + suffix


def find_types(spot: Spot, text: str) -> list[int]:
  """The types that a text names: one by its own name, or in hold'em those of `poker.named_hands`.

  ValueError if the player has no such type, or the text is not understood.
  """
  if text in spot.types:
    return [spot.types.index(text)]
  named = named_hands(text, spot.types, spot.classes).nonzero()[0].tolist() if has_hands(spot) else []
  if not named:
    example = f"one like {spot.types[0]!r}"
    if has_hands(spot):
      present = [name for name in CLASSES if any(name in names for names in spot.classes)]
      classes = f", or a class of {', '.join(present)}" if present else ""
      example = f"a hand such as AhKd, a kind such as AKs{classes}"
    raise ValueError(f"Player {spot.player} never holds {text!r} here; give {example}.")
  return named


# --- Text ---------------------------------------------------------------------------------------


def heading_text(spot: Spot) -> str:
  """The place of a spot and the player's probability of coming there."""
  where = f"After {', '.join(map(grouped, spot.history))}" if spot.history else "At the start"
  share, who, place = spot.played.sum(), "all types", f"public state #{spot.public_state}"
  if has_hands(spot):
    share, who, place = share / spot.dealt.sum(), "the hands", POSITIONS[spot.player]
  often = f", reached by {100 * share:.3g}% of {who} dealt" if spot.history and share < 1 else ""
  return f"{where}: player {spot.player} acts ({place}){often}."


def doubt_text(spot: Spot) -> str:
  """A warning about the answers at a spot that is `rare` in a solution without trembles."""
  return (
    f"Do not trust these answers: by the choices of {spot.rare} play hardly ever comes here, and the "
    "strategy was solved without trembles. For good answers everywhere: solve --tremble=1."
  )


def actions_text(spot: Spot) -> str:
  """The frequency of each action over all types, a line each, with the next player."""
  names = tuple(map(grouped, spot.actions))
  width = max(map(len, names))
  rows = zip(letters(spot.actions), names, spot.frequencies(), map(_next, spot.next_player), strict=True)
  return "\n".join(
    f"  {letter}  {name:{width}} {percent_text(share):>9}   {after}" for letter, name, share, after in rows
  )


def _next(player: int) -> str:
  if player == pyspiel.PlayerId.CHANCE:
    return "then chance acts"
  return f"then player {player} acts" if player >= 0 else "ends the game"


def moves_text(spots: Mapping[str, Spot], worths: Mapping[str, SpotWorth]) -> str:
  """A table of `chance_moves`, such as the next cards: frequencies of the actions after each, EV, equity."""
  first = next(iter(spots.values()))
  actions = {a: name for spot in spots.values() for a, name in zip(spot.ids, spot.actions, strict=True)}
  lines = [["", *map(grouped, actions.values()), "EV"]]
  for move, spot in spots.items():
    shares, (ev, equity) = dict(zip(spot.ids, spot.frequencies(), strict=True)), worths[move].mean(spot)
    cells = [percent_text(shares[a]) if a in shares else "" for a in actions]
    equities = [] if worths[move].equity is None else [percent_text(equity)]
    lines.append([move, *cells, value_text(ev), *equities])
  lines[0] += ["equity"] * (len(lines[1]) - len(lines[0]))
  before = ", ".join(map(grouped, first.history[:-1]))
  where = f"After {before}: chance moves, then player {first.player} acts."
  return "\n".join([where, "", columns_text(lines)])


def chart_text(spot: Spot, action: int | None = None) -> str:
  """A hand chart in letters: a line of ranks, then 13 rows.

  A cell has the frequency of `action` in percent, or the most frequent action's with its letter.
  """
  chart, codes = HandChart.of(spot), letters(spot.actions)
  lines = ["   " + "".join(f"{rank:>4} " for rank in RANKS)]
  for row in range(13):
    texts = [_cell_text(chart, codes, action, row, column) for column in range(13)]
    lines.append(f"{RANKS[row]}  " + " ".join(texts))
  return "\n".join(line.rstrip() for line in lines)


def _cell_text(chart: HandChart, codes: Sequence[str], action: int | None, row: int, column: int) -> str:
  """Four characters: blank for hands that chance cannot deal, a dot for those that do not come here."""
  if not chart.combos[row, column]:
    return "    "
  if not chart.shown[row, column]:
    return "   ."
  frequency = chart.frequency[:, row, column]
  shown = int(frequency.argmax()) if action is None else action
  return f"{codes[shown] if action is None else ' '}{100 * frequency[shown]:3.0f}"


def legend_text(spot: Spot, action: int | None = None) -> str:
  """The legend of `chart_text`."""
  what = "the action played most and how often"
  if action is not None:
    what = f"how often {grouped(spot.actions[action])} is played"
  return (
    f"Each cell: {what}, in percent. Suited hands above the diagonal, offsuit below.\n"
    "Blank: cannot be dealt; a dot: (almost) never gets here."
  )


def range_text(spot: Spot, worth: SpotWorth) -> str:
  """Both ranges of hold'em at a spot: combos and EV, equity in the pot."""
  (ev, equity), (others_ev, others_equity) = worth.of_both(spot)
  return (
    f"Range: {spot.combos.sum():,.1f} combos, equity {percent_text(equity)}, EV {value_text(ev)}; player "
    f"{1 - spot.player}: equity {percent_text(others_equity)}, EV {value_text(others_ev)}; pot "
    f"{number_text(sum(spot.spent))}."
  )


def classes_text(spot: Spot, worth: SpotWorth) -> str:
  """A table of the classes of hands at a spot; hands with a draw are also in the draw's line."""
  lines, total = [["", "combos", "share", *map(grouped, spot.actions), "EV", "equity"]], spot.weight.sum()
  for name in CLASSES:
    types = [h for h, names in enumerate(spot.classes) if name in names]
    weight = spot.weight[types]
    if weight.sum() > 0:
      shares = spot.probability[:, types] @ weight / weight.sum()
      ev, equity = worth.mean(spot, types)
      first = [name, f"{spot.combos[types].sum():,.1f}", percent_text(weight.sum() / total)]
      lines.append([*first, *map(percent_text, shares), value_text(ev), percent_text(equity)])
  return columns_text(lines)


def columns_text(lines: Sequence[Sequence[str]]) -> str:
  """A table as text: its first column to the left, the others to the right."""
  widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
  return "\n".join(
    "  ".join([f"{row[0]:{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in lines
  )


def types_text(spot: Spot, types: Sequence[int], worth: SpotWorth) -> str:
  """A table of some types of a spot: frequency and EV of every action, presence, equity."""
  head = ["", *(text for name in spot.actions for text in (grouped(name), "EV")), "reach"]
  head += [] if worth.equity is None else ["equity"]
  lines = [head]
  for h in types:
    cells = [
      text
      for legal, p, value in zip(spot.legal[:, h], spot.probability[:, h], worth.value[:, h], strict=True)
      for text in ((percent_text(p), value_text(value)) if legal else ("", ""))
    ]
    equity = [] if worth.equity is None else [percent_text(worth.equity[h])]
    lines.append([spot.types[h], *cells, percent_text(spot.reach[h]), *equity])
  widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
  if sum(widths) + 2 * len(widths) > WIDEST:
    return "\n\n".join(_type_text(head, cells) for cells in lines[1:])
  return columns_text(lines)


def _type_text(head: Sequence[str], cells: Sequence[str]) -> str:
  """One type of a table that is too wide: a line for each of its actions."""
  end = 1 + 2 * head.count("EV")  # each action has a column, and another for its EV
  actions = [(head[k], cells[k], cells[k + 1]) for k in range(1, end, 2) if cells[k]]
  width = max(len(action) for action, _, _ in actions)
  rest = ", ".join(f"{head[k]} {cells[k]}" for k in range(end, len(head)))
  lines = [f"  {action:{width}}  {p:>8}  EV {value}" for action, p, value in actions]
  return "\n".join([f"{cells[0]} ({rest})", *lines])


def value_text(value: float) -> str:
  """A value with four digits; "-" for nan."""
  return number_text(value if abs(value) > NOTHING else 0.0) if np.isfinite(value) else "-"


def infostates_text(policy: TreePolicy, player: int | None, text: str, limit: int) -> str:
  """A table of information states, for any game: player, state, and the probability of every action.

  It has at most `limit` lines, for a player (None for all), of states whose string contains `text`;
  ValueError if there is no such state, or no such player.
  """
  if player is not None:
    check_player(player, policy.game.num_players())
  wanted = [
    (decision, h, name)
    for decision, h, name in policy.labels.infostates()
    if player in (None, decision.player) and text in name
  ]
  if not any(True for _ in policy.labels.infostates()):
    return f"No player has a decision in {policy.labels.game}."
  if not wanted:
    whose = "" if player is None else f" of player {player}"
    raise ValueError(f"{policy.labels.game} has no information state{whose} that contains {text!r}.")
  shown = [" ".join(name.split()) for _, _, name in wanted[:limit]]
  width, lines = max(map(len, shown)), []
  for (decision, h, _), name in zip(wanted, shown, strict=False):
    actions = policy.labels.move_names(decision)
    played = zip(actions, policy.table(decision)[:, h], strict=True)
    row = "  ".join(f"{action} {percent_text(p)}" for action, p in played)
    lines.append(f"player {decision.player}  {name:{width}}  {row}")
  if len(wanted) > limit:
    lines.append(f"... and {len(wanted) - limit:,} more; narrow the choice, or raise the number of rows.")
  return "\n".join(lines)


def percent_text(share: float) -> str:
  """A share in percent; "never" for nan."""
  return f"{float(100 * share):.2f}%" if np.isfinite(share) else "never"

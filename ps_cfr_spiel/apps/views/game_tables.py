"""Tables that games give (`games.ForPeople.table`) as data for pages: in play, and at public states."""

import itertools
from collections.abc import Collection, Sequence

import pyspiel

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.apps.views.position_view import map_data, map_of
from ps_cfr_spiel.apps.views.public_state_view import Spot
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.notation import is_hand, state_after
from ps_cfr_spiel.cards.poker import board_of
from ps_cfr_spiel.games import ForPeople, Table

MOST_DRAWN = 20_000  # infostates of a page with their own cards or boards


def drawn_table(state: pyspiel.State, seats: Collection[int]) -> dict[str, JSON] | None:
  """The table as seats see it, with the map of a board of nodes; None in a game without."""
  if (table := _table_of(state, seats)) is None:
    return None
  board, place = table.board, map_of(state.get_game())
  drawn = None if board is None else {**board._asdict(), "map": None}
  if drawn is not None and place is not None:
    drawn |= {"map": map_data(place), "sought": place.sought[0].upper()}
  return {"facts": table.facts, "rows": _rows(table), "board": drawn, "picks": dict(table.picks)}


def public_table(policy: TreePolicy, number: int, view: Spot | None) -> dict[str, JSON]:
  """The table of a public state in the view of all, "table", and the acting player's own view, "own".

  "own" has for each type of a spot its cards or board, if these differ between types; hands of hold'em have
  their chart. A board is public if every player sees the same. Picks are those of all legal moves. {} in
  games without tables.
  """
  if (hold_em := board_of(policy.game) is not None) and policy.labels.public_states[number].player < 0:
    return {}
  state = state_after(policy.game, policy.labels.source.history(number))
  seats = range(policy.game.num_players())
  if (table := _table_of(state, ())) is None:
    return {}
  seen = [one for seat in seats if (one := _table_of(state, (seat,))) is not None]
  public = map_of(policy.game) is None and all(one.board == table.board for one in seen)
  data: dict[str, JSON] = {"facts": table.facts, "rows": _rows(table), "picks": {}}
  data["board"] = table.board._asdict() if table.board is not None and public else None
  if view is None or hold_em or is_hand(view.types[0]) or len(view.types) > MOST_DRAWN:
    return {"table": data}
  decisions = policy.labels.decisions
  theirs = [_table_of(policy.labels.state(decisions[n], h), (view.player,)) for n, h in view.cells]
  tables = [one for one in theirs if one is not None]
  data["picks"] = dict(itertools.chain.from_iterable(one.picks.items() for one in tables))
  return {"table": data, **_own(tables, view.player, public)}


def _table_of(state: pyspiel.State, seats: Collection[int]) -> Table | None:
  """A game's table; those of OpenSpiel's games come with JAX, which looks at hold'em do without."""
  game = state.get_game()
  if isinstance(game, ForPeople):
    return None if state.is_chance_node() else game.table(state, seats)
  from ps_cfr_spiel.matches import table_of

  return table_of(state, seats)


def _own(tables: Sequence[Table], player: int, public: bool) -> dict[str, JSON]:
  """A player's cards with each type, or the board if others do not see it; {} if types share them."""
  rows = [next((row.cards for row in table.rows if row.player == player), ()) for table in tables]
  boards = [
    table.board if table.board is not None and table.board.columns and not public else None
    for table in tables
  ]
  if len({*zip(rows, boards, strict=True)}) < len(tables) or not any(rows + boards):
    return {}
  faces = zip(rows, boards, strict=True)
  return {"own": [{"cards": row, "board": None if b is None else b._asdict()} for row, b in faces]}


def _rows(table: Table) -> list[dict[str, JSON]]:
  return [row._asdict() for row in table.rows]

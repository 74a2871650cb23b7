"""Histories grown around given ones, in games too large to enumerate: the ways there, and moves beyond.

The result is a `Histories` like any other, with two differences: above the given histories other moves are
missing, and below them it may end before the game does.
"""

import dataclasses
import operator
from collections.abc import Mapping, Sequence

import pyspiel

from ps_cfr_spiel.compilation.histories.histories import Histories, others_or_none
from ps_cfr_spiel.compilation.histories.player_information import strings_of
from ps_cfr_spiel.compilation.histories.recorder import Recorder
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import LIMIT

Path = tuple[int, ...]


def grow(
  game: pyspiel.Game,
  roots: Mapping[Path, float],
  player: int,
  past: Sequence[tuple[str, int]],
  depth: int | None = None,
  limit: int = LIMIT,
) -> tuple[Histories, list[int], list[pyspiel.State]]:
  """All histories that begin with a given one, to a limited depth, and the ways to these.

  Args:
    roots: the given histories; chance's probabilities below each are multiplied by its weight. A history
      below another one counts with that other's weight.
    past: the infostates and actions so far of `player`. Moves count towards the depth where the player has
      departed from this past, or has played all of it.
    depth: moves of players, of all of them, after which a history ends; None: when the game ends.

  Returns the histories; the numbers of those that end before the game; and their states. TooLarge if there
  are more than `limit`; ValueError if a state fails a check of games.
  """
  kept = {path[:length] for path in roots for length in range(len(path) + 1)}
  recorder, ends, states = Recorder(game), [], []
  see = operator.methodcaller(strings_of(game), player)
  first = (game.new_initial_state(), (), -1, 0, 1.0, 0, depth, False)
  waiting: list[tuple[pyspiel.State, Path, int, int, float, int, int | None, bool]] = [first]
  while waiting:
    state, path, above, rank, chance, done, left, inside = waiting.pop()
    if not inside and path in roots:
      chance, inside = chance * roots[path], True
    history = len(recorder.parent)
    if history >= limit:
      raise TooLarge(f"A search of {game} has more than {limit:,} histories; lower depth or particles.")
    actions, odds = recorder.visit(state, above, path[-1] if path else -1, rank, len(path), chance)
    if left == 0 and inside and actions and path not in kept:
      ends.append(history)
      states.append(state)
      continue
    acting = state.current_player()
    if inside and left and done == len(past) and acting >= 0:
      left -= 1
    known = see(state) if acting == player and done < len(past) else None
    for number in reversed(range(len(actions))):
      below = (*path, actions[number])
      if inside or below in kept:
        share = chance * odds[number] if odds else chance
        after = done if known is None else done + 1 if (known, actions[number]) == past[done] else len(past)
        waiting.append((state.child(actions[number]), below, history, number, share, after, left, inside))
  histories = recorder.histories()
  return dataclasses.replace(histories, others=others_or_none(histories)), ends, states

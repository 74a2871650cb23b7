"""Histories grown around given ones, in games too large to enumerate: the ways there, and moves beyond.

The result is a `Histories` like any other, with two differences: above the given histories other moves are
missing, and below them it may end before the game does.
"""

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import pyspiel

from ps_cfr_spiel.compilation.histories.histories import Histories, others_or_none
from ps_cfr_spiel.compilation.histories.player_information import strings_of
from ps_cfr_spiel.compilation.histories.recorder import Recorder
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.options import LIMIT

Path = tuple[int, ...]
Mark = TypeVar("Mark")


class Horizon(NamedTuple, Generic[Mark]):
  """Where grown histories end: each history has a mark, from which follow those after its actions."""

  start: Mark  #: the mark of the start of the game
  #: (state, its actions, its mark, whether it is at or below a given history) -> (whether the history ends
  #: here if it is below, the marks after each action).
  step: Callable[[pyspiel.State, Sequence[int], Mark, bool], tuple[bool, Sequence[Mark]]]


class Grown(NamedTuple):
  """The result of `grow`."""

  histories: Histories
  ends: list[int]  #: the numbers of those that end before the game
  states: list[pyspiel.State]  #: the states of these


def grow(
  game: pyspiel.Game,
  roots: Mapping[Path, float],
  horizon: Horizon[Mark],
  limit: int = LIMIT,
  observe: Callable[[pyspiel.State], str] | None = None,
) -> Grown:
  """All histories that begin with a given one, as far as the horizon, and the ways to these.

  Args:
    roots: the given histories; chance's probabilities below each are multiplied by its weight. A history
      below another one counts with that other's weight.
    horizon: where histories end before the game does; those above a given one go on.
    limit: of the number of histories.
    observe: as of `enumerate_histories`.

  TooLarge if there are more than `limit`; ValueError if a state fails a check of games.
  """
  kept = {path[:length] for path in roots for length in range(len(path) + 1)}
  recorder, ends, states = Recorder(game, observe), [], []
  first = (game.new_initial_state(), (), -1, 0, 1.0, horizon.start, False)
  waiting: list[tuple[pyspiel.State, Path, int, int, float, Mark, bool]] = [first]
  while waiting:
    state, path, above, rank, chance, mark, inside = waiting.pop()
    if not inside and path in roots:
      chance, inside = chance * roots[path], True
    history = len(recorder.parent)
    if history >= limit:
      raise TooLarge(
        f"A search of {game} has more than {limit:,} histories. Look less far ahead (lookahead, depth), or "
        "raise the limits (limit, memory)."
      )
    actions, odds = recorder.visit(state, above, path[-1] if path else -1, rank, len(path), chance)
    over, marks = horizon.step(state, actions, mark, inside)
    if over and inside and actions and path not in kept:
      ends.append(history)
      states.append(state)
      continue
    for number in reversed(range(len(actions))):
      below = (*path, actions[number])
      if inside or below in kept:
        share = chance * odds[number] if odds else chance
        waiting.append((state.child(actions[number]), below, history, number, share, marks[number], inside))
  histories = recorder.histories()
  if ends:
    bound = max(abs(game.min_utility()), abs(game.max_utility()))
    histories = dataclasses.replace(histories, bound=bound)
  return Grown(dataclasses.replace(histories, others=others_or_none(histories)), ends, states)


def moves_beyond(
  game: pyspiel.Game, player: int, past: Sequence[tuple[str, int]], depth: int | None
) -> Horizon[tuple[int, int | None]]:
  """The horizon after some moves of players that count; None: the end of the game.

  Moves count where `player` has departed from `past`, the infostates and actions so far, or has played all of
  it.
  """
  see = operator.methodcaller(strings_of(game), player)

  def step(state, actions, mark, inside):
    done, left = mark
    over, acting = left == 0, state.current_player()
    if inside and left and done == len(past) and acting >= 0:
      left -= 1
    if acting != player or done == len(past):
      return over, [(done, left)] * len(actions)
    known = see(state)
    return over, [(done + 1 if (known, a) == past[done] else len(past), left) for a in actions]

  return Horizon((0, depth), step)

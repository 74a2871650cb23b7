"""Locks, from the notation of users to the rows of a tree: fixed strategies after chosen lines."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel.cards.notation import Moves, parse_cards, read_move
from ps_cfr_spiel.cards.poker import board_of, made_hands, named_hands
from ps_cfr_spiel.policy.convert import OpenSpielPolicy, row_strategies
from ps_cfr_spiel.policy.partial_strategy import PartialStrategy
from ps_cfr_spiel.storage import Stored
from ps_cfr_spiel.tree import Decision, PublicTree

ALL = "*"  # all hands that a lock does not name


def read_locks(tree: PublicTree, locks: Mapping[str, Any]) -> PartialStrategy:
  """Read locks: a mapping of lines of public moves, written as for `tree.Labels`, to strategies.

  The strategy is that of the player who acts after the line: an OpenSpiel policy, or the probabilities of
  actions, by name or number, for every infostate there; actions that are not named have probability zero. Or
  a mapping of hands ("AKs, QQ+" or "top pair"; in other games names of types) to such strategies, and perhaps
  "*" for all other hands, which are free without it; later hands replace earlier.

  ValueError if a line does not exist or no player acts after it, two are the same, probabilities are wrong,
  or a value is neither a policy nor a mapping; TypeError if `locks` is not a mapping.
  """
  rows, written = {}, {}
  if not isinstance(locks, Mapping):
    raise TypeError(f"locks must be a mapping of lines to policies, got {locks!r}.")
  if not tree.names.public_states:
    raise ValueError(f"locks: {tree.names.game} was compiled without public states; locks need them.")
  for path, how in locks.items():
    try:
      state, strategies = _read_lock(tree, path, how)
    except ValueError as error:
      raise ValueError(f"locks: {path!r}: {error}") from error
    if state in rows:
      raise ValueError(
        f"locks: {path!r} is locked twice: {written[state]!r} is the same line; give each line once."
      )
    rows[state], written[state] = strategies, path
  flat = [strategy.ravel() for strategies in rows.values() for strategy in strategies]
  return PartialStrategy(tuple(rows), np.concatenate([np.zeros(0), *flat]))


def _read_lock(tree: PublicTree, path: str, how: Any) -> tuple[int, list[np.ndarray]]:
  """The public state after a line, and its locked strategy: [A, H] for each of its decisions."""
  labels = tree.names
  state = labels.find_line(path)
  decisions = [labels.decisions[n] for n in labels.public_states[state].decisions]
  if not decisions:
    raise ValueError(f"no player acts after it in {labels.game}; choose a line where one does.")
  types = tree.players[decisions[0].player].types
  history = labels.line_to(state)

  def strategy(decision: Decision, given: Any) -> np.ndarray:
    answers = given.values() if isinstance(given, Mapping) else [given]
    for answer in answers:
      if isinstance(answer, str) or not isinstance(given, OpenSpielPolicy | Mapping):
        raise ValueError(_advice(labels.moves(decision, history), answer))
    if not isinstance(given, Mapping):
      return row_strategies(labels, given, decision, types)
    if ALL not in given and all(map(np.isscalar, answers)):
      return _by_actions(tree, decision, given, types, history)
    free = np.zeros((len(decision.legal_actions), types))
    locked = strategy(decision, given[ALL]) if ALL in given else free
    for hands, answer in given.items():
      if hands != ALL:
        held = _held(labels.types[decision.player], str(hands), board_of(labels.start().get_game(), history))
        locked[:, : len(held)][:, held] = strategy(decision, answer)[:, : len(held)][:, held]
    return locked

  return state, [strategy(d, how) for d in decisions]


def _advice(moves: Moves, given: object) -> str:
  """The mistake of a strategy that is neither a policy nor a mapping."""
  example: object = moves.names[0]
  with contextlib.suppress(ValueError):
    read_move(str(given), moves)
    example = given
  return (
    f"got {given!r}; a strategy is a policy, or a mapping of actions ({moves.text()}) to probabilities, "
    f"such as {{{example!r}: 1}}, or of hands to such strategies."
  )


def _held(names: Sequence[str], hands: str, board: str | None) -> np.ndarray:
  """bool[H]: the types that a text names, each by its own name or, on a board, as `poker.named_hands`."""
  if board is not None:
    pairs = np.array([parse_cards(name) for name in names])
    held = named_hands(hands, names, made_hands(parse_cards(board), pairs))
  else:
    wanted = [hands] if hands in names else hands.replace(",", " ").split()
    held = np.isin(np.array(names), wanted) & ({*wanted} <= {*names})
  if not held.any():
    raise ValueError(f"the player never holds {hands!r}; name hands of the range, such as {names[0]!r}.")
  return held


def locks_from_file(file: Stored) -> PartialStrategy:
  """The locks in a file whose header lists their public states."""
  return PartialStrategy(tuple(file.header["locks"]), file.arrays(file.shapes)["locks"])


def _by_actions(tree: PublicTree, decision: Decision, shares: Mapping, types: int, history) -> np.ndarray:
  """[A, H] from probabilities of actions, the same for all types."""
  moves = tree.names.moves(decision, history)
  strategy, written = np.zeros(len(moves.names)), {}
  for action, share in shares.items():
    number = read_move(str(action), moves)
    if number in written:
      raise ValueError(f"{action!r} and {written[number]!r} are the same action; give each action once.")
    strategy[number], written[number] = share, action
  if not (strategy >= 0).all() or not abs(strategy.sum() - 1) < 1e-5:
    raise ValueError(f"the probabilities {dict(shares)} must be at least 0, with the sum one.")
  return np.repeat(strategy[:, None] / strategy.sum(), types, axis=1)

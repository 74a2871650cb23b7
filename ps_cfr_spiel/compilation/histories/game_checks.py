"""Checks of a game and of each of its states, which must pass for a public tree.

`build_tree` refuses a game that fails one of them; `check_game` reports all that fail. A check is a function
that returns None where it passes, and otherwise a text on the fault. Checks of all histories together are in
`history_checks`.
"""

import itertools
import math
from collections.abc import Sequence

import pyspiel

CHANCE_TOLERANCE = 1e-6  # of a sum of chance probabilities: game files round them
NUMBERS = {2: "two", 3: "three", 4: "four"}
RETURNS_TOLERANCE = 1e-9  # of a sum of returns, relative to the largest
SCALES = 1e-30, 1e30  # of the largest utility; float32 ends at 1e-38 and 3e38

# --- The kind of game, as its type declares it ---------------------------------------------------


#: of solutions of games of general sum, or of more than two players.
NO_GUARANTEE = "where averages tend to coarse correlated equilibria and nothing is guaranteed"


def is_zero_sum(game: pyspiel.Game) -> bool:
  """Whether the game declares itself zero-sum; then the returns of each end must sum to zero."""
  return game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM


def kind_faults(game: pyspiel.Game) -> dict[str, str | None]:
  """The checks of the kind of game, by name: None where it has a public tree, otherwise a text on the fault.

  There are two players or more, who move one after the other (`loading.sequential` makes them so); their
  knowledge has strings, and chance can be enumerated.
  """
  kind, players = game.get_type(), game.num_players()
  checks = {
    "players": (
      players >= 2,
      f"public trees are for games of two players or more, this one has {players} player(s).",
    ),
    "dynamics": (
      kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL,
      f"public trees are for sequential and simultaneous games, this one has dynamics {kind.dynamics.name}.",
    ),
    "information states": (
      kind.provides_information_state_string or kind.provides_observation_string,
      "it has neither information state strings nor observation strings, which identify infostates.",
    ),
    "chance mode": (
      kind.chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC,
      "its chance moves are sampled inside the game (SAMPLED_STOCHASTIC) and cannot be enumerated; a public "
      "tree needs chance nodes with all their outcomes (EXPLICIT_STOCHASTIC), or no chance (DETERMINISTIC).",
    ),
  }
  return {name: None if holds else fault for name, (holds, fault) in checks.items()}


def check_observer(game: pyspiel.Game, error: Exception) -> None:
  """ValueError if an error of a game's own code is that it has no observer, which OpenSpiel asks for."""
  if isinstance(error, AttributeError) and error.name == "make_py_observer":
    raise ValueError(
      f"{game}: the game has no make_py_observer(), by which OpenSpiel reads the strings of a simultaneous "
      "game in Python; write one, as its python/games/iterated_prisoners_dilemma.py has."
    ) from error


def check_kind(game: pyspiel.Game) -> None:
  """ValueError if a game fails one of `kind_faults`, and has no public tree."""
  if text := next(filter(None, kind_faults(game).values()), None):
    raise ValueError(f"{game}: {text}")


# --- A state ------------------------------------------------------------------------------------


def mover_text(player: int, players: int) -> str:
  """Message for a state whose current player is invalid in a sequential game of n players."""
  numbers = ", ".join(map(str, range(players)))
  return f"current_player() is {player}; expected {numbers}, PlayerId.CHANCE or PlayerId.TERMINAL"


def returns_fault(returns: Sequence[float], zero_sum: bool, players: int = 2) -> str | None:
  """The returns of an end are a number for each player, which sum to zero in a zero-sum game."""
  total = sum(returns)
  if len(returns) != players or not math.isfinite(total):
    return f"the returns are {list(returns)}; expected {NUMBERS.get(players, players)} numbers"
  if zero_sum and abs(total) > RETURNS_TOLERANCE * max(1.0, abs(returns[0])):
    return f"the returns are {list(returns)}, which sum to {total:g}, not to zero"
  return None


def scale_fault(largest: float) -> str | None:
  """The largest utility, in absolute terms and times its chance probability, is zero or within `SCALES`."""
  low, high = SCALES
  if largest == 0 or low <= largest <= high:
    return None
  return (
    f"its largest utility, times the probability of chance's moves, is {largest:.3g}; expected {low:g} to "
    f"{high:g}, or the solvers' numbers would overflow or vanish. Give the game another unit."
  )


def chance_fault(outcomes: Sequence[tuple[int, float]]) -> str | None:
  """Chance has outcomes, each once, with probabilities that sum to one."""
  total = math.fsum(probability for _, probability in outcomes)
  if not all(probability >= 0 for _, probability in outcomes):  # NaN fails too
    return f"a chance outcome has a negative probability or none: {list(outcomes)}"
  if abs(total - 1) > CHANCE_TOLERANCE:
    return f"the probabilities of the {len(outcomes)} chance outcomes sum to {total:.9g}, not to one"
  if len({action for action, _ in outcomes}) < len(outcomes):
    return f"a chance outcome is listed twice: {list(outcomes)}"
  return None


def legal_fault(actions: Sequence[int]) -> str | None:
  """Every decision has legal actions, in ascending order."""
  if not actions:
    return "the player to move has no legal actions, but the game is not over"
  if any(a >= b for a, b in itertools.pairwise(actions)):
    return f"legal_actions() must ascend without repetition, got {list(actions)}"
  return None

"""A server of tools for language models, by the Model Context Protocol (MCP) over standard input and output.

`ps-cfr-spiel-mcp` runs it: a client starts the process, and asks it to solve a game, to advise at a place of
it, and to judge games that were played. It needs the extra `mcp`, the protocol's official SDK.
"""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyspiel

from ps_cfr_spiel import PSCFRSolver, check_game
from ps_cfr_spiel.arguments import JSON, check_count
from ps_cfr_spiel.cards.notation import move_name, play_moves
from ps_cfr_spiel.loading import load_game, sequential
from ps_cfr_spiel.matches import ITERATIONS, Referee, judge, read_game, rules_of
from ps_cfr_spiel.measures import RARE, local_regrets
from ps_cfr_spiel.reports import quiet_stderr

if TYPE_CHECKING:
  from mcp.server import MCPServer

MOST_ITERATIONS = 100_000
KEPT = 8  # solved games
WORST = 10  # decisions that a judgement names
INSTRUCTIONS = (
  "Solves games of imperfect information exactly (OpenSpiel's games, written as for load_game, such as "
  "kuhn_poker or 'liars_dice(numdice=1,dice_sides=3)'). Ask for rules first; solve once; then advise at "
  "places and judge games that were played. A place or a game has all moves from the start, those of chance "
  "too, as names or numbers in the order of play."
)


class Solutions:
  """The tools, and the games solved so far."""

  def __init__(self) -> None:
    self._referees: dict[str, Referee] = {}

  def rules(self, game: str) -> dict[str, JSON]:
    """The rules of a game, whether it can be solved, and the first legal moves.

    Args:
      game: as for OpenSpiel's load_game, such as kuhn_poker.
    """
    loaded = _load(game)
    report, state = check_game(loaded, progress=False), loaded.new_initial_state()
    faults = [finding.text for finding in report.findings if finding.verdict == "FAIL"]
    return {
      "game": str(loaded),
      "rules": rules_of(loaded),
      "players": loaded.num_players(),
      "utilities": [loaded.min_utility(), loaded.max_utility()],
      "solvable": report.solvable,
      "faults": faults,
      "first_moves": {action: move_name(state, action) for action in state.legal_actions()},
    }

  def solve(self, game: str, iterations: int = ITERATIONS) -> dict[str, JSON]:
    """Solve a game; the solution is kept for advise and judge.

    Returns the value to player 0, the exploitability, and the losses of the strategy at its infostates (local
    regret), all in the game's utility.

    Args:
      game: as for OpenSpiel's load_game.
      iterations: of the solver, more for smaller errors.
    """
    check_count("iterations", iterations, 1)
    if iterations > MOST_ITERATIONS:
      raise ValueError(f"iterations must be at most {MOST_ITERATIONS}, got {iterations}.")
    loaded = _load(game)
    solver = PSCFRSolver(loaded, tremble=1.0, progress=False)
    solver.run(iterations, progress=False)
    policy, evaluation = solver.average_policy(), solver.evaluation()
    self._referees.pop(str(loaded), None)
    self._referees[str(loaded)] = Referee(policy)
    while len(self._referees) > KEPT:
      del self._referees[next(iter(self._referees))]
    regrets = local_regrets(loaded, policy, tree=solver.tree, progress=False)
    losses = regrets.losses()
    return {
      "game": str(loaded),
      "iterations": iterations,
      "value": float(evaluation.value),
      "exploitability": float(evaluation.exploitability),
      "stakes": regrets.stakes,
      "infostates": losses.infostates,
      "local_regret": {"mean": losses.mean, "percentile_99": losses.percentile, "worst": losses.worst},
    }

  def advise(self, game: str, moves: str) -> dict[str, JSON]:
    """Advise after some moves: the solution's probability of each action, its value, and its loss.

    Values are to the player who acts, if all then follow the solution, and use only what this player knows:
    hidden moves and cards of others in `moves` have no influence.

    Args:
      game: as for OpenSpiel's load_game.
      moves: all moves from the start, chance's too, such as "Deal:0, Deal:2, Bet" or "0 2 1".
    """
    referee = self._referee(game)
    state, names = play_moves(referee.solution.game, moves)
    actions = referee.moves(state)
    player = state.current_player()
    decision, h = referee.solution.labels.decision_at(state, player)
    reach = referee.solution.reach(decision)
    others = reach.others[h] / reach.dealt[h] if reach.dealt[h] > 0 else 0.0
    rare = [name for name, at in zip(RARE, (reach.acting[h], others), strict=True) if at < RARE[name]]
    return {
      "game": str(referee.solution.game),
      "moves": list(names),
      "player": player,
      "infostate": decision.infostates[h],
      "actions": [_finite(action._asdict()) for action in actions],
      "rare": rare,
    }

  def judge(self, game: str, games: list[JSON]) -> dict[str, JSON]:
    """Judge the players of some games by the losses of their own decisions, without luck.

    The loss a game, against opponents who play the solution, is in the 95% interval: from loss, if a player
    plays as the solution at infostates that these games never reach, to loss_at_most, if as badly as can be.

    Args:
      game: as for OpenSpiel's load_game.
      games: each a list of OpenSpiel's actions from the start to the end, chance's too, or a text of all
        moves, or {"actions": either of them, "players": [names by seat]}.
    """
    solution = self._referee(game).solution
    records = []
    for number, value in enumerate(games):
      try:
        records.append(read_game(solution.game, value))
      except (ValueError, pyspiel.SpielError) as error:
        raise ValueError(f"Game {number}: {error}") from error
    judged = judge(solution.game, records, solution, tree=solution.tree)
    half = 0.01 * (solution.game.max_utility() - solution.game.min_utility()) / 2
    return {
      "game": str(solution.game),
      "assumes": "opponents that play the solution",
      "exploitability": judged.exploitability,
      "agents": [agent.facts(half, WORST) for agent in judged.agents],
    }

  def _referee(self, game: str) -> Referee:
    """The referee of a game, which is solved now if it is not yet."""
    name = str(_load(game))
    if name not in self._referees:
      self.solve(game)
    return self._referees[name]


def _load(game: str) -> pyspiel.Game:
  """The game that a text names; ValueError for an unknown one."""
  with quiet_stderr():
    return sequential(load_game(game))


def _finite(fields: dict[str, JSON]) -> dict[str, JSON]:
  """The same without values that are no numbers, which JSON has not."""
  return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}


def make_server() -> "MCPServer":
  """The server with its tools; ModuleNotFoundError without the extra `mcp`."""
  try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
  except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
      "The server of tools needs the SDK of MCP; install it with: pip install 'ps_cfr_spiel[mcp]'"
    ) from error

  def refusing(tool: Callable[..., dict[str, JSON]]) -> Callable[..., dict[str, JSON]]:
    """The same tool, whose mistakes of the caller are sent in words; the SDK hides other errors."""

    @functools.wraps(tool)
    def call(*arguments: object, **keywords: object) -> dict[str, JSON]:
      try:
        return tool(*arguments, **keywords)
      except (ValueError, FloatingPointError, MemoryError, pyspiel.SpielError) as error:
        raise ToolError(" ".join(str(error).split())) from error

    return call

  solutions = Solutions()
  server = MCPServer("ps_cfr_spiel", instructions=INSTRUCTIONS)
  for tool in (solutions.rules, solutions.solve, solutions.advise, solutions.judge):
    server.add_tool(refusing(tool))
  return server


def main() -> None:
  """Serve the tools over standard input and output, until the client ends."""
  make_server().run("stdio")

"""Players judged by a solution of the game, without luck: what each of their own decisions loses.

The loss of a decision is the value of the solution's mixture at its infostate less that of the action played,
if all then follow the solution. Against opponents who play the solution, the mean of a player's losses is
exactly how much less the player wins than the solution would: chance and opponents average out within each
infostate. Against others it is the loss against the solution, at the places where these others lead.
"""

import collections
import dataclasses
import json
import math
import os
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON, check_player
from ps_cfr_spiel.cards.notation import move_name, play_moves
from ps_cfr_spiel.evaluation.exploitability import exploitability
from ps_cfr_spiel.evaluation.local_regrets import against_trembles, as_table
from ps_cfr_spiel.evaluation.match_results import MatchResult, Played, check_records, replay
from ps_cfr_spiel.loading import load_game, sequential
from ps_cfr_spiel.options import JUDGING, PSCFROptions
from ps_cfr_spiel.policy import OpenSpielPolicy, TreePolicy, tree_for
from ps_cfr_spiel.solvers import PSCFRSolver
from ps_cfr_spiel.tree import Decision, PublicTree

NAMES = ("A", "B")  # of the agent of a record, and of all others, where it has no names
ITERATIONS, TREMBLE = JUDGING, 1.0  # of the solver that makes a solution


class Mistake(NamedTuple):
  """A decision that an agent took, and its loss each time."""

  player: int  #: the seat
  infostate: str  #: information state string
  played: str  #: name of the action
  best: str  #: name of the best action, if all then follow the solution
  loss: float  #: in the game's utility; negative if the action is better than the solution's mixture
  times: int  #: how often it was taken


class Judgement(NamedTuple):
  """The losses of one agent."""

  agent: str
  loss: MatchResult  #: of each of the agent's games, by its own decisions
  chips: MatchResult  #: the utility of the same games
  mistakes: tuple[Mistake, ...]  #: all decisions taken, the worst first

  def games_for(self, half: float) -> int | None:
    """The number of games for a 95% interval of the mean loss of plus or minus `half`.

    It is that of games with the spread of these; None if that is unknown, because all are of one deal.
    """
    if math.isnan(self.loss.standard_error):
      return None
    return max(1, math.ceil(len(self.loss.values) * (1.96 * self.loss.standard_error / half) ** 2))

  def facts(self, half: float, decisions: int) -> dict[str, object]:
    """The judgement as JSON values, with the number of games for `half` and the worst `decisions`."""

    def fact(result: MatchResult) -> dict[str, float | None]:
      error = None if math.isnan(result.standard_error) else result.standard_error
      return {"mean": result.mean, "standard_error": error}

    return {
      "agent": self.agent,
      "games": len(self.loss.values),
      "loss": fact(self.loss),
      "chips": fact(self.chips),
      "games_needed": {"half_width": half, "games": self.games_for(half)},
      "worst_decisions": [mistake._asdict() for mistake in self.mistakes[:decisions]],
    }


class MoveValue(NamedTuple):
  """A legal action at an infostate, by a solution."""

  action: int
  name: str
  probability: float  #: with which the solution plays it
  value: float  #: to the player if it is played and all then follow the solution
  loss: float  #: the value of the solution's mixture less this one


class Judged(NamedTuple):
  """The judgement of all agents of some games."""

  agents: tuple[Judgement, ...]
  solution: TreePolicy  #: by which they are judged, with its tree
  exploitability: float  #: of the solution; losses are not known more exactly


def judge(
  game: pyspiel.Game,
  games: Iterable[Played],
  solution: OpenSpielPolicy | None = None,
  iterations: int = ITERATIONS,
  tree: PublicTree | None = None,
  progress: bool | None = None,
  **options: object,
) -> Judged:
  """Judge all agents of some games by a solution, each by what its own decisions lose.

  Args:
    game: any game that `build_tree` takes, of any number of players.
    games: such as `matches.play_games` records, or `matches.read_games` reads.
    solution: any OpenSpiel policy of all players, near an equilibrium; by default `PSCFRSolver` makes one, by
      trembles good everywhere.
    iterations: of this solver.
    tree: of `build_tree(game)`; by default it is built.
    progress: of `build_tree`, and of the solver's run.
    **options: of `build_tree`; by default those with which a `TreePolicy` was made.

  ValueError for a wrong argument, a game that cannot be solved, or a recorded one that is not over or cannot
  have been played; TypeError if `game` or `solution` is of another kind.
  """
  game, records = sequential(game), check_records(games)
  if solution is None:
    solver = PSCFRSolver(game, PSCFROptions.of(tree=tree, tremble=TREMBLE, **options), progress=progress)
    solver.run(iterations, progress=progress)
    solution, tree = solver.average_policy(), solver.tree
  tree = tree_for(game, solution, progress, **options) if tree is None else tree
  policy = as_table(tree, solution, game)
  referee, tallies = Referee(policy), collections.defaultdict[str, _Tally](_Tally)
  for number, record in enumerate(records):
    try:
      _add(tallies, referee, number, record)
    except ValueError as error:
      raise ValueError(f"Game {number} ({list(record.actions)}): {error}.") from error
  agents = tuple(_judgement(name, tally, referee) for name, tally in tallies.items())
  return Judged(agents, policy, exploitability(game, policy, tree=tree))


class Referee:
  """The values of all actions by a solution, also where the solution's own play never comes."""

  def __init__(self, solution: TreePolicy):
    """Nothing is computed yet; the solution should be near an equilibrium."""
    self.solution = solution
    self._against: dict[int, TreePolicy] = {}  # by player, made when it acts
    self._values: dict[tuple[int, int, int], np.ndarray] = {}  # by row

  def values(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: to the player if all then follow the solution; nan if trembles are beyond numbers."""
    row = decision.player, decision.block, decision.row
    if row not in self._values:
      if decision.player not in self._against:
        self._against[decision.player] = against_trembles(self.solution, decision.player)
      self._values[row] = self._against[decision.player].worths.at(decision).value
    return self._values[row]

  def losses(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: the values of the solution's mixture less those of the actions."""
    values = self.values(decision)
    return (self.solution.table(decision) * values).sum(0) - values

  def moves(self, state: pyspiel.State) -> list[MoveValue]:
    """The legal actions of the player who acts at a state; ValueError if none does."""
    if state.current_player() < 0:
      raise ValueError(f"No player acts after {state.history()}.")
    decision, h = self.solution.labels.decision_at(state, state.current_player())
    columns = self.solution.table(decision)[:, h], self.values(decision)[:, h], self.losses(decision)[:, h]
    names = [move_name(state, action) for action in decision.legal_actions]
    rows = zip(decision.legal_actions, names, *(column.tolist() for column in columns), strict=True)
    return [MoveValue(*row) for row in rows]


@dataclasses.dataclass
class _Tally:
  """The games of one agent so far."""

  losses: list[float] = dataclasses.field(default_factory=list)
  utilities: list[float] = dataclasses.field(default_factory=list)
  deals: list[Hashable] = dataclasses.field(default_factory=list)
  #: (player, infostate) -> (its row, its type, how often each action was taken there).
  taken: dict[tuple[int, str], tuple[Decision, int, collections.Counter[int]]] = dataclasses.field(
    default_factory=dict
  )


def _add(tallies: Mapping[str, _Tally], referee: Referee, number: int, record: Played) -> None:
  """Count a game for all its agents; ValueError if it is not a game."""
  game, labels = referee.solution.game, referee.solution.labels
  seats = range(game.num_players())
  check_player(record.seat, len(seats))
  names = record.players or tuple(NAMES[seat != record.seat] for seat in seats)
  if len(names) != len(seats):
    raise ValueError(f"it names {len(names)} players, and {game} has {len(seats)}")
  lost = [0.0 for _ in seats]

  def look(state: pyspiel.State, player: int, action: int) -> None:
    if player >= 0:
      decision, h = labels.decision_at(state, player)
      choice = decision.legal_actions.index(action)
      lost[player] += float(referee.losses(decision)[choice, h])
      place, visited = (player, str(decision.infostates[h])), tallies[names[player]].taken
      visited.setdefault(place, (decision, h, collections.Counter()))[2][choice] += 1

  utilities = replay(game, record.actions, look).returns()
  if not np.isfinite(lost).all():
    raise ValueError("the solution never plays most of its moves, so their values are not known")
  for name, loss, utility in zip(names, lost, utilities, strict=True):
    tally = tallies[name]
    tally.losses.append(loss)
    tally.utilities.append(utility)
    tally.deals.append(("game", number) if record.deal is None else ("deal", record.deal))


def _judgement(name: str, tally: _Tally, referee: Referee) -> Judgement:
  labels, mistakes = referee.solution.labels, []
  for (player, infostate), (decision, h, choices) in tally.taken.items():
    losses, moves = referee.losses(decision)[:, h], labels.move_names(decision)
    best = moves[int(losses.argmin())]
    mistakes += [
      Mistake(player, infostate, moves[choice], best, float(losses[choice]), times)
      for choice, times in choices.items()
    ]
  mistakes.sort(key=lambda mistake: -mistake.loss)
  loss, chips = (
    MatchResult.of(worth, tally.utilities, tally.deals, method)
    for worth, method in ((tally.losses, "advantages"), (tally.utilities, "chips"))
  )
  return Judgement(name, loss, chips, tuple(mistakes))


# --- Files ----------------------------------------------------------------------------------------


def read_games(path: str | os.PathLike, game: pyspiel.Game) -> list[Played]:
  """The games of a file of JSON values, one after the other, a line each or more.

  Each is as for `read_game`, with its errors, which name the line; OSError if the file cannot be read.
  """
  game = sequential(game)
  with open(path, encoding="utf-8") as file:
    text = file.read()
  records, at, decoder = [], 0, json.JSONDecoder()
  while at < len(text):
    if text[at].isspace():
      at += 1
      continue
    place = f"{os.fspath(path)}, line {text.count(chr(10), 0, at) + 1}"
    try:
      value, at = decoder.raw_decode(text, at)
      records.append(read_game(game, value))
    except (ValueError, pyspiel.SpielError) as error:
      raise ValueError(f"{place}: {' '.join(str(error).split())}") from error
  return records


def read_game(game: pyspiel.Game, value: JSON) -> Played:
  """The recorded game that a JSON value describes.

  It is a list of OpenSpiel's actions from the start, chance's too, as of `State.history()`; a text with all
  moves by name or number, such as "Deal:0, Deal:2, Bet, Pass"; an object with either as `actions`, and the
  names of the players by seat as `players`; or a trajectory of OpenSpiel (`Trajectory.to_string`), which may
  have `players` too. Without names the agents are called "player 0" and so on.

  ValueError for anything else, another game, an illegal move or a game that is not over.
  """
  players = tuple(f"player {seat}" for seat in range(game.num_players()))
  returns = None
  if isinstance(value, dict) and "transitions" in value:
    try:
      name, returns = (value.get("header", {}).get(key) for key in ("game_string", "returns"))
      actions = [step["action"] for step in value["transitions"]]
    except (AttributeError, KeyError, TypeError) as error:
      raise ValueError(f"its header or its transitions are not those of OpenSpiel: {error!r}.") from error
    if name is not None and str(sequential(load_game(name))) != str(game):
      raise ValueError(f"the trajectory is of {name}; games of {game} are judged.")
  else:
    actions = value.get("actions") if isinstance(value, dict) else value
  if isinstance(value, dict) and "players" in value:
    players = value["players"]
    if not isinstance(players, list) or len(players) != game.num_players():
      raise ValueError(f"players must be a list of {game.num_players()} names, got {players!r}.")
  if isinstance(actions, str):
    actions = play_moves(game, actions)[0].history()
  if not isinstance(actions, list):
    raise ValueError(
      "expected a list of OpenSpiel's actions, a text of moves, an object with actions, or a trajectory of "
      f"OpenSpiel; got {json.dumps(value)[:60]}."
    )
  try:
    end = replay(game, actions)
  except ValueError as error:
    raise ValueError(f"{error}; a game has all actions from the start to the end, chance's too.") from error
  if returns is not None and not np.allclose(returns, end.returns()):
    raise ValueError(f"the trajectory's returns are {returns}, those of its actions {end.returns()}.")
  return Played(0, tuple(actions), None, tuple(map(str, players)))

"""Players judged by a solution of the game, without luck: what each of their own decisions loses.

The loss of a decision is the value of the solution's mixture at its infostate less that of the action played,
if all then follow the solution. An agent's loss is how much less it wins than the solution would, against
opponents who play the solution. If its probabilities are known that is computed. Otherwise its other games
make a model of its play: frequencies of actions, and the solution's probabilities where it has not been. The
model's loss, plus the losses of a game's actions against the model's mixture, has the same mean for every
model, as in MIVAT and AIVAT: chance and opponents average out within each infostate. A right model leaves
only the luck of the agent's own choices; and with it opponents may play as they like.
"""

import collections
import json
import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
from ps_cfr_spiel.policy import OpenSpielPolicy, TreePolicy, strategies_of, tree_for, worths_of
from ps_cfr_spiel.solvers import PSCFRSolver
from ps_cfr_spiel.tree import Decision, PublicTree

NAMES = ("A", "B")  # of the agent of a record, and of all others, where it has no names
ITERATIONS, TREMBLE = JUDGING, 1.0  # of the solver that makes a solution
PARTS = 10  # of an agent's games, each judged by a model of its play in the others
KNOWN, ESTIMATED = "expectation", "advantages"  # methods of results


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
  loss: MatchResult  #: of each of the agent's games, by its own decisions; the expectation if it is known
  chips: MatchResult  #: the utility of the same games
  mistakes: tuple[Mistake, ...]  #: all decisions taken, the worst first

  @property
  def exact(self) -> bool:
    """Whether the loss follows from the agent's probabilities, which are known."""
    return self.loss.method == KNOWN

  def games_for(self, half: float) -> int | None:
    """The number of games for a 95% interval of the mean loss of plus or minus `half`.

    It is that of games with the spread of these; None if that is unknown, because all are of one deal.
    """
    if math.isnan(self.loss.standard_error):
      return None
    return max(1, math.ceil(len(self.loss.values) * (1.96 * self.loss.standard_error / half) ** 2))

  def facts(self, half: float, decisions: int) -> dict[str, object]:
    """JSON values, with the games needed for `half` (None for an exact loss) and the worst `decisions`."""

    def fact(result: MatchResult) -> dict[str, float | None]:
      error = None if math.isnan(result.standard_error) else result.standard_error
      return {"mean": result.mean, "standard_error": error}

    return {
      "agent": self.agent,
      "games": len(self.loss.values),
      "loss": fact(self.loss),
      "exact": self.exact,
      "chips": fact(self.chips),
      "games_needed": None if self.exact else {"half_width": half, "games": self.games_for(half)},
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
  policies: Mapping[str, OpenSpielPolicy] | None = None,
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
    policies: of agents whose probabilities are known, by name, to take all luck out; asked everywhere.
    **options: of `build_tree`; by default those with which a `TreePolicy` was made.

  ValueError for a wrong argument, a game that cannot be solved, or a recorded one that is not over or cannot
  have been played; TypeError for a `game` or policy of another kind.
  """
  game, records = sequential(game), check_records(games)
  if solution is None:
    solver = PSCFRSolver(game, PSCFROptions.of(tree=tree, tremble=TREMBLE, **options), progress=progress)
    solver.run(iterations, progress=progress)
    solution, tree = solver.average_policy(), solver.tree
  tree = tree_for(game, solution, progress, tree, **options)
  policy = as_table(tree, solution, game)
  referee, agents = Referee(policy), collections.defaultdict[str, list[_Seat]](list)
  for number, record in enumerate(records):
    try:
      for name, seat in _seats(policy, number, record):
        agents[name].append(seat)
    except ValueError as error:
      raise ValueError(f"Game {number} ({list(record.actions)}): {error}.") from error
  known = policies or {}
  if unknown := [name for name in known if name not in agents]:
    raise ValueError(f"policies has {unknown[0]!r}; the agents of these games are {', '.join(agents)}.")
  judged = tuple(_judgement(name, seats, referee, known.get(name)) for name, seats in agents.items())
  return Judged(judged, policy, exploitability(game, policy, tree=tree))


class Referee:
  """The values of all actions by a solution, also where the solution's own play never comes."""

  def __init__(self, solution: TreePolicy):
    """Nothing is computed yet; the solution should be near an equilibrium."""
    self.solution = solution
    self._against: dict[int, TreePolicy] = {}  # by player, as are models
    self._models: dict[int, _Play] = {}

  def _play_of(self, player: int, strategy: Sequence[np.ndarray] | None = None) -> "_Play":
    """A player's play of a strategy, [A, rows, H] for each block, by default of the solution's own."""
    if player not in self._against:
      self._against[player] = against_trembles(self.solution, player)
    if strategy is not None:
      return _Play(self._against[player], player, strategy)
    if player not in self._models:
      self._models[player] = self._play_of(player, self.solution.strategies[player])
    return self._models[player]

  def values(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: to the player if all then follow the solution; nan if trembles are beyond numbers."""
    return self._play_of(decision.player).values(decision)

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


class _Play:
  """The play of an agent in one seat, known or guessed, against opponents who play the solution."""

  def __init__(self, against: TreePolicy, player: int, strategy: Sequence[np.ndarray]):
    """`strategy` is [A, rows, H] for each block; `against` is the solution with trembles of the others."""
    self._strategy = strategy
    profile = [strategy if i == player else other for i, other in enumerate(against.strategies)]
    self._worths = worths_of(against.tree, profile, against.reach)
    starts = sum(len(level.actions) for level in against.tree.players[player].levels[:1])
    tables = zip(strategy[:starts], self._worths.values[player], strict=False)
    #: The utility to the player, less that of ends before which the player never acts.
    self.value = sum(float((table * values).sum()) for table, values in tables)

  def values(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: to the player if an action is taken, and the model followed then."""
    return self._worths.at(decision).value

  def chances(self, decision: Decision, h: int) -> np.ndarray:
    """float64[A]: the probabilities at an infostate."""
    return self._strategy[decision.block][:, decision.row, h]

  def loss(self, decision: Decision, h: int, choice: int) -> float:
    """The value of the mixture at an infostate less that of an action; nan if it is not known."""
    values = self.values(decision)[:, h]
    return float(self.chances(decision, h) @ values - values[choice])


class _Seat(NamedTuple):
  """One player's part of a recorded game."""

  player: int
  number: int  # of the game
  deal: Hashable
  utility: float
  taken: list[tuple[Decision, int, int]]  # the decisions: row, type, action


def _seats(solution: TreePolicy, number: int, record: Played) -> list[tuple[str, _Seat]]:
  """Each player's part of a game, with the agent's name; ValueError if it is not a game."""
  game, labels = solution.game, solution.labels
  seats = range(game.num_players())
  check_player(record.seat, len(seats))
  names = record.players or [NAMES[seat != record.seat] for seat in seats]
  if len(names) != len(seats):
    raise ValueError(f"it names {len(names)} players, and {game} has {len(seats)}")
  taken: list[list[tuple[Decision, int, int]]] = [[] for _ in seats]

  def look(state: pyspiel.State, player: int, action: int) -> None:
    if player >= 0:
      decision, h = labels.decision_at(state, player)
      taken[player].append((decision, h, decision.legal_actions.index(action)))

  utilities = replay(game, record.actions, look).returns()
  deal = ("game", number) if record.deal is None else ("deal", record.deal)
  return [(names[i], _Seat(i, number, deal, utilities[i], taken[i])) for i in seats]


def _judgement(
  name: str, seats: Sequence[_Seat], referee: Referee, policy: OpenSpielPolicy | None
) -> Judgement:
  losses = _estimates(seats, referee) if policy is None else _exactly(name, seats, referee, policy)
  utilities, deals = [seat.utility for seat in seats], [seat.deal for seat in seats]
  method, players = ESTIMATED if policy is None else KNOWN, [seat.player for seat in seats]
  loss = MatchResult.of(losses, utilities, deals, method, players)
  loss = loss if policy is None else loss._replace(standard_error=0.0)
  chips = MatchResult.of(utilities, utilities, deals, "chips")
  return Judgement(name, loss, chips, _mistakes(seats, referee))


def _estimates(seats: Sequence[_Seat], referee: Referee) -> list[float]:
  """The loss of each part of a game, by models of the agent's play in games of other deals."""
  parts = {deal: k % PARTS for k, deal in enumerate(dict.fromkeys(seat.deal for seat in seats))}
  losses = [math.nan] * len(seats)
  for part, player in sorted({(parts[seat.deal], seat.player) for seat in seats}):
    others = [seat for seat in seats if seat.player == player and parts[seat.deal] != part]
    solution, taken = (
      referee.solution.strategies[player],
      [choice for seat in others for choice in seat.taken],
    )
    model = referee._play_of(player, _frequencies(solution, taken) if taken else None)
    base = referee._play_of(player).value - model.value
    for k, seat in enumerate(seats):
      if (parts[seat.deal], seat.player) == (part, player):
        losses[k] = base + sum(model.loss(*choice) for choice in seat.taken)
        if not math.isfinite(losses[k]):
          raise ValueError(
            f"Game {seat.number}: the solution never plays most of its moves, so their values are not known."
          )
  return losses


def _frequencies(
  solution: Sequence[np.ndarray], taken: Iterable[tuple[Decision, int, int]]
) -> list[np.ndarray]:
  """The frequencies of the actions taken, for each block; the solution's probabilities elsewhere."""
  counts = collections.Counter((d.block, d.row, h, choice) for d, h, choice in taken)
  strategy, changed = list(solution), {block for block, *_ in counts}
  for block in changed:
    table = np.zeros_like(solution[block])
    for (at, row, h, choice), times in counts.items():
      if at == block:
        table[choice, row, h] = times
    visits = table.sum(0)
    strategy[block] = np.where(visits > 0, table / np.maximum(visits, 1), solution[block])
  return strategy


def _exactly(name: str, seats: Sequence[_Seat], referee: Referee, policy: OpenSpielPolicy) -> list[float]:
  """The loss in each seat of an agent that plays a policy; ValueError if it never does what it did."""
  tree, expected = referee.solution.tree, dict[int, float]()
  for player in {seat.player for seat in seats}:
    rows = [decision for decision in tree.names.decisions if decision.player == player]
    model = referee._play_of(player, strategies_of(tree, policy, rows)[player])
    expected[player] = referee._play_of(player).value - model.value
    played = ((seat.number, choice) for seat in seats if seat.player == player for choice in seat.taken)
    for number, (decision, h, choice) in played:
      if not model.chances(decision, h)[choice] > 0:
        raise ValueError(
          f"Game {number}: {name} plays {tree.names.move_names(decision)[choice]} at "
          f"{decision.infostates[h]!r}, which its policy never does; give the policy that played, or none."
        )
  return [expected[seat.player] for seat in seats]


def _mistakes(seats: Iterable[_Seat], referee: Referee) -> tuple[Mistake, ...]:
  """All decisions taken, the worst first."""
  labels, visited = referee.solution.labels, dict[tuple[int, str], tuple[Decision, int]]()
  taken = collections.Counter[tuple[int, str, int]]()
  for decision, h, choice in (choice for seat in seats for choice in seat.taken):
    place = decision.player, str(decision.infostates[h])
    visited.setdefault(place, (decision, h))
    taken[*place, choice] += 1
  mistakes = []
  for (player, infostate, choice), times in taken.items():
    decision, h = visited[player, infostate]
    losses, moves = referee.losses(decision)[:, h], labels.move_names(decision)
    best = moves[int(losses.argmin())]
    mistakes.append(Mistake(player, infostate, moves[choice], best, float(losses[choice]), times))
  return tuple(sorted(mistakes, key=lambda mistake: -mistake.loss))


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

"""Players judged by a solution of the game, without luck: what each of their own decisions loses.

The loss of a decision is the value of the solution's mixture at its infostate less that of the action played,
if all then follow the solution. An agent's loss is how much less it wins than the solution would, against
opponents who play the solution. If its probabilities are known that is computed; otherwise it is estimated
from its games (`loss_estimates`), as an interval if they do not show all that counts.
"""

import collections
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyspiel

from ps_cfr_spiel.arguments import check_player
from ps_cfr_spiel.evaluation.exploitability import exploitability
from ps_cfr_spiel.evaluation.judging.loss_estimates import (
  KnownOpponents,
  Seat,
  by_frequencies,
  by_known_opponents,
  strategy_of,
)
from ps_cfr_spiel.evaluation.judging.referee import Referee
from ps_cfr_spiel.evaluation.local_regrets import as_table
from ps_cfr_spiel.evaluation.match_results import MatchResult, Played, check_records, replay
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import JUDGING, PSCFROptions
from ps_cfr_spiel.policy import OpenSpielPolicy, TreePolicy, tree_for
from ps_cfr_spiel.solvers import PSCFRSolver
from ps_cfr_spiel.tree import Decision, PublicTree

NAMES = ("A", "B")  # of the agent of a record, and of all others, where it has no names
ITERATIONS, TREMBLE = JUDGING, 1.0  # of the solver that makes a solution
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
  #: of each of the agent's games, by its own decisions; the expectation if it is known. Infostates where its
  #: games never came count as played by the solution.
  loss: MatchResult
  most: MatchResult  #: the same, if the agent loses at those infostates as much as can be
  chips: MatchResult  #: the utility of the same games
  mistakes: tuple[Mistake, ...]  #: all decisions taken, the worst first

  @property
  def exact(self) -> bool:
    """True if the loss follows from the agent's probabilities, which are known."""
    return self.loss.method == KNOWN

  @property
  def unseen(self) -> float:
    """The agent's greatest loss a game at infostates that its games never reached."""
    return self.most.mean - self.loss.mean

  @property
  def interval(self) -> tuple[float, float]:
    """The 95% interval of the loss, for any opponents; nan if all games are of one deal."""
    return (
      self.loss.mean - 1.96 * self.loss.standard_error,
      self.most.mean + 1.96 * self.most.standard_error,
    )

  def games_for(self, half: float) -> int | None:
    """The number of games for a 95% interval of the mean loss of plus or minus `half`.

    It is that of games with the spread of these; None if that is unknown, because all are of one deal, or
    the unseen part is more.
    """
    if math.isnan(self.loss.standard_error) or self.unseen > half:
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
      "loss_at_most": fact(self.most),
      "interval": None if math.isnan(self.interval[0]) else self.interval,
      "exact": self.exact,
      "chips": fact(self.chips),
      "games_needed": None if self.exact else {"half_width": half, "games": self.games_for(half)},
      "worst_decisions": [mistake._asdict() for mistake in self.mistakes[:decisions]],
    }


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
    policies: of agents whose probabilities are known, by name; asked everywhere. Their losses are computed,
      and those of their opponents are estimated with less left open.
    **options: of `build_tree`; by default those with which a `TreePolicy` was made.

  ValueError for a wrong argument, a game that cannot be solved, or a recorded one that is not over or cannot
  have been played; TypeError for a `game` or policy of another kind.
  """
  game, records = sequential(game), check_records(games)
  if solution is None:
    solver = PSCFRSolver(game, PSCFROptions.of(tree=tree, tremble=TREMBLE, **options), progress=progress)
    solver.run(iterations, progress=progress)
    solution, tree = solver.average_policy(), solver.tree
  tree = tree_for(game, solution, tree, progress, **options)
  policy = as_table(tree, solution, game)
  referee, agents = Referee(policy), collections.defaultdict[str, list[Seat]](list)
  for number, record in enumerate(records):
    try:
      for name, seat in _seats(policy, number, record):
        agents[name].append(seat)
    except ValueError as error:
      raise ValueError(f"Game {number} ({list(record.actions)}): {error}.") from error
  known = policies or {}
  if unknown := [name for name in known if name not in agents]:
    raise ValueError(f"policies has {unknown[0]!r}; the agents of these games are {', '.join(agents)}.")
  opponents = KnownOpponents(referee, known)
  judged = tuple(
    _judgement(name, seats, referee, known.get(name), opponents) for name, seats in agents.items()
  )
  return Judged(judged, policy, exploitability(game, policy, tree=tree))


def _seats(solution: TreePolicy, number: int, record: Played) -> list[tuple[str, Seat]]:
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
  return [(names[i], Seat(i, tuple(names), number, deal, utilities[i], taken[i])) for i in seats]


def _judgement(
  name: str,
  seats: Sequence[Seat],
  referee: Referee,
  policy: OpenSpielPolicy | None,
  opponents: KnownOpponents,
) -> Judgement:
  utilities, deals = [seat.utility for seat in seats], [seat.deal for seat in seats]
  players = [seat.player for seat in seats]

  def result(losses: Sequence[float]) -> MatchResult:
    return MatchResult.of(losses, utilities, deals, ESTIMATED, players)

  if policy is not None:
    exact = result(_exactly(name, seats, referee, policy))
    loss = most = exact._replace(method=KNOWN, standard_error=0.0)
  elif (unbiased := by_known_opponents(seats, referee, opponents)) is not None:
    loss = most = result(unbiased.tolist())
  else:
    loss, most = (result(by_frequencies(seats, referee, worst).tolist()) for worst in (False, True))
  chips = MatchResult.of(utilities, utilities, deals, "chips")
  return Judgement(name, loss, most, chips, _mistakes(seats, referee))


def _exactly(name: str, seats: Sequence[Seat], referee: Referee, policy: OpenSpielPolicy) -> list[float]:
  """The loss in each seat of an agent that plays a policy; ValueError for a move that it never makes."""
  tree, expected = referee.solution.tree, dict[int, float]()
  for player in {seat.player for seat in seats}:
    model = referee.of(player, strategy_of(tree, policy, player))
    expected[player] = referee.of(player).value - model.value
    played = ((seat.number, choice) for seat in seats if seat.player == player for choice in seat.taken)
    for number, (decision, h, choice) in played:
      if not model.chances(decision, h)[choice] > 0:
        raise ValueError(
          f"Game {number}: {name} plays {tree.names.move_names(decision)[choice]} at "
          f"{decision.infostates[h]!r}, which its policy never does; give the policy that played, or none."
        )
  return [expected[seat.player] for seat in seats]


def _mistakes(seats: Iterable[Seat], referee: Referee) -> tuple[Mistake, ...]:
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

"""Tables 18.1, 21.7 and 21.8 of Schmid 2021 in kind: what local best responses win, and the noise of matches.

  python -m benchmarks.papers.strength responses [--iterations 1000]
  python -m benchmarks.papers.strength luck [--games 2000]

responses (Table 18.1 = 21.6): agents on a river with small ranges and four bet sizes, against a local best
response that may take few or many actions; exact values, in percent of the pot for a game, the mean of both
seats. The agents: a blueprint that knows two sizes and translates the others, an equilibrium of all sizes,
searches that consider two to five sizes (Table 21.7), and one who always folds to a bet. The thesis's columns
are mbb a hand of no-limit hold'em: signs and order are to be compared. On Leduc, with its own actions,
an equilibrium and a search by the network that comes with the package.
luck (Table 21.8): standard deviation of a game's worth by four estimators, within a seat (that one seat wins
from the other is no luck): on Leduc exactly, by all ways in which a game may go, of the same two agents with
themselves and against random play, and on a river and a turn with few hands by games of self-play.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from benchmarks.machine import describe, flags
from ps_cfr_spiel import PSCFRSolver, build_tree
from ps_cfr_spiel.evaluation import Played, evaluate_match, evaluate_policy, local_best_response, match_play
from ps_cfr_spiel.learning import pretrained
from ps_cfr_spiel.options import METHODS
from ps_cfr_spiel.policy import Translation, TreePolicy, WrappedPolicy
from ps_cfr_spiel.solvers import ContinualResolving

RANGES = "ranges=AA KK 98s 76s AhQh:0.5 JTs;QQ-99 AKs KQs A5s T9s"
PLACE = f"river_subgame(board=9s7c5s4hKd,pot=200,stack=900,{RANGES}"
FEW, MANY = "bets=1 a;1 a", "bets=0.5 0.75 1 2 a;0.5 1 a"
FOLD, CHECK = 0, 1
PASSIVE = ("Fold", "Call", "Check")
LEDUC_POT = 2  # the antes
NEGLIGIBLE = 1e-12  # a policy's probabilities may be rounded to nothing
BEST = "best response"
GAMES = {
  "river": f"{PLACE},bets=0.5 1 a;1 a)",
  "turn": "holdem_subgame(board=9s7c5s4h,pot=200,stack=600,bets=1 a;1 a,ranges=AA A9s KQs 86s;QQ 98s JTs 55)",
}
THESIS = {"chips": 25.962, "mivat": 21.293, "imaginary": 16.073, "aivat": 8.095}


def responses(options: argparse.Namespace) -> None:
  """Prints the tables of local best responses."""
  game = pyspiel.load_game(f"{PLACE},{MANY})")
  names, sizes = legal(game), first_bets(game)
  passive = [action for action, name in names.items() if name.split()[0] in PASSIVE]
  known = [action for action, size in sizes.items() if size in (1.0, max(sizes.values()))]
  columns = {"fold, call": passive, "+ pot, all in": passive + known, "all sizes": None, BEST: None}
  agents: dict[str, Any] = {name: make(game, options.iterations) for name, make in AGENTS.items()}
  for searched in SEARCHED:
    kept = [action for action, size in sizes.items() if size in searched or size == max(sizes.values())]
    search = ContinualResolving(game, options.iterations, actions=sorted({*passive, *kept}))
    agents[f"search with {' '.join(map(str, searched))} a"] = search.tabularise(progress=False)
  lost(game, game.get_parameters()["pot"], columns, agents)
  game = pyspiel.load_game("leduc_poker")
  passive = [action for action, name in legal(game).items() if name in PASSIVE]
  agents = {name: make(game, options.iterations) for name, make in LEDUC_AGENTS.items()}
  lost(game, LEDUC_POT, {"fold, call": passive, "all": None, BEST: None}, agents)


def lost(
  game: pyspiel.Game, pot: float, columns: dict[str, list[int] | None], agents: dict[str, Any]
) -> None:
  """Prints what agents lose to local best responses that may take some actions, in percent of the pot."""
  print(f"\n{'% of the pot':32}" + "".join(f"{name:>16}" for name in columns))
  for name, policy in agents.items():
    evaluation = evaluate_policy(game, policy)
    won = [
      float(evaluation.exploitability)
      if column == BEST
      else local_best_response(game, policy, actions=actions).exploitability
      for column, actions in columns.items()
    ]
    print(f"{name:32}" + "".join(f"{100 * x / pot:16.2f}" for x in won), flush=True)


def legal(game: pyspiel.Game) -> dict[int, str]:
  """All actions of a game, with their names as the player to act would say them."""
  found: dict[int, str] = {}

  def walk(state: pyspiel.State) -> None:
    if state.is_terminal():
      return
    if state.is_chance_node():
      walk(state.child(state.chance_outcomes()[0][0]))
      return
    for action in state.legal_actions():
      found.setdefault(action, state.action_to_string(state.current_player(), action))
      walk(state.child(action))

  walk(game.new_initial_state())
  return found


def first_bets(game: pyspiel.Game) -> dict[int, float]:
  """Sizes of first bets, in pots, by action."""
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.chance_outcomes()[0][0])
  return {action: size for action, size in state.bet_sizes().items() if size > 0}


def solved(game: pyspiel.Game, iterations: int) -> TreePolicy:
  """An equilibrium, nearly."""
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(iterations)
  return solver.average_policy()


def blueprint(game: pyspiel.Game, iterations: int) -> Any:
  """A strategy for two sizes that translates what else is bet."""
  return WrappedPolicy(game, solved(pyspiel.load_game(f"{PLACE},{FEW})"), iterations), Translation())


def folding(game: pyspiel.Game, _: int) -> TreePolicy:
  """Checks, and folds to any bet."""
  tree = build_tree(game)
  blocks = [[np.zeros(shape) for shape in player.block_shapes] for player in tree.players]
  for d in tree.names.decisions:
    chosen = d.legal_actions.index(FOLD if FOLD in d.legal_actions else CHECK)
    blocks[d.player][d.block][chosen, d.row] = 1
  return TreePolicy(game, tree.names, blocks)


AGENTS: dict[str, Callable[[pyspiel.Game, int], Any]] = {
  "blueprint of two sizes": blueprint,
  "equilibrium of all sizes": solved,
  "always fold": folding,
}
SEARCHED = ((1,), (0.5, 1), (0.5, 0.75, 1, 2))  # sizes beside all-in


def by_network(game: pyspiel.Game, iterations: int) -> TreePolicy:
  """Searches of one decision, beyond which the network that comes with the package says what follows."""
  values = pretrained(game)
  return ContinualResolving(game, iterations, lookahead=1, value_function=values).tabularise(progress=False)


LEDUC_AGENTS: dict[str, Callable[[pyspiel.Game, int], Any]] = {
  "leduc_poker, equilibrium": solved,
  "leduc_poker, search by a network": by_network,
}


def luck(options: argparse.Namespace) -> None:
  """Prints the table of standard deviations."""
  print(f"{'':34}" + "".join(f"{name:>12}" for name in METHODS))
  print(f"{'thesis (big blinds)':34}" + "".join(f"{THESIS[name]:12.3f}" for name in METHODS))
  game = pyspiel.load_game("leduc_poker")
  foreign = openspiel_policy.UniformRandomPolicy(game)
  for name, make in LEDUC_AGENTS.items():
    policy = make(game, options.iterations)
    for other, label in ((policy, name), (foreign, f"{name} against random")):
      found = [spread_of_all(game, policy, other, method) for method in METHODS]
      print(f"{label:34}" + "".join(f"{x:12.3f}" for x in found), flush=True)
  for name, text in GAMES.items():
    game = pyspiel.load_game(text)
    policy = solved(game, 500)
    games = match_play.play_games(
      game, match_play.player(policy, 1), match_play.player(policy, 2), options.games
    )
    line = ""
    for method in METHODS:
      if method == "mivat":  # needs values of single histories, of a game that was walked
        line += f"{'-':>12}"
        continue
      line += f"{spread(evaluate_match(game, games, policy, method=method).values, games):12.3f}"
    print(f"{f'{name}, {options.games:,} games, chips':34}{line}", flush=True)


def spread(values: np.ndarray, games: list[Played]) -> float:
  """Standard deviation within a seat: what one seat wins from the other on average is no luck."""
  seats = np.array([record.seat for record in games])
  within = [values[seats == i] - values[seats == i].mean() for i in (0, 1)]
  return float(np.sqrt(sum((x**2).sum() for x in within) / (len(values) - 2)))


def spread_of_all(game: pyspiel.Game, policy: Any, other: Any, method: str) -> float:
  """Standard deviation within a seat over all games of a policy against another, in both seats."""
  squares = []
  for seat in (0, 1):
    actions, odds = zip(*all_games(game, (policy, other) if seat == 0 else (other, policy)), strict=True)
    values = evaluate_match(game, [Played(seat, a) for a in actions], policy, method=method).values
    squares.append(np.array(odds) @ (values - np.array(odds) @ values) ** 2)
  return float(np.sqrt(np.mean(squares)))


def all_games(game: pyspiel.Game, policies: tuple[Any, Any]) -> list[tuple[tuple[int, ...], float]]:
  """Ways in which a game of both players' policies may go, with their probabilities, if not negligible."""
  found = []

  def walk(state: pyspiel.State, probability: float) -> None:
    if state.is_terminal():
      found.append((tuple(state.history()), probability))
      return
    mover = None if state.is_chance_node() else policies[state.current_player()]
    odds = state.chance_outcomes() if mover is None else mover.action_probabilities(state).items()
    for action, p in odds:
      if probability * p > NEGLIGIBLE:
        walk(state.child(action), probability * p)

  walk(game.new_initial_state(), 1.0)
  return found


TABLES = {"responses": responses, "luck": luck}


def main() -> None:
  """Prints a table."""
  options = flags(__doc__, table=tuple(TABLES), iterations=1000, games=2000)
  print(describe() + "\n")
  TABLES[options.table](options)


if __name__ == "__main__":
  main()

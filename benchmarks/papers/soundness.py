"""Soundness of players with a memory: the k-step response game (Schmid 2021, Section 7.5).

  python -m benchmarks.papers.soundness [--games kuhn_poker coordinated_mp] [--iterations 100 1000]
                                        [--seeds 5] [--matches 2]

An online algorithm may play a match by what it met in the ones before, and a decision by what it was asked
before. So no strategy describes it, and its exploitability is that of the k matches as one game, in which its
decisions are chance's: the most that an opponent wins in a match on average, beyond the value of the game
(Definition 12). Both see the whole history when a match is over. The game is exponential in k, so this is for
small games.

Printed for online outcome sampling as a player of matches, which keeps its tables from decision to decision
within a match and has other random numbers in the next, and for one that begins every decision anew. Chance
chooses one of the seeds, which the opponent does not know but may guess from its play.
"""

import functools
import itertools
from collections.abc import Callable, Sequence

import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel import OnlineOutcomeSampling, PSCFRSolver

History = tuple[int, ...]  # actions
#: Probabilities of actions, after the histories of all matches before and at a state of this one.
Player = Callable[[tuple[History, ...], pyspiel.State], dict[int, float]]
Node = tuple[float, int, pyspiel.State]  # a probability, the number of the player that chance chose, a state


def response_value(game: pyspiel.Game, seat: int, players: Sequence[Player], matches: int) -> float:
  """The most that an opponent wins in a match, on average over some, from a player in a seat.

  Chance chooses one of the players before the first match. The game is for two, in turns.
  """

  def best(nodes: list[Node], past: tuple[History, ...]) -> float:
    """The opponent's wins in this match and those after it, from nodes that look alike to the opponent."""
    won, choices, over = 0.0, dict[str, list[Node]](), dict[History, list[Node]]()
    while nodes:
      probability, number, state = nodes.pop()
      if not probability:
        continue
      if state.is_terminal():
        won += probability * state.returns()[1 - seat]
        over.setdefault(tuple(state.history()), []).append((probability, number, game.new_initial_state()))
      elif state.current_player() == 1 - seat:
        choices.setdefault(state.information_state_string(), []).append((probability, number, state))
      else:
        chance = state.is_chance_node()
        moves = state.chance_outcomes() if chance else players[number](past, state).items()
        nodes += [(probability * share, number, state.child(action)) for action, share in moves]
    for alike in choices.values():
      actions = alike[0][2].legal_actions()
      won += max(best([(p, n, state.child(action)) for p, n, state in alike], past) for action in actions)
    if len(past) + 1 < matches:
      won += sum(best(alike, (*past, history)) for history, alike in over.items())
    return won

  first = [(1 / len(players), number, game.new_initial_state()) for number in range(len(players))]
  return best(first, ()) / matches


def of_bots(seat: int, make: Callable[[], pyspiel.Bot]) -> Player:
  """A bot that answers with probabilities, as a player: asked again at all decisions that it has met."""
  known: dict[tuple[tuple[History, ...], str], dict[int, float]] = {}

  def play(past: tuple[History, ...], state: pyspiel.State) -> dict[int, float]:
    key = past, state.information_state_string()
    if key not in known:
      bot, game = make(), state.get_game()
      answer: dict[int, float] = {}
      for history in (*past, state.history()):
        bot.restart()
        met = game.new_initial_state()
        for action in (*history, None):
          if not met.is_terminal() and met.current_player() == seat:
            answer = dict(bot.get_policy(met))
          if action is not None:
            met.apply_action(action)
      known[key] = answer
    return known[key]

  return play


def main() -> None:
  games = ["kuhn_poker", "coordinated_mp"]
  options = flags(__doc__ or "", games=games, iterations=[100, 1000], seeds=5, matches=2)
  print(describe())
  print(f"{'':18}{'iterations':>11}{'tables':>8}{'matches':>9}{'seat 0':>10}{'seat 1':>10}")
  for name in options.games:
    game = pyspiel.load_game(name)
    solver = PSCFRSolver(game)
    solver.run(5000, progress=False)
    value = solver.value()
    for iterations, keep in itertools.product(options.iterations, (True, False)):
      method = OnlineOutcomeSampling(game, int(iterations))
      for matches in range(1, options.matches + 1):
        losses = []
        for seat in (0, 1):
          bots = (functools.partial(method.bot, seat, seed, keep) for seed in range(options.seeds))
          won = response_value(game, seat, [of_bots(seat, make) for make in bots], matches)
          losses.append(won + value if seat == 0 else won - value)
        tables = "kept" if keep else "anew"
        row = f"{name:18}{iterations:>11}{tables:>8}{matches:>9}"
        print(row + "".join(f"{loss:10.4f}" for loss in losses), flush=True)


if __name__ == "__main__":
  main()

"""Iterations, and seconds, to a given exploitability for each regret rule.

  taskset -c 0 python -m benchmarks.engineering.general_convergence rivers [--plot docs/river_convergence.png]
  taskset -c 0 python -m benchmarks.engineering.general_convergence leduc [--plot docs/leduc_convergence.png]
  python -m benchmarks.engineering.general_convergence rules [--plot docs/rules_by_game.png]
  python -m benchmarks.engineering.general_convergence papers

Exploitability is exact, of the average policy: on rivers in % of the pot, elsewhere in % of the uniform
policy's. `rivers` and `leduc` (as in Schmid 2021, Fig. 17.4) draw curves of single runs; their seconds leave
out compilation and the evaluations, and come from the median time of an iteration in the same process; --cap
is the most iterations. `rules` draws a table of all rules on small games: medians of `STARTS` runs whose
first strategies are perturbed by 0.1%, because exact ties would let rounding decide. NRM+'s parameters were
not chosen on games with a star. `papers` puts published figures of rules beside such runs.
"""

import argparse

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe, flags, median_seconds, picture
from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.device import precision

SUBGAMES = {
  "main: SPR 99.5, pot bets, all hands": "river_subgame",
  "paired: SPR 1, half pot and pot, wide": (
    "river_subgame(board=KhKd8c4s2h,pot=200,stack=300,bets=0.5 1 a,ranges="
    "22+ A2s+ K2s+ Q5s+ J7s+ T7s+ 97s+ 86s+ 75s+ 64s+ A2o+ K8o+ Q9o+ J9o+ T8o+ 98o;"
    "22+ A2s+ K5s+ Q8s+ J8s+ T8s+ 97s+ 86s+ 75s+ A5o+ K9o+ QTo+ JTo)"
  ),
  "flush: SPR 3, half pot and pot, sparse": (
    "river_subgame(board=AhJh6h9c2d,pot=200,stack=700,bets=0.5 1 a,ranges="
    "AA JJ 66 AK KQs QTs T9s 87s:0.5 54s:0.5 KTo:0.3;JJ 99 AQ:0.7 AJ KJs KTs Q9s T8s 76s:0.5 A9s)"
  ),
  "two pair: SPR 99.5, pot bets, value": (
    "river_subgame(board=8d8sJc5hAh,pot=200,stack=20000,bets=1 a,ranges="
    "AA JJ 55 A8s K8s 87s 98s AK AQ AJs KJs QJs:0.5 76s:0.5;JJ 55 A8s 98s T8s 86s:0.5 AK AJ ATs KJs T9s:0.5)"
  ),
  "dry: SPR 10, half pot and pot, polar": (
    "river_subgame(board=QcTd7h3s2c,pot=200,stack=2100,bets=0.5 1 a,ranges="
    "QQ TT 77 33 QTs AKs:0.5 J9s:0.5 98s 86s:0.5 65s A5s:0.4;KK:0.5 KQ QJ Q9s AT KTs JTs 88 99 A7s:0.6)"
  ),
  "straight: SPR 10, half pot and pot, sparse": (
    "river_subgame(board=6c7d8hKsKc,pot=200,stack=2100,bets=0.5 1 a,ranges="
    "AK KQ:0.8 KJs 88 77 T9s 95s:0.5 54s A9s:0.4 QJs:0.6;KTs KQ 66 T9s 97s 86s AQ:0.3 JTs:0.5 55)"
  ),
}
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending))"
RULES = {
  "NRM+": "nrm+",
  "DCFR(1.5, 0, 2)": "dcfr",
  "LCFR": "lcfr",
  "CFR+": "rm+",
  "PCFR+": "pcfr+",
  "PDCFR+": "pdcfr+",
  "CFR": "rm",
}
LEVELS = (1, 0.3, 0.1, 0.03, 0.01)  # % of the pot, or of the uniform policy's exploitability
BATCH = 100  # iterations of a timed call
ENDS = 100, 1000  # and the last iteration: where `rules` prints exploitability; targets count up to 1,000
STARTS, TARGETS, FLOOR = 5, (1, 0.1, 0.01, 0.001, 0.0001), 1e-12  # below the floor all is rounding
LEDUC = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=2 2,numSuits=2,numRanks={},numHoleCards=1,numBoardCards=0 1)"
)
# NashConv after 5,000 iterations, by ranks of Leduc and rule: Meng et al. 2026, Table 2
MENG = {
  5: {"dcfr": 2.79e-5, "pcfr+": 2.69e-5, "apcfr+": 4.80e-6, "sapcfr+": 3.49e-6},
  9: {"dcfr": 1.27e-5, "pcfr+": 5.21e-5, "apcfr+": 4.03e-5, "sapcfr+": 4.07e-5},
  13: {"dcfr": 1.09e-5, "pcfr+": 3.15e-5, "apcfr+": 1.45e-5, "sapcfr+": 1.42e-5},
}
BATTLESHIP = "battleship(board_width={},board_height=2,num_shots=2,allow_repeated_shots=False,{})"
SMALL = {  # for `rules`; NRM+'s parameters were chosen on the first six, among others
  "Kuhn": "kuhn_poker",
  "Leduc": "leduc_poker",
  "goofspiel 4": GOOFSPIEL.format(4),
  "liar's dice 3": "liars_dice(dice_sides=3)",
  "battleship 2x2": BATTLESHIP.format(2, "ship_sizes=[2],ship_values=[1]"),
  "small river": "river_subgame(pot=200,stack=20000,ranges=22+ A9s+ KTs+ QTs+ AQo+;33+ A8s+ KTs+ JTs AJo+)",
  "liar's dice 4*": "liars_dice(dice_sides=4)",
  "liar's dice 5*": "liars_dice(dice_sides=5)",
  "goofspiel 5*": GOOFSPIEL.format(5),
  "battleship 2x2, 1 and 2*": BATTLESHIP.format(2, "ship_sizes=[1;2],ship_values=[1;1]"),
  "battleship 3x2*": BATTLESHIP.format(3, "ship_sizes=[2],ship_values=[1]"),
  "Leduc, 4 ranks*": LEDUC.format(4),
}


def marks(last: int) -> list[int]:
  """Iterations at which exploitability is looked at: every one to 20, then in steps of 5%."""
  points = [1]
  while points[-1] < last:
    points.append(min(max(points[-1] + 1, int(points[-1] * 1.05)), last))
  return points


def start_of(game: pyspiel.Game, rule) -> tuple[ps_cfr_spiel.PSCFRSolver, float]:
  """A solver, and what is 100% of exploitability: the pot, or the uniform policy's."""
  solver = ps_cfr_spiel.PSCFRSolver(game, rule)
  return solver, game.get_parameters().get("pot") or solver.exploitability()


def measure(game: pyspiel.Game, rule, cap: int) -> tuple[float, list[tuple[int, float]]]:
  """Milliseconds an iteration, and exploitability in % at each mark."""
  solver, whole = start_of(game, rule)
  state = solver._state
  step = lambda: jax.block_until_ready(cfr.run(solver._tree, state, BATCH, rule=solver.rule))  # noqa: E731
  step()
  milliseconds, curve = 1e3 * median_seconds(step, 7) / BATCH, []
  for mark in marks(cap):
    solver._advance(mark - solver.iteration)
    curve.append((mark, 100 * solver.exploitability() / whole))
    if curve[-1][1] < LEVELS[-1] / 3:
      break
  return milliseconds, curve


def first_below(curve, level: float) -> int | None:
  """The first mark from which exploitability is below the level."""
  return next((mark for mark, value in curve if value <= level), None)


def curves(options: argparse.Namespace) -> dict[str, dict[str, list[tuple[int, float]]]]:
  """Prints a table for each game; the curves that are drawn."""
  found: dict[str, dict] = {}
  for name, text in {"rivers": SUBGAMES, "leduc": {"Leduc": "leduc_poker"}}[options.what].items():
    if options.only not in name:
      continue
    print(f"\n{name}\n{'rule':17}{'ms/it':>7}   iterations to {'/'.join(map(str, LEVELS))} % (seconds)")
    for rule, key in RULES.items():
      milliseconds, curve = measure(pyspiel.load_game(text), key, options.cap)
      reached = [first_below(curve, level) for level in LEVELS]
      cells = ["-" if n is None else f"{n} ({n * milliseconds / 1e3:.3f})" for n in reached]
      print(f"{rule:17}{milliseconds:7.3f}   " + "  ".join(f"{cell:>14}" for cell in cells), flush=True)
      found.setdefault(name, {})[rule] = curve
  return found


def perturbed(state, generator):
  """A run's first state, with strategies changed by 0.1%."""

  def noisy(p):
    weights = p * np.exp(1e-3 * generator.standard_normal(p.shape))
    return jax.numpy.asarray(weights / weights.sum(0))

  return state._replace(
    players=tuple(x._replace(strategy=tuple(map(noisy, x.strategy))) for x in state.players)
  )


def table_of_rules(options: argparse.Namespace) -> dict[str, dict[str, float]]:
  """Prints a line for each game and rule; the median exploitability at the end, in % as elsewhere."""
  ends = [mark for mark in ENDS if mark < options.length] + [options.length]
  looks = sorted({*ends, *marks(min(options.length, ENDS[-1]))})
  print(f"iterations to {'/'.join(map(str, TARGETS))} %, and % after {ends}: medians")
  found: dict[str, dict[str, float]] = {}
  for name, text in SMALL.items():
    if options.only not in name:
      continue
    game, generator = pyspiel.load_game(text), np.random.default_rng(0)
    for rule in options.rules:
      curves = perturbed_runs(game, rule, options, generator, looks)
      early = [[point for point in curve if point[0] <= ENDS[-1]] for curve in curves]
      reached = [np.median([first_below(curve, level) or np.inf for curve in early]) for level in TARGETS]
      after = [np.median([dict(curve)[mark] for curve in curves]) for mark in ends]
      found.setdefault(name, {})[rule] = max(float(after[-1]), FLOOR)
      cells = "/".join("-" if n == np.inf else f"{n:.0f}" for n in reached)
      print(f"{name:26}{rule:10}{cells:>22}" + "".join(f"{x:9.1e}" for x in after), flush=True)
  return found


def perturbed_runs(game: pyspiel.Game, rule: str, options: argparse.Namespace, generator, looks: list[int]):
  """Exploitability in % after each of `looks`: `STARTS` runs whose first strategies are changed by 0.1%."""
  made = cfr.make_rule(rule, options.length, not options.simultaneous)
  solver = ps_cfr_spiel.PSCFRSolver(game, made, alternating=not options.simultaneous, dtype=options.dtype)
  start, curves = jax.device_get(solver._state), []
  whole = game.get_parameters().get("pot") or solver.exploitability()
  for _ in range(STARTS):
    with precision(options.dtype):
      solver._state, solver._evaluation = perturbed(start, generator), None
    curves.append([])
    for mark in looks:
      solver._advance(mark - solver.iteration)
      curves[-1].append((mark, 100 * solver.exploitability() / whole))
  return curves


def beside_papers(options: argparse.Namespace) -> None:
  """Prints NashConv after as many iterations as a paper says, beside its figures."""
  options.length = 5000
  for ranks, figures in MENG.items():
    game, generator = pyspiel.load_game(LEDUC.format(ranks)), np.random.default_rng(0)
    whole = ps_cfr_spiel.PSCFRSolver(game, dtype=options.dtype).exploitability()
    for rule, figure in figures.items():
      curves = perturbed_runs(game, rule, options, generator, [options.length])
      least, median, most = np.quantile([2 * whole * curve[-1][1] / 100 for curve in curves], (0, 0.5, 1))
      print(
        f"Leduc, {ranks:2} ranks {rule:9}{median:9.2e} ({least:.2e} to {most:.2e}); paper {figure:.2e}",
        flush=True,
      )


def draw_table(found, path: str) -> None:
  """A cell for each rule and game, the darker the nearer to the best of its game."""
  from ps_cfr_spiel.apps.pictures import figure_with_panels

  rules, games = list(next(iter(found.values()))), list(found)
  numbers = np.array([[found[game][rule] for game in games] for rule in rules])
  behind = np.minimum(np.log10(numbers / numbers.min(0)), 6)
  figure, (axes,) = figure_with_panels([""], size=(14, 4.8))
  axes.imshow(behind, cmap="Greens_r", aspect="auto", vmin=0, vmax=8)
  for (row, column), number in np.ndenumerate(numbers):
    best = number <= 1.5 * numbers[:, column].min()
    axes.text(column, row, f"{number:.1e}", ha="center", va="center", fontsize=9,
      weight="bold" if best else "normal", color="white" if behind[row, column] < 2 else "black")  # fmt: skip
  axes.set_xticks(range(len(games)), [name.replace(", ", ",\n") for name in games])
  axes.set_yticks(range(len(rules)), rules)
  axes.grid(False)
  axes.set_title("exploitability after 1,000 iterations, in % of the uniform policy's (river: of the pot)")
  figure.savefig(path)


def draw(curves, path: str) -> None:
  """Exploitability by iterations, a panel for each game."""
  from ps_cfr_spiel.apps.pictures import dress, figure_with_panels

  figure, places = figure_with_panels(list(map(title, curves)), columns=3, sharex=True, sharey=True)
  for number, (axes, (name, rules)) in enumerate(zip(places, curves.items(), strict=True)):
    for rule, curve in rules.items():
      axes.loglog(*zip(*curve, strict=True), label=rule, linewidth=2.2 if rule == "NRM+" else 1.2)
    axes.set_ylim(0.005, None)
    whole = "the pot" if name in SUBGAMES else "the uniform policy's"
    dress(
      axes,
      "iterations" if number >= len(curves) - 3 else "",
      "" if number % 3 else f"exploitability (% of {whole})",
    )
  places[0].legend(frameon=False, fontsize=8)
  figure.savefig(path)


def title(name: str) -> str:
  """A game's name and, in a line of its own, a river's board."""
  return (
    f"{name}\n{pyspiel.load_game(SUBGAMES[name]).get_parameters()['board']}" if name in SUBGAMES else name
  )


def main() -> None:
  options = flags(
    __doc__,
    what=("rivers", "leduc", "rules", "papers"),
    cap=2500,
    only="",
    plot=None,
    redraw=False,
    length=1000,
    dtype="float64",
    rules=list(cfr.RULES),
    simultaneous=False,
  )
  if options.what == "papers":
    print(describe())
    return beside_papers(options)
  if options.what == "rules":
    picture(options, lambda: table_of_rules(options), draw_table)
  else:
    picture(options, lambda: curves(options), draw)


if __name__ == "__main__":
  main()

"""The command `ps-cfr-spiel summary`: how large a game is, and its public tree."""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Command, Flag, given_options
from ps_cfr_spiel.apps.commands.framework.flags import JSON, SPOT, TREE, memory_lines, say
from ps_cfr_spiel.apps.commands.framework.user_input import drawing, load_game, refuse
from ps_cfr_spiel.options import TreeOptions
from ps_cfr_spiel.reports import report

# fmt: off
FLAGS = (
  Flag("tree", False, "Print the public tree, too."),
  Flag("infostates", False, "With --tree: list the possible knowledge of each player."),
  Flag("depth", None, "Depth below which the tree is left out.", kind=int, least=0),
  Flag("png", None, "Picture of the public tree.", value="FILE"),
  *TREE,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not values.tree:
    refuse(values, ("infostates", *([] if values.png else ["depth"])), "is for --tree")
  game = load_game(words, values)
  drawn = drawing(values.png)
  tree = ps.build_tree(game, **given_options(values, TreeOptions))
  lines = ps.views.certificate(tree, values.depth, infostates=values.infostates) if values.tree else ""
  if drawn:
    pictures, file = drawn
    pictures.public_tree(tree, values.depth).savefig(file)
  solved = next((known for known in ps.measures.solved() if known.game == tree.names.game), None)
  if values.json:
    needs = ps.PSCFRSolver.memory_needs(game, leaves=values.leaves)
    facts = {} if needs is None else {"bytes_to_solve": needs.run}
    facts |= {} if solved is None else {"solved": solved._asdict()}
    say(values, tree.sizes() | facts | ({"tree": lines.split("\n")} if lines else {}))
    return None
  print(tree.summary())
  if memory := memory_lines(game, values.leaves):
    print(report(memory))
  if solved is not None:
    print(report(_solved(solved, game)))
  if lines:
    print("\n" + lines)
  if drawn:
    print(report({"saved": drawn[1]}))


def _solved(known: ps.measures.SolvedGame, game: pyspiel.Game) -> dict[str, str]:
  """Lines of the table of solved games."""
  losses = (known.trembled_exploitability, known.mean_local_regret, known.worst_local_regret)
  exploitability, mean, worst = (ps.views.with_unit(loss, game) for loss in losses)
  return {
    **ps.views.value_lines([known.value], game),
    "with trembles": f"exploitability {exploitability}; local regret: mean {mean}, worst {worst} "
    f"(table of solved games, {known.iterations:,} iterations)",
  }


COMMAND = Command(
  name="summary",
  arguments="[GAME]",
  summary="Print how large a game is",
  text="GAME is written as for solve. Prints how many histories, public states and infostates it has, and "
  "how much memory a poker game takes to solve, and, for a game in the table of solved games, its results; "
  "with --tree also the public tree itself, a line for each public state.",
  examples=(
    "summary 'river_subgame(bets=0.5 1 2 a)'",
    "summary kuhn_poker --tree --infostates",
    "summary leduc_poker --depth=5 --png=tree.png",
  ),
  options=FLAGS,
  run=_run,
)

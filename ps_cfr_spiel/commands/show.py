"""The command `ps-cfr-spiel show`: a saved strategy as a chart, a table, or a belief about hidden moves."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from absl import flags

from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import JSON, MOST_HISTORIES, say
from ps_cfr_spiel.commands.user_input import (
  UserError,
  drawing,
  keep_apart,
  load_saved_policy,
  refuse,
  user_errors,
)
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.solvers import HierarchicalPolicy
from ps_cfr_spiel.views import Spot, chance_moves, charts, glasses, spot, spot_after, worth_at

# fmt: off
FLAGS = (
  Flag("at", "",
    "Place in the game: the public moves so far, such as 'check, bet 200', 'x b200' for short, or "
    "OpenSpiel's numbers such as '1 2'; or a public state of summary --tree, such as '#12'. In glasses, "
    "'Stones to 1/9, Evader to 4', '1/9, 4' for short. The default is the start of the game.", value="MOVES"),
  Flag("history", None,
    "Place in the game, by a whole history instead: all moves from the start, those of chance and hidden "
    "ones included, such as '0 1 pass' in kuhn_poker.", value="MOVES"),
  Flag("hand", None,
    "Table of the hands of this kind instead of the chart: AhKd, or AKs, AKo, AK, TT for all suits. In games "
    "without a chart, a table of the information states that contain this text."),
  Flag("action", None,
    "In a chart: the action whose frequency is shown, instead of the most frequent one.", value="ACTION"),
  Flag("png", None, "Picture of the chart, or of the belief.", value="FILE"),
  Flag("csv", None,
    "Table of the strategy, a row for every action of every information state, with values (EV), reach and "
    "equity: all of it, or with --at or --history that place alone. JSON lines if the name ends in .jsonl.",
    value="FILE"),
  Flag("part", None,
    "Part of the strategy to save: the decisions on the way to this line and after it; with '...' at its end "
    "also all that follow, as in 'check, check, 2c ...'. May be given several times.", kind=tuple),
  Flag("save", None, "With --part: the file for it, such as part.npz.", value="FILE"),
  Flag("player", None, "In a table of information states: their player.", choices=("0", "1")),
  Flag("rows", 50, "Most lines of a table.", least=1),
  JSON,
  MOST_HISTORIES,
)
# fmt: on


def show(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  if len(words) != 1:
    raise UserError(f"show needs one file, such as runs/river_subgame/run.npz; got {len(words)}.")
  if values.at and values.history:
    raise UserError("--at and --history both say where to look; give one of them.")
  for name in ("csv", "save"):
    keep_apart(name, values[name].value, words[0])
  if values.csv or values.json or values.part or values.save:  # what these write is whole
    refuse(values, ("player", "rows", "hand", "action", "png"), "is for what is printed as text")
  drawn = drawing(values.png)
  policy = load_saved_policy(words[0], values.limit)
  if values.part or values.save:
    return _save_part(values, policy)
  if values.csv or values.json:
    return _export(values, policy)
  print(f"{policy.labels.game}\n{origin(policy)}\n\n{_text(values, policy)}")
  if drawn:
    _draw(*drawn, policy, values)
  return 0


def _export(values: flags.FlagValues, policy: TreePolicy) -> int:
  """Writes or prints the rows of the strategy."""
  with user_errors():
    here = _place(values, policy) if values.at or values.history else None
    wanted = None if here is None else [here.public_state]
    facts = {"game": policy.labels.game, "strategy": origin(policy)}
    if values.csv:
      count = policy.to_csv(values.csv, wanted)
      facts |= {"rows": count, "saved": values.csv}
      say(values, facts, {**facts, "rows": f"{count:,}"})
    else:
      say(values, {**facts, "rows": policy.to_rows(wanted)})
  return 0


def _save_part(values: flags.FlagValues, policy: TreePolicy) -> int:
  """Writes a part of the strategy to a file."""
  if not (values.part and values.save):
    raise UserError("--part and --save belong together: --part='check, check ...' --save=part.npz.")
  with user_errors():
    policy.save(values.save, values.part)
  say(values, {"game": policy.labels.game, "strategy": origin(policy), "saved": values.save})
  return 0


def _place(values: flags.FlagValues, policy: TreePolicy) -> Spot:
  """The spot that --at or --history names."""
  return spot_after(policy, values.history) if values.history else spot(policy, values.at)


def _text(values: flags.FlagValues, policy: TreePolicy) -> str:
  """What is printed."""
  placed = values.at or values.history
  if policy.game.get_type().short_name == "glasses" and (values.at or values.png) and "#" not in values.at:
    return _belief_text(values, policy)
  if placed or charts.deals_hands(policy):
    return _spot_text(values, policy)
  if values.png or values.action:
    raise UserError(
      f"--action and --png are for charts of hands, and --png for glasses; not for {policy.labels.game}."
    )
  player = None if values.player is None else int(values.player)
  with user_errors():
    return charts.infostates_text(policy, player, values.hand or "", values.rows)


def _draw(pictures: ModuleType, file: Path, policy: TreePolicy, values: flags.FlagValues) -> None:
  """Draws what was printed."""
  with user_errors():
    if policy.game.get_type().short_name == "glasses":
      figure = pictures.glasses_position(glasses.after(policy.game, values.at), policy)
    elif chance_moves(policy, values.at):
      figure = pictures.card_chart(policy, values.at)
    else:
      figure = pictures.hand_chart(policy, values.at)
    figure.savefig(file)
  print(f"Drawn in {file}")


def _spot_text(values: flags.FlagValues, policy: TreePolicy) -> str:
  """What is printed about a public state."""
  with user_errors():
    if not values.history and (spots := chance_moves(policy, values.at)):
      return charts.moves_text(spots)
    here = _place(values, policy)
    action = None if values.action is None else here.find_action(values.action)
    types = list(range(len(here.types))) if values.hand is None else charts.find_types(here, values.hand)
    if values.hand is None and charts.has_hands(here):
      below = f"{charts.chart_text(here, action)}\n\n{charts.legend_text(here, action)}"
    else:
      below = charts.types_text(here, types[: values.rows], worth_at(policy, here))
      if len(types) > values.rows:
        below += f"\n... and {len(types) - values.rows:,} more; raise the number of --rows."
  return f"{charts.heading_text(here)}\n{charts.actions_text(here)}\n\n{below}"


def _belief_text(values: flags.FlagValues, policy: TreePolicy) -> str:
  """What is printed about a position of glasses."""
  with user_errors():
    state = glasses.after(policy.game, values.at)
  belief = glasses.evader_belief(state, policy)
  lines = [state.observation_string(glasses.CHASER), "", "Where the chaser thinks the evader is:"]
  lines += [f"  node {node:<3} {100 * share:6.2f}%" for node, share in belief.items()]
  if not state.is_terminal():
    lines += ["", f"What player {state.current_player()} does:"]
    probabilities = sorted(policy.action_probabilities(state).items(), key=lambda item: -item[1])
    lines += [f"  {state.action_to_string(a):16} {100 * p:6.2f}%" for a, p in probabilities]
  return "\n".join(lines)


def origin(policy: TreePolicy | HierarchicalPolicy) -> str:
  """How a policy was made, as far as its file knows."""
  info = policy.info
  order = info.get("alternating")
  maker = info.get("solver") if order is None else info["rule"]["name"]
  if maker is None or "iteration" not in info:
    return "policy of unknown origin"
  updates = "" if order is None else f", {'alternating' if order else 'simultaneous'} updates"
  if "part" in info:
    updates += f"; only {len(info['part']):,} public states, uniform elsewhere"
  return f"{info.get('policy', 'average')} policy after {info['iteration']:,} iterations of {maker}{updates}"


COMMAND = Command(
  name="show",
  arguments="FILE",
  summary="Look at a saved strategy",
  text="FILE is the run.npz of a solved game, or a policy saved from Python. For a poker game, it shows "
  "the hands of the player who acts as a chart, and --at follows the betting and the public cards (where one "
  "comes next, a table of all that may come); for glasses, where the chaser "
  "thinks the evader is after the moves of --at; for other games, a table, which --at narrows to one public "
  "state and completes by what actions are worth.",
  examples=(
    "show runs/river_subgame/run.npz",
    "show runs/river_subgame/run.npz --at='check, bet 200'",
    "show runs/river_subgame/run.npz --at='x b200' --action=fold --png=folds.png",
    "show runs/river_subgame/run.npz --hand=AKs",
    "show runs/river_subgame/run.npz --csv=strategy.csv",
    "show runs/holdem_subgame/run.npz --part='check, check, 2c ...' --save=river.npz",
    "show runs/leduc_poker/run.npz --at='call, raise'",
    "show runs/holdem_subgame/run.npz --at='check, bet 200, call, 2c'",
    "show runs/holdem_subgame/run.npz --at='check, check' --png=rivers.png",
    "show runs/glasses/run.npz --at='1/9, 4, 1/7' --png=beliefs.png",
  ),
  own=FLAGS,
  run=show,
)

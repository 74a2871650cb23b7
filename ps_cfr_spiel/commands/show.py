"""The command `ps-cfr-spiel show`: a saved strategy as a chart, a table, or a belief about hidden moves."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.user_input import UserError, load_pictures, load_saved_policy, user_errors
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.views import card_comes, charts, glasses, has_spots, spot, spots_by_card


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  flags.DEFINE_string("at", "", _HELP["at"], **into)
  flags.DEFINE_string("hand", None, _HELP["hand"], **into)
  flags.DEFINE_string(
    "action", None, "Show how often this action is played, instead of the most frequent one.", **into
  )
  flags.DEFINE_string("png", None, "Also draw the chart, or the belief, into this file.", **into)
  flags.DEFINE_enum("player", None, ["0", "1"], "In a table of information states: whose.", **into)
  flags.DEFINE_integer("rows", 50, "Most lines of a table.", 1, **into)


_HELP = {
  "at": "Where to look: the actions so far, such as 'check, bet 200', 'x b200' for short, or OpenSpiel's "
  "numbers such as '1 2'; where public cards come, they too, 'check, check, 2c'; in glasses, 'Stones to 1/9, "
  "Evader to 4', '1/9, 4' for short. The default is the start of the game.",
  "hand": "Show a table of the hands of this kind instead of the chart: AhKd, or AKs, AKo, AK, TT for all "
  "suits. In games without a chart, a table of the information states that contain this text.",
}


def show(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  if len(words) != 1:
    raise UserError(f"show needs one file, such as runs/river_subgame/run.npz; got {len(words)}.")
  pictures = load_pictures() if values.png else None
  policy = load_saved_policy(words[0])
  in_glasses = policy.game.get_type().short_name == "glasses"
  if has_spots(policy):
    text = _spot_text(values, policy)
  elif in_glasses and (values.at or values.png) and not values.action:
    text = _belief_text(values, policy)
  elif pictures or values.at or values.action:
    raise UserError(
      f"--at, --action and --png are for games such as river_subgame, where everything after the deal is "
      f"public, and --at and --png for glasses too; not for {policy.labels.game} as asked here."
    )
  else:
    player = None if values.player is None else int(values.player)
    text = charts.infostates_text(policy, player, values.hand or "", values.rows)
  print(f"{policy.labels.game}\n{origin(policy)}\n\n{text}")
  if pictures is not None:
    _draw(pictures, policy, values)
  return 0


def _draw(pictures: ModuleType, policy: TreePolicy, values: flags.FlagValues) -> None:
  """Draws what was printed."""
  with user_errors():
    if has_spots(policy):
      figure = pictures.hand_chart(policy, values.at)
    else:
      figure = pictures.glasses_position(glasses.after(policy.game, values.at), policy)
    figure.savefig(values.png)
  print(f"Drawn in {values.png}")


def _spot_text(values: flags.FlagValues, policy: TreePolicy) -> str:
  """What is printed about a public state."""
  with user_errors():
    if card_comes(policy, values.at):
      return charts.cards_text(spots_by_card(policy, values.at))
    here = spot(policy, values.at)
    action = None if values.action is None else here.find_action(values.action)
    types = list(range(len(here.types))) if values.hand is None else charts.find_types(here, values.hand)
  if values.hand is None and charts.has_hands(here):
    below = f"{charts.chart_text(here, action)}\n\n{charts.legend_text(here, action)}"
  else:
    below = charts.types_text(here, types[: values.rows])
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


def origin(policy: TreePolicy) -> str:
  """How a policy was made, as far as its file knows."""
  info = policy.info
  maker = info["rule"]["name"] if "rule" in info else info.get("solver")
  if maker is None or "iteration" not in info:
    return "policy of unknown origin"
  order = info.get("alternating")
  updates = "" if order is None else f", {'alternating' if order else 'simultaneous'} updates"
  return f"{info.get('policy', 'average')} policy after {info['iteration']:,} iterations of {maker}{updates}"


COMMAND = Command(
  name="show",
  arguments="FILE",
  summary="Look at a saved strategy",
  text="FILE is the run.npz of a solved game, or a policy saved from Python. For a poker game, it shows "
  "the hands of the player who acts as a chart, and --at follows the betting and the cards, where a card "
  "comes a table of all cards; for glasses, where the chaser "
  "thinks the evader is after the moves of --at; for other games, a table.",
  examples=(
    "show runs/river_subgame/run.npz",
    "show runs/river_subgame/run.npz --at='check, bet 200'",
    "show runs/river_subgame/run.npz --at='x b200' --action=fold --png=folds.png",
    "show runs/river_subgame/run.npz --hand=AKs",
    "show runs/holdem_subgame/run.npz --at='check, bet 200, call, 2c'",
    "show runs/holdem_subgame/run.npz --at='check, check'",
    "show runs/glasses/run.npz --at='1/9, 4, 1/7' --png=beliefs.png",
  ),
  define=define,
  run=show,
)

"""The command `ps-cfr-spiel show`: a saved strategy as a chart, a table, a page, or a belief."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import Command, Flag
from ps_cfr_spiel.apps.commands.framework.flags import JSON, MOST_HISTORIES, say
from ps_cfr_spiel.apps.commands.framework.server import PORT, answers, serve
from ps_cfr_spiel.apps.commands.framework.user_input import (
  drawing,
  keep_apart,
  load_saved_policy,
  refuse,
  writable,
)
from ps_cfr_spiel.cards.notation import play_moves
from ps_cfr_spiel.cards.poker import describe
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.storage import replacing

# Flags of a chart or a table, which other output has whole.
TEXT = ("player", "rows", "hand", "action", "picture", "classes", "ev")

# fmt: off
FLAGS = (
  Flag("at", "",
    "Place in the game: the public moves so far, such as 'check, bet 200', 'x b200' for short, or "
    "OpenSpiel's numbers such as '1 2'; or a public state of summary --tree, such as '#12'. On a map all "
    "moves, hidden ones too: in glasses 'Stones to 1/9, Evader to 4', '1/9, 4' for short. The default is the "
    "start of the game.", value="MOVES"),
  Flag("history", None,
    "Place in the game, by a whole history instead: all moves from the start, those of chance and hidden "
    "ones included, such as '0 1 pass' in kuhn_poker.", value="MOVES"),
  Flag("hand", None,
    "Table of the hands of this kind instead of the chart: AhKd, or AKs, AKo, AK, TT for all suits, or a "
    "class such as set, 'top pair' or draw. In games without a chart, a table of the information states that "
    "contain this text.", value="HAND"),
  Flag("classes", False, "Table of the classes of hands instead of the chart: sets, top pair, draws."),
  Flag("ev", "now",
    "What EV counts in hold'em: the chips from now on, so that a fold is worth 0, or those since the hand's "
    "start.", choices=("now", "start")),
  Flag("action", None,
    "In a chart: the action whose frequency is shown, instead of the most frequent one.", value="ACTION"),
  Flag("picture", None, "Picture of the chart, or of the belief, such as chart.pdf.", value="FILE"),
  Flag("csv", None,
    "Table of the strategy, a row for every action of every information state, with values (EV), reach and "
    "equity: all of it, or with --at or --history that place alone. JSON lines if the name ends in .jsonl.",
    value="FILE"),
  Flag("html", None,
    "Page for the browser that needs no network: click through the public tree, with charts of strategy, "
    "values and ranges in poker, maps of beliefs in games that have one, tables elsewhere.", value="FILE"),
  Flag("serve", False,
    "Show this page from this machine instead: streets are loaded when they are clicked, so that turns and "
    "flops are whole. Ctrl-C ends it."),
  PORT,
  Flag("part", None,
    "Part of the strategy for --save, --html or --serve: the decisions on the way to this line and after it; "
    "with '...' at its end also all that follow, as in 'check, check, 2c ...'. May be given several times.",
    kind=tuple, value="LINE"),
  Flag("save", None, "With --part: the file for it, such as part.safetensors.", value="FILE"),
  Flag("player", None, "In a table of information states: their player.", kind=int, least=0),
  Flag("rows", 50, "Most lines of a table.", least=1),
  JSON,
  MOST_HISTORIES,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if len(words) != 1:
    raise ValueError(f"show needs one file, such as runs/river_subgame/run.safetensors; got {len(words)}.")
  if values.at and values.history:
    raise ValueError("--at and --history both name a place in the game; give one of them.")
  for name in ("csv", "save", "html"):
    keep_apart(name, values[name].value, words[0])
  page = values.html or values.serve
  if page or values.csv or values.json or values.part or values.save:
    refuse(values, TEXT, "is for output as text")
  if page:
    refuse(values, ("at", "history", "csv", "save", "json"), "is not for a page")
  if values.serve:
    refuse(values, ("html",), "writes a file, and --serve does not")
  else:
    refuse(values, ("port",), "belongs to --serve")
  if values.html:
    writable("html", values.html, "strategy.html")
  drawn = drawing(values.picture)
  policy = load_saved_policy(words[0], values.limit)
  if page:
    return _page(values, policy, words[0])
  if values.part or values.save:
    if not (values.part and values.save):
      raise ValueError(
        "--part and --save belong together: --part='check, check ...' --save=part.safetensors."
      )
    policy.save(values.save, values.part)
    return say(values, {"game": policy.labels.game, **made_by(policy), "saved": values.save})
  if values.csv or values.json:
    return _export(values, policy)
  print("\n".join([describe(policy.labels.game), *made_by_lines(policy), "", _text(values, policy)]))
  if drawn:
    _draw(*drawn, policy, values)


def _page(values: flags.FlagValues, policy: ps.TreePolicy, source: str) -> int | None:
  """Write the page, or serve it."""
  text = ps.views.explore_page(policy, "; ".join(made_by_lines(policy)), values.part, values.serve)
  if values.serve:
    return serve(answers(policy, text), values.port)
  file = Path(values.html)
  with replacing(file, encoding="utf-8") as page:
    page.write(text)
  print(report({"saved": f"{file} ({len(text.encode()) / 1e6:.1f} MB)", "open it": file.resolve().as_uri()}))
  if values.part is None and "part" not in policy.info and '"missing":true' in text:
    print(f"It has the first street alone. All of it: show {source} --serve; other lines: --part")
  return None


def _export(values: flags.FlagValues, policy: ps.TreePolicy) -> None:
  """Write or print the rows of the strategy."""
  spot = _place(values, policy) if values.at or values.history else None
  wanted = None if spot is None else [spot.public_state]
  facts = {"game": policy.labels.game, **made_by(policy)}
  if values.csv:
    count = policy.to_csv(values.csv, wanted)
    facts |= {"rows": count, "saved": values.csv}
    say(values, facts, {**facts, "game": describe(policy.labels.game), "rows": f"{count:,}"})
  else:
    say(values, {**facts, "rows": policy.to_rows(wanted)})


def _place(values: flags.FlagValues, policy: ps.TreePolicy) -> ps.views.Spot:
  return ps.views.spot_after(policy, values.history) if values.history else ps.views.spot(policy, values.at)


def _text(values: flags.FlagValues, policy: ps.TreePolicy) -> str:
  placed = values.at or values.history
  if ps.views.map_of(policy.game) and (values.at or values.picture) and "#" not in values.at:
    return ps.views.belief_text(play_moves(policy.game, values.at)[0], policy)
  if placed or ps.views.charts.deals_hands(policy):
    return _spot_text(values, policy)
  refuse(values, ("action",), f"is for charts of hands, not for {policy.labels.game}")
  refuse(values, ("picture",), f"is for charts of hands and games with a map, not for {policy.labels.game}")
  return ps.views.charts.infostates_text(policy, values.player, values.hand or "", values.rows)


def _draw(pictures: ModuleType, file: Path, policy: ps.TreePolicy, values: flags.FlagValues) -> None:
  if ps.views.map_of(policy.game):
    figure = pictures.position(play_moves(policy.game, values.at)[0], policy)
  elif ps.views.chance_moves(policy, values.at):
    figure = pictures.card_chart(policy, values.at)
  else:
    figure = pictures.hand_chart(policy, values.at)
  figure.savefig(file)
  print(f"Drawn in {file}")


def _spot_text(values: flags.FlagValues, policy: ps.TreePolicy) -> str:
  if not values.history and (spots := ps.views.chance_moves(policy, values.at)):
    return ps.views.charts.moves_text(spots, {move: _worth(values, policy, at) for move, at in spots.items()})
  spot = _place(values, policy)
  action = None if values.action is None else spot.find_action(values.action)
  types = (
    list(range(len(spot.types))) if values.hand is None else ps.views.charts.find_types(spot, values.hand)
  )
  worth = _worth(values, policy, spot)
  from_now = ps.views.worth_at(policy, spot).since(spot.spent[spot.player])
  heading = [
    ps.views.charts.heading_text(spot),
    *([ps.views.charts.range_text(spot, from_now)] if ps.views.charts.has_hands(spot) else []),
    *([ps.views.charts.doubt_text(spot)] if spot.rare and not ps.views.is_trembled(policy) else []),
  ]
  if values.classes:
    below = ps.views.charts.classes_text(spot, worth)
  elif values.hand is None and ps.views.charts.has_hands(spot):
    below = f"{ps.views.charts.chart_text(spot, action)}\n\n{ps.views.charts.legend_text(spot, action)}"
  else:
    below = ps.views.charts.types_text(spot, types[: values.rows], worth)
    if len(types) > values.rows:
      below += f"\n... and {len(types) - values.rows:,} more; raise the number of --rows."
  return "\n".join([*heading, ps.views.charts.actions_text(spot), "", below])


def _worth(values: flags.FlagValues, policy: ps.TreePolicy, spot: ps.views.Spot) -> ps.views.SpotWorth:
  """The values at a spot, counted as --ev says."""
  worth = ps.views.worth_at(policy, spot)
  return worth if values.ev == "start" else worth.since(spot.spent[spot.player])


def made_by(policy: ps.TreePolicy | ps.KeyedPolicy) -> dict[str, str]:
  """The origin of a policy and its locks, for every header."""
  locked = ""
  if isinstance(policy, ps.TreePolicy):
    locked = policy.locks_text
  return {"strategy": origin(policy), **({"locked": locked} if locked else {})}


def made_by_lines(policy: ps.TreePolicy) -> list[str]:
  """The same as lines of text."""
  strategy, *more = made_by(policy).items()
  return [strategy[1], *(f"{name}: {text}" for name, text in more)]


def origin(policy: ps.TreePolicy | ps.KeyedPolicy) -> str:
  """The origin of a policy, as far as its file knows."""
  info = policy.info
  options = info.get("options", {})
  order = options.get("alternating")
  maker = info.get("solver") if order is None else options.get("rule", {}).get("name")
  if maker is None or "iteration" not in info:
    return "policy of unknown origin"
  updates = "" if order is None else f", {'alternating' if order else 'simultaneous'} updates"
  updates += f", trembles of {options['tremble']:g} / t" if options.get("tremble") else ""
  if "part" in info:
    updates += f"; only {len(info['part']):,} public states, uniform elsewhere"
  return f"{info.get('policy', 'average')} policy after {info['iteration']:,} iterations of {maker}{updates}"


COMMAND = Command(
  name="show",
  arguments="FILE",
  summary="Look at a saved strategy",
  text="FILE is the run.safetensors of a solved game, or a policy saved from Python. For a poker game, it "
  "shows the hands of the player who acts as a chart, and --at follows the betting and the public cards "
  "(where one comes next, a table of all that may come); for games on a map, such as glasses, where the "
  "pieces may be after the moves of --at; for other games, a table, which --at narrows to one public "
  "state and completes by what actions are worth. --html writes a page to click through all of it.",
  examples=(
    "show runs/river_subgame/run.safetensors",
    "show runs/river_subgame/run.safetensors --at='check, bet 200'",
    "show runs/river_subgame/run.safetensors --at='x b200' --action=fold --picture=folds.png",
    "show runs/river_subgame/run.safetensors --hand=AKs",
    "show runs/river_subgame/run.safetensors --hand='top pair'",
    "show runs/river_subgame/run.safetensors --classes",
    "show runs/river_subgame/run.safetensors --csv=strategy.csv",
    "show runs/river_subgame/run.safetensors --html=strategy.html",
    "show runs/holdem_subgame/run.safetensors --serve",
    "show runs/holdem_subgame/run.safetensors --part='check, check, 2c ...' --html=river.html",
    "show runs/holdem_subgame/run.safetensors --part='check, check, 2c ...' --save=river.safetensors",
    "show runs/leduc_poker/run.safetensors --at='call, raise'",
    "show runs/holdem_subgame/run.safetensors --at='check, bet 200, call, 2c'",
    "show runs/holdem_subgame/run.safetensors --at='check, check' --picture=rivers.png",
    "show runs/glasses/run.safetensors --at='1/9, 4, 1/7' --picture=beliefs.png",
  ),
  options=FLAGS,
  run=_run,
  computes=False,
)

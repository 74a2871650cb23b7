"""OpenSpiel's games of two players or more: which of them `check` takes, as a page of the documentation.

  python -m benchmarks.engineering.coverage --page docs/coverage.md

Every registered name is checked with the small parameters in `GAMES`, or else with its own, and without
public states where it has none. --limit is in histories; --only names one game and prints its line.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspiel
from open_spiel.python import games  # noqa: F401  (registers those in Python)

import ps_cfr_spiel
from benchmarks.machine import flags

KUHN = "kuhn_poker()"
FILES = {
  "nfg_game": 'NFG 1 R "Dilemma" { "0" "1" } { 2 2 }\n\n3 3 5 0 0 5 1 1\n',
  "efg_game": """EFG 2 R "Two moves" { "0" "1" }
p "" 1 1 "" { "a" "b" } 0
p "" 2 1 "" { "c" "d" } 0
t "" 1 "ac" { 3.0, 1.0 }
t "" 2 "ad" { 0.0, 2.0 }
p "" 2 1 "" { "c" "d" } 0
t "" 3 "bc" { 1.0, 4.0 }
t "" 4 "bd" { 2.0, 0.0 }
""",
}
GAMES = {
  "add_noise": f"epsilon=0.1,seed=1,game={KUHN}",
  "amazons": "board_size=6",
  "bargaining": "max_turns=2,max_num_instances=1",
  "battleship": "board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2,"
  "allow_repeated_shots=False",
  "blotto": "coins=3,fields=2",
  "breakthrough": "rows=4,columns=2",
  "cached_tree": f"game={KUHN}",
  "capture_the_flag": "horizon=2",
  "cheat": "ranks=2,suits=1,hand_size=1,max_turns=2",
  "chinese_checkers": "players=2,max_moves=2",
  "clobber": "rows=2,columns=3",
  "coin_game": "rows=2,columns=2,episode_length=2,num_extra_coin_colors=0,num_coins_per_color=1",
  "connect_four": "rows=3,columns=3,x_in_row=3",
  "coop_box_pushing": "horizon=1",
  "crazy_eights": "players=2,max_turns=1,max_draw_cards=1",
  "cursor_go": "board_size=2,max_cursor_moves=3",
  "dark_chess": "board_size=4",
  "dark_hex": "num_rows=2,num_cols=2",
  "dark_hex_ir": "num_rows=2,num_cols=2",
  "dots_and_boxes": "num_rows=1,num_cols=2",
  "efg_game": "filename={efg_game}",
  "first_sealed_auction": "max_value=3",
  "gin_rummy": "num_ranks=3,num_suits=2,hand_size=1,knock_card=1",
  "glasses": "turns=2",
  "go": "board_size=2,max_game_length=4",
  "go_fish": "players=2,ranks=2,suits=2,initial_cards=1",
  "gomoku": "size=2,connect=2",
  "goofspiel": "num_cards=3",
  "graph_pursuit": "turns=2",
  "hanabi": "players=2,colors=1,ranks=2,hand_size=1,max_information_tokens=1,max_life_tokens=1",
  "havannah": "board_size=2",
  "hex": "num_rows=2,num_cols=3",
  "holdem": "deck=3x3,blinds=2/1,stack=3,bets=x",
  "holdem_subgame": "deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d 5c3d:2",
  "kriegspiel": "board_size=4",
  "laser_tag": "horizon=1",
  "liars_dice": "dice_sides=3",
  "liars_dice_ir": "dice_sides=3",
  "lines_of_action": "max_game_length=2",
  "markov_soccer": "horizon=2",
  "misere": f"game={KUHN}",
  "mnk": "m=3,n=2,k=2",
  "nfg_game": "filename={nfg_game}",
  "nim": "pile_sizes=1;2",
  "normal_form_extensive_game": f"game={KUHN}",
  "oshi_zumo": "coins=4,size=1,horizon=4",
  "oware": "num_houses_per_player=2,num_seeds_per_house=1",
  "parametric_poker": "copies=2,ranks=3",
  "pathfinding": {"grid": "A.b\nB.a\n", "players": 2, "horizon": 1},
  "phantom_go": "board_size=2,max_game_length=3",
  "pig": "winscore=3,horizon=6",
  "python_liars_poker": "players=2,hand_length=1,num_digits=2",
  "quoridor": "board_size=3",
  "rbc": "board_size=4,sense_size=2",
  "repeated_game": "stage_game=matrix_rps(),num_repetitions=2",
  "repeated_leduc_poker": "num_hands=1",
  "restricted_nash_response": f"game={KUHN}",
  "river_subgame": "bets=a,ranges=AA KQs;TT 87s",
  "sheriff": "item_penalty=1.0,max_bribe=1,max_items=1,num_rounds=1",
  "snake": "rows=4,columns=4,horizon=1",
  "start_at": f"history=1;0,game={KUHN}",
  "trade_comm": "num_items=2",
  "turn_based_simultaneous_game": "game=matrix_rps()",
  "twixt": "board_size=5",
  "universal_poker": "betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=1 1,numSuits=2,numRanks=2,numHoleCards=1,numBoardCards=0 1",
  "y": "board_size=2",
  "yacht": "players=2,num_dice=1,dice_sides=2,rolls_per_turn=1",
  "zerosum": "game=matrix_pd()",
}
WAYS = {
  "moves": "turn by turn",
  "infostates": "with the players' pasts",
  "utilities": "as a general-sum game",
  "players": "with more than two players",
}
PAGE = """# OpenSpiel's games

`python -m benchmarks.engineering.coverage` made this page: it asks `check` about the {total} registered
names of games for two or more, each with the small parameters of its table `GAMES`. {works} work, with these
numbers of histories, without change or by [another
reading](your_own_game.md#games-that-are-read-in-another-way):

{table}

{large} are too large with small parameters too.

Refused, with the check that fails: {refused}.
"""


def names() -> list[str]:
  """The registered names of games that two or more can play."""
  return [t.short_name for t in pyspiel.registered_games() if t.max_num_players >= 2]


def load(name: str, folder: str | Path) -> pyspiel.Game:
  """The game with small parameters; SpielError if it needs others. Files are written into the folder."""
  given = GAMES.get(name, "")
  if isinstance(given, Mapping):
    return pyspiel.load_game(name, given)
  for file, text in FILES.items():
    (Path(folder) / file).write_text(text)
    given = given.replace(f"{{{file}}}", str(Path(folder) / file))
  return pyspiel.load_game(f"{name}({given})")


def check(game: pyspiel.Game, limit: int) -> tuple[Any, str]:
  """The report on a game, and the source of public states for which it is best: "closure" or "none"."""
  report = ps_cfr_spiel.check_game(game, limit=limit, progress=False)
  if report.solvable or report.verdict("histories") == "FAIL":
    return report, "closure"
  return ps_cfr_spiel.check_game(game, public_states="none", limit=limit, progress=False), "none"


def verdict(report: Any, public_states: str) -> str:
  """A report in a few words."""
  findings = {finding.check: finding for finding in report.findings}
  if report.solvable:
    notes = {finding.check for finding in report.findings if finding.verdict == "NOTE"}
    ways = [text for check, text in WAYS.items() if check in notes]
    ways += ["without public states"] * (public_states == "none")
    size = findings["histories"].text.partition(",  at most")[0].partition(", at most")[0]
    return f"works{' ' if ways else ''}{', '.join(ways)}: {size}"
  check, text = next(
    (check, finding.text) for check, finding in findings.items() if finding.verdict == "FAIL"
  )
  size = re.findall(r"(?:about|more than) [\d.,e+]+ histories", text)
  if check == "histories" and size:
    return f"too large: {size[-1]}"
  return f"refused ({check}): {text.partition(';')[0]}"


def line(name: str, limit: int) -> str:
  """A line of the table."""
  with tempfile.TemporaryDirectory() as folder:
    try:
      found = verdict(*check(load(name, folder), limit))
    except (pyspiel.SpielError, ValueError) as error:
      found = f"refused (does not load): {str(error).splitlines()[0]}"
  given = GAMES.get(name, "")
  text = ",".join(f"{k}={v}" for k, v in given.items()) if isinstance(given, Mapping) else given
  text = re.sub(r"\{.*\}", "...", text.replace("\n", "/"))
  return f"| {name} | {f'`{text}`' if text else ''} | {found.replace('|', '/')} |"


def page(lines: Sequence[str]) -> str:
  """The page of these lines: games that work by the way they are read, then the others by name alone."""
  rows = [text.strip("| ").split(" | ") for text in lines]
  works: dict[str, list[str]] = {}
  for name, _, found in rows:
    if fit := re.fullmatch(r"works ?(.*): ([\d,]+)", found):
      works.setdefault(fit[1] or "without change", []).append(f"{name} ({fit[2]})")
  refused = [(name, re.match(r"refused \((.*?)\)", found)) for name, _, found in rows]
  return PAGE.format(
    total=len(rows),
    works=sum(map(len, works.values())),
    table="\n".join(f"- **{way}**: {', '.join(works[way])}" for way in sorted(works)),
    large=sum(found.startswith("too large") for _, _, found in rows),
    refused=", ".join(f"{name} ({check[1]})" for name, check in refused if check),
  )


def main() -> None:
  """See the module."""
  values = flags(__doc__ or "", page="", only="", limit=1_000_000)
  if values.only:
    print(line(values.only, values.limit))
    return
  lines = []
  for name in names():
    lines.append(line(name, values.limit))
    print(lines[-1], flush=True)
  if values.page:
    Path(values.page).write_text(page(lines))


if __name__ == "__main__":
  main()

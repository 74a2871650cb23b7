"""The command `ps-cfr-spiel explore`: a saved strategy as a page for the browser."""

from collections.abc import Sequence
from pathlib import Path

from absl import flags

from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import MOST_HISTORIES
from ps_cfr_spiel.commands.show import origin
from ps_cfr_spiel.commands.user_input import UserError, keep_apart, load_saved_policy, user_errors
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.storage import replacing
from ps_cfr_spiel.views import explore_page

# fmt: off
FLAGS = (
  Flag("html", None, "File for the page (default: FILE with the ending .html).", value="FILE"),
  Flag("part", None,
    "Line of the game to show alone, with its way there; with '...' at its end also all that follows, as in "
    "'check, check, 2c ...'. May be given several times. Large games do not fit into a page.", kind=tuple),
  MOST_HISTORIES,
)
# fmt: on


def explore(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command from its parsed flags and the words besides them; returns the exit code."""
  if len(words) != 1:
    raise UserError(f"explore needs one file, such as runs/river_subgame/run.npz; got {len(words)}.")
  keep_apart("html", values.html, words[0])
  policy = load_saved_policy(words[0], values.limit)
  with user_errors():
    text = explore_page(policy, origin(policy), values.part)
  file = Path(values.html or Path(words[0]).with_suffix(".html"))
  with replacing(file, encoding="utf-8") as page:
    page.write(text)
  print(report({"saved": f"{file} ({len(text.encode()) / 1e6:.1f} MB)", "open it": file.resolve().as_uri()}))
  return 0


COMMAND = Command(
  name="explore",
  arguments="FILE",
  summary="Write a page to click through a solution",
  text="Writes one HTML file that needs no network: open it with a double click. It walks the public tree; a "
  "poker game has charts of strategy, values and ranges, glasses its map with beliefs, other games tables.",
  examples=(
    "explore runs/river_subgame/run.npz",
    "explore runs/leduc_poker/run.npz --html=leduc.html",
    "explore runs/holdem_subgame/run.npz --part='check, check, 2c ...'",
  ),
  own=FLAGS,
  run=explore,
)

"""The command `ps-cfr-spiel learn`: teaches a network what lies beyond the lookahead of searches."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import define_game, define_json, define_limit, say
from ps_cfr_spiel.commands.user_input import UserError, load_game, make_folder, user_errors

FILE = "values.npz"


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags, in the order in which `--help` lists them."""
  into: dict[str, Any] = {"flag_values": values}
  count: dict[str, Any] = {"lower_bound": 1, **into}
  flags.DEFINE_integer(
    "draws", 600, "Draws of ranges, each of which is solved in all public states.", 2, **into
  )
  flags.DEFINE_integer("teacher_iterations", 100, "Iterations by which each situation is solved.", **count)
  flags.DEFINE_integer("steps", 6000, "Steps of training; Ctrl-C ends it early and keeps the best.", **count)
  flags.DEFINE_integer("width", 192, "Width of the network's layers.", **count)
  flags.DEFINE_integer("seed", 0, "Seed of the ranges and of the network.", 0, 2**32 - 1, **into)
  flags.DEFINE_string("output", None, _OUTPUT, **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  define_limit(values)
  define_game(values)
  define_json(values)


_OUTPUT = "Folder for values.npz, which resolve takes (default: runs/, the game's name and -values)."


def learn(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  learning = load_learning()
  game = load_game(words, values)
  folder = make_folder(Path(values.output or f"runs/{game.get_type().short_name}-values"))
  progress, began = not (values.quiet or values.json), time.perf_counter()
  with user_errors():
    situations = learning.generate(
      game,
      values.draws,
      values.seed,
      iterations=values.teacher_iterations,
      progress=progress,
      limit=values.limit,
    )
    learned = learning.train(situations, values.seed, values.steps, width=values.width, progress=progress)
  file = folder / FILE
  learned.save(file)
  card, seconds = learned.card, time.perf_counter() - began
  facts = {**card, "seconds": seconds, "saved": str(file)}
  lines = {
    "game": card["game"],
    "learned from": f"{card['learned_from']:,} situations in {len(learned.places):,} public states",
    "validation": f"loss {card['loss']:.4g}, mean error {100 * card['error']:.3g}% of the mean value",
    "time": f"{seconds:.1f} s",
    "saved": str(file),
    "search with it": f"ps-cfr-spiel resolve '{card['game']}' --lookahead=1 --values={file}",
  }
  say(values, facts, lines)
  return 0


def load_learning() -> Any:
  """The room of learned values; `UserError` if what it needs is not installed."""
  try:
    from ps_cfr_spiel import learning
  except ModuleNotFoundError as error:
    raise UserError(str(error)) from error
  return learning


COMMAND = Command(
  name="learn",
  arguments="[GAME]",
  summary="Learn values for searches",
  text="Solves situations at random ranges and trains a network on them, which resolve --values takes as "
  "what lies beyond a lookahead. Needs pip install 'ps_cfr_spiel[learn]'.",
  examples=("learn leduc_poker", "learn leduc_poker --draws=100 --steps=2000 --width=96"),
  define=define,
  run=learn,
)

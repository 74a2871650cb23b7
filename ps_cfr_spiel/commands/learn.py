"""The command `ps-cfr-spiel learn`: learns a network of values, for what lies beyond a lookahead."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from absl import flags

from ps_cfr_spiel.commands.command import INTERRUPTED, Command, Flag
from ps_cfr_spiel.commands.flags import JSON, MOST_HISTORIES, QUIET, SPOT, next_command, progress_of, say
from ps_cfr_spiel.commands.user_input import SPOT_FLAGS, given, load_game, make_folder, pictures_if
from ps_cfr_spiel.poker import cards
from ps_cfr_spiel.reports import Stopwatch

FILE, LOSSES = "values.safetensors", "losses.png"
NOT_OF_RIVERS = ("draws", "turns", "chains", "teacher", "teacher_iterations", "limit")
RIVERS_BATCH = 128  # rivers in one step of training; each has a thousand hands
TURN = "holdem_subgame(board=9s7c5s4h)"  # a game in which a network of rivers serves
FLOPS = ("generate", "--street=flop")  # by a network of turns

Taught = tuple[Callable[[], Any], Path]  # what learns, and the folder that it may go on in


# fmt: off
FLAGS = (
  Flag("draws", 1200, "Draws of ranges, each of which is solved in all public states.", least=2),
  Flag("turns", 0, "Turns of learning from the situations of its own searches.", least=0),
  Flag("chains", 100,
    "In each turn: searches that go through the game; each gives several situations.", least=1),
  Flag("data", None,
    "Folders of generate, of rivers, turns or flops: learns their values from them, for searches of the "
    "street before, without a GAME; the flags of draws, turns, chains and teachers do not apply then.",
    kind=list, value="FOLDER,..."),
  Flag("teacher", "solve",
    "Solver of the situations: solve goes to the end of the game, search looks one decision ahead and takes "
    "the network's own values beyond (with --turns, some eight of them).", choices=("solve", "search")),
  Flag("teacher_iterations", 100, "Iterations of the teacher for each situation.", least=1),
  Flag("steps", 6000, "Steps of training, in each turn.", least=1),
  Flag("width", 192, "Width of the network's layers.", least=1),
  Flag("seed", 0, "Seed of the ranges and of the network.", least=0, most=2**32 - 1),
  Flag("output", None,
    "Folder for values.safetensors, for resolve, and for the data (default: runs/, the game's name and "
    "-values). The same call skips the work that is there.", value="FOLDER"),
  Flag("plot", None, "Draw the losses (default: if matplotlib is installed).", kind=bool),
  QUIET,
  MOST_HISTORIES,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  from ps_cfr_spiel import learning  # needs the extra

  pictures = pictures_if(values.plot)
  if values.teacher == "search" and not values.turns:
    raise ValueError("--teacher=search learns from its own values, turn by turn: give --turns=8 or so too.")
  progress, stopwatch = progress_of(values), Stopwatch()
  teach, folder = (_rivers if values.data else _situations)(values, words, learning, progress)
  try:
    with stopwatch:
      learned = teach()
  except KeyboardInterrupt:
    print(f"\nInterrupted; the same call continues with the files in {folder}.", file=sys.stderr)
    return INTERRUPTED
  learned.save(folder / FILE)
  card, seconds = learned.card, stopwatch.seconds
  steps = bool(len(learned.losses))
  if not steps:
    pictures = None
  if pictures is not None:
    pictures.training_losses(learned.losses, card["game"]).savefig(folder / LOSSES)
  facts = {**card, "seconds": seconds, "saved": str(folder / FILE)}
  game, ahead = (TURN, "round") if values.data else (card["game"], "1")
  if values.data:
    what = f"{cards.STREETS[learned.cards]}s"
  else:
    what = f"situations in {len(learned.public_states):,} public states"
  use: Sequence[str] | None = ("resolve", game, f"--lookahead={ahead}")
  if values.data and learned.cards < cards.BOARD_SIZE:
    use = FLOPS if cards.STREETS[learned.cards] == "turn" else None
  lines = {
    "game": card["game"],
    "learned from": f"{card['learned_from']:,} {what}",
    "validation": f"loss {card['loss']:.4g}, mean error {100 * card['error']:.3g}% of the mean value",
    "time": f"{seconds:.1f} s",
    "saved": ", ".join([FILE, *([LOSSES] if pictures is not None else [])]) + f" in {folder}",
  }
  if not steps:
    lines["training"] = "none: the values are alpha vectors, those of solved situations"
  if use is not None:  # nothing searches before the flop
    lines["search with it"] = next_command(values, *use, f"--values={folder / FILE}")
  if not card["finished"]:
    lines["not finished"] = "the same call continues; this is the best so far"
  say(values, facts, lines)
  return 0 if card["finished"] else INTERRUPTED


def _situations(
  values: flags.FlagValues, words: Sequence[str], learning: Any, progress: bool | None
) -> Taught:
  game = load_game(words, values)
  folder = make_folder(values.output or f"runs/{game.get_type().short_name}-values")
  return lambda: learning.self_play(
    game,
    values.turns,
    values.draws,
    values.chains,
    values.teacher,
    values.seed,
    values.teacher_iterations,
    folder,
    progress,
    training={"steps": values.steps, "width": values.width},
    limit=values.limit,
  ), folder  # fmt: skip


def _rivers(values: flags.FlagValues, words: Sequence[str], learning: Any, progress: bool | None) -> Taught:
  """Learn from rivers that `generate` solved."""
  if wrong := [*words, *given(values, (*NOT_OF_RIVERS, *SPOT_FLAGS))]:
    raise ValueError(f"--data learns from folders of generate, of any game; leave out {' '.join(wrong)}.")
  folder = make_folder(values.output or "runs/rivers-values")
  size = {"steps": values.steps, "batch": RIVERS_BATCH, "width": values.width}

  def teach() -> Any:
    file, rivers = folder / FILE, learning.BoardExamples.load(*values.data, progress=progress)
    if not file.exists():
      return learning.train(rivers, values.seed, checkpoint=file, progress=progress, **size)
    begun = learning.BoardValues.load(file)
    said = learning.TrainingSettings.from_card(begun.card)._asdict()
    wanted = {**size, "seed": values.seed}
    if (found := {name: said[name] for name in wanted}) != wanted:
      raise ValueError(f"{file} is of another call: {found}, not {wanted}; choose another --output.")
    return learning.resume(rivers, begun, file, progress=progress)

  return teach, folder


COMMAND = Command(
  name="learn",
  arguments="[GAME]",
  summary="Learn a network of values, for searches by resolve",
  text="Solves situations at random ranges and trains a network on them, which resolve --values takes as "
  "what lies beyond a lookahead; with --turns it goes on at the ranges that its own searches meet. With "
  "--data it learns from the rivers, turns or flops that generate solved, on all boards together. Ctrl-C in "
  "training ends it early and keeps the best so far. Needs pip install 'ps_cfr_spiel[learn]'. For an agent "
  "in a game too large to enumerate see train.",
  examples=(
    "learn leduc_poker",
    "learn leduc_poker --draws=100 --steps=2000 --width=96",
    "learn 'liars_dice(dice_sides=3)' --turns=3",
    "learn --data=rivers --output=runs/rivers-values",
  ),
  own=FLAGS,
  run=_run,
)

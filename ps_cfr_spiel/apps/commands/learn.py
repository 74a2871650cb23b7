"""The command `ps-cfr-spiel learn`: makes examples, and learns a network of values from them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.command import (
  INTERRUPTED,
  Command,
  Flag,
  given_options,
  group,
  option_flags,
)
from ps_cfr_spiel.apps.commands.framework.flags import (
  JOIN,
  JSON,
  MOST_HISTORIES,
  QUIET,
  SHARING,
  SPOT,
  join_others,
  next_command,
  progress_of,
  say,
)
from ps_cfr_spiel.apps.commands.framework.user_input import (
  given,
  load_game,
  load_values,
  make_folder,
  own_features,
  pictures_if,
  refuse,
)
from ps_cfr_spiel.cards.poker import RandomSituations, cards
from ps_cfr_spiel.options import (
  SELF_PLAY,
  TEACHERS,
  LearnOptions,
  RandomSituationsOptions,
  TrainingOptions,
)
from ps_cfr_spiel.reports import Stopwatch

FILE, LOSSES = "values.safetensors", "losses.png"
SEARCHED = {  # the uses of a network of boards, and the command for it
  "river": ("resolve", "holdem_subgame(board=9s7c5s4h)", "--lookahead=round"),
  "turn": ("learn", "--street=flop"),
}
STREETS = {name: count for count, name in cards.STREETS.items()}
ALONE = ("teacher", "features", "limit", "board", "ranges", "stack")  # flags of a GAME
OF_BOARDS = ("ratios", "distribution", "values", "target", "cores", "chunk", "join")
MAKING = ("draws", "turns", "chains", "iterations")  # flags of examples that are made


# fmt: off
FLAGS = (
  *option_flags({"": LearnOptions}),
  Flag("examples", None,
    "Learn from these examples alone, which earlier calls made: files or folders examples-0 and so on in "
    "their --output.", kind=list, value="PATH,..."),
  Flag("features", None,
    "With --teacher=self-play, a function (state, player) -> numbers in --module, which the network reads in "
    "place of the game's tensors: all that the player knows there.", value="FUNCTION"),
  Flag("output", None,
    "Folder for values.safetensors, and for the examples (default: runs/, the game's name or the street, and "
    "-values). The same call skips the work that is there, and with more --draws adds to it.",
    value="FOLDER"),
  Flag("plot", None, "Draw the losses (default: if matplotlib is installed).", kind=bool),
  QUIET,
  *group("Boards of hold'em instead of GAME",
  Flag("street", None,
    "Learn rivers, solved to the end, or turns or flops, searched as far as the next card with --values "
    "beyond: random boards, with --pot chips in the pot (default: 1000) and the bet sizes --bets (fcpa).",
    choices=tuple(STREETS)),
  *option_flags({"": RandomSituationsOptions}),
  Flag("values", None,
    "With --street=turn or flop: values of the next street, a file of learn, or pretrained.", value="FILE"),
  ),
  *SHARING,
  JOIN,
  MOST_HISTORIES,
  *SPOT,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if values.street is not None:
    ps.runtime.use_cores(values.cores)  # values start JAX
    join_others(values.join)
  pictures = pictures_if(values.plot)
  if values.examples is not None:
    teach, folder = _from_examples(values, words)
  elif values.street is not None:
    teach, folder = _from_boards(values, words)
  else:
    teach, folder = _from_game(values, words)
  stopwatch = Stopwatch()
  try:
    with stopwatch, ps.runtime.lost_processes(lambda: f"Start all again: {folder} has the rest."):
      learned = teach()
  except KeyboardInterrupt:
    print(f"\nInterrupted; the same call continues with the files in {folder}.", file=sys.stderr)
    return INTERRUPTED
  if learned is None:  # processes share the work
    if ps.runtime.is_first_process():
      facts = {"draws": values.draws, "examples": str(folder), "seconds": stopwatch.seconds}
      say(values, facts, {**facts, "to learn from them": "the same call without --join"})
    return None
  learned.save(folder / FILE)
  card, seconds = learned.card, stopwatch.seconds
  steps = bool(len(learned.losses))
  if not steps:
    pictures = None
  if pictures is not None:
    pictures.training_losses(learned.losses, card["game"]).savefig(folder / LOSSES)
  facts = {**card, "seconds": seconds, "saved": str(folder / FILE)}
  if of_boards := bool(learned.cards):
    what, use = f"{cards.STREETS[learned.cards]}s", SEARCHED.get(cards.STREETS[learned.cards])
  elif learned.solves:
    what = f"situations in {len(learned.features.public_states):,} public states"
    use = ("resolve", card["game"], "--lookahead=1")
  else:
    what, use = "situations of self-play", None
  lines = {
    "game": card["game"],
    "learned from": f"{card['learned_from']:,} {what}",
    "validation": f"loss {card['loss']:.4g}, mean error {100 * card['error']:.3g}% of the mean value",
    "time": f"{seconds:.1f} s" + (", compilation included" if of_boards else ""),
    "saved": ", ".join([FILE, *([LOSSES] if pictures is not None else [])]) + f" in {folder}",
  }
  if not steps and card["finished"]:
    lines["training"] = "none: the values are alpha vectors, those of solved situations"
  if not learned.solves:
    lines["search with it"] = next_command(values, "play", card["game"], f"--opponent=search:{folder / FILE}")
  if use is not None:  # nothing searches before the flop
    lines["search with it"] = next_command(values, *use, f"--values={folder / FILE}")
  if not card["finished"]:
    lines["not finished"] = "the same call continues; this is the best so far"
  say(values, facts, lines)
  return 0 if card["finished"] else INTERRUPTED


def _from_game(values: flags.FlagValues, words: Sequence[str]) -> tuple[Callable, Path]:
  """Learns a game, in turns."""
  refuse(values, OF_BOARDS, "is for --street")
  if values.teacher != TEACHERS[0] and not values.turns:
    raise ValueError(
      f"--teacher={values.teacher} learns from its own values, turn by turn: give --turns=8 or so too."
    )
  options, game = LearnOptions(**given_options(values, LearnOptions)), load_game(words, values)
  function = None
  if values.teacher != SELF_PLAY:
    refuse(values, ("features",), f"is for --teacher={SELF_PLAY}")
  if values.features is not None:
    function = own_features(values.features, values.module)
  folder = make_folder(values.output or f"runs/{game.get_type().short_name}-values")
  more = {"folder": folder, "progress": progress_of(values), "limit": values.limit, "features": function}
  return lambda: ps.values.learn(game, options, **more), folder


def _from_boards(values: flags.FlagValues, words: Sequence[str]) -> tuple[Callable, Path]:
  """Learns random boards of a street."""
  if wrong := [*words, *given(values, ALONE)]:
    raise ValueError(f"--street draws boards of hold'em, in place of a GAME; leave out {' '.join(wrong)}.")
  size, street = STREETS[values.street], f"{values.street}s"
  options = LearnOptions(**given_options(values, LearnOptions))
  pot = _chips(values.pot) if values["pot"].present else 1000
  drawing = given_options(values, RandomSituationsOptions)
  drawn = RandomSituations(values.draws, values.seed, pot=pot, bets=values.bets, cards=size, **drawing)
  if (size < cards.BOARD_SIZE) != (values["values"].value is not None):
    raise ValueError("--values belongs to --street=turn and --street=flop, which need it.")
  known = _values_of(values, size + 1) if size < cards.BOARD_SIZE else None
  folder = make_folder(values.output or f"runs/{street}-values")
  more = {"folder": folder, "progress": progress_of(values), "chunk": values.chunk, "values": known}
  return lambda: ps.values.learn(drawn, options, **more), folder


def _from_examples(values: flags.FlagValues, words: Sequence[str]) -> tuple[Callable, Path]:
  """Learns from the examples of earlier calls."""
  if wrong := [*words, *given(values, (*MAKING, *ALONE, *OF_BOARDS, "street", "pot", "bets"))]:
    raise ValueError(f"--examples have their own game and draws; leave out {' '.join(wrong)}.")
  progress = progress_of(values)
  examples = ps.values.load_examples(*values.examples, progress=progress, device=values.device)
  name = examples.card["game"].partition("(")[0]
  folder = make_folder(values.output or f"runs/{name}-values")
  options = TrainingOptions(**given_options(values, TrainingOptions))
  return lambda: ps.values.train_in(folder / FILE, examples, options, progress=progress), folder


def _chips(text: str) -> int:
  """The pot of --street, in chips."""
  if not text.isdecimal():
    raise ValueError(f"--pot={text}: with --street a pot is a whole number of chips, such as 1000.")
  return int(text)


def _values_of(values: flags.FlagValues, size: int) -> ps.values.NetworkValues:
  """The values of --values; ValueError unless they are of boards of this size."""
  file = str(values["values"].value)
  street = "holdem" if size < cards.BOARD_SIZE else "holdem_subgame(board=2c3c4c5c)"  # any turn
  known = load_values(file, pyspiel.load_game(street))
  if known.cards != size:
    raise ValueError(
      f"--values={file}: expected values of {cards.STREETS[size]}s, as learn "
      f"--street={cards.STREETS[size]} makes them."
    )
  return known


COMMAND = Command(
  name="learn",
  arguments="[GAME]",
  summary="Learn a network of values, for searches by resolve",
  text="Solves situations at random ranges and trains a network on them, for the states beyond the lookahead "
  "of resolve --values; with --turns it continues with the ranges that its own searches meet. With --street "
  "it learns from random boards of hold'em, on all boards together. Examples are saved in files "
  "(docs/batches.md describes those of boards), and the same call continues after an interruption; with "
  "--join processes solve boards together, and the same call without it learns from them. Needs pip install "
  "'ps_cfr_spiel[learn]'. For an agent in a game too large to enumerate see train.",
  examples=(
    "learn leduc_poker",
    "learn leduc_poker --draws=100 --steps=2000 --width=96",
    "learn 'liars_dice(dice_sides=3)' --turns=3",
    "learn 'liars_dice(dice_sides=4)' --teacher=self-play --turns=8 --draws=100 --steps=500 --width=64",
    "learn --examples=runs/leduc_poker-values/examples-0.safetensors --width=64 --output=small",
    "learn --street=river --draws=16000 --distribution=betting",
    "learn --street=turn --draws=6000 --iterations=60 --values=runs/rivers-values/values.safetensors",
    "learn --street=river --output=data --join=0/2@localhost:4321",
  ),
  options=FLAGS,
  run=_run,
)

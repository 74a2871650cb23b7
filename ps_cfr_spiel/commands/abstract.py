"""The command `ps-cfr-spiel abstract`: public clusters and buckets of a game of dealt cards."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from ps_cfr_spiel.commands.command import Command
from ps_cfr_spiel.commands.flags import buckets_of, define_clusters, define_json, say
from ps_cfr_spiel.commands.user_input import UserError, drawing, load_game, make_folder, refuse, user_errors
from ps_cfr_spiel.hierarchical import (
  AWARE,
  CLUSTERS,
  LOSSLESS,
  POTENTIAL,
  SPECIAL,
  DealtAbstraction,
  DealtGame,
  load_abstraction,
  make_abstraction,
  measure,
  save_abstraction,
)
from ps_cfr_spiel.poker import dealt_form
from ps_cfr_spiel.reports import report

FILE = "abstraction.npz"


def define(values: flags.FlagValues) -> None:
  """Defines the command's flags."""
  into: dict[str, Any] = {"flag_values": values}
  define_clusters(values)
  flags.DEFINE_enum("aware", POTENTIAL, list(AWARE), _HELP["aware"], **into)
  flags.DEFINE_integer("seed", 0, "Seed of the random numbers.", 0, **into)
  flags.DEFINE_bool("sizes", False, "Tell sizes and memory only, and make nothing.", **into)
  flags.DEFINE_string(
    "output", None, "Folder for the abstraction (default: runs/ and the game's name).", **into
  )
  flags.DEFINE_string("abstraction", None, "One that is there already: look things up in it.", **into)
  flags.DEFINE_string("hand", None, _HELP["hand"], **into)
  flags.DEFINE_string("board", "", "With --hand or --png: the public cards, such as AhKs3d.", **into)
  flags.DEFINE_string("png", None, _HELP["png"], **into)
  flags.DEFINE_bool("quiet", False, "Print the result only.", **into)
  define_json(values)


_HELP = {
  "aware": "What tells hands apart before the last round: the buckets that they may come into next, or a "
  "histogram of what they beat at the end.",
  "png": "Draw to this file which boards share a cluster, or with --board which hands share a bucket on it.",
  "hand": "Say in which cluster and bucket this hand is, such as AsKd, on the cards of --board.",
}


def abstract(values: flags.FlagValues, words: Sequence[str]) -> int:
  """Runs the command; returns its exit code."""
  if not words:
    raise UserError("abstract needs a game, such as leduc_poker.")
  if values.abstraction is not None:
    refuse(values, ("clusters", "buckets", "aware", "seed", "output"), "is for a new abstraction")
  if values.sizes:
    refuse(values, ("hand", "board", "png", "output"), "needs an abstraction, and --sizes makes none")
  game = load_game(words)
  with user_errors():
    buckets = buckets_of(values)
    sizes = measure(dealt_form(game))
  facts: dict[str, Any] = {
    "game": str(game),
    "infostates": sizes.infostates,
    "infostates_up_to_suits": sizes.infostate_classes,
    "bytes": sizes.bytes,
    "boards": int(sizes.boards[SPECIAL]),
    "board_classes": int(sizes.classes[SPECIAL]),
  }
  lines = {
    "game": game,
    "infostates": f"{sizes.infostates:,}, {sizes.infostate_classes:,} up to names of suits",
    "whole tables": f"{_size(sizes.bytes)}, of regrets and averages in float32",
    "boards": f"{facts['boards']:,}, {facts['board_classes']:,} up to names of suits",
  }
  clusters = values.clusters or min(CLUSTERS, facts["board_classes"])
  if buckets != LOSSLESS and values.abstraction is None:
    facts["abstract_infostates"] = sizes.abstract_infostates(clusters, int(buckets))
    facts["abstract_bytes"] = sizes.abstract_bytes(clusters, int(buckets))
    lines["abstracted"] = (
      f"{facts['abstract_infostates']:,} infostates and {_size(facts['abstract_bytes'])}, with "
      f"{clusters:,} x {buckets} buckets a round"
    )
  if not (values.quiet or values.json):
    print(report(lines), flush=True)
  if values.sizes:
    if values.quiet or values.json:
      say(values, facts, lines)
    return 0
  drawn = drawing(values.png)
  with user_errors():
    dealt = DealtGame.of(game)
    seen = _seen(dealt, values)
    folder = None
    if values.abstraction is None:
      folder = make_folder(Path(values.output or Path("runs") / game.get_type().short_name))
    started = time.monotonic()
    found = _made(values, dealt, buckets)
    told = {**found.facts(), "time": f"{time.monotonic() - started:.1f} s"}
    facts |= {"clusters": found.count, "buckets": list(found.sizes)}
    if folder is not None:
      save_abstraction(folder / FILE, found)
      told["saved"] = facts["saved"] = str(folder / FILE)
    if values.hand is not None:
      cluster, bucket = found.find(seen)
      told["hand"] = f"{values.hand} on {values.board or 'no board'}: " + (
        f"cluster {cluster}, bucket {bucket}" if values.board else f"bucket {bucket}"
      )
      facts |= {"hand": values.hand, "board": values.board, "cluster": cluster, "bucket": bucket}
    if drawn:
      pictures, file = drawn
      cards = dealt.form.deck.find(values.board)
      chart = pictures.bucket_chart(dealt, found, cards) if cards else pictures.cluster_chart(dealt, found)
      chart.savefig(file)
      told["drawn"] = facts["drawn"] = str(file)
  say(values, facts, told)
  return 0


def _made(values: flags.FlagValues, dealt: DealtGame, buckets: int | str) -> DealtAbstraction:
  """The abstraction that a file has, or a new one."""
  if values.abstraction is not None:
    return load_abstraction(values.abstraction, dealt)
  silent = False if values.quiet or values.json else None
  return make_abstraction(dealt, values.clusters, buckets, values.seed, progress=silent, aware=values.aware)


def _seen(dealt: DealtGame, values: flags.FlagValues) -> list[tuple[int, int]]:
  """Where the hand that is asked about is on the board, as `DealtGame.seen`; of no hand, any other.

  So wrong cards are found before the boards are clustered.
  """
  if values.board and values.hand is None and not values.png:
    raise UserError(f"--board={values.board} is for --hand or --png; give one of them too.")
  deck, hand = dealt.form.deck, values.hand or ""
  cards = deck.find(hand + values.board)
  own, board = cards[: len(hand) // 2], cards[len(hand) // 2 :]
  if values.hand is None:
    own = dealt.hands[~np.isin(dealt.hands, board).any(1)][0].tolist()
  return dealt.seen(own, board)


def _size(count: int) -> str:
  """Bytes for people."""
  for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
    if count >= size:
      return f"{count / size:.3g} {unit}"
  return f"{count} bytes"


COMMAND = Command(
  name="abstract",
  arguments="GAME",
  summary="Cluster the boards and hands of a poker game",
  text="Tells how large a game of dealt cards is, puts its boards into public clusters and the hands of each "
  "cluster into buckets, saves them, and says in which a hand is. For universal_poker with public cards, and "
  "leduc_poker; docs/abstractions.md says how.",
  examples=(
    "abstract leduc_poker --clusters=2 --buckets=lossless",
    "abstract leduc_poker --sizes",
    "abstract leduc_poker --buckets=3 --png=clusters.png",
    "abstract leduc_poker --abstraction=runs/leduc_poker/abstraction.npz --hand=3c --board=4d",
  ),
  define=define,
  run=abstract,
)

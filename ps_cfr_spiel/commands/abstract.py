"""The command `ps-cfr-spiel abstract`: public clusters and buckets of a game of dealt cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from absl import flags

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.command import Command, Flag
from ps_cfr_spiel.commands.flags import CLUSTERS_AND_BUCKETS, JSON, QUIET, buckets_of, progress_of, say
from ps_cfr_spiel.commands.user_input import drawing, load_game, make_folder, refuse
from ps_cfr_spiel.histories import readable_bytes
from ps_cfr_spiel.notation import parse_cards
from ps_cfr_spiel.poker import dealt_form, describe
from ps_cfr_spiel.reports import Stopwatch, report

FILE = "abstraction.npz"


# fmt: off
FLAGS = (
  *CLUSTERS_AND_BUCKETS,
  Flag("aware", "potential",
    "Description of hands before the last round: the buckets that they may reach next, or a histogram of "
    "their equity at the end, the only one for hold'em to the river.", choices=("potential", "distribution")),
  Flag("seed", 0, "Seed of the random numbers.", least=0),
  Flag("sizes", False, "Print sizes and memory only, and make nothing."),
  Flag("output", None, "Folder for the abstraction (default: runs/ and the game's name).", value="FOLDER"),
  Flag("abstraction", None, "Saved abstraction to look things up in.", value="FILE"),
  Flag("hand", None, "Hand whose cluster and bucket to print, such as AsKd, on the cards of --board.",
    value="HAND"),
  Flag("board", "", "With --hand or --png: the public cards, such as AhKs3d.", value="CARDS"),
  Flag("png", None,
    "Picture to draw: the clusters of the boards, or with --board the buckets of the hands on it.",
    value="FILE"),
  QUIET,
  JSON,
)
# fmt: on


def _run(values: flags.FlagValues, words: Sequence[str]) -> int | None:
  if not words:
    raise ValueError("abstract needs a game, such as leduc_poker.")
  if values.abstraction is not None:
    refuse(values, ("clusters", "buckets", "special", "aware", "seed", "output"), "is for a new abstraction")
  if values.sizes:
    refuse(values, ("hand", "board", "png", "output"), "needs an abstraction, and --sizes makes none")
  game, quiet = load_game(words), values.quiet or values.json
  buckets = buckets_of(values)
  made = values.abstraction is None
  special = values.special if made else ps.hierarchical.special_in(str(values.abstraction), str(game))
  facts, lines = _sizes(values, game, buckets, special)
  if not quiet:
    print(report(lines), flush=True)
  if values.sizes:
    if quiet:
      say(values, facts, lines)
    return None
  drawn = drawing(values.png)
  dealt = ps.hierarchical.DealtGame.of(game, special)
  seen, stopwatch = _seen(dealt, values), Stopwatch()
  folder = make_folder(values.output or f"runs/{game.get_type().short_name}") if made else None
  with stopwatch:
    found = _made(values, dealt, buckets)
  lines = {**found.facts(), "time": f"{stopwatch.seconds:.1f} s"}
  facts |= {"clusters": found.count, "buckets": list(found.sizes)}
  if folder is not None:
    ps.hierarchical.save_abstraction(folder / FILE, found)
    lines["saved"] = facts["saved"] = str(folder / FILE)
  if values.hand is not None:
    place = dict(zip(("cluster", "bucket"), found.find(seen), strict=True))
    facts |= {"hand": values.hand, "board": values.board, **place}
    shown = place if values.board else {"bucket": place["bucket"]}
    text = ", ".join(f"{name} {number}" for name, number in shown.items())
    lines["hand"] = f"{values.hand} on {values.board or 'no board'}: {text}"
  if drawn:
    pictures, file = drawn
    cards = dealt.form.deck.find(values.board)
    chart = pictures.bucket_chart(dealt, found, cards) if cards else pictures.cluster_chart(dealt, found)
    chart.savefig(file)
    lines["drawn"] = facts["drawn"] = str(drawn[1])
  say(values, facts, lines)


def _sizes(
  values: flags.FlagValues, game: pyspiel.Game, buckets: int | str, special: int
) -> tuple[dict, dict]:
  """Sizes of the game and of its abstraction: for programs, and for people."""
  form = dealt_form(game)
  sizes, special = ps.hierarchical.measure(form), ps.hierarchical.check_special(special, form)
  facts: dict[str, Any] = {
    "game": str(game),
    "infostates": sizes.infostates,
    "infostates_up_to_suits": sizes.infostate_classes,
    "bytes": sizes.bytes,
    "boards": int(sizes.boards[special]),
    "board_classes": int(sizes.classes[special]),
  }
  lines = {
    "game": describe(str(game)),
    "infostates": f"{sizes.infostates:,}, {sizes.infostate_classes:,} up to names of suits",
    "whole tables": f"{readable_bytes(sizes.bytes)}, of regrets and averages in float32",
    "boards": f"{facts['boards']:,}, {facts['board_classes']:,} up to names of suits",
  }
  if buckets != ps.hierarchical.LOSSLESS and values.abstraction is None:
    size = values.clusters or min(ps.hierarchical.CLUSTERS, facts["board_classes"]), int(buckets)
    infostates, taken = sizes.abstract_infostates(*size, special), sizes.abstract_bytes(*size, special)
    facts |= {"abstract_infostates": infostates, "abstract_bytes": taken}
    lines["abstracted"] = (
      f"{infostates:,} infostates and {readable_bytes(taken)}, with {size[0]:,} x {buckets} buckets a round"
    )
  return facts, lines


def _made(
  values: flags.FlagValues, dealt: ps.hierarchical.DealtGame, buckets: int | str
) -> ps.hierarchical.Hierarchy:
  """The abstraction that a file has, or a new one."""
  if values.abstraction is not None:
    return ps.hierarchical.load_abstraction(values.abstraction, dealt)
  aware = values.aware if values["aware"].present else None  # the default depends on the game
  return ps.hierarchical.make_abstraction(
    dealt, values.clusters, buckets, values.seed, progress=progress_of(values), aware=aware
  )


def _seen(dealt: ps.hierarchical.DealtGame, values: flags.FlagValues) -> list[tuple[int, int]]:
  """Place of the hand on the board, as `DealtGame.seen`; that of another hand if none is given.

  Wrong cards are thus found before the boards are clustered.
  """
  if values.board and values.hand is None and not values.png:
    raise ValueError(f"--board={values.board} is for --hand or --png; give one of them too.")
  deck, hand = dealt.form.deck, values.hand or ""
  shown = dealt.form.board
  cards = deck.find(deck.names(shown) + hand + values.board)[len(shown) :]
  held = len(parse_cards(hand, "hand"))
  own, board = cards[:held], cards[held:]
  if values.hand is None:
    own = dealt.hands[~np.isin(dealt.hands, [*shown, *board]).any(1)][0].tolist()
  return dealt.seen(own, board)


COMMAND = Command(
  name="abstract",
  arguments="GAME",
  summary="Cluster the boards and hands of a poker game",
  text="Prints the size of a game of dealt cards, puts its boards into public clusters and the hands of each "
  "cluster into buckets, saves them, and finds those of a hand. For universal_poker with public cards, "
  "leduc_poker, and holdem_subgame, whose --board has the cards after its own; docs/abstractions.md explains "
  "it.",
  examples=(
    "abstract leduc_poker --clusters=2 --buckets=lossless",
    "abstract leduc_poker --sizes",
    "abstract leduc_poker --buckets=3 --png=clusters.png",
    "abstract leduc_poker --abstraction=runs/leduc_poker/abstraction.npz --hand=3c --board=4d",
  ),
  own=FLAGS,
  run=_run,
)

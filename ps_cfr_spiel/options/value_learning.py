"""The options of learning values: of training a network, and of making the examples that it learns from."""

from typing import Annotated, Any

from ps_cfr_spiel.options.option import Option, Options
from ps_cfr_spiel.options.shared import Device

SELF_PLAY = "self-play"
TEACHERS = ("solve", "search", SELF_PLAY)


class TrainingOptions(Options):
  """Options of training a network on examples."""

  seed: Annotated[
    int, Option("Seed of the network, and of the examples that are made for it.", least=0, most=2**32 - 1)
  ] = 0
  steps: Annotated[
    int,
    Option(
      "Steps of training, in each turn.",
      "Of Adam; its step falls from `learning_rate` to a hundredth of it along half a cosine.",
      least=1,
    ),
  ] = 6000
  batch: Annotated[
    int | None,
    Option(
      "Examples for one step; None: 1,000, 128 boards, 256 of self-play, whose tensors are large.",
      "Those of self-play come in blocks of eight of one public state; a part of a block counts as a whole.",
      least=1,
      flag=None,
    ),
  ] = None
  width: Annotated[int, Option("Width of the network's layers.", least=1)] = 192
  layers: Annotated[int, Option("Residual layers, after the first.", least=1, flag=None)] = 3
  learning_rate: Annotated[
    float | None,
    Option("The first; None: 0.001, with self-play 0.003.", least=0, most=1, flag=None),
  ] = None
  patience: Annotated[
    int,
    Option(
      "Evaluations, one every 200 steps, without a fall of the validation loss before the end.",
      least=1,
      flag=None,
    ),
  ] = 20
  device: Device = "auto"


class LearnOptions(TrainingOptions):
  """Options of learning: of making examples, and of training on them."""

  draws: Annotated[
    int,
    Option(
      "Draws of ranges, each of which is solved in all public states, or first games of self-play",
      "of a game; boards have their own number.",
      "(with --street: of boards). One in 20 is held out, but at least one.",
      least=2,
    ),
  ] = 1200
  turns: Annotated[
    int, Option("Further turns, of learning from the situations of its own searches.", least=0)
  ] = 0
  chains: Annotated[
    int,
    Option(
      "In each further turn: searches that go through the game; each gives several situations.", least=1
    ),
  ] = 100
  teacher: Annotated[
    str,
    Option(
      "Solver of a game's situations: solve goes to its end, search looks one decision ahead and takes the "
      "network's own values beyond (with turns, some eight of them); self-play does so in a game of its own, "
      "needs no list of the game, and its network reads tensors; search is self-play in a game too large to "
      "list.",
      choices=TEACHERS,
    ),
  ] = "solve"
  iterations: Annotated[int, Option("Iterations for each situation, at most.", least=1)] = 100
  target: Annotated[
    Any,
    Option(
      "Of boards: exploitability at which one is done, in percent of the pot (0.1%) or in chips.",
      value="AMOUNT",
    ),
  ] = None

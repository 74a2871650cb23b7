"""The options of learning and of training, and the memory of a training."""

import dataclasses
from typing import Any

from ps_cfr_spiel import arguments
from ps_cfr_spiel.learning.alpha_vectors import serve
from ps_cfr_spiel.learning.network import count_parameters
from ps_cfr_spiel.memory import check_needs, training_needs

CHECK = 200  # steps between looks at the validation loss
TEACHERS = ("solve", "search")


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
  """The options of `train`; ValueError for a value that is not allowed."""

  seed: int = 0  #: of the first weights and the batches
  steps: int = 6000  #: of Adam; its step falls from `learning_rate` to a hundredth of it along half a cosine
  batch: int = 1000  #: examples for one step
  width: int = 192  #: of the layers
  layers: int = 3  #: number of residual layers, after the first
  learning_rate: float = 1e-3  #: the first
  #: number of evaluations, one every 200 steps, without a fall of the validation loss before the end.
  patience: int = 20

  def __post_init__(self):
    read: dict[str, Any] = {
      name: arguments.check_count(name, getattr(self, name), 1)
      for name in ("steps", "batch", "width", "layers", "patience")
    }
    read["seed"] = arguments.check_integer("seed", self.seed, 0)
    read["learning_rate"] = arguments.check_number("learning_rate", self.learning_rate, 0, 1)
    for name, value in read.items():
      object.__setattr__(self, name, value)

  @classmethod
  def from_card(cls, card: Any) -> "TrainingOptions":
    """The options with which values were trained, by their card; ValueError if it lacks them."""
    try:
      return cls(seed=card["training_seed"], **card["training"])
    except (KeyError, TypeError, ValueError) as error:
      raise ValueError(f"The card of the values is damaged: its settings of training: {error}.") from error

  @property
  def method(self) -> dict[str, Any]:
    """All of them but the seed, for the card of values."""
    options = dataclasses.asdict(self)
    del options["seed"]
    return options

  def check_memory(self, places: int, slots: tuple[int, int]) -> None:
    """TooLarge, a ValueError, if a network of these places and slots needs more memory than is free."""
    parameters = count_parameters(places, slots, self.width, self.layers)
    if serve(slots):
      parameters = places * self.width * max(slots)
    what = f"Training with width={self.width}, layers={self.layers} and batch={self.batch}"
    needs = training_needs(parameters, self.batch * self.width * (self.layers + 1), self.batch * CHECK)
    check_needs(what, needs, None, "To use less memory: a smaller width, fewer layers or a smaller batch")


USUAL_TRAINING = TrainingOptions()


@dataclasses.dataclass(frozen=True)
class LearnOptions:
  """The options of `learn`; ValueError for a value that is not allowed."""

  draws: int = 1200  #: at the start: of ranges for all public states of a game, or of boards
  turns: int = 3  #: rounds of searches by the network so far; 0 learns from the draws alone
  chains: int = 100  #: searches in each turn, each of which gives several situations
  #: of a game, "solve": to its end, or "search": to the next decision, with the network's values beyond.
  teacher: str = "solve"
  iterations: int = 100  #: of CFR for each situation
  target: float | str | None = None  #: of boards, see `solve_batch`
  seed: int = 0  #: of all random numbers
  training: TrainingOptions = USUAL_TRAINING  #: of each turn; its seed is replaced by `seed` + turn

  def __post_init__(self):
    arguments.check_option("teacher", self.teacher, TEACHERS)
    arguments.check_instance("training", self.training, TrainingOptions)
    read = {
      "draws": arguments.check_count("draws", self.draws, 1),
      "turns": arguments.check_count("turns", self.turns, 0),
      "chains": arguments.check_count("chains", self.chains, 1),
      "iterations": arguments.check_count("iterations", self.iterations, 1),
      "seed": arguments.check_integer("seed", self.seed, 0),
    }
    arguments.check_integer("seed + turns", read["seed"] + read["turns"], 0)
    for name, value in read.items():
      object.__setattr__(self, name, value)


USUAL_LEARNING = LearnOptions()

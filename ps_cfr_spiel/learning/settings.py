"""The settings of training, and its memory."""

from typing import Any, NamedTuple

from ps_cfr_spiel import arguments
from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.learning.alpha_vectors import serve
from ps_cfr_spiel.learning.network import count_parameters

CHECK = 200  # steps between looks at the validation loss
SINGLE, NUMBER = 4, 8  # bytes of a parameter, and of the number of an example
COPIES = 9  # of the parameters at the peak: weights, both moments, gradients, the best so far; roughly


class TrainingSettings(NamedTuple):
  """The settings of training; see `train`."""

  seed: int = 0
  steps: int = 6000
  batch: int = 1000
  width: int = 192
  layers: int = 3
  learning_rate: float = 1e-3
  patience: int = 20

  @classmethod
  def of(cls, seed: int, training: Any) -> "TrainingSettings":
    """The settings from `self_play`'s further arguments of `train`; ValueError for a wrong name or value."""
    for name in arguments.check_instance("training", training, dict):
      arguments.check_option("entry of training", name, (*cls._fields[1:], "checkpoint_seconds"))
    arguments.check_seconds("checkpoint_seconds", training.get("checkpoint_seconds", 0))
    return cls(seed, **{name: training[name] for name in cls._fields if name in training}).checked()

  @classmethod
  def from_card(cls, card: Any) -> "TrainingSettings":
    """The settings with which values were trained, by their card; ValueError if it lacks them."""
    try:
      return cls(seed=card["training_seed"], **card["training"]).checked()
    except (KeyError, TypeError, ValueError) as error:
      raise ValueError(f"The card of the values is damaged: its settings of training: {error}.") from error

  def checked(self) -> "TrainingSettings":
    """The same, as plain numbers; ValueError if one is not allowed."""
    counts = ("steps", "batch", "width", "layers", "patience")
    return self._replace(
      seed=arguments.check_integer("seed", self.seed, 0),
      learning_rate=arguments.check_number("learning_rate", self.learning_rate, 0, 1),
      **{name: arguments.check_count(name, getattr(self, name), 1) for name in counts},
    )

  def check_memory(self, places: int, slots: tuple[int, int]) -> None:
    """TooLarge, a ValueError, if a network of these places and slots needs more memory than is free."""
    parameters = count_parameters(places, slots, self.width, self.layers)
    if serve(slots):
      parameters = places * self.width * max(slots)
    of_each = NUMBER * CHECK + SINGLE * self.width * (self.layers + 1)  # its numbers, and the layers' outputs
    what = f"Training with width={self.width}, layers={self.layers} and batch={self.batch}"
    needs = {"for weights, gradients and the optimiser": COPIES * SINGLE * parameters}
    needs["for batches"] = self.batch * of_each
    check_needs(what, needs, None, "To use less memory: a smaller width, fewer layers or a smaller batch")

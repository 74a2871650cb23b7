"""The options of training in a network's card, and the memory of a training."""

from collections.abc import Mapping

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.learning.features import Features
from ps_cfr_spiel.memory import check_needs, training_needs
from ps_cfr_spiel.options import TrainingOptions

CHECK = 200  # steps between looks at the validation loss


def options_in(card: Mapping[str, JSON]) -> TrainingOptions:
  """The options with which values were trained, by their card; ValueError if it lacks them."""
  try:
    return TrainingOptions(seed=card["training_seed"], **card["training"])
  except (KeyError, TypeError, ValueError) as error:
    raise ValueError(f"The card of the values is damaged: its settings of training: {error}.") from error


def suited(options: TrainingOptions, features: Features) -> TrainingOptions:
  """The options with the batch and the learning rate of examples of such features, unless they have them."""
  batch = 128 if features.cards else 1000 if features.listed else 256
  rate = 1e-3 if features.cards or features.listed else 3e-3
  return options.changed(
    batch=batch if options.batch is None else options.batch,
    learning_rate=rate if options.learning_rate is None else options.learning_rate,
  )


def check_memory(options: TrainingOptions, features: Features) -> None:
  """TooLarge, a ValueError, if training a network of these features needs more memory than is free."""
  options = suited(options, features)
  assert options.batch is not None
  parameters = features.parameters(options.width, options.layers)
  what = f"Training with width={options.width}, layers={options.layers} and batch={options.batch}"
  outputs = options.batch * features.outputs(options.width, options.layers)
  needs = training_needs(parameters, outputs, options.batch * CHECK)
  check_needs(what, needs, None, "To use less memory: a smaller width, fewer layers or a smaller batch")

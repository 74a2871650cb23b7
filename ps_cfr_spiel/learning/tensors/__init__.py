"""Learning about any game from its tensors: observations, features, a network of sets, self-play."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
  __name__, submodules=["observations", "self_play", "tensor_blocks", "tensor_features", "tensor_network"]
)

"""Value functions at the end of a lookahead: from solutions, from CFR, learned (with the extra `learn`)."""

from typing import TYPE_CHECKING, Any

from ps_cfr_spiel.resolving.search import CFRValues, SolvedValues, StateValues, ValueFunction
from ps_cfr_spiel.resolving.subgames import BoundValues

if TYPE_CHECKING:
  from ps_cfr_spiel.learning import NetworkValues, learn, load_examples, pretrained, train_in

__all__ = [
  "BoundValues",
  "CFRValues",
  "NetworkValues",
  "SolvedValues",
  "StateValues",
  "ValueFunction",
  "learn",
  "load_examples",
  "pretrained",
  "train_in",
]


def __getattr__(name: str) -> Any:
  """Import `learning`, whose libraries are an extra, on the first use of a name from there."""
  if name in __all__:
    from ps_cfr_spiel import learning

    return getattr(learning, name)
  raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

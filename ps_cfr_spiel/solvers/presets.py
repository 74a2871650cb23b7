"""Published settings of searches, as arguments of `ContinualResolving`.

DeepStack's (Moravčík et al. 2017; Schmid 2021, Tables 21.1 and 21.2): the regrets of CFR+, updated at once
for both players, with uniform averages over the second half of the iterations. A flop is searched until the
turn, with values of a network beyond; a turn and a river are searched to the end. (The thesis's text has
other numbers for the river than its table; these are the table's.) Bets are part of a game here:
`DEEPSTACK_BETS` are its actions, the sizes of first, second and later bets.
"""

from collections.abc import Mapping
from typing import Any

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.options import ROUND

_HYBRID: dict[str, Any] = {"rule": RMPlus(gamma=0), "alternating": False, "gadget": "cfr-d"}
PRESETS: Mapping[str, Mapping[str, Any]] = {
  "deepstack-flop": {**_HYBRID, "iterations": 1000, "skip": 500, "lookahead": ROUND},
  "deepstack-turn": {**_HYBRID, "iterations": 1000, "skip": 500},
  "deepstack-river": {**_HYBRID, "iterations": 2000, "skip": 1000},
}
DEEPSTACK_BETS = {"flop": "0.5 1 a;1 a", "turn": "0.5 1 a;1 a", "river": "0.5 1 2 a;0.5 1 2 a;1 a"}


def preset(name: str, **changes: Any) -> dict[str, Any]:
  """Arguments of `ContinualResolving`: a preset's, with changes; ValueError for an unknown preset."""
  return {**PRESETS[check_option("preset", name, PRESETS)], **changes}

"""Names of objects that an option chooses among, and published settings of searches.

Help and completion need the names, and must not import JAX; so an object is written as its place,
"module:attribute". `cfr.RULES`, `subgames.GADGETS` and `policy.MAPPINGS` are `objects` of these tables: a new
regret rule, gadget or mapping of bets is its class or function, and a line here.

DeepStack's settings (Moravčík et al. 2017; Schmid 2021, Tables 21.1 and 21.2): the regrets of CFR+, updated
at once for both players, with uniform averages over the second half of the iterations. Before the flop and on
it a search goes until the next cards come, with values of a network beyond; a turn and a river are searched
to the end. (The thesis's
text has other numbers for the river than its table; these are the table's.) Bets are part of a game here:
`DEEPSTACK_BETS` are its actions, the sizes of first, second and later bets.
"""

import pkgutil
from collections.abc import Mapping
from typing import Any

from ps_cfr_spiel.arguments import check_option

DISCOUNTED, RULE_FILE = "ps_cfr_spiel.cfr.discounted", "ps_cfr_spiel.cfr.regret_rules"
RULES = {
  "rm": f"{DISCOUNTED}:RM",
  "rm+": f"{DISCOUNTED}:RMPlus",
  "dcfr": f"{DISCOUNTED}:DCFR",
  "lcfr": f"{DISCOUNTED}:LCFR",
  "pcfr+": f"{DISCOUNTED}:PCFRPlus",
  "pdcfr+": f"{DISCOUNTED}:PDCFRPlus",
  "apcfr+": f"{RULE_FILE}:APCFRPlus",
  "sapcfr+": f"{DISCOUNTED}:SAPCFRPlus",
  "hs-dcfr": f"{DISCOUNTED}:HSDCFR",
  "hs-pcfr+": f"{DISCOUNTED}:HSPCFRPlus",
  "vad-cfr": f"{RULE_FILE}:VADCFR",
  "hedge": f"{RULE_FILE}:Hedge",
  "nrm+": f"{RULE_FILE}:NRMPlus",
}
ALIASES = {"cfr": "rm", "cfr+": "rm+"}  # by the name of the algorithm, as papers and OpenSpiel have it

GADGET_FILE = "ps_cfr_spiel.resolving.subgames.gadgets"
GADGETS = {
  "unsafe": f"{GADGET_FILE}:unsafe",
  "cfr-d": f"{GADGET_FILE}:cfr_d",
  "max-margin": f"{GADGET_FILE}:max_margin",
  "refined-cfr-d": f"{GADGET_FILE}:refined_cfr_d",
  "refined-max-margin": f"{GADGET_FILE}:refined_max_margin",
  "expected-cfr-d": f"{GADGET_FILE}:expected_cfr_d",
  "expected-max-margin": f"{GADGET_FILE}:expected_max_margin",
}

TRANSLATION_FILE = "ps_cfr_spiel.policy.action_translation"
MAPPINGS = {
  "pseudo-harmonic": f"{TRANSLATION_FILE}:pseudo_harmonic",
  "arithmetic": f"{TRANSLATION_FILE}:arithmetic",
  "nearest": f"{TRANSLATION_FILE}:nearest",
  "nearest-ratio": f"{TRANSLATION_FILE}:nearest_ratio",
}

Settings = Mapping[str, Any]  # options by name
ROUND = "round"  # the lookahead until the next public chance event
_HYBRID: Settings = {"rule": {"name": "rm+", "gamma": 0}, "alternating": False, "gadget": "cfr-d"}
PRESETS: Mapping[str, Settings] = {
  "deepstack-preflop": {**_HYBRID, "iterations": 1000, "averaging_delay": 500, "lookahead": ROUND},
  "deepstack-flop": {**_HYBRID, "iterations": 1000, "averaging_delay": 500, "lookahead": ROUND},
  "deepstack-turn": {**_HYBRID, "iterations": 1000, "averaging_delay": 500},
  "deepstack-river": {**_HYBRID, "iterations": 2000, "averaging_delay": 1000},
}
DEEPSTACK_BETS = {
  "preflop": "0.5 1 a;0.5 1 2 a;1 a",
  "flop": "0.5 1 a;1 a",
  "turn": "0.5 1 a;1 a",
  "river": "0.5 1 2 a;0.5 1 2 a;1 a",
}
STREET_NAMES = tuple(DEEPSTACK_BETS)
AGENTS = ("quick", "deepstack")  # presets of the agent of hold'em
QUICK_BETS, QUICK_ITERATIONS = ["1 a;1 a;a", "1 a;a", "1 a;a", "1 a;a"], 100


def objects(places: Mapping[str, str]) -> dict[str, Any]:
  """The objects at these places, by name; their modules are imported."""
  return {name: pkgutil.resolve_name(place) for name, place in places.items()}


def preset(name: str, **changes: Any) -> dict[str, Any]:
  """Options of `ContinualResolving`: a preset's, with changes; ValueError for an unknown preset."""
  return {**PRESETS[check_option("preset", name, PRESETS)], **changes}


def agent_bets(name: str, streets: int) -> str:
  """The bets of an agent's preset on the last streets, which it searches."""
  return " / ".join(QUICK_BETS[:streets] if name == "quick" else [*DEEPSTACK_BETS.values()][-streets:])


def agent_searches(name: str, iterations: int | None = None) -> Mapping[str, Settings]:
  """The options of an agent's searches on each street by a preset, or with other iterations."""
  if name == "quick":
    return {street: {"iterations": iterations or QUICK_ITERATIONS} for street in DEEPSTACK_BETS}
  made = {street: preset(f"deepstack-{street}") for street in DEEPSTACK_BETS}
  if iterations is None:
    return made
  few = {"iterations": iterations, "averaging_delay": iterations // 2}
  return {street: {**settings, **few} for street, settings in made.items()}

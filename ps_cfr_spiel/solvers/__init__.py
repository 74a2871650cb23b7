"""Classes in OpenSpiel's shape, thin and with state: solvers, policies that search, bots.

May import: hierarchical, search, abstraction, keyed, policy, mccfr and lower layers. `solver` and
`run_files` are the base class of all solvers; `exact` that of solvers that are evaluated exactly,
`splitting` that of solvers that split an abstraction; `ps_cfr`, `sampling`, `cfr_ira_solver`,
`fictitious_play_solvers`, `keyed_solver`, `keyed_mccfr` and `hierarchical` are solvers; `saved_policies`
reads policies from files;
`search_policy` is the contract of policies that search, and the bot that plays any policy;
`continual_resolving`, `online_outcome_sampling` and `holdem_policy`, by `holdem_searches` and `public_hand`,
are such policies, and `particle_bot` is a bot that searches.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

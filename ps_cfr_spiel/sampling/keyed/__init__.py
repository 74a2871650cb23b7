"""Games too large to enumerate: Monte Carlo CFR on plays or traversals, with tables by key.

May import: policy, mccfr and lower layers. `keyed_game`, a base module, has the contracts of a game, and
`openspiel_keys` makes any OpenSpiel game one; `key_tables` has the tables and the record of a run. `plays`
and `traversals` are samplers: plays of states or in a game's native code, and external sampling, in native
code alone, with pruning. `keyed_policy` is a strategy in a table, and `warm_start` begins a run with the
tables of another. `particles` are the hidden states that a player holds possible, `hidden_states` those of
any game, and `halving` spends a decision's rollouts.
"""

from ps_cfr_spiel.sampling.keyed.halving import halving
from ps_cfr_spiel.sampling.keyed.hidden_states import OpenSpielStates
from ps_cfr_spiel.sampling.keyed.key_tables import MILLION, KeyTables, Matchup, Tally
from ps_cfr_spiel.sampling.keyed.keyed_policy import KeyedPolicy, Sums, normalised
from ps_cfr_spiel.sampling.keyed.openspiel_keys import CELLS, DIGEST, SAVED_KEYS, OpenSpielKeys, check_keys
from ps_cfr_spiel.sampling.keyed.particles import Particles, thinned
from ps_cfr_spiel.sampling.keyed.plays import NativePlays, Plays, StatePlays, run
from ps_cfr_spiel.sampling.keyed.traversals import Traversals
from ps_cfr_spiel.sampling.keyed.warm_start import warm_started

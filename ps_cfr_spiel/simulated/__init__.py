"""Games too large to enumerate: Monte Carlo CFR on plays or traversals, with tables by key.

May import: mccfr and lower layers. `simulated_game` is the contract of a game, and `host_game` makes any
OpenSpiel game one; `samplers` has the tables and the record of a run. `trajectories` plays a game,
`estimates` value the moves of a play, and `windows` are the moves of one key in a flat table; `traversals`
are samplers in a game's native code, with pruning. `warm_start` begins a run with the tables of another.
`particles` are the hidden states that a player holds possible, `hidden_states` those of any game, and
`halving` spends a decision's rollouts.
"""

from ps_cfr_spiel.simulated.estimates import Corrected, Learned, MoveEstimate
from ps_cfr_spiel.simulated.halving import halving
from ps_cfr_spiel.simulated.hidden_states import OpenSpielStates
from ps_cfr_spiel.simulated.host_game import CELLS, DIGEST, HostGame, check_keys
from ps_cfr_spiel.simulated.particles import HiddenStates, Particles, thinned
from ps_cfr_spiel.simulated.samplers import MILLION, KeyTables, Simulation, Tally, table_size
from ps_cfr_spiel.simulated.simulated_game import SimulatedGame
from ps_cfr_spiel.simulated.trajectories import Trajectories
from ps_cfr_spiel.simulated.traversals import NativePlays, Traversals
from ps_cfr_spiel.simulated.warm_start import warm_started

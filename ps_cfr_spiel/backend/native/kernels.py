"""Every function of the native library: its results, its needs, and its reference in Python.

The reference states the same computation; without the library, on an accelerator, or for a user's own rule,
sampler or evaluator it is also what runs, unless it lies in the tests. `tests/native/test_kernels.py` checks
that the table is complete.
"""

import dataclasses

INTERFACE = 10  # the version of the functions' arguments, results and meaning; that of native.h


@dataclasses.dataclass(frozen=True)
class Kernel:
  """A function of the library.

  Attributes:
    name: in the library. A custom call of XLA has a handler for each dtype: 32 or 64 is added to the name.
    computes: its results.
    needs: its demands on the game or on the caller, besides a CPU.
    reference: the same in Python, "module:name" or "tests/file:name".
    test: where the two are compared, "tests/file::function".
    custom_call: whether jitted code calls it (`call`); otherwise NumPy's arrays go to it (`call_plain`).
  """

  name: str
  computes: str
  needs: str
  reference: str
  test: str
  custom_call: bool = True


CARDS = "two players who each hold one or two cards; the stronger hand wins"
RULE = "a regret rule whose class declares its number in C++"
SAMPLER = "a sampler and a baseline of the package"
DECK = "a deck of up to 13 ranks and 4 suits, hands of one or two cards"

KERNELS = {
  kernel.name: kernel
  for kernel in (
    # Leaves.
    Kernel(
      "Showdowns",
      "values of showdowns and folds, by a sweep over sorted hands",
      CARDS,
      "ps_cfr_spiel.tree.evaluators.showdown:ShowdownLeaves",
      "tests/tree/test_native_leaves.py::test_equals_brute_force_and_the_others",
    ),
    Kernel(
      "Rows",
      "sums of rows, by the number of the sum that each goes into",
      "nothing",
      "ps_cfr_spiel.tree.arrays:sum_rows",
      "tests/tree/test_row_sums.py::test_equal_to_a_loop",
    ),
    # A pass over a player's decisions.
    Kernel(
      "WalkDown",
      "reach of all sequences and leaves under a strategy",
      "nothing",
      "ps_cfr_spiel.tree.traverse:sequence_reach",
      "tests/tree/test_player_passes.py::test_row_by_row",
    ),
    Kernel(
      "WalkUp",
      "values of all sequences under a strategy or a best response",
      "nothing",
      "ps_cfr_spiel.tree.traverse:sequence_values",
      "tests/tree/test_player_passes.py::test_row_by_row",
    ),
    # A turn: values up, regrets, the rule, the sum of the average.
    Kernel(
      "WalkLearn",
      "a player's turn in one pass",
      RULE,
      "ps_cfr_spiel.cfr.loop:take_turn",
      "tests/cfr/test_learn.py::test_one_pass_is_xlas_turn",
    ),
    # Iterations of both players.
    Kernel(
      "Iterations",
      "iterations in one call",
      f"{RULE}; leaves that pay by matrices",
      "ps_cfr_spiel.cfr.loop:iterate",
      "tests/cfr/test_learn.py::test_many_iterations_in_one_call_are_xlas",
    ),
    Kernel(
      "BoardsLearn",
      "iterations board by board, tables in 64, 32 or 16 bits",
      f"{RULE}; {CARDS}",
      "ps_cfr_spiel.cfr.loop:iterate",
      "tests/cfr/test_streaming.py::test_board_by_board_is_all_at_once",
    ),
    Kernel(
      "BoardsWorth",
      "the value of the averages and of best responses to them, board by board",
      CARDS,
      "ps_cfr_spiel.tree.strategy_values:evaluate",
      "tests/cfr/test_streaming.py::test_board_by_board_is_all_at_once",
    ),
    Kernel(
      "BoardsValues",
      "values of all actions under strategies and best responses, board by board",
      CARDS,
      "ps_cfr_spiel.policy.worth:all_at_once",
      "tests/cfr/test_streaming.py::test_values_are_those_of_all_boards_at_once",
    ),
    Kernel(
      "BoardsResponse",
      "values of each hand of a best response to a strategy, board by board",
      CARDS,
      "ps_cfr_spiel.tree.strategy_values:best_response_values",
      "tests/cfr/test_streaming.py::test_gadgets_board_by_board_are_those_of_all_at_once",
    ),
    Kernel(
      "Filled",
      "tables of equal rows, on large pages from their first use on",
      "nothing",
      "ps_cfr_spiel.cfr.filled:filled_array",
      "tests/cfr/test_streaming.py::test_large_tables_begin_as_small_ones",
    ),
    Kernel(
      "HandlerCall",
      "a custom call of this table, without XLA",
      "arrays in memory of the host",
      "ps_cfr_spiel.backend.native.table_calls:TableCall",
      "tests/cfr/test_host_state.py::test_calls_of_the_library_are_those_in_a_trace",
      custom_call=False,
    ),
    # Sampling.
    Kernel(
      "Turns",
      "turns of outcome and external sampling, and of VR-MCCFR, over the visited cells alone",
      SAMPLER,
      "ps_cfr_spiel.sampling.mccfr.tables:TreeSampler",
      "tests/mccfr/test_native_turns.py::test_the_library_samples_as_the_reference",
    ),
    Kernel(
      "Clusters",
      "turns of external sampling in public clusters of a dealt game",
      "a game of dealt cards with an abstraction",
      "ps_cfr_spiel.hierarchical.cluster_sampling:ClusterSampling",
      "tests/hierarchical/test_native_clusters.py::test_the_library_samples_as_the_reference",
    ),
    Kernel(
      "CheatTraversals",
      "turns of external sampling with pruning, or plays, in Cheat",
      "Cheat for two",
      "tests/cheat/test_traversals.py:Written",
      "tests/cheat/test_traversals.py::test_external_sampling_is_what_is_written_down",
    ),
    Kernel(
      "CheatRollouts",
      "plays of Cheat by one strategy from given cards",
      "Cheat for two",
      "ps_cfr_spiel.games.cheat.cheat:CheatGame",
      "tests/keyed/test_particles.py::test_rollouts_of_cheat_are_those_of_its_states",
      custom_call=False,
    ),
    # Hands on boards that are in no table.
    Kernel(
      "HandStrengths",
      "how strong all hands are on boards",
      DECK,
      "ps_cfr_spiel.cards.poker.ranking:strengths",
      "tests/hierarchical/test_native_clusters.py::test_hands_are_as_strong_as_by_numpy",
      custom_call=False,
    ),
    Kernel(
      "HandEquities",
      "equities of all hands on last boards against groups of hands",
      f"{DECK}; up to 16 groups",
      "ps_cfr_spiel.abstraction.buckets:cluster_equities",
      "tests/hierarchical/test_native_clusters.py::test_hands_are_as_strong_as_by_numpy",
      custom_call=False,
    ),
    Kernel(
      "HandHistograms",
      "histograms of the equities that hands will have, one or two cards before the last board",
      DECK,
      "tests/hierarchical/test_native_clusters.py:test_histograms_are_those_of_all_cards_to_come",
      "tests/hierarchical/test_native_clusters.py::test_histograms_are_those_of_all_cards_to_come",
      custom_call=False,
    ),
    Kernel(
      "NearestCentres",
      "the nearest centre of each point, by squares or sizes of differences",
      "nothing",
      "tests/hierarchical/test_native_clusters.py:test_nearest_centres",
      "tests/hierarchical/test_native_clusters.py::test_nearest_centres",
      custom_call=False,
    ),
  )
}

"""A tiny game that can be made to break one law at a time, registered as `faulty_game(fault=...)`.

A coin is tossed (chance). Player 0 sees it and says something (0 or 1); player 1 hears that, but has not seen
the coin, and guesses it: +1 to player 1 if right, to player 0 otherwise.
"""

import pyspiel

CHANCE, TERMINAL, SIMULTANEOUS = (
  int(kind) for kind in (pyspiel.PlayerId.CHANCE, pyspiel.PlayerId.TERMINAL, pyspiel.PlayerId.SIMULTANEOUS)
)


def game_type(fault):
  modes = pyspiel.GameType.ChanceMode
  return pyspiel.GameType(
    short_name="faulty_game",
    long_name="A game that breaks a law",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=modes.SAMPLED_STOCHASTIC if fault == "sampled" else modes.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=False,
    parameter_specification={"fault": "none"},
  )


class FaultyGame(pyspiel.Game):
  def __init__(self, params=None):
    self.fault = (params or {}).get("fault", "none")
    bound = 0.5 if self.fault == "bounds" else 1.0
    info = pyspiel.GameInfo(
      num_distinct_actions=3,
      max_chance_outcomes=2,
      num_players=2,
      min_utility=-bound,
      max_utility=bound,
      utility_sum=0.0,
      max_game_length=3,
    )
    super().__init__(game_type(self.fault), info, params or {})

  def new_initial_state(self):
    return FaultyState(self)

  def make_py_observer(self, iig_obs_type=None, params=None):
    return PublicObserver()


class FaultyState(pyspiel.State):
  def __init__(self, game):
    super().__init__(game)
    self.fault = game.fault
    self.moves = []

  def current_player(self):
    moves, coin = self.moves, self.moves[0] if self.moves else None
    said = len(moves) >= 2
    if self.fault == "mover" and moves == [1, 0]:
      return SIMULTANEOUS
    if self.fault == "third player" and moves == [1, 0]:
      return 2
    if self.fault == "timing" and said and coin == 1:  # a step of chance that player 1 does not notice
      return (CHANCE, 1, TERMINAL)[len(moves) - 2]
    if self.fault == "who moves" and said and coin == 1:  # player 0 speaks twice
      return (0, 1, TERMINAL)[len(moves) - 2]
    if self.fault == "endless" and said:
      return 1
    if self.fault == "recall" and said:  # player 1 guesses twice
      return (1, 1, TERMINAL)[len(moves) - 2]
    return (CHANCE, 0, 1, TERMINAL)[len(moves)]

  def _legal_actions(self, player):
    if self.fault == "endless" and len(self.moves) > 1:
      return [0]
    if self.fault == "no actions" and self.moves == [0, 1]:
      return []
    if self.fault == "unsorted" and self.moves == [0, 1]:
      return [1, 0]
    if self.fault == "unequal actions" and player == 1 and self.moves[0] == 1:
      return [0, 1, 2]
    return [0, 1]

  def chance_outcomes(self):
    if self.moves:
      return [(0, 1.0)]
    return {
      "chance sum": [(0, 0.5), (1, 0.4)],
      "negative chance": [(0, 1.5), (1, -0.5)],
      "chance twice": [(0, 0.5), (0, 0.5)],
    }.get(self.fault, [(0, 0.5), (1, 0.5)])

  def _apply_action(self, action):
    self.moves.append(action)

  def _action_to_string(self, player, action):
    return f"{player}:{action}"

  def is_terminal(self):
    return self.current_player() == TERMINAL

  def returns(self):
    if not self.is_terminal():
      return [0.0, 0.0]
    value = -1.0 if self.moves[-1] == self.moves[0] else 1.0
    return [value, value if self.fault == "returns" and self.moves == [1, 0, 1] else -value]

  def information_state_string(self, player=None):
    player = self.current_player() if player is None else player
    if self.fault == "raises" and self.moves == [1, 0]:
      raise RuntimeError("out of order")
    coin, said = self.moves[:1], self.moves[1:2]
    if player == 0:
      return f"{'' if self.fault == 'names' else 'first '}{coin}{said}{self.moves[2:3]}"
    if self.fault == "names" and self.current_player() == 1:
      return "[0][][]"
    guesses = len(self.moves) - 2 if self.fault in ("recall", "endless") else len(self.moves[2:3])
    if self.fault in ("timing", "who moves"):  # player 1 does not know the time either
      guesses = 0
    return f"second {said} {guesses}"

  def observation_string(self, player=None):
    return self.information_state_string(player)

  def __str__(self):
    return f"{self.moves}"


class PublicObserver:
  """What was said; with fault "observer" the coin, too."""

  def __init__(self):
    self.tensor, self.dict = [], {}

  def set_from(self, state, player):
    raise NotImplementedError("strings only")

  def string_from(self, state, player):
    if state.fault == "observer raises" and len(state.moves) == 2:
      raise KeyError("said")
    return str(state.moves if state.fault == "observer" else state.moves[1:])


pyspiel.register_game(game_type("none"), FaultyGame)

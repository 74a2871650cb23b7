"""The agent of the whole hold'em against simple bots: hands without an error, its gain, its time by street.

  python -m benchmarks.engineering.holdem_agent --hands 300 --iterations 100
  python -m benchmarks.engineering.holdem_agent --hands 10000 --iterations 2 --searched a
  python -m benchmarks.engineering.holdem_agent --stacks 20000 --against blueprint --hands 300 \
    --lbr fc c/c/fcpa/fcpa --sizes fcpa --blueprint FILE
  python -m benchmarks.engineering.holdem_agent --stacks 20000 --against blueprint --hands 300 \
    --lbr c/56bets/fc/fc c/c/56bets/56bets --sizes 56bets --blueprint FILE
  python -m benchmarks.engineering.holdem_agent --stacks 20000 --against blueprint agent --first 800 \
    --hands 60 --iterations 10 --lbr fc --sizes fcpa --blueprint FILE
  python -m benchmarks.engineering.holdem_agent --boards 12 --searched '1;x / 1;x'
  python -m benchmarks.engineering.holdem_agent --boards 12 --street river --searched '1;x' \
    --small 'holdem(deck=5x2,stack=20,blinds=2/1,bets=x/x/1;x/1;x)'
  python -m benchmarks.engineering.holdem_agent --boards 1 --street flop --searched '1;x / 1;x / x' \
    --small 'holdem(deck=5x2,stack=20,blinds=2/1,bets=x/1;x/1;x/x)'
  python -m benchmarks.engineering.holdem_agent --boards 1 --street preflop --searched '1;x / x' \
    --small 'holdem(deck=3x3,stack=20,blinds=2/1,bets=1;x/x/x/x)'
  python -m benchmarks.engineering.holdem_agent --boards 4 --solved 100 --gadgets cfr-d --iterations 10 100 \
    --searched '1;x / 1;x' --small 'holdem(deck=5x2,stack=20,blinds=2/1,bets=x/x/0.5 1 2 4;x/0.5 1 2 4;x)' \
    --translated 'holdem(deck=5x2,stack=20,blinds=2/1,bets=x/x/1;x/1;x)'
  python -m benchmarks.engineering.holdem_agent --bots always_call fold min_bet --trembles 0 1 --hands 100
  python -m benchmarks.engineering.holdem_agent --bots blueprint agent --values pretrained --hands 100

The blueprint is uniform play, or that of `--blueprint FILE`. With `--values pretrained` the agent searches
flops too. Prints for each stack and bot, after every `--every` hands and at the end, the gain in mbb a hand
with its 95% interval, the deviation of a hand's worth in big blinds by chips and by AIVAT, and for decisions
of each street their number, the median and the 95% quantile of their seconds, and the number of programs
compiled in them: a second run reads most of them back. Among the bots, `blueprint` is the agent's own, and
`agent` the same agent without values.
`--lbr` plays local best responses with these actions (`matches.local_best_response`) to a player who always
calls, to the blueprint, and to the agent with and without values instead. It prints their gain, a deal's
deviation in big blinds, processor seconds, and what they gain more than from the first player of `--against`:
all meet the same deals. The first may play more of them, `--first`: its mean there is a control variate for
the others, in the deals that they share, with the coefficient of a regression. A game with the `--sizes` that
both players bet is quicker.
`--trembles` has trembles of searches: bots with a habit come where equilibrium play does not.

`--boards` measures the agent exactly in a small deck, which is compiled. On some boards of the turn, or of
another `--street`, drawn by the seed, the blueprint's strategy is replaced by the agent's, by each gadget, or
by that of continual re-solving on the compiled game, from the street's first decision on with the same
blueprint and iterations. The streets of `--searched` are those of the game from there on. The equilibrium of
a `--translated` game with fewer sizes takes the same place, by action translation. It prints the
exploitability of the blueprint after some iterations, and the estimate for all boards: the change, divided by
the share of boards; for each of the `--iterations` of searches.
"""

import collections
import functools
import itertools
import time

import jax
import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from benchmarks.machine import flags
from ps_cfr_spiel import matches
from ps_cfr_spiel.abstractions import Translation, WrappedPolicy
from ps_cfr_spiel.apps.commands.framework.user_input import load_values
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.compilation.compiler import FormOrigin
from ps_cfr_spiel.evaluation import exploitability, hand_search
from ps_cfr_spiel.options import STREET_NAMES, HoldemPolicyOptions, MatchOptions
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.runtime import keep_compiled_code
from ps_cfr_spiel.solvers import ContinualResolving, HoldemPolicy, PSCFRSolver, load_policy
from ps_cfr_spiel.solvers.agents import holdem_policy

# JAX's events: a program is compiled or read back from the folder of compiled code; it is read back.
PROGRAMS, READ = "/jax/core/compile/backend_compile_duration", "/jax/compilation_cache/cache_hits"
events = collections.Counter[str]()  # so far
jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: events.update([event]))
jax.monitoring.register_event_listener(lambda event, **_: events.update([event]))


def programs() -> int:
  """The number of programs compiled so far."""
  return events[PROGRAMS] - events[READ]


class Timed(matches.PolicyBot):
  """Keeps the street of each decision, and the number of programs that it compiled."""

  def __init__(self, seat, seed, policy):
    super().__init__(seat, seed, policy)
    self.streets, self.programs = [], []

  def probabilities(self, state):
    self.streets.append(state.public_state.street)
    before = programs()
    probabilities = super().probabilities(state)
    self.programs.append(programs() - before)
    return probabilities


class MinBet(openspiel_policy.Policy):
  """Makes the least bet or raise wherever there is one."""

  def action_probabilities(self, state, player_id=None):
    legal = state.legal_actions()
    return {min(action for action in legal if action >= min(2, legal[-1])): 1.0}

  def for_hands_at(self, state):
    return {action: np.full(len(cards.ALL_HANDS), chance) for action, chance in self(state).items()}


def other_player(game, bot: str, blueprint, options) -> openspiel_policy.Policy:
  """The policy of a bot's name."""
  if bot == "random":
    return openspiel_policy.UniformRandomPolicy(game)
  if bot == "blueprint":
    return WrappedPolicy(game, blueprint, Translation())
  if bot == "agent":
    return HoldemPolicy(game, blueprint, options.searched or None, **searching(options))
  return MinBet(None, [0, 1]) if bot == "min_bet" else matches.Habit(bot)


def respond(game, blueprint, options) -> None:
  """Prints a line for each opponent and its responses."""
  made = functools.partial(HoldemPolicy, game, blueprint, options.searched or None, **searching(options))
  players = {
    "always_call": matches.Habit("always_call"),
    "blueprint": WrappedPolicy(game, blueprint, Translation()),
    "agent": made(),
  }
  if values := values_of(options, game):
    players["with values"] = made(values=values)
  first = dict[str, np.ndarray]()
  for name in options.against:
    for actions in options.lbr:
      hands = options.hands if actions in first else options.first or options.hands
      began = time.process_time()
      response = matches.local_best_response(
        game, players[name], actions, hands=hands, seed=options.seed, progress=False
      )
      assert response.wins is not None
      each, wins = time.process_time() - began, response.wins / 100
      before = first.setdefault(actions, wins)
      text = f"{name:12} {actions:16} {told(wins)}, {each / hands:.2f} s a hand"
      if wins is not before:
        shared, count = before[:hands], len(before)
        # The regression estimate: what this one wins, less its share in the luck of the shared deals.
        slope = np.cov(shared, wins)[0, 1] / shared.var(ddof=1)
        rest, gain = wins - slope * shared, wins.mean() - slope * (shared.mean() - before.mean())
        error = 1.96 * (rest.var(ddof=2) / hands + slope**2 * before.var(ddof=1) / count) ** 0.5
        text += f"; {told(wins - shared)} more than the first, by whose {count} deals "
        text += f"{1000 * gain:,.0f} ± {1000 * error:,.0f} mbb"
      print(text, flush=True)


def told(wins: np.ndarray) -> str:
  """A mean of big blinds in mbb with its 95% interval, and the deviation of one."""
  deviation = wins.std(ddof=1)
  interval = 1960 * deviation / len(wins) ** 0.5
  return f"{1000 * wins.mean():9,.0f} ± {interval:6,.0f} mbb, {deviation:.2f} bb"


def searching(options, iterations: int | None = None) -> dict:
  """The options of the agent's searches; `--iterations 0` leaves them to the preset."""
  return {"preset": options.preset, "iterations": iterations or options.iterations[0] or None}


def values_of(options, game):
  """The value function of turns, if there is one."""
  return load_values(options.values, game) if options.values else None


def played(tree, policy, chosen, tables) -> None:
  """Put a policy's answers on some boards of a street into tables, board by board."""
  labels = tree.names
  rows = {board: [] for board in chosen}
  for decision in labels.decisions:
    board = board_at(tree, decision.public_state, chosen)
    if board in rows and len(decision.legal_actions) > 1:
      rows[board].append(decision)
  for found in rows.values():
    if isinstance(policy, HoldemPolicy):
      policy.forget()
    for decision in found:
      live = [h for h, name in enumerate(decision.infostates) if name is not None]
      state = policy.game.new_initial_state()
      for action in labels.source.path(decision, live[0]):
        state.apply_action(action)
      answers = policy.for_hands_at(state)
      hands = np.array([cards.parse_cards(labels.types[decision.player][h]) for h in live])
      for a, action in enumerate(decision.legal_actions):
        chances = answers.get(action, np.zeros(len(cards.ALL_HANDS)))[cards.set_numbers(hands)]
        tables[decision.player][decision.block][a, decision.row, live] = chances


def resolved(tree, resolving, chosen, tables) -> None:
  """Put the strategies of continual re-solving on these boards into tables."""
  for player in (0, 1):
    search = resolving.start(player)
    for places in resolving.searcher.problems.passes(player):
      here = [place for place in places if board_at(tree, place, chosen) in chosen]
      search = resolving.searcher.resolve(search, here) if here else search
    tables[player] = search.tables[player]


def board_at(tree, place, chosen) -> tuple[int, ...]:
  """The public cards of a public state, as many as the `chosen` boards have."""
  assert isinstance(tree.names.source, FormOrigin)
  lines = tree.names.source.lines
  line, runout = lines.place(place)
  return tuple(lines.dealt.runouts[lines.betting.street[line]][runout][: len(chosen[0])].tolist())


def exact(options) -> None:
  """Print a line for each blueprint and each way to search on it."""
  game, street_name = pyspiel.load_game(options.small), HoldemPolicyOptions(street=options.street).street
  assert street_name is not None  # a name that is none was refused
  solver = PSCFRSolver(game)
  tree = solver.tree
  assert isinstance(tree.names.source, FormOrigin)
  street = STREET_NAMES.index(street_name)
  every = [tuple(board) for board in tree.names.source.lines.dealt.runouts[street].tolist()]
  drawn = np.random.default_rng(options.seed).permutation(len(every))[: options.boards]
  chosen = [every[k] for k in drawn]
  holdem_policy.KEPT = 10_000
  smaller = PSCFRSolver(pyspiel.load_game(options.translated)) if options.translated else None

  def measured(name, change=None, before=0.0) -> float:
    began = time.perf_counter()
    tables = [[np.array(block) for block in own] for own in blueprint.strategies]
    if change is not None:
      change(chosen, tables)
    policy = TreePolicy(game, tree.names, tables)
    found = exploitability(game, policy, tree=tree)
    whole = found if change is None else before + (found - before) * len(every) / len(chosen)
    print(f"{name:30} {whole:9.6f} {time.perf_counter() - began:6.0f} s", flush=True)
    return found

  for solved in options.solved:
    solver.run(solved - solver.iteration)
    blueprint = solver.average_policy()
    before = measured(f"blueprint, {solved} iterations")
    if smaller is not None:
      smaller.run(solved - smaller.iteration)
      policy = WrappedPolicy(game, smaller.average_policy(), Translation())
      measured("  translated", functools.partial(played, tree, policy), before)
    for gadget, iterations in itertools.product(options.gadgets, options.iterations):
      settings = {**searching(options, iterations), "gadget": gadget, "street": options.street}
      agent = HoldemPolicy(game, blueprint, options.searched or None, **settings)
      measured(f"  agent, {gadget}, {iterations}", functools.partial(played, tree, agent), before)
    for gadget, iterations in itertools.product(options.gadgets, options.iterations):
      search = ContinualResolving(game, iterations, blueprint=blueprint, gadget=gadget)
      measured(f"  re-solving, {gadget}, {iterations}", functools.partial(resolved, tree, search), before)


def main() -> None:
  """Prints a line for each stack and bot."""
  options = flags(
    __doc__,
    hands=300,
    first=0,
    every=0,
    stacks=[2000, 5000, 20000],
    bots=["random", "min_bet", "always_call", "all_in", "fold"],
    trembles=[0.0],
    lbr=[""],
    against=["always_call", "blueprint", "agent"],
    blueprint="",
    values="",
    sizes="fullgame",
    searched="",
    iterations=[100],
    preset="quick",
    seed=0,
    boards=0,
    street="turn",
    small="holdem(deck=5x2,stack=20,blinds=2/1,bets=x/1;x/1;x/1;x)",
    translated="",
    solved=[10, 100],
    gadgets=["unsafe", "cfr-d", "max-margin"],
  )
  keep_compiled_code()
  if options.boards:
    exact(options)
    return
  for stack in options.stacks:
    sizes = hand_search.ALL_SIZES if options.sizes == "56bets" else options.sizes
    game = pyspiel.load_game("holdem", {"stack": stack, "bets": sizes})
    blueprint = openspiel_policy.UniformRandomPolicy(pyspiel.load_game("holdem", {"stack": stack}))
    if options.blueprint:
      blueprint = load_policy(options.blueprint)
    if options.lbr[0]:
      respond(game, blueprint, options)
      continue
    for bot in options.bots:
      for tremble in options.trembles:
        settings = {**searching(options), "values": values_of(options, game), "tremble": tremble}
        settings["gadget"] = "expected-cfr-d" if tremble else "cfr-d"  # the one that suits trembles
        policy = HoldemPolicy(game, blueprint, options.searched or None, **settings)
        other = other_player(game, bot, blueprint, options)
        met(options, game, policy, other, f"stack {stack:>6} {bot:12} tremble {tremble:g}")


def met(options, game, policy, other: openspiel_policy.Policy, name: str) -> None:
  """Print a line for the agent's hands against another player, with luck taken out by AIVAT."""
  agents = [Timed(seat, options.seed, policy) for seat in (0, 1)]
  estimate = matches.MatchEstimate(game, policy, method="aivat", opponent=other)
  chips = matches.MatchEstimate(game, policy, method="chips")
  played = MatchOptions(games=options.hands, seed=options.seed, mirrored=True)
  records = matches.each_game(game, agents.__getitem__, matches.player(other, options.seed), played)
  for number, record in enumerate(records, 1):
    estimate.add(record)
    chips.add(record)
    if number == options.hands or (options.every and number % options.every == 0):
      report(f"{name} {number:>5} hands", estimate.result(), chips.result(), agents)


def report(name: str, result: matches.MatchResult, chips: matches.MatchResult, agents: list[Timed]) -> None:
  """Print a line for the hands so far."""
  streets = np.concatenate([agent.streets for agent in agents])
  seconds = np.concatenate([agent.seconds for agent in agents])
  made = np.concatenate([agent.programs for agent in agents])
  times = ""
  for which, street in enumerate(("before", "flop", "turn", "river")):
    took = seconds[streets == which]
    quantiles = np.quantile(took, [0.5, 0.95]) if len(took) else [np.nan, np.nan]
    count = made[streets == which].sum()
    times += f"  {street} {len(took):5} {quantiles[0]:7.4f} {quantiles[1]:7.3f} {count:4.0f}"
  gain, error = 10 * result.mean, 19.6 * result.standard_error
  deviations = " ".join(f"{np.std(one.values) / 100:6.1f}" for one in (chips, result))
  print(f"{name}{gain:9.0f} ± {error:6.0f} mbb  {deviations} bb{times}", flush=True)


if __name__ == "__main__":
  main()

"""The default rule where it is hardest: games found by search, and the bound of docs/regret_rules.md."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from random_games import random_game

from ps_cfr_spiel import PSCFRSolver, cfr
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.rules import NRMPlus, RMPlus
from ps_cfr_spiel.tree import evaluate

DEFAULT = NRMPlus()
CYCLES = np.array(  # steps that stay 1 / t cycle here; which way round and from where depends on rounding
  [
    [[0.624, 0.56, 0.548], [0.686, 0.561, 0.481], [0, 0.703, 1]],
    [[0.645, 0.602, 1], [0.789, 0.946, 0], [0.709, 0.699, 0.648]],
  ]
)
# The worst for NRMPlus that benchmarks/engineering/adversarial_rules.py found, after 1,000 and 10,000.
FOUND = [
  np.array(
    [
      [[0.6176, 0.2837, 0.2774], [0, 1, 0.9781], [0.6335, 0.2588, 0.2715]],
      [[0, 0.03284, 0.03699], [1, 0.009525, 0.03391], [0.01787, 0.03455, 0.03179]],
      [[0.1986, 0.03079, 0.277], [0.003604, 0, 1], [0.3018, 0.04228, 0.00595]],
    ]
  ),
  np.array(
    [
      [
        [0.0269, 0.03152, 0.01875, 0.5251],
        [0.03643, 0.02723, 0.0005396, 0.02514],
        [0.04346, 0, 0.03328, 0.04228],
        [0.006501, 0.0216, 1, 0.04002],
      ]
    ]
  ),
]


def every_way_round(games):
  """Games [B, m, m] as each player sees them and with each player first, [4 B, m, m]."""
  swapped = games.transpose(0, 2, 1)
  return np.concatenate([games, 1 - games, swapped, 1 - swapped])


def matrix_game(rows, columns):
  """A matrix game of nothing, moved in turns."""
  names = [[f"{kind}{k}" for k in range(count)] for kind, count in (("r", rows), ("c", columns))]
  zeros = np.zeros((rows, columns)).tolist()
  return pyspiel.convert_to_turn_based(pyspiel.create_matrix_game("m", "m", *names, zeros, zeros))


@functools.cache
def player(rows, columns, rule, alternating):
  """The first state, and a jitted function: games [B, L, 1] and states to later states, exploitability."""
  tree = build_tree(matrix_game(rows, columns), leaves="sparse")

  def play(utility, state, iterations):
    leaves = dataclasses.replace(tree.leaves, utility=utility)
    game = dataclasses.replace(tree, leaves=leaves)
    state = cfr.iterate(game, state, iterations, rule=rule, alternating=alternating)
    return state, evaluate(game, cfr.average_strategy(game, state)).exploitability

  start = functools.partial(cfr.init, tree, rule)
  return start, jax.jit(jax.vmap(play, in_axes=(0, 0, None)))


def course(games, rule, marks, dtype="float64", alternating=True):
  """Exploitability as a share of the span, [marks, B]."""
  start, play = player(*games.shape[1:], rule, alternating)
  span = np.ptp(games, axis=(1, 2))
  found = []
  with precision(dtype):
    utility = to_device(games.reshape(len(games), -1, 1), dtype)
    state = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(games), *x.shape)), start(dtype))
    for before, mark in zip([0, *marks], marks, strict=False):
      state, exploitability = play(utility, state, mark - before)
      found.append(np.asarray(exploitability) / span)
  return np.array(found)


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_cycling_games_and_those_found_fall(dtype):
  games = every_way_round(np.concatenate([CYCLES, FOUND[0]]))
  cycling = np.tile(np.arange(5) < 2, 4)
  early, late = course(games, DEFAULT, [10_000, 100_000], dtype)
  assert late[cycling].max() < 1e-6
  assert early.max() < 2e-4 and late.max() < 2e-5


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_larger_game_found_falls(dtype):
  early, late = course(every_way_round(FOUND[1]), DEFAULT, [10_000, 100_000], dtype).max(1)
  assert early < 2e-4 and late < 2e-5


@pytest.mark.usefixtures("optimized")
def test_the_cycling_games_are_hard():
  """Among slightly moved copies, steps that shrink as 1 / t for ever cycle; those of the default do not."""
  moved = CYCLES[:, None] + 1e-4 * np.random.default_rng(5).normal(size=(2, 4, 3, 3))
  games = every_way_round(moved.reshape(-1, 3, 3))
  assert course(games, dataclasses.replace(DEFAULT, tau=1e12), [20_000]).max() > 1e-4
  assert course(games, DEFAULT, [20_000]).max() < 1e-4


@pytest.mark.usefixtures("optimized")
def test_simultaneous_updates_need_their_own_parameters():
  """Games found against the parameters for updates by turns, and against a larger tau."""
  games = np.array(
    [
      [[0, 0.8539, 1], [0.9992, 0.9528, 0.0009912], [0.5519, 0.7005, 0.3913]],
      [[0.987, 0.001584, 0.5267], [0.4965, 0.4898, 0.4611], [0, 1, 0.4697]],
    ]
  )
  together = make_rule("nrm+", alternating=False)
  assert course(games, together, [2000], alternating=False).max() < 5e-4
  for other in (DEFAULT, dataclasses.replace(together, tau=50.0)):
    assert course(games, other, [2000], alternating=False).max() > 0.02


@pytest.mark.usefixtures("optimized")
def test_the_solver_of_the_user_falls_too():
  payoffs = CYCLES[0].tolist(), (-CYCLES[0]).tolist()
  game = pyspiel.convert_to_turn_based(
    pyspiel.create_matrix_game("m", "m", list("abc"), list("xyz"), *payoffs)
  )
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(100_000)
  assert solver.exploitability() < 1e-6


@pytest.mark.usefixtures("optimized")
def test_many_actions_of_which_few_are_good():
  """Diagonal games with entries exp(2 z), where steps that shrink as 1 / t stall: within 3 times of CFR+."""
  diagonal = np.exp(2 * np.random.default_rng(0).normal(size=(6, 20)))
  games = diagonal[:, :, None] * np.eye(20)
  medians = [np.median(course(games, rule, [20_000])[-1]) for rule in (DEFAULT, RMPlus())]
  assert medians[0] <= 3 * medians[1]


def regrets_against(rng, strategy, shape):
  """Regrets [A, rows, H] for `strategy`, each row by another adversary."""
  actions, _, types = shape
  noise, rare = rng.normal(size=(actions, types)), rng.random(types) < 0.2
  order = np.arange(actions)[:, None]
  first, seldom = order == 0, rng.random(types) < 0.5
  adversaries = [
    noise,
    noise * np.exp(4 * rng.normal(size=(actions, types))),  # now and then enormous
    (0.01 * noise - strategy[:, 2]) * np.exp(2 * noise[:1]),  # whatever is played is bad
    -1.0 * (order == strategy[:, 3].argmax(0)),  # what is played most is bad
    np.where(rare, noise / (strategy[:, 4] + 1e-3), 0),  # seldom; what is hardly played matters most
    np.where(first, -1, 1e-3) * seldom,  # one action is far worse than the others
  ]
  values = np.stack(adversaries, 1)
  return values - (values * strategy).sum(0)


RULES_WITH_THE_BOUND = [
  DEFAULT,
  make_rule("nrm+", alternating=False),
  NRMPlus(ahead=0.9, kappa=0.05),
  NRMPlus(fade=7.0, kappa=2.0, tau=1.0),
  NRMPlus(fade=0.0, phi=0.01, ahead=0.01),
  NRMPlus(gamma=1.0, fade=1.0, tau=1e12),
  NRMPlus(fade=7.0, phi=0.01, ahead=0.9, memory=1.0, quiet=0.0),  # with 1 an adversary sets the agreement
  NRMPlus(fade=7.0, phi=0.8, ahead=0.8, memory=1.0, quiet=1.0, kappa=1.0),
]


def agreement_against(rng, shape):
  """Agreements r [1, rows, H] that jump between their least, their greatest and all others."""
  return rng.choice([-1, 1, 0, rng.random()], (1, *shape[1:]))


@pytest.mark.parametrize("rule", RULES_WITH_THE_BOUND, ids=str)
def test_lemmas_of_the_bound(rule):
  """Lemmas 1 to 3 and (3) of docs/regret_rules.md; names as there.

  Regrets are chosen against the strategy, and with a memory of 1 the agreement too, so that fading and
  prediction are anything within their limits.
  """
  rng, shape = np.random.default_rng(7), (4, 6, 30)
  update = jax.jit(rule.update)
  state, strategy = jax.tree.map(jnp.asarray, rule.init(shape, "float64")), np.full(shape, 1 / 4)
  weighted, largest_u, largest_x, most, size_before = np.zeros(shape), 0.0, 0.0, rule.ahead, 0.0
  before_p, before_g, before_phi = np.zeros(shape), np.zeros(shape), np.full(shape[1:], most)
  q, used = (1 - most) / (1 + most), set()
  for t in range(1, 200):
    x = regrets_against(rng, strategy, shape)
    if rule.memory == 1:
      state = state[0], state[1].at[2:].set(agreement_against(rng, shape))
    state, strategy = update(state, jnp.asarray(strategy), jnp.asarray(x), jnp.asarray(t))
    (z, known), strategy = map(np.asarray, state), np.asarray(strategy)
    regrets, trust = z * known[0], np.maximum(known[2], 0)
    p, u = np.maximum(regrets, 0), np.maximum(x, 0).sum(0)
    size = rule.kappa * min(t, np.sqrt(rule.tau * t))
    weighted = ((t - 1) / t) ** rule.gamma * weighted + x  # sum of w_s x_s over w_t
    scale = 1e-9 * (np.abs(x).max(0) + p.max(0) + np.abs(weighted).max(0))
    assert (weighted <= regrets + scale).all()  # Lemma 1
    largest_u, largest_x = np.maximum(largest_u, u), np.maximum(largest_x, np.linalg.norm(x, axis=0))
    bound = (size + 1) ** 2 * largest_u**2 + (1 + 2 * most) * largest_x**2 * t
    assert ((p**2).sum(0) <= bound * (1 + 1e-9)).all()  # Lemma 2
    n = before_p.sum(0)
    heeded = np.divide(size * u, rule.quiet * n, out=np.ones_like(n), where=size * u < rule.quiet * n)
    past = np.maximum((1 - trust * heeded * (1 - ((t - 1) / t) ** rule.fade)) * n, size * u)
    assert (p.sum(0) >= q * past / 2 - scale).all()  # (3); sqrt(A) = 2
    phi = rule.phi + trust * (rule.ahead - rule.phi)
    g = np.clip(x, -np.minimum(p, u), np.minimum(p, u))
    theta = p + phi * g
    known_before = n > 0
    np.testing.assert_allclose(
      strategy[:, theta.sum(0) > 0], (theta / theta.sum(0).clip(1e-300))[:, theta.sum(0) > 0]
    )
    d = np.divide(past, n, out=np.zeros_like(past), where=known_before)
    assert (d[size * u < past] <= 1).all() and (d[known_before] >= ((t - 1) / t) ** rule.gamma - 1e-12).all()
    total = np.where(theta.sum(0) > 0, theta.sum(0), 1)
    harm = before_phi**2 / 4 * d**2 * (before_g**2).sum(0) / total
    assert ((strategy * x).sum(0) >= -harm - scale).all()  # Lemma 3
    if t > 1:
      least = most**2 * 32 / (4 * (1 - most) * q**3) * past / size_before**2  # 32 = A^(5/2)
      assert (harm <= least * (1 + 1e-9) + scale).all()  # Lemma 3, how small the harm is
    before_p, before_g, before_phi, size_before = p, g, phi, size
    used |= {*np.sign(np.round(trust, 3) - 0.5).ravel()}
  assert (largest_x > 0).all() and used >= {-1, 1}  # every adversary does something, to the agreement too


@pytest.mark.parametrize(("seed", "tremble"), [(0, 0), (1, 0), (2, 0.2), (3, 1)])
def test_certificate(seed, tremble):
  """(2): with simultaneous updates the regrets in the solver's state bound exploitability at any time.

  Where players tremble they owe more: at each of at most 4 decisions 2 others of 3 actions, and at most 18.
  """
  solver = PSCFRSolver(random_game(seed), alternating=False, dtype="float64", tremble=tremble)
  for iterations in (1, 2, 7, 40, 450):
    solver.run(iterations)
    t, gamma = np.arange(1, solver.iteration + 1), solver.rule.gamma
    owed = sum(
      np.maximum(np.asarray(z * known[:1]), 0).max(0).sum()
      for p in solver._state.players
      for z, known in p.rule
    )
    owed = owed * solver.iteration**gamma + 4 * 2 * 18 * (t**gamma * np.minimum(tremble / t, 1 / 6)).sum()
    assert 2 * solver.exploitability() <= owed / (t**gamma).sum() + 1e-9


def test_a_bound_needs_the_average_to_forget_as_fast_as_the_regrets():
  with pytest.raises(ValueError, match=r"NRMPlus: fade must be a number from 0 to 1, got 3"):
    NRMPlus(gamma=1.0)

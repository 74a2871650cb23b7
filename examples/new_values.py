"""A new value function, learned by least squares from subgames solved at random ranges."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

import ps_cfr_spiel


def beliefs(ranges):
  """[F, H0 H1]: products of the players' probabilities, and 0 where a range is zero everywhere."""
  first, second = (r / jnp.maximum(r.sum(1, keepdims=True), 1e-30) for r in ranges)
  return (first[:, :, None] * second[:, None]).reshape(len(first), -1)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoundLinear:
  """A linear function of the beliefs for each public state: weights [F, H0 H1, H] of each player."""

  weights: tuple[jax.Array, jax.Array]

  def __call__(self, player, ranges):
    """Counterfactual values, [F, H]: proportional to the opponent's total range."""
    values = jnp.einsum("fk,fkh->fh", beliefs(ranges), self.weights[player])
    return values * ranges[1 - player].sum(1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class LinearValues(ps_cfr_spiel.values.ValueFunction):
  """Values learned from `samples` pairs of ranges at each public state of a Bayesian game."""

  samples: int = 200

  def bind(self, subgames, public_states, pad_to=None):
    """Solve all public states at once for each sample, then fit."""
    teacher = ps_cfr_spiel.values.CFRValues(100).bind(subgames, public_states, pad_to)
    rng, weights = np.random.default_rng(0), []
    ranges = [rng.dirichlet(np.ones(p.types), (self.samples, p.roots)) for p in teacher.tree.players]
    x = jax.vmap(beliefs)(tuple(ranges)).swapaxes(0, 1)
    for player in (0, 1):
      y = jax.jit(lambda r, i=player: jax.lax.map(lambda pair: teacher(i, pair), r))(tuple(ranges))
      gram = x.mT @ x + 1e-3 * np.eye(x.shape[2])[None]
      weights.append(jnp.linalg.solve(gram, x.mT @ y.swapaxes(0, 1)))
    return BoundLinear(tuple(weights))


if __name__ == "__main__":
  game = pyspiel.load_game("kuhn_poker")
  for samples in (3, 30):
    search = ps_cfr_spiel.ContinualResolving(game, 300, lookahead=1, value_function=LinearValues(samples))
    policy = search.tabularise()
    print(f"{samples:2} samples: exploitability {ps_cfr_spiel.exploitability(game, policy):.6f}")

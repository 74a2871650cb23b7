"""A network of one's own, an equinox module, trained for searches of Kuhn poker."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pyspiel

import ps_cfr_spiel
from ps_cfr_spiel.learning import generate_examples, train


class Network(eqx.Module):
  """A perceptron from a public state, as a learned vector, and both ranges to both players' values."""

  places: jax.Array
  layers: eqx.nn.MLP

  def __init__(self, places, slots, width, key):
    first, second = jax.random.split(key)
    self.places = jax.random.normal(first, (places, width))
    self.layers = eqx.nn.MLP(width + sum(slots), sum(slots), width, 2, key=second)

  def __call__(self, place, ranges):
    """Values [n, M0] and [n, M1], for public states int[n] and ranges [n, M0] and [n, M1] of sum one."""
    given = jnp.concatenate([self.places[place], *ranges], 1)
    values = jax.vmap(self.layers)(given)
    count = ranges[0].shape[1]
    return values[:, :count], values[:, count:]


if __name__ == "__main__":
  game = pyspiel.load_game("kuhn_poker")
  situations = generate_examples(game, draws=200)
  places, slots = situations.features.extent
  values = train(situations, steps=2000, network=Network(places, slots, 64, jax.random.key(0)))
  search = ps_cfr_spiel.ContinualResolving(game, 300, lookahead=1, value_function=values)
  print(f"exploitability {ps_cfr_spiel.exploitability(game, search.tabularise()):.4f}")

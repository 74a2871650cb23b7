"""Kernels and bytes of an iteration on a GPU, counted in XLA's own programs for it, without one.

  pip install --no-deps jax-cuda12-plugin jax-cuda12-pjrt nvidia-cuda-nvcc-cu12    # no driver, no GPU
  export JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1
  python -m benchmarks.engineering.gpu_programs --games turn flop "1,024 rivers" --rule rm+
  python -m benchmarks.engineering.gpu_programs --games Leduc --searches --card T4 --kernels 20

Games are those of `benchmarks.engineering.gpu`, and "liar's dice 1x4"; with --searches, the first search of
each game by continual re-solving, of one action ahead. Counted is the body of the loop over iterations,
that with the most bytes: its kernels, and for each the bytes of its result and of its operands, of which a
gather or a slice reads no more than it returns. Caches are left out, so bytes of a game whose arrays fit
one are too high. "ms" is the longer of bytes by the card's memory and 5 us a kernel: a formula, not measured.
"""

import dataclasses
import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pyspiel
from jax.experimental import topologies
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import SingleDeviceSharding

from benchmarks.engineering.batch import rivers
from benchmarks.engineering.gpu import GAMES
from benchmarks.machine import flags
from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.backend.device import Device, accelerator, precision, rehearsal
from ps_cfr_spiel.batches.groups import groups
from ps_cfr_spiel.compilation.compiler import fold_suits
from ps_cfr_spiel.resolving.search import Searcher, SearchSettings
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.tree import PublicTree, Variant, pad_types

LIARS_DICE = "liar's dice 1x4"


class Card(NamedTuple):
  """A GPU as its compiler needs to know it."""

  units: int  #: multiprocessors
  lanes: int  #: of each
  rate: int  #: bytes of memory a second
  l2: int
  clock: float  #: GHz
  memory: int
  block: int  #: shared memory of a block
  shared: int  #: and of a multiprocessor
  capability: tuple[int, int]
  threads: int  #: of a multiprocessor


CARDS = {
  "H100": Card(132, 128, 3352320000000, 52428800, 1.98, 84929347584, 232448, 233472, (9, 0), 2048),
  "T4": Card(40, 64, 320064000000, 4194304, 1.59, 15655829504, 65536, 65536, (7, 5), 1024),
}
LAUNCH = 5e-6  # seconds of a kernel at least
#: operations that are no kernels.
FREE = re.compile("parameter|constant|tuple|get-tuple-element|bitcast|after-all|while|conditional")
#: those that read their operands whole, whatever is asked of them.
WHOLE = ("dot", "reduce-window", "scatter", "sort", "dynamic-update-slice", "tuple", "custom-call")


def card_device(name: str) -> Device:
  """A device for compilation alone."""
  card = CARDS[name]
  major, minor = card.capability
  text = f"""gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32
    shared_memory_per_block: 49152 shared_memory_per_core: {card.shared}
    threads_per_core_limit: {card.threads} core_count: {card.units} fpus_per_core: {card.lanes}
    block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
    memory_bandwidth: {card.rate} l2_cache_size: {card.l2} clock_rate_ghz: {card.clock}
    device_memory_size: {card.memory} shared_memory_per_block_optin: {card.block}
    cuda_compute_capability {{ major: {major} minor: {minor} }} registers_per_core_limit: 65536
    registers_per_block_limit: 65536 }} platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 7 }}
    runtime_version {{ major: 12 minor: 8 patch: 0 }} device_description_str: "{name}" """
  return topologies.get_topology_desc("one", "cuda", target_config=text, topology="1x1x1").devices[0]


# --- A compiled program as text ---------------------------------------------------------------------------


class Instruction(NamedTuple):
  """A line of a compiled program."""

  name: str
  shape: str
  op: str
  operands: list[str]
  called: str | None  #: the computation of a fusion


@dataclasses.dataclass(frozen=True)
class Kernel:
  """A kernel of a loop's body."""

  name: str
  shape: str
  written: int  #: bytes
  read: int


@dataclasses.dataclass(frozen=True)
class Body:
  """The body of a loop."""

  kernels: list[Kernel]

  @property
  def bytes(self) -> int:
    """Read and written by all kernels."""
    return sum(kernel.read + kernel.written for kernel in self.kernels)

  def seconds(self, card: Card) -> float:
    """The longer of memory and launches."""
    return max(self.bytes / card.rate, LAUNCH * len(self.kernels))


def bodies(text: str) -> list[Body]:
  """All computations of an optimised program that are no part of a kernel."""
  program = {name: list(_instructions(lines)) for name, lines in _computations(text)}
  inside = {x.called for lines in program.values() for x in lines if x.called}
  inside |= set(re.findall(r"to_apply=%?([\w.-]+)", text))
  return [
    Body([_kernel(x, lines, program) for x in lines if not FREE.fullmatch(x.op)])
    for name, lines in program.items()
    if name not in inside
  ]


def loop_body(text: str) -> Body:
  """The computation with the most bytes: the body of the loop over iterations."""
  return max(bodies(text), key=lambda body: (body.bytes, len(body.kernels)))


def _computations(text: str) -> Iterator[tuple[str, str]]:
  yield from re.findall(r"^(?:ENTRY )?%?([\w.-]+) \(.*\{$((?:\n .*)*)", text, re.MULTILINE)


def _instructions(lines: str) -> Iterator[Instruction]:
  for line in lines.splitlines():
    line = re.sub(r"/\*.*?\*/", "", line)
    match = re.match(r" +(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*)", line)
    if match:
      name, shape, op, rest = match.groups()
      called = re.search(r"calls=%?([\w.-]+)", rest) if op == "fusion" else None
      operands = re.findall(r"%([\w.-]+)", rest.split(")", 1)[0])
      yield Instruction(name, shape, op, operands, called and called[1])


def _size(shape: str) -> tuple[int, int]:
  """Numbers and bytes of a shape, or of all in a tuple."""
  numbers = total = 0
  for kind, sizes in re.findall(r"([a-z]+\d*)\w*\[([\d,]*)\]", shape):
    count = math.prod(map(int, filter(None, sizes.split(","))))
    bits = re.search(r"\d+", kind)
    numbers, total = numbers + count, total + count * max(int(bits[0]) // 8 if bits else 1, 1)
  return numbers, total


def _kernel(of: Instruction, around: Sequence[Instruction], program: dict[str, list[Instruction]]) -> Kernel:
  if of.called:
    read = _read(program[of.called])
  else:
    shapes = {x.name: x.shape for x in around}
    sizes = [_size(shapes.get(operand, ""))[1] for operand in of.operands]
    least = _size(of.shape)[1]  # a gather or slice beside other kernels
    read = sum(min(size, least) if of.op in ("gather", "slice", "dynamic-slice") else size for size in sizes)
  return Kernel(of.name, of.shape, _size(of.shape)[1], read)


def _read(lines: Sequence[Instruction]) -> int:
  """Bytes that a fused computation asks of its parameters, each at most once.

  From the result upwards: numbers asked of an operation are asked of its operands, of a reduction's all, of a
  concatenation's each in proportion.
  """
  count, asked, total = {x.name: _size(x.shape)[0] for x in lines}, Counter(), 0
  asked[lines[-1].name] = count[lines[-1].name]
  for x in reversed(lines):
    wanted, whole = min(asked[x.name], count[x.name]), max(count[x.name], 1)
    if x.op == "parameter":
      total += wanted * _size(x.shape)[1] // whole
    for operand in x.operands:
      if x.op in WHOLE:
        asked[operand] += count[operand]
      elif x.op in ("reduce", "concatenate"):
        asked[operand] += count[operand] * wanted // whole
      else:
        asked[operand] += min(count[operand], wanted)
  return total


# --- The loops of games -----------------------------------------------------------------------------------


class Loop(NamedTuple):
  """A loop over iterations, lowered, with the bytes of its tables, which change in place."""

  lowered: jax.stages.Lowered
  tables: int


def game_loop(game: pyspiel.Game, rule: cfr.Rule, device: Device | None = None, equip=cfr.equip) -> Loop:
  """A solver's; None: for XLA's CPU compiler."""
  with rehearsal("gpu"), precision("float32", accelerator()):
    tree = build_tree(game)
    tree = equip(pad_types(fold_suits(tree, Variant.of(tree)).tree).tree, rule)
    state = cfr.init(tree, rule, "float32", compensated=False)
    return _lowered(functools.partial(cfr.iterate, rule=rule), (tree, state), device)


def batch_loop(count: int, rule: cfr.Rule, device: Device | None = None) -> Loop:
  """That of a chunk of rivers with all hands. Two are made, and the shapes of `count` compiled."""
  with rehearsal("gpu"), precision("float32", accelerator()):
    (group, *_) = groups(list(rivers(2)), "auto", "all", "float32", 2)
    state = cfr.init(PublicTree(group.players, group.leaves), rule, "float32")
    start = jax.tree.map(lambda x: np.broadcast_to(x, (2, *x.shape)), state)

    def iterate(leaves, start, iterations):
      one = lambda leaves, state: cfr.iterate(PublicTree(group.players, leaves), state, iterations, rule=rule)  # noqa: E731
      return jax.vmap(one)(leaves, start)

    return _lowered(iterate, (group.leaves, start), device, count)


def search_loop(game: pyspiel.Game, rule: cfr.Rule, device: Device | None = None) -> Loop:
  """That of the first search of continual re-solving, of a limited lookahead."""
  loops: list[Loop] = []

  class Counted(Searcher):
    def iterate(self, tree, state, iterations):
      if not loops:
        loops.append(_lowered(functools.partial(cfr.iterate, rule=rule), (tree, state), device))
      return super().iterate(tree, state, iterations)

  with rehearsal("gpu"), precision("float32", accelerator()):
    settings = SearchSettings(rule=rule, iterations=1, lookahead=1, dtype="float32")
    Counted(Subgames(build_tree(game)), settings).start(0)
  return loops[0]


def _lowered(iterate, given: tuple[Any, Any], device: Device | None, count: int | None = None) -> Loop:
  sharding = None if device is None else SingleDeviceSharding(device)

  def shape(x):
    dtype = np.dtype("float32") if np.issubdtype(x.dtype, np.floating) else x.dtype
    sizes = x.shape if count is None else (count, *x.shape[1:])
    return jax.ShapeDtypeStruct(sizes, dtype, sharding=sharding)

  shapes = jax.tree.map(shape, given)
  tables = sum(math.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(shapes[1]))
  one = jax.ShapeDtypeStruct((), np.int32, sharding=sharding)
  return Loop(jax.jit(iterate, donate_argnums=1).lower(*shapes, one), tables)


class Program(NamedTuple):
  """A compiled loop."""

  text: str
  body: Body
  temporary: int  #: bytes
  in_place: int  #: bytes of results that lie where arguments did


def compiled(loop: Loop) -> Program:
  """Compile it; its code is not kept: a program for a device that is not there cannot be loaded."""
  kept = jax.config.values["jax_enable_compilation_cache"]
  jax.config.update("jax_enable_compilation_cache", False)
  compilation_cache.reset_cache()
  try:
    program = loop.lowered.compile()
  finally:
    jax.config.update("jax_enable_compilation_cache", kept)
    compilation_cache.reset_cache()
  text, memory = program.as_text(), program.memory_analysis()
  assert text is not None and memory is not None
  return Program(text, loop_body(text), memory.temp_size_in_bytes, memory.alias_size_in_bytes)


def main() -> None:
  options = flags(__doc__ or "", games=["turn"], rule="nrm+", card="H100", kernels=0, searches=False)
  known: Mapping[str, Any] = {**GAMES, LIARS_DICE: ("liars_dice", {"dice_sides": 4})}
  for name in options.games:
    if name not in known:
      raise SystemExit(f"--games {name}: choose among {', '.join(known)}.")
  if options.card not in CARDS:
    raise SystemExit(f"--card {options.card}: choose among {', '.join(CARDS)}.")
  rule, card, device = cfr.make_rule(options.rule), CARDS[options.card], card_device(options.card)
  for name in options.games:
    given = known[name]
    if isinstance(given, int):
      loop = batch_loop(given, rule, device)
    else:
      make = search_loop if options.searches else game_loop
      loop = make(pyspiel.load_game(*given) if given[1] else pyspiel.load_game(given[0]), rule, device)
    text, body, temporary, _ = compiled(loop)
    print(
      f"{name}, {options.rule}, {options.card}: {len(body.kernels)} kernels, {body.bytes / 1e6:,.1f} MB, "
      f"{1e3 * body.seconds(card):.3f} ms; tables {loop.tables / 1e6:,.1f} MB, temporary "
      f"{temporary / 1e6:,.1f} MB; {text.count(' sort(')} sorts, {text.count(' scatter(')} scatters"
    )
    for kernel in sorted(body.kernels, key=lambda x: -x.read - x.written)[: options.kernels]:
      print(f"  {kernel.read / 1e6:10.2f} MB read, {kernel.written / 1e6:10.2f} written: {kernel.name}")


if __name__ == "__main__":
  main()

"""Programs for accelerators, counted without one: kernels, scatters and memory of a turn's iteration.

XLA's CPU compiler always counts the program that an accelerator gets. XLA's GPU compiler, which needs no GPU
and no driver, counts that of an H100 and of a T4 if its wheels are there:

  pip install --no-deps jax-cuda12-plugin jax-cuda12-pjrt nvidia-cuda-nvcc-cu12
"""

import functools
import importlib.util
import re

import jax
import numpy as np
import pyspiel
import pytest
from jax.experimental import topologies
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import SingleDeviceSharding

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.backend.device import accelerator, bytes_of, precision, rehearsal
from ps_cfr_spiel.compilation.compiler import fold_suits
from ps_cfr_spiel.tree import BoardLeaves, Variant, pad_types

TURN = "holdem_subgame(stack=1000)"
#: multiprocessors, their units, bytes a second, L2 cache, GHz, memory, shared memory of a block and of a
#: multiprocessor, compute capability, threads.
GPUS = {
  "H100": (132, 128, 3352320000000, 52428800, 1.98, 84929347584, 232448, 233472, (9, 0), 2048),
  "T4": (40, 64, 320064000000, 4194304, 1.59, 15655829504, 65536, 65536, (7, 5), 1024),
}
wheels = pytest.mark.skipif(
  not (importlib.util.find_spec("jax_cuda12_plugin") and importlib.util.find_spec("nvidia")),
  reason="the wheels of XLA's GPU compiler are not there",
)


def gpu(name):
  """A device for compilation alone."""
  units, lanes, rate, l2, clock, memory, block, shared, (major, minor), threads = GPUS[name]
  text = f"""gpu_device_info {{ threads_per_block_limit: 1024 threads_per_warp: 32
    shared_memory_per_block: 49152 shared_memory_per_core: {shared} threads_per_core_limit: {threads}
    core_count: {units} fpus_per_core: {lanes} block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
    block_dim_limit_z: 65535 memory_bandwidth: {rate} l2_cache_size: {l2} clock_rate_ghz: {clock}
    device_memory_size: {memory} shared_memory_per_block_optin: {block}
    cuda_compute_capability {{ major: {major} minor: {minor} }} registers_per_core_limit: 65536
    registers_per_block_limit: 65536 }} platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 7 }}
    runtime_version {{ major: 12 minor: 8 patch: 0 }} device_description_str: "{name}" """
  return topologies.get_topology_desc("one", "cuda", target_config=text, topology="1x1x1").devices[0]


def lowered(rule, device=None, equip=cfr.equip):
  """An accelerator's loop of a turn, with tables in place, and the bytes of its tables."""
  rule, sharding = cfr.make_rule(rule), None if device is None else SingleDeviceSharding(device)
  with rehearsal("gpu"), precision("float32", accelerator()):
    tree = build_tree(pyspiel.load_game(TURN), "showdown")
    tree = equip(pad_types(fold_suits(tree, Variant.of(tree)).tree).tree, rule)
    state = cfr.init(tree, rule, "float32", compensated=False)

    def shape(x):
      dtype = np.dtype("float32") if np.issubdtype(x.dtype, np.floating) else x.dtype
      return jax.ShapeDtypeStruct(x.shape, dtype, sharding=sharding)

    given = jax.tree.map(shape, (tree, state, np.int32(1)))
    loop = jax.jit(functools.partial(cfr.iterate, rule=rule), donate_argnums=1)
    return loop.lower(*given), bytes_of(state)


@pytest.fixture
def uncached():
  """No files of earlier compilations: a program for a device that is not there cannot be loaded."""
  kept = jax.config.values["jax_enable_compilation_cache"]
  jax.config.update("jax_enable_compilation_cache", False)
  compilation_cache.reset_cache()
  yield
  jax.config.update("jax_enable_compilation_cache", kept)
  compilation_cache.reset_cache()


def kernels(text):
  """The most kernels in one body of a compiled program's loops."""
  fused = set(re.findall(r"(?:calls|to_apply)=%?([\w.-]+)", text))
  free = "parameter|constant|tuple|get-tuple-element|bitcast|after-all|while|conditional"
  most = 0
  for name, body in re.findall(r"^%?([\w.-]+) \(.*\{$((?:\n .*)*)", text, re.MULTILINE):
    lines = re.findall(r"^ +(?:ROOT )?%?[\w.-]+ = .*?[\]})] ([\w-]+)\(", body, re.MULTILINE)
    if name not in fused:
      most = max(most, sum(re.fullmatch(free, op) is None for op in lines))
  return most


@pytest.mark.parametrize("rule", ["rm+", "nrm+"])
def test_nothing_is_scattered(rule):
  """Numbers that are scattered to one place are added in no fixed order on a GPU."""
  for program, _ in (lowered(rule), lowered(rule, equip=lambda tree, _: tree)):
    assert "stablehlo.scatter" not in program.as_text()
  leaves = build_tree(pyspiel.load_game(TURN), "showdown").leaves
  assert isinstance(leaves, BoardLeaves)
  reach = [np.ones((n * b, 1128)) for b, each in zip(leaves.boards, leaves.leaves, strict=True) for n in each]
  evaluator = jax.jit(lambda leaves, reach: leaves(0, reach)).lower(leaves, reach).as_text()
  assert "scatter" not in evaluator and "stablehlo.gather" in evaluator


@pytest.mark.usefixtures("optimized")
def test_a_turn_takes_less_than_three_tables_besides():
  """Counted by the compiler for CPUs, which fuses less than that for GPUs.

  XLA gives arrays their places before LLVM optimizes, which takes two thirds of the time and changes none.
  """
  program, tables = lowered("rm+")
  fast = {"xla_llvm_disable_expensive_passes": True, "xla_backend_optimization_level": 0}
  memory = program.compile(compiler_options=fast).memory_analysis()
  assert memory is not None
  assert memory.temp_size_in_bytes < 3 * tables
  assert memory.alias_size_in_bytes >= tables  # in place


@wheels
@pytest.mark.usefixtures("optimized", "uncached")
@pytest.mark.parametrize(("name", "most"), [("H100", 100), ("T4", 120)])
def test_a_turn_is_few_kernels_of_a_gpu(name, most, monkeypatch):
  monkeypatch.setenv("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
  program, tables = lowered("rm+", gpu(name))
  compiled = program.compile()
  assert 20 < kernels(compiled.as_text()) <= most
  memory = compiled.memory_analysis()
  assert memory is not None
  assert memory.temp_size_in_bytes < 2 * tables and memory.alias_size_in_bytes >= tables

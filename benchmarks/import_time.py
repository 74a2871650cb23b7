"""What `import ps_cfr_spiel` costs: seconds and modules, beside those of what it builds on.

  python benchmarks/import_time.py

Each figure is the median of nine processes, the two imports taking turns. The first import on a machine also
compiles bytecode and reads files from disk, so one round is thrown away.
"""

import json
import statistics
import subprocess
import sys

from machine import describe

IMPORTS = {
  "JAX and OpenSpiel": "import jax, pyspiel; from open_spiel.python import policy",
  "ps_cfr_spiel": "import ps_cfr_spiel",
}
PROGRAM = """
import json, sys, time
start = time.perf_counter(), time.process_time()
{line}
print(json.dumps([time.perf_counter() - start[0], time.process_time() - start[1], len(sys.modules)]))
"""
ROUNDS = 9


def measure(line: str) -> list[float]:
  """Wall seconds, processor seconds, and number of modules, of imports in a process of their own."""
  program = PROGRAM.format(line=line)
  result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
  return json.loads(result.stdout)


def main() -> None:
  print(describe())
  rounds = [{name: measure(line) for name, line in IMPORTS.items()} for _ in range(1 + ROUNDS)][1:]
  for name in IMPORTS:
    wall, processor, modules = (statistics.median(r[name][k] for r in rounds) for k in range(3))
    print(f"{name:20}{wall:7.2f} s wall{processor:7.2f} s of processor{modules:7.0f} modules")


if __name__ == "__main__":
  main()

"""The library's threads and memory, used by a small program in C++: no kernel fails on demand."""

import shutil
import subprocess

import pytest

from ps_cfr_spiel.backend.native import FOLDER

COMPILER = shutil.which("g++")
pytestmark = pytest.mark.skipif(
  COMPILER is None or not (FOLDER / "threads.h").exists(), reason="needs a C++ compiler, and the sources"
)
PROGRAM = r"""
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string_view>

#include "scratch.h"
#include "threads.h"

void fail() { throw std::runtime_error("the seventh"); }

void in_order_of_jobs(int64_t failing) {
  std::vector<int64_t> left(4), sums;
  const auto work = [&](int64_t, int64_t job, int64_t place) {
    if (job == failing) fail();
    left[place] = job;
  };
  Team team(4);
  in_order(team, 50, 4, work, [&](int64_t job, int64_t place) {
    if (left[place] != job) std::puts("another's place");
    sums.push_back(left[place]);
  });
  for (int64_t k = 0; k < 50; ++k) if (sums.at(k) != k) std::puts("in another order");
  std::printf("%zu summed", sums.size());
}

void shared_out() {
  Team team(4);
  share_out(team, 1 << 20, [&](int64_t job) { if (job == 7) fail(); });
}

// Pieces so short that threads wait, and so far apart that they sleep until the next. One of them fails.
void piece_after_piece() {
  Team team(3);
  std::vector<std::thread::id> first(3), last(3);
  std::vector<int> calls(3);
  int failures = 0;
  for (int piece = 0; piece < 2000; ++piece) {
    if (piece % 500 == 499) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto work = [&](int64_t thread) {
      ++calls[thread];
      (piece ? last : first)[thread] = std::this_thread::get_id();
      if (piece == 700 && thread > 0) fail();
    };
    try {
      team(work);
    } catch (const std::runtime_error&) {
      ++failures;
    }
    for (int n : calls) if (n != piece + 1) std::puts("a piece that is not done, or twice");
  }
  const bool apart = first[0] != first[1] && first[1] != first[2] && first[2] != first[0];
  std::printf("%d failed; %s", failures, first == last && apart ? "the same threads" : "others");
}

// The processor time of a team that waits for a tenth of a second.
void waiting() {
  Team team(2);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  team([](int64_t) {});
  std::printf("%d", static_cast<int>(1000 * (std::clock() - before) / CLOCKS_PER_SEC));
}

long faults() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

long faults_of_a_call(size_t bytes) {
  const long before = faults();
  Scratch<char> scratch;
  scratch.resize(bytes);
  std::memset(scratch.data(), 1, bytes);
  return faults() - before;
}

void kept() {
  const size_t size = 64 << 20;
  const long first = faults_of_a_call(size), second = faults_of_a_call(size);
  Scratch<char> one, other;
  one.resize(size);
  other.resize(size);
  const bool apart = one.data() + size <= other.data() || other.data() + size <= one.data();
  std::printf("%ld faults at first, %ld then, %s", first, second, apart ? "apart" : "the same twice");
}

int main(int, char** words) {
  const std::string_view what = words[1];
  try {
    if (what == "in order") in_order_of_jobs(-1);
    if (what == "one fails") in_order_of_jobs(7);
    if (what == "shared out") shared_out();
    if (what == "piece after piece") piece_after_piece();
    if (what == "waiting") waiting();
    if (what == "kept") kept();
  } catch (const std::exception& failure) {
    std::printf("thrown: %s", failure.what());
  }
}
"""


@pytest.fixture(scope="module")
def says(tmp_path_factory):
  """What the program says of a case; an error if it ends by a signal, or waits for ever."""
  folder = tmp_path_factory.mktemp("threads")
  (folder / "program.cc").write_text(PROGRAM)
  command = f"{COMPILER} -std=c++17 -O1 -pthread -I{FOLDER} program.cc -o program"
  subprocess.run(command.split(), cwd=folder, check=True)

  def run(case):
    return subprocess.run(
      [folder / "program", case], check=True, capture_output=True, text=True, timeout=60
    ).stdout

  return run


def test_jobs_are_summed_in_their_order(says):
  assert says("in order") == "50 summed"


@pytest.mark.parametrize("case", ["one fails", "shared out"])
def test_a_failure_in_a_thread_is_thrown_in_the_callers(case, says):
  """It ends the others' work, where they would wait for the sum of the job that failed."""
  assert says(case) == "thrown: the seventh"


def test_a_team_works_on_piece_after_piece(says):
  assert says("piece after piece") == "1 failed; the same threads"


def test_a_team_without_work_sleeps(says):
  """Threads that look out for work for 100 ms would take as much of the processor."""
  assert int(says("waiting")) <= 20


def test_scratch_of_a_call_is_there_for_the_next(says):
  """Its pages are not cleared again by the system, and two tables of one call share nothing."""
  words = says("kept").split()
  assert int(words[0]) >= 32 and int(words[4]) <= 3 and words[-1] == "apart"

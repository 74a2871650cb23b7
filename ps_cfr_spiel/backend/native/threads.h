// Work in threads, shared out or summed in order. A failure ends the work of all, and is thrown again in the caller.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

namespace {

inline int64_t cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) return CPU_COUNT(&set);  // of the main thread
#endif
  return std::thread::hardware_concurrency();
}

// Calls `work` with the number of each of `count` threads, of which 0 is the caller's; of fewer threads if the system
// gives no more.
template <typename Work>
void in_threads(int64_t count, const Work& work) {
  std::mutex lock;
  std::exception_ptr first;
  const auto attempt = [&](int64_t k) {
    try {
      work(k);
    } catch (...) {
      const std::lock_guard<std::mutex> held(lock);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(std::max<int64_t>(count, 1));
  try {
    for (int64_t k = 1; k < count; ++k) others.emplace_back(attempt, k);
  } catch (...) {  // also too little memory for a thread
  }
  attempt(0);
  for (auto& thread : others) thread.join();
  if (first) std::rethrow_exception(first);
}

// Calls `job` with each number below `count`, in as many threads as there are cores, or in the caller's alone.
template <typename Job>
void share_out(int64_t count, const Job& job, bool large = true) {
  std::atomic<int64_t> next{0};
  in_threads(large ? std::min(cores(), count) : 1, [&](int64_t) {
    try {
      for (int64_t k; (k = next++) < count;) job(k);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

// Places for what jobs leave, in which it waits until all jobs before have been summed.
class InOrder {
  std::mutex lock;
  std::condition_variable changed;
  std::vector<int64_t> free, waiting;  // places; of each job the place with what it left, or -1
  int64_t next = 0, summed = 0;

 public:
  InOrder(int64_t jobs, int64_t places) : waiting(jobs, -1) {
    while (places-- > 0) free.push_back(places);
  }
  // The next job and a place for it, as soon as one is free; false if none is left. Jobs begin in order, each in its
  // place, so the first that is not summed is never one that waits.
  bool begin(int64_t& job, int64_t& place) {
    std::unique_lock<std::mutex> held(lock);
    const int64_t jobs = waiting.size();
    changed.wait(held, [&] { return !free.empty() || next == jobs; });
    if (next == jobs) return false;
    job = next++;
    place = free.back();
    free.pop_back();
    if (next == jobs) changed.notify_all();
    return true;
  }
  // Calls `sum` with this job and those after it and their places, in order, as far as all before them are done.
  template <typename Sum>
  void end(int64_t job, int64_t place, const Sum& sum) {
    const std::lock_guard<std::mutex> held(lock);
    waiting[job] = place;
    for (const int64_t jobs = waiting.size(); summed < jobs && waiting[summed] >= 0; ++summed) {
      sum(summed, waiting[summed]);
      free.push_back(waiting[summed]);
    }
    changed.notify_all();
  }
  // No further job begins.
  void stop() {
    const std::lock_guard<std::mutex> held(lock);
    next = waiting.size();
    changed.notify_all();
  }
};

// Calls `work` with a thread, a job below `jobs` and a place below `places`, and then `sum` with the job and that place:
// in the order of jobs, one after the other.
template <typename Work, typename Sum>
void in_order(int64_t threads, int64_t jobs, int64_t places, const Work& work, const Sum& sum) {
  InOrder order(jobs, places);
  in_threads(threads, [&](int64_t thread) {
    try {
      for (int64_t job, place; order.begin(job, place);) {
        work(thread, job, place);
        order.end(job, place, sum);
      }
    } catch (...) {
      order.stop();
      throw;
    }
  });
}

}  // namespace

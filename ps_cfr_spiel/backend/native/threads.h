// Work in threads, shared out or summed in order. A failure ends the work of all, and is thrown again in the caller.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
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

// The threads of a call, of which the caller's is one: they work on one piece after the other, and between two of them
// look out for the next for a while before they sleep. To start a thread, or to wake one, takes a tenth of a millisecond
// and may take ten times that, as long as the work on a few boards.
class Team {
  static constexpr std::chrono::microseconds PATIENCE{200};  // more than the trunk of a walk takes between two pieces
  std::mutex lock;
  std::condition_variable changed;
  std::function<void(int64_t)> piece;  // none: there will be no more
  std::atomic<int64_t> begun{0}, working{0};  // pieces so far; threads that are not done with the last
  std::exception_ptr failure;
  std::vector<std::thread> others;

  template <typename Ready>
  void wait(const Ready& ready) {
    const auto end = std::chrono::steady_clock::now() + PATIENCE;
    while (!ready()) {
      if (std::chrono::steady_clock::now() < end) continue;
      std::unique_lock<std::mutex> held(lock);
      return changed.wait(held, ready);
    }
  }
  void tell() {
    { const std::lock_guard<std::mutex> held(lock); }  // whoever found nothing under it is asleep by now
    changed.notify_all();
  }
  void begin(std::function<void(int64_t)> work) {
    piece = std::move(work);
    working = others.size();
    ++begun;
    tell();
  }
  void attempt(int64_t thread) {
    try {
      piece(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> held(lock);
      if (!failure) failure = std::current_exception();
    }
  }
  void follow(int64_t thread) {
    for (int64_t done = 0;; ++done) {
      wait([&] { return begun > done; });
      if (!piece) return;
      attempt(thread);
      if (--working == 0) tell();
    }
  }

 public:
  // Fewer than `count` if the system gives no more.
  explicit Team(int64_t count) {
    others.reserve(std::max<int64_t>(count, 1));
    try {
      for (int64_t k = 1; k < count; ++k) others.emplace_back([this, k] { follow(k); });
    } catch (...) {  // also too little memory for a thread
    }
  }
  ~Team() {
    begin({});
    for (auto& thread : others) thread.join();
  }
  int64_t size() const { return 1 + others.size(); }
  // Calls `work` with the number of each thread, of which 0 is the caller's.
  template <typename Work>
  void operator()(const Work& work) {
    begin(std::cref(work));
    attempt(0);
    wait([&] { return working == 0; });
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

// Calls `job` with each number below `count`.
template <typename Job>
void share_out(Team& team, int64_t count, const Job& job) {
  std::atomic<int64_t> next{0};
  team([&](int64_t) {
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
void in_order(Team& team, int64_t jobs, int64_t places, const Work& work, const Sum& sum) {
  InOrder order(jobs, places);
  team([&](int64_t thread) {
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

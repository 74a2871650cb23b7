// What the files of the native library share: one binary for all processors, axes in front, all cores.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "xla/ffi/api/ffi.h"

// One binary for all processors: functions with this mark are compiled for several, chosen when it is loaded.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE inline __attribute__((always_inline))  // so that what they call is compiled with them

namespace {

namespace ffi = xla::ffi;

// The axes in front of a result's last two: a call is as many calls as they have points.
struct Batch {
  std::vector<int64_t> sizes;
  int64_t points = 1;

  template <typename Shape>
  explicit Batch(const Shape& shape) : sizes(shape.begin(), shape.end() - 2) {
    for (int64_t size : sizes) points *= size;
  }
  size_t axes() const { return sizes.size(); }
  // Where an array begins at one point. Axes of length 1: it is shared by all points.
  template <typename Buffer>
  auto* at(Buffer& buffer, int64_t point) const {
    const auto has = buffer.dimensions();
    int64_t stride = 1, offset = 0;
    for (size_t axis = has.size(); axis-- > 0;) {
      if (axis < axes()) {
        if (has[axis] != 1) offset += stride * (point % sizes[axis]);
        point /= sizes[axis];
      }
      stride *= has[axis];
    }
    return buffer.typed_data() + offset;
  }
};

constexpr int64_t WORTH = 1 << 18;  // numbers to work on, from which on waking another thread pays

// How many threads are to work on so many numbers.
inline int64_t threads_for(const ffi::ThreadPool& pool, int64_t numbers) {
  return numbers < WORTH ? 1 : std::max<int64_t>(pool.num_threads(), 1);
}

// Calls work(k) for k = 0 ... count - 1, on this thread and on others of XLA's pool.
//
// A task that begins when nothing is left touches only what the tasks share; so this thread waits for none that
// has not begun, which may be behind this very call.
template <typename Work>
void in_parallel(ffi::ThreadPool& pool, int64_t threads, int64_t count, const Work& work) {
  struct Shared {
    std::atomic<int64_t> next{0}, done{0};
  };
  auto shared = std::make_shared<Shared>();
  auto take = [shared, count, &work] {
    for (int64_t k = shared->next++; k < count; k = shared->next++) {
      work(k);
      ++shared->done;
    }
  };
  for (int64_t k = 1; k < std::min(threads, count); ++k) pool.Schedule(decltype(take)(take));
  take();
  while (shared->done < count) std::this_thread::yield();
}

// Calls work(first, last) for pieces of the columns, `last` not counted, on several threads.
template <typename Work>
void by_columns(ffi::ThreadPool& pool, int64_t threads, int64_t columns, const Work& work) {
  constexpr int64_t least = 64;  // a few lines of the cache
  const int64_t pieces = std::clamp<int64_t>(columns / least, 1, threads);
  in_parallel(pool, threads, pieces, [&](int64_t k) { work(k * columns / pieces, (k + 1) * columns / pieces); });
}

}  // namespace

// What the files of the native library share: one binary for all processors, threads, and axes in front.
//
// Whoever changes the arguments, the results or the meaning of a function raises INTERFACE here and in kernels.py:
// library.py then refuses a library built before.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "xla/ffi/api/ffi.h"

// One binary for all processors: functions with this mark are compiled for several, chosen when it is loaded.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE inline __attribute__((always_inline))  // so that what they call is compiled with them
#define INLINE_LAMBDA __attribute__((always_inline))

namespace {

namespace ffi = xla::ffi;

constexpr int64_t INTERFACE = 2;

inline int64_t cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) return CPU_COUNT(&set);  // of the main thread
#endif
  return std::thread::hardware_concurrency();
}

// Calls `work` with the number of each of `count` threads, of which 0 is the caller's.
template <typename Work>
void in_threads(int64_t count, const Work& work) {
  std::vector<std::thread> others;
  for (int64_t k = 1; k < count; ++k) others.emplace_back(work, k);
  work(int64_t(0));
  for (auto& thread : others) thread.join();
}

// Asks for numbers before they are read or changed.
template <typename T>
INLINE void fetch(const T* from, int64_t count) {
  for (int64_t k = 0; k < count; k += 64 / static_cast<int64_t>(sizeof(T))) __builtin_prefetch(from + k);
  __builtin_prefetch(from + count - 1);
}

constexpr int64_t MANY = 1 << 20;  // numbers from which on threads share the work

// Calls `job` with each number below `count`, in as many threads as there are cores, or in the caller's alone.
template <typename Job>
void share_out(int64_t count, const Job& job, bool large = true) {
  std::atomic<int64_t> next{0};
  in_threads(large ? std::min(cores(), count) : 1, [&](int64_t) {
    for (int64_t k; (k = next++) < count;) job(k);
  });
}

// NaN stays NaN, as in jnp.maximum and jnp.minimum.
template <typename T>
INLINE T above(T x, T least) {
  return x < least ? least : x;
}

template <typename T>
INLINE T below(T x, T most) {
  return x > most ? most : x;
}

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

// Large tables on large pages: a walk goes through all of them, and a miss in the table of pages costs more than one
// in the cache. Pages that are there already are collapsed, which takes as long as an iteration or two.
void on_large_pages(void* data, size_t bytes, bool are_there) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t page = uintptr_t(1) << 21;
  const uintptr_t first = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
  if (last < first + 4 * page) return;
  void* from = reinterpret_cast<void*>(first);
  if (madvise(from, last - first, MADV_HUGEPAGE) == 0 && are_there) madvise(from, last - first, 25);  // MADV_COLLAPSE
#endif
}

// Large pieces of memory that the last call left, for the next one: the system clears the pages that it gives out, which
// is much of a call of few iterations. Meanwhile it may take their pages where memory is short (MADV_FREE).
class Pieces {
  struct Piece {
    void* data;
    size_t bytes;
  };
  static constexpr size_t MOST = 8;  // two players' in a call, so that no earlier game's stay
  std::mutex mutex;
  std::vector<Piece> pieces;  // the oldest first

 public:
  // A piece of this size, or null. Nobody waits: a process may have been copied while a thread was here.
  void* take(size_t bytes) {
    std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
    if (!lock) return nullptr;
    const auto piece = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.bytes == bytes; });
    if (piece == pieces.end()) return nullptr;
    void* data = piece->data;
    pieces.erase(piece);
    return data;
  }

  // Keeps a piece, or frees it.
  void give(void* data, size_t bytes) {
#if defined(__linux__) && defined(MADV_FREE)
    std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
    if (lock && madvise(data, bytes / 4096 * 4096, MADV_FREE) == 0) {
      pieces.push_back({data, bytes});
      if (pieces.size() <= MOST) return;
      data = pieces.front().data;
      pieces.erase(pieces.begin());
    }
#endif
    std::free(data);
  }
};

inline Pieces& pieces() {
  static Pieces& all = *new Pieces;  // calls may outlive what is destroyed when a process ends
  return all;
}

// Memory for numbers that are written before they are read: nothing is set to zero, and large pieces are on large pages.
template <typename T>
class Scratch {
  static constexpr size_t PAGE = size_t(1) << 21;
  static constexpr size_t LARGE = 4 * PAGE;
  struct Freed {
    size_t bytes = 0;
    void operator()(T* data) const { bytes < LARGE ? std::free(data) : pieces().give(data, bytes); }
  };
  std::unique_ptr<T, Freed> memory;

 public:
  // Makes room for `count` numbers, and keeps none.
  void resize(size_t count) {
    const size_t bytes = std::max<size_t>(count, 1) * sizeof(T);
    void* data = bytes < LARGE ? std::malloc(bytes) : pieces().take(bytes);
    if (!data) {
      if (bytes < LARGE || posix_memalign(&data, PAGE, bytes) != 0) throw std::bad_alloc();
      on_large_pages(data, bytes, false);
    }
    memory = std::unique_ptr<T, Freed>(static_cast<T*>(data), Freed{bytes});
  }
  T* data() const { return memory.get(); }
};

}  // namespace

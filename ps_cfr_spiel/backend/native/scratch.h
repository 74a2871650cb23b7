// Memory for a call of the library: large pages, and pieces that are kept for the next call.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace {

// Large tables on large pages: a walk goes through all of them, and a miss in the table of pages costs more than one
// in the cache. Pages that are there already are collapsed, which takes as long as an iteration or two.
inline void on_large_pages(void* data, size_t bytes, bool are_there) {
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

// Room for at least `count` numbers, which the thread keeps for its next call: to ask for it anew would cost as much as
// the work of a small one. A function uses it until the next function asks.
template <typename T>
T* kept_room(size_t count) {
  thread_local std::vector<T> memory;
  memory.resize(std::max(memory.size(), count));
  return memory.data();
}

}  // namespace

// Showdowns and folds of card games: the sweep over sorted hands.
//
// One sweep over the hands from the weakest to the strongest (Johanson et al. 2011; Kovařík et al. 2021,
// Appendix B): running sums of the opponent's reach, of all hands and of the hands with each card, give what
// an own hand beats; a sweep back gives what beats it. A few leaves go abreast, one in each lane of a SIMD
// register, so that their tables stay in the first-level cache however many leaves there are.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "native.h"

namespace {

// The same hand's numbers at `count` leaves. 32 bytes are the widest that every compiler handles well.
template <typename T>
struct alignas(32) Lanes {
  typedef T Vector __attribute__((vector_size(32)));
  static constexpr int64_t count = 32 / sizeof(T);
  Vector v;
};

// One player's tables. The hands of both are listed from weakest to strongest.
template <typename T>
struct View {
  int64_t opponents, hands, cards;
  const T *weight, *scale;                        // of the opponent's hands, of the own
  const int16_t *opponent_hand, *opponent_card;   // [G], [2, G]
  const int16_t *hand, *card;                     // [H], [2, H]
  const int16_t *weaker, *not_stronger, *same;    // [H]

  // The hands and cards that `evaluate` keeps lanes of.
  size_t lanes() const { return opponents + 1 + cards + hands; }
};

// Running sums of the opponent's reach.
template <typename T>
struct Sums {
  using Vector = typename Lanes<T>::Vector;
  const View<T>& view;
  const Lanes<T>* reach;
  Lanes<T>* by_card;
  Vector all{};

  INLINE Sums(const View<T>& view, const Lanes<T>* reach, Lanes<T>* by_card)
      : view(view), reach(reach), by_card(by_card) {
    std::memset(static_cast<void*>(by_card), 0, sizeof(*by_card) * view.cards);
  }
  // Counts the opponent's hand number j.
  INLINE void add(int64_t j) {
    const Vector x = reach[view.opponent_hand[j]].v;
    all += x;
    by_card[view.opponent_card[j]].v += x;
    by_card[view.opponent_card[view.opponents + j]].v += x;
  }
  // Hands that share no card with the own hand number i; the same hand, if it was counted, is taken off twice.
  INLINE Vector disjoint(int64_t i) const {
    return all - by_card[view.card[i]].v - by_card[view.card[view.hands + i]].v;
  }
};

template <typename T>
INLINE void showdowns(const View<T>& view, const Lanes<T>* reach, typename Lanes<T>::Vector stake,
                      Lanes<T>* by_card, Lanes<T>* values) {
  Sums<T> below(view, reach, by_card);
  for (int64_t i = 0, j = 0; i < view.hands; ++i) {
    while (j < view.weaker[i]) below.add(j++);
    values[view.hand[i]].v = below.disjoint(i);
  }
  Sums<T> above(view, reach, by_card);
  for (int64_t i = view.hands, j = view.opponents; i-- > 0;) {
    while (j > view.not_stronger[i]) above.add(--j);
    const int64_t hand = view.hand[i];
    values[hand].v = (values[hand].v - above.disjoint(i)) * (stake * view.scale[hand]);
  }
}

template <typename T>
INLINE void folds(const View<T>& view, const Lanes<T>* reach, typename Lanes<T>::Vector constant,
                  Lanes<T>* by_card, Lanes<T>* values) {
  Sums<T> sums(view, reach, by_card);
  for (int64_t j = 0; j < view.opponents; ++j) sums.add(j);
  for (int64_t i = 0; i < view.hands; ++i) {
    const int64_t hand = view.hand[i];
    values[hand].v = (sums.disjoint(i) + reach[view.same[i]].v) * (constant * view.scale[hand]);
  }
}

// The reach [G] of `count` leaves to [G + 1] lanes, times weights; the last hand belongs to no player. Lanes beyond `count` hold anything.
template <typename T>
INLINE void gather(const T* const* reach, int64_t count, const View<T>& view, Lanes<T>* lanes) {
  constexpr int64_t n = Lanes<T>::count;
  const T* rows[n];
  for (int64_t k = 0; k < n; ++k) rows[k] = reach[std::min(k, count - 1)];
  T* __restrict to = reinterpret_cast<T*>(lanes);
  for (int64_t g = 0; g < view.opponents; ++g) {
    for (int64_t k = 0; k < n; ++k) to[g * n + k] = rows[k][g] * view.weight[g];
  }
  lanes[view.opponents].v = typename Lanes<T>::Vector{};
}

// [H] lanes to [count, H].
template <typename T>
INLINE void scatter(const Lanes<T>* lanes, int64_t count, int64_t hands, T* __restrict values) {
  constexpr int64_t n = Lanes<T>::count;
  const T* from = reinterpret_cast<const T*>(lanes);
  if (count < n) {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t h = 0; h < hands; ++h) values[k * hands + h] = from[h * n + k];
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t h = 0; h < hands; ++h) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < n; ++k) values[k * hands + h] = from[h * n + k];
  }
}

// The values [count, H] of `count` leaves of one kind, at most a register's lanes; `reach` are the opponent's, [G] each.
// `lanes`: room for `view.lanes()`.
template <typename T>
INLINE void evaluate(const View<T>& view, bool showdown, int64_t count, const T* utility, const T* const* reach,
                     Lanes<T>* lanes, T* values) {
  Lanes<T>*by_card = lanes + view.opponents + 1, *found = by_card + view.cards;
  Lanes<T> pays{};
  for (int64_t k = 0; k < count; ++k) pays.v[k] = utility[k];
  gather(reach, count, view, lanes);
  if (showdown) showdowns(view, lanes, pays.v, by_card, found);
  else folds(view, lanes, pays.v, by_card, found);
  scatter(found, count, view.hands, values);
}

}  // namespace

// A turn at some cells of a row: the regret rules, which leave weights of the next strategy, and the sum of the average.
// The rules are those of cfr/regret_rules.py, which is the reference: tests/cfr holds the two to each other.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "native.h"

namespace {

constexpr int64_t STRIP = 128;  // cells that are worked on at a time, so that all of theirs stays in the cache

// Some cells of a row, and what belongs to them. Written in place.
template <typename T>
struct Cells {
  int64_t actions, count, next, apart;  // actions are `next` apart in tables, `apart` in values
  const T *value, *mean;                // of the actions; of the row
  T *strategy, *first, *second;         // tables; of a rule's state the first array and the second

  INLINE T regret(int64_t a, int64_t h) const { return value[a * apart + h] - mean[h]; }
  // Scales weights, of which a rule leaves the totals, to sum to one; uniform where all are zero. NaN stays NaN.
  INLINE void normalise(T* __restrict total) const {
    const T least = std::numeric_limits<T>::min(), same = T(1) / actions;
    T none[STRIP];
    for (int64_t h = 0; h < count; ++h) {
      none[h] = total[h] < least ? same : T(0);
      total[h] = total[h] < least ? T(0) : 1 / total[h];
    }
    for (int64_t a = 0; a < actions; ++a) {
      T* p = strategy + a * next;
      for (int64_t h = 0; h < count; ++h) p[h] = none[h] > 0 ? none[h] : p[h] * total[h];
    }
  }
};

// The strategy that is played in a row by one that a rule made: `own` of that, and `least` for each action.
// `cfr.averages.Step.played` is the reference.
template <typename T>
struct Floor {
  T own, least;

  // By an iteration's number c / t.
  INLINE Floor(T tremble, int64_t actions) : least(below(tremble, T(0.5) / actions)) { own = 1 - actions * least; }
  // What cells are worth by it, in place of their worth by the rule's strategy.
  INLINE void value(int64_t actions, int64_t count, const T* from, int64_t apart, T* __restrict sum) const {
    if (least == 0) return;
    for (int64_t h = 0; h < count; ++h) sum[h] *= own;
    for (int64_t a = 0; a < actions; ++a) {
      for (int64_t h = 0; h < count; ++h) sum[h] += least * from[a * apart + h];
    }
  }
};

// R <- max(R * (alpha or beta) + x, lowest); strategy by max(R * next + phi x, 0). RM, RM+, DCFR, PCFR+, PDCFR+.
template <typename T>
struct Discounted {
  T alpha, beta, lowest, next, phi;

  INLINE void operator()(const Cells<T>& c, T* __restrict total) const {
    std::fill_n(total, c.count, T(0));
    for (int64_t a = 0; a < c.actions; ++a) {
      T *r = c.first + a * c.next, *p = c.strategy + a * c.next;
      for (int64_t h = 0; h < c.count; ++h) {
        const T x = c.regret(a, h);
        r[h] = above(r[h] * (r[h] > 0 ? alpha : beta) + x, lowest);
        p[h] = above(r[h] * next + phi * x, T(0));
        total[h] += p[h];
      }
    }
  }
};

// Normalised regret matching plus, step by step as `NRMPlus.update`; z is the first array, the second n, the total of
// the weights that the strategy was made of, and the agreement.
template <typename T>
struct Normalised {
  T fade, halved, steps, phi, more, memory, quiet, faintest, lowest;  // of `NRMPlus.numbers`

  static Normalised of(const T* x) { return {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}; }

  INLINE void operator()(const Cells<T>& c, T* __restrict total) const {
    const T least = std::numeric_limits<T>::min();
    T *n = c.second, *before = n + c.next, *agreed = before + c.next;
    T up[STRIP], past[STRIP], sum[STRIP], unit[STRIP], weight[STRIP];
    agree(c, up, agreed, n, before);
    for (int64_t h = 0; h < c.count; ++h) {
      const T trust = above(agreed[h], T(0)), came = steps * up[h];
      const T heeded = came < quiet * n[h] ? came / (quiet * n[h]) : T(1);
      past[h] = above((1 - trust * heeded * fade) * n[h], came);
      weight[h] = phi + more * trust;
      sum[h] = total[h] = 0;
    }
    for (int64_t a = 0; a < c.actions; ++a) {  // y waits where the strategy will be
      const T* z = c.first + a * c.next;
      T* y = c.strategy + a * c.next;
      for (int64_t h = 0; h < c.count; ++h) {
        y[h] = (z[h] > 0 ? past[h] : halved * n[h]) * z[h] + c.regret(a, h);
        sum[h] += above(y[h], T(0));
      }
    }
    for (int64_t h = 0; h < c.count; ++h) {
      n[h] = sum[h];
      unit[h] = sum[h] >= least ? 1 / sum[h] : T(0);
    }
    for (int64_t a = 0; a < c.actions; ++a) {
      T *z = c.first + a * c.next, *p = c.strategy + a * c.next;
      for (int64_t h = 0; h < c.count; ++h) {
        z[h] = sum[h] >= least ? above(p[h] * unit[h], lowest) : z[h];
        const T own = above(z[h], T(0)), most = below(up[h] * unit[h], own);
        p[h] = own + weight[h] * below(above(c.regret(a, h) * unit[h], -most), most);
        total[h] += p[h];
      }
    }
    for (int64_t h = 0; h < c.count; ++h) before[h] = total[h];
  }

  // How far the regret that came agrees with the one that the strategy predicted; and the sum of positive regrets.
  INLINE void agree(const Cells<T>& c, T* __restrict up, T* __restrict agreed, const T* n, const T* before) const {
    const T least = std::numeric_limits<T>::min();
    T share[STRIP], unit[STRIP], product[STRIP], predicted[STRIP], came[STRIP];
    for (int64_t h = 0; h < c.count; ++h) {
      share[h] = 1 / (phi + more * above(agreed[h], T(0)));
      unit[h] = n[h] >= least ? 1 / n[h] : T(1);
      up[h] = product[h] = predicted[h] = came[h] = 0;
    }
    for (int64_t a = 0; a < c.actions; ++a) {
      const T *z = c.first + a * c.next, *p = c.strategy + a * c.next;
      for (int64_t h = 0; h < c.count; ++h) {
        const T own = above(z[h], T(0)), x = c.regret(a, h);
        const T v = (p[h] * before[h] - own) * share[h], e = below(above(x * unit[h], -own), own);
        up[h] += above(x, T(0));
        product[h] += v * e;
        predicted[h] += v * v;
        came[h] += e * e;
      }
    }
    for (int64_t h = 0; h < c.count; ++h) {
      const T ratio = 2 * product[h] / above(predicted[h] + came[h], faintest);
      const bool counts = n[h] >= least && predicted[h] >= faintest;
      agreed[h] = counts ? memory * agreed[h] + (1 - memory) * ratio : agreed[h];
    }
  }
};

// Calls `then` with a rule, by its number in `cfr.regret_rules.native_rule` and its numbers in an iteration.
template <typename T, typename Then>
INLINE void by_rule(int64_t rule, const T* x, Then then) {
  if (rule == 0) then(Discounted<T>{x[0], x[1], x[2], x[3], x[4]});
  else then(Normalised<T>::of(x));
}

// What some cells of a row are worth under a strategy; actions are `next` apart in it, `apart` in values.
template <typename T>
INLINE void mean(int64_t actions, int64_t count, const T* chance, int64_t next, const T* from, int64_t apart,
                 T* __restrict sum) {
  for (int64_t h = 0; h < count; ++h) sum[h] = chance[h] * from[h];
  for (int64_t a = 1; a < actions; ++a) {
    for (int64_t h = 0; h < count; ++h) sum[h] += chance[a * next + h] * from[a * apart + h];
  }
}

// What they are worth to a best response.
template <typename T>
INLINE void best(int64_t actions, int64_t count, const T* from, int64_t apart, T* __restrict sum) {
  for (int64_t h = 0; h < count; ++h) sum[h] = from[h];
  for (int64_t a = 1; a < actions; ++a) {
    for (int64_t h = 0; h < count; ++h) sum[h] = std::max(sum[h], from[a * apart + h]);
  }
}

// Brings the compensation of a sum into it, both times `scale`, where a block of iterations begins; `cfr.averages` has the
// reference.
template <typename T>
INLINE void carry_over(T* __restrict average, T* __restrict compensation, int64_t count, T scale) {
  for (int64_t h = 0; h < count; ++h) {
    const T total = average[h] - compensation[h], other = average[h] - total;
    const T lost = (average[h] - (total + other)) - (compensation[h] - other);
    average[h] = total * scale;
    compensation[h] = -lost * scale;
  }
}

}  // namespace

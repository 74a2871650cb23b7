// Hands on boards, ranked and described when they are dealt: no table of boards is needed.
//
// Cards are `suits * rank + suit`, hands are numbered by `suits.card_sets`, strengths are those of ranking.py. A hand
// is described on the last round by its equities against groups of the opponent's hands (OCHS; Johanson et al. 2013),
// before it by a histogram of its equity at the end.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "native.h"

namespace {

constexpr int kBins = 20, kMostHands = 1326, kMostCards = 52, kMostGroups = 16, kRankBits = 13;
constexpr int32_t kDead = INT32_MAX;  // the strength of a hand that holds a card of the board

inline int top(uint32_t mask) { return 31 - __builtin_clz(mask); }

// The highest `count` bits of a mask.
inline uint32_t highest(uint32_t mask, int count) {
  uint32_t found = 0;
  for (; count > 0 && mask; --count) {
    const uint32_t bit = 1u << top(mask);
    found |= bit;
    mask ^= bit;
  }
  return found;
}

// 1 for a straight from the ace to the five, one more for each rank above; 0 without a straight.
inline uint32_t straight(uint32_t ranks) {
  const uint32_t low = ranks << 1 | (ranks >> (kRankBits - 1) & 1);  // with the ace below
  const uint32_t runs = low & low >> 1 & low >> 2 & low >> 3 & low >> 4;
  return runs ? top(runs) + 1 : 0;
}

inline int32_t strength(int order, uint32_t by, uint32_t beside) {
  return int32_t((uint32_t(order) << kRankBits | by) << kRankBits | beside);
}

// Ranks that come at least once, twice, ...
struct Ranks {
  uint32_t times[4] = {0, 0, 0, 0};
  void add(int rank) {
    const uint32_t bit = 1u << rank;
    for (int k = 3; k > 0; --k) times[k] |= times[k - 1] & bit;
    times[0] |= bit;
  }
  // The strength without flushes.
  int32_t strength() const {
    const uint32_t ranks = times[0], twice = times[1], thrice = times[2], four = times[3];
    if (four) return ::strength(7, four, highest(ranks & ~four, 1));
    const uint32_t trips = thrice ? 1u << top(thrice) : 0;
    if (thrice && (twice & ~trips)) return ::strength(6, trips, highest(twice & ~trips, 1));
    if (const uint32_t run = straight(ranks)) return ::strength(4, run, 0);
    if (thrice) return ::strength(3, thrice, highest(ranks & ~thrice, 2));
    const uint32_t pairs = highest(twice, 2);
    if (twice & (twice - 1)) return ::strength(2, pairs, highest(ranks & ~pairs, 1));
    if (twice) return ::strength(1, twice, highest(ranks & ~twice, 3));
    return highest(ranks, 5);
  }
};

inline int32_t flush(uint32_t ranks) {
  const uint32_t run = straight(ranks);
  return run ? strength(8, run, 0) : strength(5, highest(ranks, 5), 0);
}

// All hands of one or two cards of a deck.
struct Hands {
  int ranks, suits, hole, cards, count;
  uint8_t card[kMostHands][2], rank[kMostCards], suit[kMostCards];
  uint64_t mask[kMostHands];

  Hands(int ranks, int suits, int hole) : ranks(ranks), suits(suits), hole(hole), cards(ranks * suits), count(0) {
    for (int c = 0; c < cards; ++c) {
      rank[c] = uint8_t(c / suits);
      suit[c] = uint8_t(c % suits);
    }
    for (int high = 0; high < cards; ++high) {
      for (int low = 0; low < (hole == 2 ? high : 1); ++low, ++count) {
        card[count][0] = uint8_t(high);
        card[count][1] = uint8_t(hole == 2 ? low : high);
        mask[count] = uint64_t(1) << high | uint64_t(1) << card[count][1];
      }
    }
  }

  // The strengths of all hands on a board, kDead where they hold one of its cards.
  void strengths(uint64_t board, int32_t* out) const {
    Ranks shared;
    uint32_t of_suit[4] = {0, 0, 0, 0};
    for (uint64_t left = board; left; left &= left - 1) {
      const int c = __builtin_ctzll(left);
      shared.add(rank[c]);
      of_suit[suit[c]] |= 1u << rank[c];
    }
    int32_t plain[kRankBits][kRankBits];
    for (int one = 0; one < ranks; ++one) {
      Ranks first = shared;
      first.add(one);
      if (hole == 1) {
        plain[one][one] = first.strength();
        continue;
      }
      for (int other = 0; other <= one; ++other) {
        Ranks both = first;
        both.add(other);
        plain[one][other] = both.strength();
      }
    }
    int flushed = -1;
    for (int s = 0; s < suits; ++s) {
      if (__builtin_popcount(of_suit[s]) + hole >= 5) flushed = s;
    }
    for (int h = 0; h < count; ++h) {
      const int one = card[h][0], other = card[h][1];
      out[h] = mask[h] & board ? kDead : plain[rank[one]][rank[other]];
    }
    if (flushed < 0) return;
    for (int h = 0; h < count; ++h) {
      if (out[h] == kDead) continue;
      uint32_t suited = of_suit[flushed];
      for (int c : card[h]) suited |= suit[c] == flushed ? 1u << rank[c] : 0;
      if (__builtin_popcount(suited) >= 5) out[h] = flush(suited);
    }
  }
};

// Equities on a board of all hands at once, against a uniform hand that shares no card.
struct Sweep {
  const Hands& hands;
  std::vector<int32_t> strength;
  std::vector<uint32_t> order, other;

  explicit Sweep(const Hands& hands) : hands(hands), strength(hands.count), order(hands.count), other(hands.count) {}

  // bins[h]: kBins times the equity, rounded down, and below kBins; -1 for dead hands.
  void bins(uint64_t board, int8_t* bins) {
    hands.strengths(board, strength.data());
    const int alive = sort();
    int32_t total[kMostCards] = {}, weaker[kMostCards] = {}, equal[kMostCards];
    std::memset(bins, -1, hands.count);
    for (int k = 0; k < alive; ++k) count(order[k], total);
    for (int first = 0, last; first < alive; first = last) {
      std::memset(equal, 0, sizeof equal);
      for (last = first; last < alive && strength[order[last]] == strength[order[first]]; ++last) {
        count(order[last], equal);
      }
      for (int k = first; k < last; ++k) {
        const uint32_t h = order[k];
        // A hand of two cards is counted with each of them, of which one time too many.
        const int64_t own = hands.hole - 1;
        const int64_t met = alive - shared(h, total) + own, beaten = first - shared(h, weaker);
        const int64_t tied = last - first - shared(h, equal) + own, twice = 2 * beaten + tied;
        bins[h] = met > 0 ? int8_t(std::min<int64_t>(kBins * twice / (2 * met), kBins - 1)) : kBins / 2;
      }
      for (int k = first; k < last; ++k) count(order[k], weaker);
    }
  }

 private:
  void count(uint32_t h, int32_t* of_card) const {
    for (int k = 0; k < hands.hole; ++k) ++of_card[hands.card[h][k]];
  }
  int64_t shared(uint32_t h, const int32_t* of_card) const {
    int64_t sum = 0;
    for (int k = 0; k < hands.hole; ++k) sum += of_card[hands.card[h][k]];
    return sum;
  }
  // Orders the living hands by strength, by three digits of ten bits.
  int sort() {
    constexpr int kDigit = 10, kPasses = 3;
    int32_t places[kPasses][(1 << kDigit) + 1] = {};
    int alive = 0;
    for (int h = 0; h < hands.count; ++h) {
      if (strength[h] == kDead) continue;
      order[alive++] = uint32_t(h);
      for (int d = 0; d < kPasses; ++d) ++places[d][1 + (strength[h] >> d * kDigit & ((1 << kDigit) - 1))];
    }
    for (int d = 0; d < kPasses; ++d) {
      for (int k = 0; k < 1 << kDigit; ++k) places[d][k + 1] += places[d][k];
      for (int k = 0; k < alive; ++k) {
        other[places[d][strength[order[k]] >> d * kDigit & ((1 << kDigit) - 1)]++] = order[k];
      }
      order.swap(other);
    }
    return alive;
  }
};

// Equities of hands on a board against groups of the opponent's hands.
struct Equities {
  const Hands& hands;
  int groups;
  const int32_t* group;           // of each hand
  std::vector<int32_t> sorted, ends;  // the hands group by group, and where each group ends
  std::vector<int32_t> strength, by_group;
  uint64_t board = 0;

  Equities(const Hands& hands, const int32_t* group) : hands(hands), group(group), strength(hands.count) {
    groups = 1 + *std::max_element(group, group + hands.count);
    for (int g = 0; g < groups; ++g) {
      for (int h = 0; h < hands.count; ++h) {
        if (group[h] == g) sorted.push_back(h);
      }
      ends.push_back(int32_t(sorted.size()));
    }
    by_group.resize(sorted.size());
  }
  void deal(uint64_t cards) {
    board = cards;
    hands.strengths(board, strength.data());
    for (size_t k = 0; k < sorted.size(); ++k) by_group[k] = strength[sorted[k]];
  }
  // out[g]; 1/2 where the opponent can hold no hand of a group.
  void of(int hand, float* out) const {
    const int32_t own = strength[hand];
    int32_t won[kMostGroups], met[kMostGroups];  // twice the hands that are beaten, ties counting half; all hands
    for (int g = 0, k = 0; g < groups; ++g) {
      int32_t weaker = 0, equal = 0, alive = 0;
      for (; k < ends[g]; ++k) {
        weaker += by_group[k] < own;
        equal += by_group[k] == own;
        alive += by_group[k] != kDead;
      }
      won[g] = 2 * weaker + equal;
      met[g] = alive;
    }
    for (int k = 0; k < hands.hole; ++k) {
      const int card = hands.card[hand][k];
      if (hands.hole == 1) {
        drop(hand, own, won, met);
      } else {
        for (int c = 0; c < hands.cards; ++c) {
          if (c != card) drop(c > card ? c * (c - 1) / 2 + card : card * (card - 1) / 2 + c, own, won, met);
        }
      }
    }
    if (hands.hole == 2) {  // it was dropped with each of its cards
      won[group[hand]] += 1;
      met[group[hand]] += 1;
    }
    for (int g = 0; g < groups; ++g) out[g] = met[g] > 0 ? float(won[g]) / float(2 * met[g]) : 0.5f;
  }

 private:
  void drop(int h, int32_t own, int32_t* won, int32_t* met) const {
    if (strength[h] == kDead) return;
    won[group[h]] -= 2 * (strength[h] < own) + (strength[h] == own);
    met[group[h]] -= 1;
  }
};

// The column of rows [size, count] nearest to `point`, by the sum of squares or of absolute differences; the first of
// equals. `apart` has room for `count` numbers.
template <bool kSquared>
INLINE int nearest(const float* point, const float* rows, int count, int size, float* __restrict apart) {
  std::fill_n(apart, count, 0.0f);
  for (int d = 0; d < size; ++d) {
    const float here = point[d];
    const float* row = rows + d * count;
    for (int k = 0; k < count; ++k) {
      const float gap = here - row[k];
      apart[k] += kSquared ? gap * gap : std::fabs(gap);
    }
  }
  // Numbers of at least 0 are in the order of their bits, and the least of integers is found in lanes.
  int32_t least = INT32_MAX;
  for (int k = 0; k < count; ++k) {
    int32_t bits;
    std::memcpy(&bits, apart + k, sizeof bits);
    least = std::min(least, bits);
  }
  for (int k = 0;; ++k) {
    int32_t bits;
    std::memcpy(&bits, apart + k, sizeof bits);
    if (bits == least) return k;
  }
}

// How often each hand falls into each bin of its equity at the end, on a board and with one more card, one or two cards
// before the end.
struct Histograms {
  Sweep sweep;
  std::vector<int8_t> bins;
  std::vector<uint16_t> now;   // [H, kBins], on the board; 0 for dead hands
  std::vector<uint8_t> later;  // [D, H, kBins], with one more card, which is not the last

  explicit Histograms(const Hands& hands)
      : sweep(hands), bins(hands.count), now(hands.count * kBins), later(hands.cards * hands.count * kBins) {}

  FOR_EACH_PROCESSOR void count(uint64_t board, int left) {
    const Hands& hands = sweep.hands;
    std::fill(now.begin(), now.end(), 0);
    if (left == 2) std::fill(later.begin(), later.end(), 0);
    for (int first = 0; first < hands.cards; ++first) {
      const uint64_t with = board | uint64_t(1) << first;
      if (with == board) continue;
      if (left == 1) {
        add(with, now.data());
        continue;
      }
      for (int second = 0; second < first; ++second) {
        const uint64_t all = with | uint64_t(1) << second;
        if (all != with) add(all, now.data(), &later[size_t(first) * bins.size() * kBins], &later[size_t(second) * bins.size() * kBins]);
      }
    }
  }

 private:
  template <typename... More>
  INLINE void add(uint64_t board, uint16_t* now, More*... more) {
    sweep.bins(board, bins.data());
    for (size_t h = 0; h < bins.size(); ++h) {
      if (bins[h] < 0) continue;
      const size_t place = h * kBins + bins[h];
      ++now[place];
      (++more[place], ...);
    }
  }
};

// The cumulative shares of a histogram, without the last, which is 1; false if it is empty.
template <typename Count>
inline bool cumulate(const Count* bins, float* out) {
  int total = 0, sum = 0;
  for (int b = 0; b < kBins; ++b) total += bins[b];
  for (int b = 0; b < kBins - 1; ++b) out[b] = float(sum += bins[b]) / float(std::max(total, 1));
  return total > 0;
}

}  // namespace

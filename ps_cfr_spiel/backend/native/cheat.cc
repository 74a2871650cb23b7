// Traversals of Cheat on a CPU, a custom call of XLA, and plays by one strategy from given cards;
// games/cheat/native_traversals.py has their arguments and results.
//
// All moves of the traverser are valued at a decision, one of the others' is sampled: down to the end of the
// game (external sampling, Lanctot et al. 2009), or by one play to its end for each, where the traversal itself
// follows one move. Regrets stand still for some decisions, or during a whole traversal, and are then brought up to
// date.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "native.h"

namespace {

enum Sampling : int64_t { kExternal, kPlays };
enum Estimate : int64_t { kLearned, kCorrected };
enum Pruning : int64_t { kNone, kRegret, kBestResponse };
constexpr int kAnswers = 2, kChallenge = 1;
constexpr int kMostPlayers = 4;
constexpr int kBest = 1;  // the winner's utility
constexpr int kSkipped = 2;  // stands for the value of a move that is skipped
constexpr int32_t kFew = 2, kSeveral = 3;  // as in keys.py

// The index of `keys.Keys`, with the code and the number of cards of each discard; ranks are turned.
struct Index {
  const int32_t *discards, *count, *at, *turned, *answers, *pairs, *cards, *claims;
  int64_t claims_and_none;  // the second axis of `pairs`
  bool memory;
};

struct Rules {
  int32_t ranks, base, last, cards, turns, players;  // last: the code of a card of the last rank

  int after(int player) const { return player + 1 == players ? 0 : player + 1; }
};

// A game with the certain cards of `keys.Known`, which are those of two players alone; cards are codes in which the
// current rank comes first.
struct Game {
  std::array<int32_t, kMostPlayers> hand, size;
  std::array<int32_t, 2> certain, mine;  // by player: `Known.hands` and `Known.laid`
  int32_t before = 0, pile = 0, laid = 0, claim = 0, turn = 0, discarder = 0, mover = 0, winner = -1;
  bool answers = false, over = false;
};

Rules rules_of(int64_t ranks, int64_t suits, int64_t turns, int64_t players) {
  Rules rules{int32_t(ranks), int32_t(suits + 1), 1, 0, int32_t(turns), int32_t(players)};
  for (int64_t r = 1; r < ranks; ++r) rules.last *= rules.base;
  return rules;
}

struct Key {
  int32_t first, count;
};

// As `keys._place`.
int32_t place(int32_t number, int32_t first, int32_t most, int32_t second, int32_t last) {
  return (number * (most + 1) + std::min(first, most)) * (last + 1) + std::min(second, last);
}

// The number of cards of the discarder who is answered, else the fewest of any other player.
int32_t cards_of_other(const Rules& rules, const Game& game) {
  if (game.answers) return game.size[game.discarder];
  int32_t fewest = rules.cards;
  for (int player = 0; player < rules.players; ++player) {
    if (player != game.mover) fewest = std::min(fewest, game.size[player]);
  }
  return fewest;
}

Key key_of(const Rules& rules, const Index& index, const Game& game) {
  const int own = game.mover;
  const int32_t code = game.hand[own], other = cards_of_other(rules, game), base = rules.base;
  const int32_t held = code % base, missing = base - 1 - held;
  if (!game.answers) {
    int32_t number = other - 1;
    if (index.memory) {
      number = place(number, game.certain[own] % base, std::min(missing, kFew), game.certain[1 - own] % base,
                     std::min(held, kFew));
    }
    return {index.discards[code] + number * index.count[code], index.count[code]};
  }
  int32_t number = index.pairs[game.size[own] * index.claims_and_none + game.claim] + other;
  if (index.memory) {
    number = place(number, game.before % base, std::min(missing, kSeveral), game.mine[own] % base,
                   std::min(missing, kFew));
  }
  return {index.answers[code] + kAnswers * number, kAnswers};
}

// A code without the cards of another, or without some of each rank, as far as it has them.
int32_t less(const Rules& rules, int32_t code, int32_t other, int32_t each) {
  int32_t left = 0;
  for (int32_t power = 1; code > 0; power *= rules.base, code /= rules.base, other /= rules.base) {
    left += power * std::max(code % rules.base - other % rules.base - each, 0);
  }
  return left;
}

int32_t turn_ranks(const Rules& rules, int32_t code) {
  return code / rules.base + code % rules.base * rules.last;
}

Game lay(const Rules& rules, Game game, int32_t cards, int32_t claim) {
  const int own = game.discarder;
  game.laid = cards;
  game.claim = claim;
  game.hand[own] -= cards;
  game.size[own] -= claim;
  game.pile += cards;
  if (rules.players == 2) {
    game.mine[own] += cards;
    game.before = game.certain[1 - own];
    game.certain[1 - own] = less(rules, game.before, 0, claim);
  }
  game.answers = true;
  game.mover = rules.after(own);
  return game;
}

Game step(const Rules& rules, const Index& index, Game game, int move) {
  const int own = game.discarder;
  if (!game.answers) {
    const int32_t discard = index.turned[index.at[game.hand[own]] + move];
    return lay(rules, game, index.cards[discard], index.claims[discard]);
  }
  if (move == kChallenge) {
    const int taker = game.laid < rules.base ? game.mover : own;  // true if all cards are of the first rank
    game.hand[taker] += game.pile;
    game.size[taker] = rules.cards;
    for (int player = 0; player < rules.players; ++player) game.size[taker] -= player == taker ? 0 : game.size[player];
    if (rules.players == 2) {
      game.certain[1 - own] = less(rules, game.before, game.laid, 0);
      game.certain[1 - taker] += game.mine[1 - taker] + (taker == own ? game.laid : 0);
      game.mine = {0, 0};
    }
    game.pile = 0;
  } else if ((game.mover = rules.after(game.mover)) != own) {
    return game;
  }
  game.answers = false;
  if (game.size[own] == 0) game.winner = own;
  game.over = game.winner == own || ++game.turn == rules.turns;
  const auto turn_all = [&](auto& codes) {
    for (int32_t& code : codes) code = turn_ranks(rules, code);
  };
  turn_all(game.hand);
  turn_all(game.certain);
  turn_all(game.mine);
  game.pile = turn_ranks(rules, game.pile);
  game.discarder = game.mover = rules.after(own);
  return game;
}

// SplitMix64 (Steele et al. 2014).
struct Random {
  uint64_t state;
  uint64_t bits() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double uniform() { return double(bits() >> 11) * 0x1p-53; }
};

// Matching of regrets, or shares in the average; uniform where there is nothing.
template <typename T>
void policy(const T* weights, int32_t count, T* shares) {
  T total = 0;
  for (int32_t a = 0; a < count; ++a) total += shares[a] = std::max(weights[a], T(0));
  for (int32_t a = 0; a < count; ++a) shares[a] = total > 0 ? shares[a] / total : T(1) / count;
}

// Never a move without a share, also where shares are a little less than one in all.
template <typename T>
int sampled_by(const T* shares, int32_t count, Random& random) {
  T rest = T(random.uniform());
  int last = 0;
  for (int32_t a = 0; a < count; ++a) {
    if (shares[a] <= 0) continue;
    last = a;
    if ((rest -= shares[a]) < 0) break;
  }
  return last;
}

// Tables by cell; see `keyed.KeyTables`. The sum of policies is `average` - `compensation` (`cfr.averages`). The
// opponent plays by `fixed`, if that is there.
template <typename T>
struct Tables {
  T *regrets, *compensation, *values, *visits, *skipped;
  const T *average, *fixed;
};

// The results of one traversal for a cell.
template <typename T>
struct Lesson {
  T regret, value, visits, skipped;
};

template <typename T>
struct Options {
  int64_t sampling, pruning, estimate, depth, decisions;  // as in `keyed.Traversals`
  T weight, exploration, decay, most_weight, floor;       // of this iteration; as in its samplers; least regret
};

template <typename T>
struct Traversal {
  // A decision of a play: where its policy begins in the stack; and of the traverser's moves before, 1 / probability
  // of sampling them, and the policy's own probability over that.
  struct Step {
    Key key;
    size_t base;
    int move, player;
    T weight, reach;
  };

  const Rules& rules;
  const Index& index;
  const Options<T>& options;
  Tables<T> tables;
  Lesson<T>* lessons;
  std::vector<T> stack;      // policies and values of the decisions that a traversal is in
  std::vector<Key> visited;  // the traverser's keys; one may come twice
  std::vector<Step> path;    // of a play
  Random random{0};
  int traverser = 0;
  int64_t nodes = 0, skips = 0, end = 0;  // end: of nodes, of a traversal that is given up

  T utility(const Game& game, int player) const {
    return game.winner < 0 ? T(0) : game.winner == player ? kBest : T(-kBest) / (rules.players - 1);
  }

  int sample(const T* shares, int32_t count) { return sampled_by(shares, count, random); }

  // The shares in the average.
  void averaged(const Key& key, T* shares) const {
    for (int32_t a = 0; a < key.count; ++a) {
      shares[a] = tables.average[key.first + a] - tables.compensation[key.first + a];
    }
    policy(shares, key.count, shares);
  }

  // A move by the current policy. What `counts` is the opponent's: its policy goes into the average, for skipped
  // visits too (`debt`), and if there were any the move is by the average.
  int sampled(const Key& key, bool counts, T debt) {
    const size_t base = stack.size();
    stack.resize(base + key.count);
    policy(tables.regrets + key.first, key.count, &stack[base]);
    if (counts) {
      T* const compensation = tables.compensation + key.first;
      for (int32_t a = 0; a < key.count; ++a) compensation[a] -= (options.weight + debt) * stack[base + a];
      if (debt > 0) averaged(key, &stack[base]);
    }
    const int move = sample(&stack[base], key.count);
    stack.resize(base);
    return move;
  }

  // The value of a state to the traverser, whose next `left` decisions are all learned from; the rest is played.
  T traverse(Game game, T debt, int64_t left) {
    while (!game.over) {
      if (++nodes > end) return 0;
      const Key key = key_of(rules, index, game);
      if (game.mover == traverser && left > 0) return decide(game, key, debt, left - 1);
      game = step(rules, index, game, sampled(key, left > 0, debt));
    }
    return utility(game, traverser);
  }

  // Values the moves of a decision, and notes the lessons for their regrets.
  T decide(const Game& game, const Key& key, T debt, int64_t left) {
    const size_t base = stack.size();
    stack.resize(base + 2 * key.count);
    policy(tables.regrets + key.first, key.count, &stack[base]);
    T mean = 0;
    for (int32_t a = 0; a < key.count; ++a) {
      if (may_skip(key.first + a, stack[base + a])) {
        stack[base + key.count + a] = kSkipped;
        continue;
      }
      const T skipped = options.pruning == kBestResponse ? tables.skipped[key.first + a] : T(0);
      const T value = traverse(step(rules, index, game, a), std::max(debt, skipped), left);
      stack[base + key.count + a] = value;
      mean += stack[base + a] * value;
    }
    visited.push_back(key);
    for (int32_t a = 0; a < key.count; ++a) {
      Lesson<T>& lesson = lessons[key.first + a];
      if (stack[base + key.count + a] == kSkipped) {
        ++skips;
        lesson.regret += kBest - mean;
        lesson.skipped += 1;
      } else {
        lesson.regret += stack[base + key.count + a] - mean;
        lesson.value += stack[base + key.count + a];
        lesson.visits += 1;
      }
    }
    stack.resize(base);
    if (int64_t(visited.size()) >= options.decisions) learn();
    return mean;
  }

  // Not played, and worse so far than the mean even if this visit would bring it the most and the mean the least.
  bool may_skip(int32_t cell, T share) const {
    if (options.pruning == kNone || share > 0) return false;
    return tables.regrets[cell] + options.weight * (lessons[cell].regret + 2 * kBest) <= 0;
  }

  // One play in which the traverser explores; on the way back values and regrets are learned at once, as in
  // `keyed.plays`. The average is of the others' policies, of the traverser's if the opponent is
  // fixed.
  T play(Game game) {
    T weight = 1, reach = 1;
    path.clear();
    stack.clear();
    while (!game.over) {
      ++nodes;
      const Key key = key_of(rules, index, game);
      const int player = game.mover;
      const bool own = player == traverser;
      const size_t base = stack.size();
      stack.resize(base + key.count);
      const bool fixed = !own && tables.fixed;
      policy((fixed ? tables.fixed : tables.regrets) + key.first, key.count, &stack[base]);
      const bool explores = own && random.uniform() < options.exploration;
      const int move = explores ? int(random.uniform() * key.count) : sample(&stack[base], key.count);
      if (!fixed) path.push_back({key, base, move, player, std::min(weight, options.most_weight), reach});
      if (own) {
        const T chosen = chosen_with(stack[base + move], key.count);
        weight /= chosen;
        reach *= stack[base + move] / chosen;
      }
      game = step(rules, index, game, move);
    }
    std::array<T, kMostPlayers> after;
    for (int player = 0; player < rules.players; ++player) after[player] = utility(game, player);
    const T end = after[traverser];
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
      const auto& [key, base, move, player, weight, reach] = *step;
      const bool own = player == traverser;
      T *const values = tables.values + key.first, *const regrets = tables.regrets + key.first;
      const T* shares = &stack[base];
      const T surprise = after[player] - values[move];
      const T learned = values[move] + options.decay * surprise;
      // For regrets the value moves as far as it is learned, or so far that the estimate is unbiased.
      const bool corrected = options.estimate == kCorrected;
      values[move] += corrected ? surprise / (own ? chosen_with(shares[move], key.count) : shares[move])
                                : options.decay * surprise;
      T mean = 0;
      for (int32_t a = 0; a < key.count && (own || corrected); ++a) mean += shares[a] * values[a];
      const T counts = !own ? weight : tables.fixed ? reach : T(0);
      for (int32_t a = 0; a < key.count; ++a) {
        if (own) regrets[a] = std::max(regrets[a] + weight * (values[a] - mean), options.floor);
        if (counts > 0) tables.compensation[key.first + a] -= options.weight * counts * shares[a];
      }
      values[move] = learned;
      if (corrected) {  // for two players
        after[player] = mean;
        after[1 - player] = -mean;
      }
    }
    return end;
  }

  // The probability with which the traverser samples a move that its policy plays with probability `share`.
  T chosen_with(T share, int32_t count) const {
    return options.exploration / count + (1 - options.exploration) * share;
  }

  // Brings the tables up to date with the lessons, and forgets these.
  void learn() {
    for (const Key& key : visited) {
      for (int32_t cell = key.first; cell < key.first + key.count; ++cell) {
        Lesson<T>& lesson = lessons[cell];
        if (lesson.visits + lesson.skipped == 0) continue;
        T& regret = tables.regrets[cell];
        T& skipped = tables.skipped[cell];
        regret += options.weight * lesson.regret;
        skipped += options.weight * lesson.skipped;
        if (lesson.visits > 0) {
          const T visits = tables.visits[cell] += lesson.visits;
          const T share = std::max(lesson.visits / visits, T(1) - std::pow(T(1) - options.decay, lesson.visits));
          tables.values[cell] += share * (lesson.value / lesson.visits - tables.values[cell]);
          if (options.pruning == kBestResponse) regret -= skipped * (kBest - tables.values[cell]);
          skipped = 0;
        }
        lesson = {};
      }
    }
    visited.clear();
  }
};

template <ffi::DataType type>
ffi::Error traversals(ffi::Buffer<type> regrets, ffi::Buffer<type> compensation, ffi::Buffer<type> values,
                      ffi::Buffer<type> visits, ffi::Buffer<type> skipped, ffi::Buffer<type> average,
                      ffi::Buffer<type> fixed,
                      ffi::Buffer<ffi::S32> discards, ffi::Buffer<ffi::S32> count, ffi::Buffer<ffi::S32> at,
                      ffi::Buffer<ffi::S32> turned, ffi::Buffer<ffi::S32> answers, ffi::Buffer<ffi::S32> pairs,
                      ffi::Buffer<ffi::S32> cards,
                      ffi::Buffer<ffi::S32> claims, ffi::Buffer<ffi::S32> hands, ffi::Buffer<ffi::S32> first,
                      ffi::Buffer<ffi::S32> traverser, ffi::Buffer<ffi::U32> seed, ffi::Buffer<type> weight,
                      ffi::Buffer<type> decay,
                      ffi::ResultBuffer<type> new_regrets, ffi::ResultBuffer<type> new_excess,
                      ffi::ResultBuffer<type> new_values, ffi::ResultBuffer<type> new_visits,
                      ffi::ResultBuffer<type> new_skipped, ffi::ResultBuffer<type> value,
                      ffi::ResultBuffer<ffi::S32> counts, int64_t suits, int64_t turns, int64_t memory, int64_t sampling,
                      int64_t pruning, int64_t estimate, int64_t depth, int64_t decisions, int64_t most_nodes,
                      double exploration, double most_weight, double floor) {
  using T = ffi::NativeType<type>;
  const int64_t players = hands.dimensions()[0], ranks = hands.dimensions()[1], batch = hands.dimensions()[2], size = regrets.element_count();
  if (players > kMostPlayers) return ffi::Error::InvalidArgument("too many players");
  Rules rules = rules_of(ranks, suits, turns, players);
  std::vector<int32_t> powers(ranks, 1);
  for (int64_t r = 1; r < ranks; ++r) powers[r] = powers[r - 1] * rules.base;
  const Index index{discards.typed_data(), count.typed_data(),   at.typed_data(),
                    turned.typed_data(),   answers.typed_data(), pairs.typed_data(),
                    cards.typed_data(),    claims.typed_data(),  pairs.dimensions()[1],
                    memory != 0};
  const std::array from{&regrets, &compensation, &values, &visits, &skipped};
  const std::array to{&new_regrets, &new_excess, &new_values, &new_visits, &new_skipped};
  for (size_t k = 0; k < from.size(); ++k) {
    const T* data = from[k]->typed_data();
    if (data != (**to[k]).typed_data()) std::copy_n(data, from[k]->element_count(), (**to[k]).typed_data());
  }
  const std::unique_ptr<void, decltype(&std::free)> lessons(std::calloc(size, sizeof(Lesson<T>)), &std::free);
  if (!lessons) return ffi::Error::Internal("no memory for the lessons of a traversal");
  const Options<T> options{sampling,  pruning, estimate, depth, decisions, weight.typed_data()[0],
                           T(exploration), decay.typed_data()[0], T(most_weight), T(floor)};
  const Tables<T> tables{new_regrets->typed_data(), new_excess->typed_data(), new_values->typed_data(),
                         new_visits->typed_data(), new_skipped->typed_data(), average.typed_data(),
                         fixed.element_count() > 0 ? fixed.typed_data() : nullptr};
  Traversal<T> traversal{rules, index, options, tables, static_cast<Lesson<T>*>(lessons.get())};
  traversal.traverser = traverser.typed_data()[0];
  const uint64_t bits = uint64_t(seed.typed_data()[0]) << 32 | seed.typed_data()[1];
  for (int64_t b = 0; b < batch; ++b) {
    Game game{};
    for (int64_t r = 0; r < ranks; ++r) {
      for (int64_t player = 0; player < players; ++player) {
        const int32_t held = hands.typed_data()[(player * ranks + r) * batch + b];
        game.hand[player] += held * powers[r];
        game.size[player] += held;
      }
    }
    rules.cards = 0;
    for (int64_t player = 0; player < players; ++player) rules.cards += game.size[player];
    game.discarder = game.mover = first.typed_data()[b];
    traversal.random.state = Random{bits + uint64_t(b)}.bits();
    traversal.end = traversal.nodes + most_nodes;
    value->typed_data()[b] = sampling == kExternal ? traversal.traverse(game, T(0), depth) : traversal.play(game);
    if (traversal.nodes > traversal.end) break;
    traversal.learn();
  }
  int32_t* numbers = counts->typed_data();
  constexpr int64_t kMillion = 1'000'000;
  for (const int64_t found : {traversal.nodes, traversal.skips}) {
    *numbers++ = int32_t(found / kMillion);
    *numbers++ = int32_t(found % kMillion);
  }
  *numbers = traversal.nodes > traversal.end;
  return ffi::Error::Success();
}

template <ffi::DataType type>
auto bind() {
  using Numbers = ffi::Buffer<type>;
  using Integers = ffi::Buffer<ffi::S32>;
  return ffi::Ffi::Bind()
      .template Arg<Numbers>().template Arg<Numbers>().template Arg<Numbers>().template Arg<Numbers>()
      .template Arg<Numbers>().template Arg<Numbers>().template Arg<Numbers>()
      .template Arg<Integers>().template Arg<Integers>().template Arg<Integers>().template Arg<Integers>()
      .template Arg<Integers>().template Arg<Integers>().template Arg<Integers>().template Arg<Integers>()
      .template Arg<Integers>().template Arg<Integers>().template Arg<Integers>()
      .template Arg<ffi::Buffer<ffi::U32>>().template Arg<Numbers>().template Arg<Numbers>()
      .template Ret<Numbers>().template Ret<Numbers>().template Ret<Numbers>().template Ret<Numbers>()
      .template Ret<Numbers>().template Ret<Numbers>().template Ret<Integers>()
      .template Attr<int64_t>("suits").template Attr<int64_t>("turns")
      .template Attr<int64_t>("memory").template Attr<int64_t>("sampling")
      .template Attr<int64_t>("pruning").template Attr<int64_t>("estimate")
      .template Attr<int64_t>("depth").template Attr<int64_t>("decisions")
      .template Attr<int64_t>("most_nodes").template Attr<double>("exploration")
      .template Attr<double>("most_weight").template Attr<double>("floor");
}

}  // namespace

// One play of two by the strategy of `table` from each of `count` states; `native_traversals.rollouts` has the arguments.
extern "C" const char* CheatRollouts(const int32_t* const* tables, const int64_t* numbers, const float* table,
                                     const int64_t* hidden, const int64_t* given, int64_t count, double* returns) {
  return in_words([&] {
    enum { kRanks, kSuits, kTurns, kClaims, kMemory, kPlayer, kDiscarder, kTurn, kAnswering, kOwn, kTheirs, kCertain,
           kBefore, kLaid, kSeed };
    Rules rules = rules_of(numbers[kRanks], numbers[kSuits], numbers[kTurns], 2);
    const Index index{tables[0], tables[1], tables[2], tables[3], tables[4], tables[5], tables[6], tables[7],
                      numbers[kClaims], numbers[kMemory] != 0};
    const auto size_of = [&](int32_t code) {
      int32_t size = 0;
      for (; code > 0; code /= rules.base) size += code % rules.base;
      return size;
    };
    const int player = int(numbers[kPlayer]);
    Random random{uint64_t(numbers[kSeed])};
    const int32_t* end = index.count + int64_t(rules.last) * rules.base;
    std::vector<float> shares(*std::max_element(index.count, end) + kAnswers);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t* state = hidden + 3 * n;  // the other hand, the pile, the claimed cards
      Game game{};
      game.hand[player] = int32_t(numbers[kOwn]);
      game.hand[1 - player] = int32_t(state[0]);
      for (int seat : {0, 1}) game.size[seat] = size_of(game.hand[seat]);
      game.pile = int32_t(state[1]);
      game.laid = int32_t(state[2]);
      game.claim = size_of(game.laid);
      rules.cards = game.size[0] + game.size[1] + size_of(game.pile);
      game.certain[player] = int32_t(numbers[kTheirs]);
      game.certain[1 - player] = int32_t(numbers[kCertain]);
      game.before = int32_t(numbers[kBefore]);
      game.mine[player] = int32_t(numbers[kLaid]);
      game.mine[1 - player] = game.pile - game.mine[player];
      game.turn = int32_t(numbers[kTurn]);
      game.discarder = int(numbers[kDiscarder]);
      game.answers = numbers[kAnswering] != 0;
      game.mover = game.answers ? rules.after(game.discarder) : game.discarder;
      game = game.answers ? step(rules, index, game, int(given[n]))
                          : lay(rules, game, int32_t(given[n]), size_of(int32_t(given[n])));
      while (!game.over) {
        const Key key = key_of(rules, index, game);
        policy(table + key.first, key.count, shares.data());
        game = step(rules, index, game, sampled_by(shares.data(), key.count, random));
      }
      returns[n] = game.winner < 0 ? 0 : game.winner == player ? kBest : -kBest;
    }
  });
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(CheatTraversals32, Guarded<traversals<ffi::F32>>::call, bind<ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(CheatTraversals64, Guarded<traversals<ffi::F64>>::call, bind<ffi::F64>());

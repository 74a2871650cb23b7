// The walk of walker.py in C++, for games that OpenSpiel loads by their string: same columns, same laws.
//
// A broken law or an error of the game ends the walk; the caller repeats that history in Python, which has the
// words for it. native_walker.py compiles this file against the headers in OpenSpiel's wheel, and calls it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "open_spiel/spiel.h"

namespace {

using open_spiel::Action;

constexpr double CHANCE_TOLERANCE = 1e-6, RETURNS_TOLERANCE = 1e-9;  // those of game_laws.py
enum Status { DONE = 0, MORE = 1, FAULT = 2 };

// A column that grows in place by an eighth, where a vector would copy itself to twice the room.
template <typename T>
struct Column {
  T* data = nullptr;
  size_t size = 0, room = 0;
  Column() = default;
  Column(const Column&) = delete;
  ~Column() { std::free(data); }
  void push(T value) {
    if (size == room) {
      room += room / 8 + 1024;
      T* more = static_cast<T*>(std::realloc(data, room * sizeof(T)));
      if (!more) throw std::bad_alloc();
      data = more;
    }
    data[size++] = value;
  }
  void hand_over(T* to) {
    std::copy(data, data + size, to);
    std::free(data);
    data = nullptr;
  }
};

struct Hash {
  size_t operator()(const std::vector<Action>& actions) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(actions.data()), actions.size() * sizeof(Action)});
  }
};

struct Names {
  std::unordered_map<std::string, int32_t> numbers;
  std::vector<const std::string*> order;
  int32_t number(std::string&& text, int64_t& bytes) {
    auto [at, is_new] = numbers.try_emplace(std::move(text), static_cast<int32_t>(order.size()));
    if (is_new) {
      order.push_back(&at->first);
      bytes += at->first.size();
    }
    return at->second;
  }
};

// A history on the path with children to visit.
struct Waiting {
  std::unique_ptr<open_spiel::State> state;
  int32_t here, depth;
  double chance;
  std::vector<Action> actions;
  std::vector<double> odds;
  size_t next;
};

struct Fault {};

struct Walker {
  std::shared_ptr<const open_spiel::Game> game;
  int32_t players;
  bool infostates, sums_to_zero, zero_sum, pruned = false;
  enum { PARENT, ACTION, RANK, DEPTH, PLAYER, LEGAL, KNOWLEDGE };  // then those of further players
  std::vector<Column<int32_t>> integers;
  std::vector<Column<double>> numbers;  // chance, utilities
  std::vector<Names> names;
  std::unordered_map<std::vector<Action>, int32_t, Hash> sets;
  std::vector<const std::vector<Action>*> legal;
  std::vector<Waiting> waiting;
  int64_t name_bytes = 0;
  // The next history.
  std::unique_ptr<open_spiel::State> state;
  int32_t above = -1, move, rank, depth;
  double chance;

  Walker(const char* name, int infostates, int sums_to_zero)
      : game(open_spiel::LoadGame(std::string(name))),
        players(game->NumPlayers()),
        infostates(infostates),
        sums_to_zero(sums_to_zero),
        zero_sum(sums_to_zero && players == 2),
        integers(KNOWLEDGE + players),
        numbers(zero_sum ? 2 : 1 + players),
        names(players) {}

  // The children of the state, in `actions`, and their probabilities at a chance node.
  int32_t visit(std::vector<Action>& actions, std::vector<double>& odds) {
    const open_spiel::Player acting = state->CurrentPlayer();
    for (int32_t i = 0; i < players; i++) {
      std::string known = infostates ? state->InformationStateString(i) : state->ObservationString(i);
      integers[KNOWLEDGE + i].push(names[i].number(std::move(known), name_bytes));
    }
    std::vector<double> returns;
    if (acting == open_spiel::kTerminalPlayerId) {
      returns = state->Returns();
      double total = 0;
      for (double value : returns) total += value;
      if (static_cast<int32_t>(returns.size()) != players || !std::isfinite(total) ||
          (sums_to_zero && std::abs(total) > RETURNS_TOLERANCE * std::max(1.0, std::abs(returns[0]))))
        throw Fault();
    } else if (acting == open_spiel::kChancePlayerId) {
      open_spiel::ActionsAndProbs outcomes = state->ChanceOutcomes();
      std::sort(outcomes.begin(), outcomes.end());
      double total = 0;
      for (size_t k = 0; k < outcomes.size(); k++) {
        const auto [action, probability] = outcomes[k];
        if (!(probability >= 0) || (k && outcomes[k - 1].first == action)) throw Fault();
        total += probability;
        if (probability > 0) {
          actions.push_back(action);
          odds.push_back(probability);
        }
      }
      if (!(std::abs(total - 1) <= CHANCE_TOLERANCE)) throw Fault();
      pruned |= actions.size() < outcomes.size();
    } else if (acting >= 0 && acting < players) {
      actions = state->LegalActions();
      if (actions.empty()) throw Fault();
      for (size_t k = 1; k < actions.size(); k++)
        if (actions[k - 1] >= actions[k]) throw Fault();
    } else {
      throw Fault();
    }
    auto [set, is_new] = sets.try_emplace(actions, static_cast<int32_t>(legal.size()));
    if (is_new) legal.push_back(&set->first);
    for (size_t i = 0; i + 1 < numbers.size(); i++) numbers[1 + i].push(returns.empty() ? 0.0 : returns[i]);
    numbers[0].push(chance);
    const int32_t row[] = {above, move, rank, depth, acting, set->second};
    for (int k = 0; k < KNOWLEDGE; k++) integers[k].push(row[k]);
    return static_cast<int32_t>(integers[PARENT].size - 1);
  }

  // Visits histories until there are `stop` of them.
  Status more(int64_t stop) {
    while (static_cast<int64_t>(integers[PARENT].size) < stop) {
      std::vector<Action> actions;
      std::vector<double> odds;
      const int32_t here = visit(actions, odds);
      if (!actions.empty())
        waiting.push_back({std::move(state), here, depth + 1, chance, std::move(actions), std::move(odds), 0});
      else if (waiting.empty())
        return DONE;
      Waiting& last = waiting.back();
      const size_t k = last.next++;
      above = last.here, depth = last.depth, move = static_cast<int32_t>(last.actions[k]);
      rank = static_cast<int32_t>(k);
      chance = last.odds.empty() ? last.chance : last.chance * last.odds[k];
      if (last.next < last.actions.size()) {
        state = last.state->Child(move);
      } else {  // the last child takes its parent's state
        state = std::move(last.state);
        waiting.pop_back();
        state->ApplyAction(move);
      }
    }
    return MORE;
  }
};

}  // namespace

extern "C" {

// A walk of the histories that begin with `path`; the last four numbers are those of its first history.
void* walk_begin(const char* game, int infostates, int sums_to_zero, const int64_t* path, int64_t length,
                 int32_t move, int32_t rank, double chance) {
  try {
    auto walker = std::make_unique<Walker>(game, infostates, sums_to_zero);
    walker->state = walker->game->NewInitialState();
    for (int64_t k = 0; k < length; k++) walker->state->ApplyAction(path[k]);
    walker->move = move, walker->rank = rank, walker->chance = chance;
    walker->depth = static_cast<int32_t>(length);
    return walker.release();
  } catch (...) {
    return nullptr;
  }
}

int walk_more(Walker* walker, int64_t stop) {
  try {
    return walker->more(stop);
  } catch (...) {
    return FAULT;
  }
}

void walk_end(Walker* walker) { delete walker; }

// Sizes and the next history: histories, bytes of names, their number, sets of actions, parent, action, pruned.
void walk_sizes(const Walker* walker, int64_t* sizes) {
  int64_t named = 0;
  for (const Names& names : walker->names) named += names.order.size();
  *sizes++ = walker->integers[0].size;
  *sizes++ = walker->name_bytes;
  *sizes++ = named;
  *sizes++ = walker->legal.size();
  *sizes++ = walker->above;
  *sizes++ = walker->move;
  *sizes++ = walker->pruned;
}

// The share of the histories that were visited, as in walker.py.
double walk_share(const Walker* walker) {
  const auto& columns = walker->integers;
  double share = 0;
  int32_t here = static_cast<int32_t>(columns[0].size) - 1;
  while (here >= 0 && columns[Walker::PARENT].data[here] >= 0) {
    const int32_t parent = columns[Walker::PARENT].data[here];
    share = (columns[Walker::RANK].data[here] + share) /
            walker->legal[columns[Walker::LEGAL].data[parent]]->size();
    here = parent;
  }
  return share;
}

// Copies a column to the caller and frees it.
void walk_integers(Walker* walker, int column, int32_t* to) { walker->integers[column].hand_over(to); }
void walk_numbers(Walker* walker, int column, double* to) { walker->numbers[column].hand_over(to); }

// The number of a player's names, their lengths if asked for, and their text, one after the other.
int64_t walk_lengths(const Walker* walker, int player, int64_t* lengths) {
  const auto& order = walker->names[player].order;
  for (size_t k = 0; lengths && k < order.size(); k++) lengths[k] = order[k]->size();
  return order.size();
}
void walk_names(Walker* walker, int player, char* to) {
  for (const std::string* name : walker->names[player].order) to = std::copy(name->begin(), name->end(), to);
  walker->names[player] = Names();
}

// The size of a set of legal actions, and the actions themselves.
int64_t walk_legal(const Walker* walker, int64_t number, const int64_t** actions) {
  *actions = walker->legal[number]->data();
  return static_cast<int64_t>(walker->legal[number]->size());
}
}

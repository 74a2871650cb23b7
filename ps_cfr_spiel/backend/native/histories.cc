// enumeration.py in C++, for games that OpenSpiel loads by their string: same columns, same checks.
//
// An enumeration is a *crown*, and below each history of some length that is not over a *piece*, so that several
// threads share it; without that length the crown is all. Every thread has a game of its own. Strings are numbered on the
// way by a hash of 96 bits (two of 10^8 strings agree with a probability of 10^-13), and their text is kept for
// infostates in which the player acts, and for others while there is room. Numbers are those of one thread: joined
// columns are numbered again in the order of the histories.
//
// A failed check or an error of the game ends the enumeration; the caller repeats that history in Python, which has the
// words for it. native_enumeration.py compiles this file against the headers in OpenSpiel's wheel, and calls it.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "open_spiel/spiel.h"

namespace {

using open_spiel::Action;

constexpr double CHANCE_TOLERANCE = 1e-6, RETURNS_TOLERANCE = 1e-9;  // those of game_checks.py
constexpr int64_t ROOM_FOR_TEXT = 1 << 28;  // bytes for the strings of infostates in which no one acts
constexpr int32_t ENDLESS = 1 << 30;        // longer than any history
enum Status { DONE = 0, MORE = 1, FAULT = 2, NO_MEMORY = 3 };

// Integers of `width` bytes. It grows in place by an eighth, where a vector would copy itself to twice the room.
struct Column {
  int width;
  char* data = nullptr;
  size_t size = 0, room = 0;
  explicit Column(int width) : width(width) {}
  Column(Column&& other) noexcept : width(other.width), data(other.data), size(other.size), room(other.room) {
    other.data = nullptr;
  }
  ~Column() { std::free(data); }
  void reserve(size_t more) {
    if (size + more <= room) return;
    room = std::max(room + room / 8 + 256, size + more);
    char* grown = static_cast<char*>(std::realloc(data, room * width));
    if (!grown) throw std::bad_alloc();
    data = grown;
  }
  template <typename T>
  void put(T value) {
    std::memcpy(data + size++ * sizeof(T), &value, sizeof(T));
  }
  void push(int64_t value) {
    reserve(1);
    if (width == 1) put(static_cast<int8_t>(value));
    else if (width == 2) put(static_cast<int16_t>(value));
    else put(static_cast<int32_t>(value));
  }
  int64_t operator[](size_t k) const {
    if (width == 1) return reinterpret_cast<const int8_t*>(data)[k];
    if (width == 2) return reinterpret_cast<const int16_t*>(data)[k];
    return reinterpret_cast<const int32_t*>(data)[k];
  }
  void free() {
    std::free(data);
    data = nullptr;
  }
};

// Doubles: one number while all are equal, and single precision while that is exact, if asked for.
struct Numbers {
  bool narrow, varied = false;
  double first = 0;
  size_t size = 0;
  Column column;
  explicit Numbers(bool narrow) : narrow(narrow), column(narrow ? 4 : 8) {}
  void push(double value) {
    if (!size) first = value;
    if (!varied && value != first) {
      varied = true;
      for (size_t k = 0; k < size; k++) store(first);
    }
    if (varied) store(value);
    size++;
  }
  void store(double value) {
    if (column.width == 4 && static_cast<double>(static_cast<float>(value)) != value) {
      Column wide(8);
      wide.reserve(column.size + 1);
      for (size_t k = 0; k < column.size; k++) wide.put(static_cast<double>(single()[k]));
      std::swap(wide.data, column.data), std::swap(wide.room, column.room);
      column.width = 8;
    }
    column.reserve(1);
    if (column.width == 4) column.put(static_cast<float>(value));
    else column.put(value);
  }
  const float* single() const { return reinterpret_cast<const float*>(column.data); }
  int width() const { return !varied ? 0 : column.width; }
  double operator[](size_t k) const {
    if (!varied) return first;
    return column.width == 4 ? single()[k] : reinterpret_cast<const double*>(column.data)[k];
  }
};

uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Numbers of strings, for all threads.
struct Names {
  struct Entry {
    uint64_t hash = 0;
    uint32_t more = 0;
    int32_t number = -1;  // -1: free; of strings whose text is kept, -2 - number
  };
  struct Stripe {
    std::mutex lock;
    std::vector<Entry> table = std::vector<Entry>(64);
    size_t size = 0;
    std::string text;
    std::vector<int32_t> kept;   // the numbers of the texts
    std::vector<size_t> ends;
  };
  static constexpr int STRIPES = 64;
  std::vector<Stripe> stripes = std::vector<Stripe>(STRIPES);
  std::atomic<int32_t> count{0};
  std::atomic<int64_t> bytes{0};

  int32_t number(const std::string& text, bool acts) {
    uint64_t a = text.size(), b = ~a;
    for (size_t k = 0; k < text.size(); k += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + k, std::min<size_t>(8, text.size() - k));
      a = mix(a ^ word, 0x9e3779b97f4a7c15), b = mix(b + word, 0xd6e8feb86659fd93);
    }
    a = mix(a, 0xa0761d6478bd642f), b = mix(b, 0xe7037ed1a0b428db);
    Stripe& own = stripes[a % STRIPES];
    const uint32_t more = static_cast<uint32_t>(b);
    std::lock_guard<std::mutex> guard(own.lock);
    if (4 * own.size >= 3 * own.table.size()) grow(own);
    Entry& entry = find(own.table, a, more);
    if (entry.number == -1) {
      entry = {a, more, count++};
      own.size++;
      bytes += 2 * sizeof(Entry);
    }
    if (entry.number >= 0 && (acts || bytes < ROOM_FOR_TEXT)) {
      own.text += text;
      own.kept.push_back(entry.number);
      own.ends.push_back(own.text.size());
      bytes += text.size() + 16;
      entry.number = -2 - entry.number;
    }
    return entry.number >= 0 ? entry.number : -2 - entry.number;
  }
  static Entry& find(std::vector<Entry>& table, uint64_t hash, uint32_t more) {
    size_t place = (hash / STRIPES) % table.size();
    while (table[place].number != -1 && (table[place].hash != hash || table[place].more != more))
      place = place + 1 < table.size() ? place + 1 : 0;
    return table[place];
  }
  static void grow(Stripe& own) {
    std::vector<Entry> larger(own.table.size() + own.table.size() / 2);
    for (const Entry& entry : own.table)
      if (entry.number != -1) find(larger, entry.hash, entry.more) = entry;
    own.table.swap(larger);
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

// The first history of a piece, and its share of the game if all children of a state are equally large.
struct Start {
  std::vector<Action> path;
  int32_t rank;
  double chance, share;
  int32_t above;  // a history of the crown
  size_t before;  // histories of the crown that come before the piece
};

struct Enumeration;

// The histories that begin with a start, and the enumeration through them.
struct Piece {
  enum { PARENT, ACTION, RANK, DEPTH, PLAYER, LEGAL, KNOWLEDGE };  // then those of further players
  Start start;
  std::vector<Column> integers;
  std::vector<Numbers> numbers;  // chance, utilities
  std::map<std::vector<Action>, int32_t> sets;
  std::vector<const std::vector<Action>*> legal;
  std::vector<Waiting> waiting;
  bool pruned = false;
  std::atomic<double> share{0};
  // The next history.
  std::unique_ptr<open_spiel::State> state;
  int32_t above = -1, move, rank, depth;
  double chance;

  Piece(const Enumeration& enumeration, Start&& from);
  int32_t visit(Enumeration& enumeration, std::vector<Action>& actions, std::vector<double>& odds);
  Status more(Enumeration& enumeration, int64_t stop);
  size_t size() const { return integers[PARENT].size; }

  // The share of its histories that were visited, as in enumeration.py.
  double visited() const {
    double share = 0;
    int32_t here = static_cast<int32_t>(size()) - 1;
    while (here >= 0 && integers[PARENT][here] >= 0) {
      const int32_t parent = static_cast<int32_t>(integers[PARENT][here]);
      share = (integers[RANK][here] + share) / legal[integers[LEGAL][parent]]->size();
      here = parent;
    }
    return share;
  }

  // The actions that lead to the next history.
  std::vector<Action> path() const {
    std::vector<Action> actions;
    if (above >= 0) actions.push_back(move);
    for (int32_t here = above; here > 0; here = static_cast<int32_t>(integers[PARENT][here]))
      actions.push_back(integers[ACTION][here]);
    actions.insert(actions.end(), start.path.rbegin(), start.path.rend());
    std::reverse(actions.begin(), actions.end());
    return actions;
  }
};

struct Enumeration {
  std::string name;
  std::vector<std::shared_ptr<const open_spiel::Game>> games;  // one for each thread
  int32_t players, split = ENDLESS;
  bool infostates, sums_to_zero, zero_sum;
  std::vector<Names> names;
  std::unique_ptr<Piece> crown;
  std::vector<std::unique_ptr<Piece>> pieces;
  std::atomic<int64_t> count{0};
  std::vector<std::vector<Action>> sets;        // joined
  std::vector<std::vector<int32_t>> renumbered;  // of each player's names, as joined

  Enumeration(const char* name, int infostates, int sums_to_zero, int threads)
      : name(name), infostates(infostates), sums_to_zero(sums_to_zero) {
    for (int k = 0; k < threads; k++) games.push_back(open_spiel::LoadGame(this->name));
    players = games[0]->NumPlayers();
    zero_sum = sums_to_zero && players == 2;
    names = std::vector<Names>(players);
    renumbered.resize(players);
  }
  Piece& piece(int64_t k) { return k < 0 ? *crown : *pieces[k]; }

  void begin(Piece& piece, int thread) const {
    piece.state = games[thread]->NewInitialState();
    for (Action action : piece.start.path) piece.state->ApplyAction(action);
  }

  // Calls `take(piece, first, last, place of the first)` for all stretches of histories, in order.
  template <typename Take>
  void in_order(Take take) {
    size_t from = 0, place = 0;
    for (auto& piece : pieces) {
      const size_t to = piece->start.before;
      take(*crown, from, to, place);
      place += to - from, from = to;
      take(*piece, 0, piece->size(), place);
      place += piece->size();
    }
    take(*crown, from, crown->size(), place);
  }
};

Piece::Piece(const Enumeration& enumeration, Start&& from) : start(std::move(from)) {
  const auto& game = *enumeration.games[0];
  const int most = std::max(game.NumDistinctActions(), game.MaxChanceOutcomes());
  const int few = most < 127 ? 1 : most < 32767 ? 2 : 4;
  for (int width : {4, few, few, 2, 1, 4}) integers.emplace_back(width);
  for (int32_t i = 0; i < enumeration.players; i++) integers.emplace_back(4);
  numbers.emplace_back(false);
  for (int32_t i = 0; i < (enumeration.zero_sum ? 1 : enumeration.players); i++) numbers.emplace_back(true);
  move = start.path.empty() ? -1 : static_cast<int32_t>(start.path.back());
  rank = start.rank, chance = start.chance, depth = static_cast<int32_t>(start.path.size());
}

// The children of the state, in `actions`, and their probabilities at a chance node.
int32_t Piece::visit(Enumeration& enumeration, std::vector<Action>& actions, std::vector<double>& odds) {
  const open_spiel::Player acting = state->CurrentPlayer();
  for (int32_t i = 0; i < enumeration.players; i++) {
    const std::string known = enumeration.infostates ? state->InformationStateString(i) : state->ObservationString(i);
    integers[KNOWLEDGE + i].push(enumeration.names[i].number(known, acting == i));
  }
  std::vector<double> returns;
  if (acting == open_spiel::kTerminalPlayerId) {
    returns = state->Returns();
    double total = 0;
    for (double value : returns) total += value;
    if (static_cast<int32_t>(returns.size()) != enumeration.players || !std::isfinite(total) ||
        (enumeration.sums_to_zero && std::abs(total) > RETURNS_TOLERANCE * std::max(1.0, std::abs(returns[0]))))
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
  } else if (acting >= 0 && acting < enumeration.players) {
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
  return static_cast<int32_t>(size() - 1);
}

// Visits histories until there are `stop` of them.
Status Piece::more(Enumeration& enumeration, int64_t stop) {
  const bool is_crown = this == enumeration.crown.get();
  while (static_cast<int64_t>(size()) < stop) {
    std::vector<Action> actions;
    std::vector<double> odds;
    if (is_crown && depth == enumeration.split && !state->IsTerminal()) {
      double part = 1;
      for (const Waiting& last : waiting) part /= last.actions.size();
      Start below{path(), rank, chance, part, above, size()};
      enumeration.pieces.push_back(std::make_unique<Piece>(enumeration, std::move(below)));
    } else {
      const int32_t here = visit(enumeration, actions, odds);
      if (!actions.empty())
        waiting.push_back({std::move(state), here, depth + 1, chance, std::move(actions), std::move(odds), 0});
    }
    while (!waiting.empty() && waiting.back().next == waiting.back().actions.size()) waiting.pop_back();
    if (waiting.empty()) return DONE;
    Waiting& last = waiting.back();
    const size_t k = last.next++;
    above = last.here, depth = last.depth, move = static_cast<int32_t>(last.actions[k]);
    rank = static_cast<int32_t>(k);
    chance = last.odds.empty() ? last.chance : last.chance * last.odds[k];
    if (last.next < last.actions.size()) {
      state = last.state->Child(move);
    } else {  // the last child takes its parent's state
      state = std::move(last.state);
      state->ApplyAction(move);
    }
  }
  return MORE;
}

// The status that work ends with, also where it fails: nothing may be thrown through ctypes.
template <typename Work>
Status guarded(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return NO_MEMORY;
  } catch (...) {
    return FAULT;
  }
}

}  // namespace

// Functions that may fail return a `Status`; the others ask for no memory.
extern "C" {

// An enumeration of all histories. Pieces begin below those of length `split`, if it is not negative.
int enumeration_begin(const char* game, int infostates, int sums_to_zero, int threads, int32_t split,
                      Enumeration** begun) {
  return guarded([&] {
    auto enumeration = std::make_unique<Enumeration>(game, infostates, sums_to_zero, threads);
    if (split >= 0) enumeration->split = split;
    enumeration->crown = std::make_unique<Piece>(*enumeration, Start{{}, 0, 1, 1, -1, 0});
    enumeration->begin(*enumeration->crown, 0);
    *begun = enumeration.release();
    return DONE;
  });
}

// Visits up to `count` further histories of a piece, the crown if it is negative.
int enumeration_more(Enumeration* enumeration, int64_t k, int thread, int64_t count) {
  Piece& piece = enumeration->piece(k);
  const size_t before = piece.size();
  const Status status = guarded([&] {
    Status status = FAULT;
    if (!piece.state && !before) enumeration->begin(piece, thread);
    status = piece.more(*enumeration, before + count);
    piece.share = status == DONE ? 1 : piece.visited();
    return status;
  });
  enumeration->count += piece.size() - before;
  return status;
}

void enumeration_end(Enumeration* enumeration) { delete enumeration; }

int64_t enumeration_count(const Enumeration* enumeration) { return enumeration->count; }
int64_t enumeration_pieces(const Enumeration* enumeration) { return enumeration->pieces.size(); }

// Bytes of the tables of names and of their texts.
int64_t enumeration_bytes(const Enumeration* enumeration) {
  int64_t bytes = 0;
  for (const Names& names : enumeration->names) bytes += names.bytes;
  return bytes;
}

// The share of the histories that were visited; the crown, once it is done, counts as nothing.
double enumeration_share(const Enumeration* enumeration) {
  if (enumeration->pieces.empty()) return enumeration->crown->share;
  double share = 0, all = 0;
  for (const auto& piece : enumeration->pieces) {
    share += piece->start.share * piece->share;
    all += piece->start.share;
  }
  return share / all;
}

// The length of the path to a piece's next history, and the path if asked for.
int enumeration_path(Enumeration* enumeration, int64_t k, int64_t* length, int64_t* to) {
  return guarded([&] {
    const std::vector<Action> path = enumeration->piece(k).path();
    if (to) std::copy(path.begin(), path.end(), to);
    *length = path.size();
    return DONE;
  });
}

int enumeration_pruned(Enumeration* enumeration) {
  bool pruned = enumeration->crown->pruned;
  for (const auto& piece : enumeration->pieces) pruned |= piece->pruned;
  return pruned;
}

// Bytes of an integer of a column, and of a number: 0 if all numbers are the first.
int enumeration_width(const Enumeration* enumeration, int column) { return enumeration->crown->integers[column].width; }
int enumeration_number_width(Enumeration* enumeration, int column, double* first) {
  int width = 0;
  const Piece& piece = enumeration->crown->size() ? *enumeration->crown : *enumeration->pieces[0];
  *first = piece.numbers[column][0];
  enumeration->in_order([&](const Piece& piece, size_t from, size_t to, size_t) {
    const Numbers& own = piece.numbers[column];
    if (from == to) return;
    width = std::max(width, own.varied || own.first == *first ? own.width() : own.narrow ? 4 : 8);
    if (!own.varied && own.narrow && static_cast<double>(static_cast<float>(own.first)) != own.first) width = 8;
  });
  if (width && static_cast<double>(static_cast<float>(*first)) != *first) width = 8;
  return width;
}

static void join_integers(Enumeration* enumeration, int column, void* to) {
  std::vector<int32_t> places;  // of the crown's histories
  if (column == Piece::PARENT) places.resize(enumeration->crown->size());
  std::map<std::vector<Action>, int32_t> sets;
  std::map<const Piece*, std::vector<int32_t>> numbers;  // of the sets of a piece among those of all
  std::vector<int32_t>* renumbered = nullptr;
  int32_t named = 0;
  if (column >= Piece::KNOWLEDGE) {
    const int player = column - Piece::KNOWLEDGE;
    renumbered = &enumeration->renumbered[player];
    renumbered->assign(enumeration->names[player].count, -1);
  }
  int32_t* out = static_cast<int32_t*>(to);
  enumeration->in_order([&](Piece& piece, size_t from, size_t last, size_t place) {
    const Column& own = piece.integers[column];
    const bool is_crown = &piece == enumeration->crown.get();
    if (column == Piece::PARENT) {
      for (size_t k = from; k < last; k++) {
        const int64_t parent = own[k];
        if (is_crown) places[k] = static_cast<int32_t>(place + k - from);
        if (parent >= 0) out[place + k - from] = is_crown ? places[parent] : static_cast<int32_t>(place + parent);
        else out[place + k - from] = is_crown ? -1 : places[piece.start.above];
      }
    } else if (column == Piece::LEGAL) {
      std::vector<int32_t>& known = numbers[&piece];
      known.resize(piece.legal.size(), -1);
      for (size_t k = from; k < last; k++) {
        int32_t& number = known[own[k]];
        if (number < 0) {
          auto [at, is_new] = sets.try_emplace(*piece.legal[own[k]], static_cast<int32_t>(enumeration->sets.size()));
          if (is_new) enumeration->sets.push_back(at->first);
          number = at->second;
        }
        out[place + k - from] = number;
      }
    } else if (renumbered) {
      for (size_t k = from; k < last; k++) {
        int32_t& number = (*renumbered)[own[k]];
        if (number < 0) number = named++;
        out[place + k - from] = number;
      }
    } else if (last > from) {
      std::memcpy(static_cast<char*>(to) + place * own.width, own.data + from * own.width,
                  (last - from) * own.width);
    }
    if (!is_crown) piece.integers[column].free();
  });
  enumeration->crown->integers[column].free();
}

// Copies a column of all pieces to the caller, as the histories come, and frees it.
int enumeration_integers(Enumeration* enumeration, int column, void* to) {
  return guarded([&] {
    join_integers(enumeration, column, to);
    return DONE;
  });
}

void enumeration_numbers(Enumeration* enumeration, int column, int width, void* to) {
  enumeration->in_order([&](Piece& piece, size_t from, size_t last, size_t place) {
    Numbers& own = piece.numbers[column];
    for (size_t k = from; k < last; k++) {
      if (width == 4) static_cast<float*>(to)[place + k - from] = static_cast<float>(own[k]);
      else static_cast<double*>(to)[place + k - from] = own[k];
    }
    if (&piece != enumeration->crown.get()) own.column.free();
  });
  enumeration->crown->numbers[column].column.free();
}

// Of a player's names, once the column is joined: their number, that of those with a text, and the bytes of text.
void enumeration_named(const Enumeration* enumeration, int player, int64_t* sizes) {
  sizes[0] = enumeration->names[player].count, sizes[1] = sizes[2] = 0;
  for (const auto& stripe : enumeration->names[player].stripes) {
    sizes[1] += stripe.kept.size(), sizes[2] += stripe.text.size();
  }
}

// Where the text of each name begins and ends, [names, 2], and all text; it is freed.
void enumeration_names(Enumeration* enumeration, int player, int64_t* places, char* text) {
  int64_t before = 0;
  for (auto& stripe : enumeration->names[player].stripes) {
    std::copy(stripe.text.begin(), stripe.text.end(), text + before);
    for (size_t k = 0; k < stripe.kept.size(); k++) {
      int64_t* place = places + 2 * enumeration->renumbered[player][stripe.kept[k]];
      place[0] = before + (k ? stripe.ends[k - 1] : 0), place[1] = before + stripe.ends[k];
    }
    before += stripe.text.size();
    std::string().swap(stripe.text);
    std::vector<Names::Entry>().swap(stripe.table);
  }
}

// The number of sets of legal actions, the size of one of them, and its actions.
int64_t enumeration_sets(const Enumeration* enumeration) { return enumeration->sets.size(); }
int64_t enumeration_legal(const Enumeration* enumeration, int64_t number, const int64_t** actions) {
  *actions = enumeration->sets[number].data();
  return static_cast<int64_t>(enumeration->sets[number].size());
}
}

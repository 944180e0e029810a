// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanepack::emulator {
namespace {

constexpr int64_t kPage = 65536;  // at least the machine's
constexpr int64_t kStackStride = Block::kStackBytes + kPage;
constexpr int64_t kArenaBytes = int64_t{64} << 20;

unsigned char* reserve(int64_t bytes) {
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("emulator: mmap");
    std::abort();
  }
  return static_cast<unsigned char*>(memory);
}

std::string place_of(simt::emulator::site where) {
  const char* slash = std::strrchr(where.file, '/');
  return std::string(slash == nullptr ? where.file : slash + 1) + ":" + std::to_string(where.line);
}

bool same_place(simt::emulator::site a, simt::emulator::site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

bool same_word(const Lane& a, const Lane& b) {
  return a.state == State::kAtWord && b.state == State::kAtWord && a.width == b.width &&
         a.argument == b.argument && a.finish == b.finish && std::strcmp(a.word, b.word) == 0 &&
         same_place(a.site, b.site);
}

int log2_of(int width) { return __builtin_ctz(static_cast<unsigned>(width)); }

}  // namespace

constinit thread_local Block* Block::current_ = nullptr;

Block::Block(const Launch& launch, Memory* memory, Reports* reports)
    : launch_(launch),
      memory_(memory),
      reports_(reports),
      lanes_(static_cast<size_t>(launch.threads)),
      at_barrier_(static_cast<size_t>(launch.threads)),
      random_(launch.seed * 2 + 1) {
  stacks_ = reserve(kStackStride * launch.threads);
  arena_ = reserve(kArenaBytes);
  for (int i = 0; i < launch.threads; ++i) {
    unsigned char* low = stacks_ + kStackStride * i;
    mprotect(low, kPage, PROT_NONE);  // the stack grows down into it
    lanes_[static_cast<size_t>(i)].stack = low + kPage;
    turns_.push_back(i);
  }
  for (int i = 0; i < 6; ++i) {
    waiting_[i].assign(static_cast<size_t>(launch.threads), 0);
  }
  if (launch.order == Order::kDescending) std::reverse(turns_.begin(), turns_.end());
}

Block::~Block() {
  munmap(stacks_, static_cast<size_t>(kStackStride * launch_.threads));
  munmap(arena_, static_cast<size_t>(kArenaBytes));
}

std::string Block::name_of(const Lane& lane) const {
  return "lane " + std::to_string(lane.actor.lane) + " of block " + std::to_string(index_);
}

// ---- turns ----

void Block::shuffle() {
  for (size_t i = turns_.size() - 1; i > 0; --i) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    std::swap(turns_[i], turns_[static_cast<size_t>((random_ >> 33) % (i + 1))]);
  }
}

void Block::begin(int index) {
  index_ = index;
  memory_->remove_shared();
  shared_.clear();
  arena_used_ = Memory::kGuard;
  shared_bytes_ = 0;
  waiting_for_block_ = 0;
  for (auto& waiting : waiting_) std::fill(waiting.begin(), waiting.end(), 0);
  std::fill(at_barrier_.begin(), at_barrier_.end(), 0u);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.state = State::kReady;
    lane.shared_arrays = 0;
    lane.steps = 0;
    lane.actor = {static_cast<int>(i), index, 1, at_barrier_.data(), lane.known};
    std::memset(lane.known, 0, sizeof(lane.known));
    prepare_context(&lane.context, lane.stack, kStackBytes, &Block::enter, &lane);
  }
}

void Block::enter(void* argument) {
  current_->launch_.kernel_entry(current_->launch_.arguments);
  static_cast<Lane*>(argument)->state = State::kDone;
  current_->suspend();
}

void Block::resume(Lane* lane) {
  running_ = lane;
  switch_context(&scheduler_, &lane->context);
  running_ = nullptr;
}

// Back to the scheduler. A fibre leaves no trace: kernels own nothing.
void Block::suspend() { switch_context(&running_->context, &scheduler_); }

void Block::stop() {
  stopped_ = true;
  suspend();
  std::abort();  // a stopped lane has no more turns
}

bool Block::run(int index) {
  current_ = this;
  begin(index);
  bool moved = true;
  while (moved && !stopped_) {
    moved = false;
    if (launch_.order == Order::kShuffled) shuffle();
    for (const int turn : turns_) {
      Lane* lane = &lanes_[static_cast<size_t>(turn)];
      if (lane->state != State::kReady) continue;
      moved = true;
      resume(lane);
      if (stopped_) break;
    }
  }
  const bool done = std::all_of(lanes_.begin(), lanes_.end(),
                                [](const Lane& lane) { return lane.state == State::kDone; });
  if (!stopped_ && !done) diagnose();
  if (!stopped_ && done) {
    for (const Lane& lane : lanes_) {
      if (lane.shared_arrays == static_cast<int>(shared_.size())) continue;
      reports_->add({Fault::kLimits, launch_.kernel + ": " + name_of(lane) +
                                         " does not meet every shared array of the kernel"});
    }
  }
  current_ = nullptr;
  return done && !stopped_;
}

// ---- words ----

void Block::wait_for_block(const char* word, simt::emulator::site where) {
  Lane* self = running_;
  self->state = State::kAtBarrier;
  self->word = word;
  self->site = where;
  if (++waiting_for_block_ == launch_.threads) {
    check_barrier();
    release_block();
  }
  suspend();
}

// All lanes have come: to one word, and to one place of it; those of other warps may meet
// meet_block() at other places.
void Block::check_barrier() {
  const bool apart = std::strcmp(lanes_[0].word, "meet_block") == 0;
  for (size_t i = 1; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    const Lane& other = lanes_[apart ? i / 32 * 32 : 0];
    if (std::strcmp(lane.word, lanes_[0].word) == 0 && same_place(lane.site, other.site)) continue;
    fail(Fault::kDivergentBarrier,
         launch_.kernel + ": " + name_of(lane) + " waits at " + lane.word + " (" +
             place_of(lane.site) + "), " + name_of(other) + " at " + other.word + " (" +
             place_of(other.site) + ")",
         0);
  }
}

void Block::release_block() {
  waiting_for_block_ = 0;
  for (size_t i = 0; i < lanes_.size(); ++i) at_barrier_[i] = lanes_[i].actor.time;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.state = State::kReady;
    ++lane.actor.time;
    for (size_t j = 0; j < 32 && i / 32 * 32 + j < lanes_.size(); ++j) {
      lane.known[j] = at_barrier_[i / 32 * 32 + j];
    }
  }
}

void Block::wait_for_group(const char* word, int width, int argument, void* value,
                           simt::emulator::finish_word finish, simt::emulator::site where) {
  Lane* self = running_;
  self->state = State::kAtWord;
  self->word = word;
  self->width = width;
  self->argument = argument;
  self->value = value;
  self->finish = finish;
  self->site = where;
  if (argument < 0 || argument >= width) {
    fail(Fault::kDivergentWord,
         launch_.kernel + ": " + name_of(*self) + " at " + place_of(where) + " asks " + word +
             " of a group of " + std::to_string(width) + " for lane " + std::to_string(argument),
         0);
  }
  const int index = lane_index();
  const int group = index / width;
  if (++waiting_[log2_of(width)][static_cast<size_t>(group)] == width) {
    release_group(group * width, width);
  }
  suspend();
}

void Block::release_group(int first, int width) {
  waiting_[log2_of(width)][static_cast<size_t>(first / width)] = 0;
  Lane* lanes = &lanes_[static_cast<size_t>(first)];
  for (int l = 1; l < width; ++l) {
    if (!same_word(lanes[0], lanes[l])) return diagnose_group(first, width);
  }
  void* values[32];
  for (int l = 0; l < width; ++l) values[l] = lanes[l].value;
  if (lanes[0].finish != nullptr) {
    Lane* const self = running_;
    running_ = nullptr;  // the word's own accesses are not the kernel's
    lanes[0].finish(values, width, lanes[0].argument);
    running_ = self;
  } else {
    // sync: every lane of the group learns what any of them knows
    uint32_t known[32] = {};
    for (int l = 0; l < width; ++l) {
      for (int j = 0; j < 32; ++j) known[j] = std::max(known[j], lanes[l].known[j]);
    }
    for (int l = 0; l < width; ++l) known[lanes[l].actor.lane % 32] = lanes[l].actor.time;
    for (int l = 0; l < width; ++l) {
      std::memcpy(lanes[l].known, known, sizeof(known));
      ++lanes[l].actor.time;
    }
  }
  for (int l = 0; l < width; ++l) lanes[l].state = State::kReady;
}

// ---- what a lane may not do ----

void Block::fail(Fault fault, const std::string& text, uintptr_t place) {
  reports_->add({fault, text, place});
  stop();
}

void Block::diagnose_group(int first, int width) {
  const Lane& one = lanes_[static_cast<size_t>(first)];
  std::string text = launch_.kernel + ": " + name_of(one) + " stands at " + one.word + " (" +
                     place_of(one.site) + ")";
  for (int l = 1; l < width; ++l) {
    const Lane& other = lanes_[static_cast<size_t>(first + l)];
    if (same_word(one, other)) continue;
    text += ", lane " + std::to_string(other.actor.lane) + " at " + other.word + " (" +
            place_of(other.site) + ")";
    if (other.argument != one.argument) {
      text += ", with " + std::to_string(one.argument) + " and " + std::to_string(other.argument);
    }
    break;
  }
  fail(Fault::kDivergentWord, text + " of one group of " + std::to_string(width), 0);
}

// No lane can go on: says why.
void Block::diagnose() {
  const auto first_in = [this](State state) -> const Lane* {
    for (const Lane& lane : lanes_) {
      if (lane.state == state) return &lane;
    }
    return nullptr;
  };
  const Lane* word = first_in(State::kAtWord);
  const Lane* barrier = first_in(State::kAtBarrier);
  const Lane* done = first_in(State::kDone);
  const Lane* waits = word != nullptr ? word : barrier;
  std::string text = launch_.kernel + ": " + name_of(*waits) + " waits at " + waits->word + " (" +
                     place_of(waits->site) + "), ";
  Fault fault = word != nullptr ? Fault::kDivergentWord : Fault::kDivergentBarrier;
  const Lane* other = nullptr;
  if (word != nullptr) {
    const int group = word->actor.lane / word->width * word->width;
    for (int l = 0; l < word->width && other == nullptr; ++l) {
      const Lane& lane = lanes_[static_cast<size_t>(group + l)];
      if (!same_word(*word, lane)) other = &lane;
    }
  }
  if (other == nullptr) other = done != nullptr ? done : barrier;
  if (other->state == State::kDone) {
    fault = Fault::kExitBeforeBarrier;
    text += name_of(*other) + " is done";
  } else {
    if (other->state == State::kAtBarrier && word == nullptr) fault = Fault::kDivergentBarrier;
    text += name_of(*other) + " at " + other->word + " (" + place_of(other->site) + ")";
  }
  reports_->add({fault, text});
  stopped_ = true;
}

// ---- memory ----

void* Block::shared_array(const char* name, int element_bytes, int least_bytes, int count,
                          simt::emulator::site where) {
  Lane* self = running_;
  const size_t index = static_cast<size_t>(self->shared_arrays++);
  const int bytes = element_bytes * count;
  if (index < shared_.size()) {
    if (shared_[index].name != name || shared_[index].bytes != bytes) {
      fail(Fault::kLimits,
           launch_.kernel + ": " + name_of(*self) + " declares " + name + " (" + place_of(where) +
               ") where other lanes declare " + shared_[index].name,
           0);
    }
    return shared_[index].base;
  }
  shared_bytes_ += (bytes + 15) / 16 * 16;
  if (shared_bytes_ > launch_.shared_limit) {
    fail(Fault::kLimits,
         launch_.kernel + ": " + std::to_string(shared_bytes_) + " bytes of shared memory with " +
             name + " (" + place_of(where) + "), of " + std::to_string(launch_.shared_limit),
         0);
  }
  unsigned char* base = arena_ + arena_used_;
  arena_used_ += (bytes + 15) / 16 * 16 + 2 * Memory::kGuard;
  std::memset(base, 0xff, static_cast<size_t>(bytes));  // NaN, and an index that is out of bounds
  shared_.push_back({name, bytes, base});
  Array array;
  array.name = name;
  array.kind = Kind::kShared;
  array.element_bytes = element_bytes;
  array.cell_shift = log2_of(least_bytes);
  array.base = base;
  array.bytes = bytes;
  memory_->add(std::move(array));
  return base;
}

void Block::access(uintptr_t address, int64_t bytes, bool write, uintptr_t place) {
  Lane* self = running_;
  const auto low = reinterpret_cast<uintptr_t>(self->stack);
  if (address - low < static_cast<uintptr_t>(kStackBytes)) return;
  const auto stacks = reinterpret_cast<uintptr_t>(stacks_);
  if (address - stacks < static_cast<uintptr_t>(kStackStride * launch_.threads)) {
    const auto owner = static_cast<int64_t>(address - stacks) / kStackStride;
    if (owner == self->actor.lane) {
      fail(Fault::kUndefined,
           launch_.kernel + ": " + name_of(*self) + " has more private memory than a lane's " +
               std::to_string(kStackBytes) + " bytes",
           place);
    }
    fail(Fault::kPrivateLeak,
         launch_.kernel + ": " + name_of(*self) + (write ? " writes to" : " reads from") +
             " the private memory of lane " + std::to_string(owner),
         place);
  }
  if (!memory_->access(self->actor, address, bytes, write, place)) stop();
}

void Block::count_step(uintptr_t place) {
  if (++running_->steps <= launch_.step_limit) return;
  fail(Fault::kEndlessLoop,
       launch_.kernel + ": " + name_of(*running_) + " has taken more than " +
           std::to_string(launch_.step_limit) + " steps",
       place);
}

}  // namespace lanepack::emulator

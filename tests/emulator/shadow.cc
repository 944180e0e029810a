// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <algorithm>

namespace lanepack::emulator {
namespace {

std::string lane_of(int lane, int block) {
  return "lane " + std::to_string(lane) + " of block " + std::to_string(block);
}

std::string element_of(const Array& array, int64_t offset) {
  const int64_t index = offset >= 0 ? offset / array.element_bytes
                                    : -((array.element_bytes - 1 - offset) / array.element_bytes);
  std::string text = array.name + "[" + std::to_string(index) + "]";
  const int64_t inside = offset - index * array.element_bytes;
  if (inside != 0) text += " + " + std::to_string(inside) + " bytes";
  return text;
}

}  // namespace

Array* Memory::add(Array array) {
  array.cells.resize(
      static_cast<size_t>((array.bytes + (1 << array.cell_shift) - 1) >> array.cell_shift));
  arrays_.push_back(std::make_unique<Array>(std::move(array)));
  return arrays_.back().get();
}

void Memory::remove_shared() {
  for (auto& array : arrays_) {
    if (array->kind != Kind::kShared) continue;
    for (Cell& cell : array->cells) forget_readers(&cell);
  }
  arrays_.erase(std::remove_if(arrays_.begin(), arrays_.end(),
                               [](const auto& a) { return a->kind == Kind::kShared; }),
                arrays_.end());
  last_found_ = nullptr;
}

void Memory::begin_launch(const std::string& kernel, int threads) {
  kernel_ = kernel;
  threads_ = threads;
  readers_.clear();
  free_readers_.clear();
  for (auto& array : arrays_) {
    for (Cell& cell : array->cells) {
      Cell fresh;
      fresh.usable = cell.usable;
      fresh.initialised = cell.initialised;
      cell = fresh;
    }
  }
}

Array* Memory::find(uintptr_t address) {
  const auto near = [address](const Array* array) {
    const auto low = reinterpret_cast<uintptr_t>(array->base) - kGuard;
    return address - low < static_cast<uintptr_t>(array->bytes + 2 * kGuard);
  };
  if (last_found_ != nullptr && near(last_found_)) return last_found_;
  for (auto& array : arrays_) {
    if (near(array.get())) return last_found_ = array.get();
  }
  return nullptr;
}

bool Memory::access(const Actor& actor, uintptr_t address, int64_t bytes, bool write,
                    uintptr_t place) {
  Array* array = find(address);
  if (array == nullptr) {
    reports_->add({Fault::kOutOfBounds,
                   kernel_ + ": " + lane_of(actor.lane, actor.block) +
                       (write ? " writes to" : " reads from") + " memory that is no array's",
                   place});
    return false;
  }
  const int64_t first = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(array->base));
  const char* verb = write ? "writes" : "reads";
  if (first < 0 || first + bytes > array->bytes) {
    const int64_t outside = first < 0 ? first : std::max(first, array->bytes);
    report(Fault::kOutOfBounds, actor, *array, outside, verb,
           ", which has " + std::to_string(array->bytes / array->element_bytes) + " elements",
           place);
    return false;
  }
  if (write && !array->writable) {
    report(Fault::kReadOnlyWrite, actor, *array, first, verb, "", place);
    return false;
  }
  const int64_t step = int64_t{1} << array->cell_shift;
  for (int64_t offset = first & -step; offset < first + bytes; offset += step) {
    Cell* cell = array->cell_at(offset);
    if (!cell->usable) {
      report(Fault::kOutOfBounds, actor, *array, offset, verb, ", which lies between elements",
             place);
      return false;
    }
    if (write) {
      write_cell(actor, array, cell, offset, place);
    } else {
      read_cell(actor, array, cell, offset, place);
    }
  }
  return !reports_->full();
}

// By a barrier of the block, or by a sync of a group that both lanes belong to or knew of.
bool Memory::ordered(const Actor& actor, int lane, uint32_t time) {
  if (lane == actor.lane || time <= actor.at_barrier[lane]) return true;
  return lane / 32 == actor.lane / 32 && time <= actor.known[lane % 32];
}

void Memory::read_cell(const Actor& actor, Array* array, Cell* cell, int64_t offset,
                       uintptr_t place) {
  if (!cell->initialised) {
    report(Fault::kUninitialised, actor, *array, offset, "reads", "", place);
    cell->initialised = true;  // said once
  }
  if (!array->writable) return;
  const bool other_block = cell->write_block >= 0 && cell->write_block != actor.block;
  if (other_block ||
      (cell->write_block == actor.block && !ordered(actor, cell->write_lane, cell->write_time))) {
    race(actor, *array, offset, false, true, cell->write_lane, cell->write_block, place,
         cell->write_place);
  }
  remember_reader(actor, cell, place);
}

void Memory::remember_reader(const Actor& actor, Cell* cell, uintptr_t place) {
  if (cell->read_block != actor.block) {
    cell->read_by_blocks = cell->read_by_blocks || cell->read_block >= 0;
    forget_readers(cell);
    cell->read_block = actor.block;
  } else if (cell->readers >= 0) {
    readers_[static_cast<size_t>(cell->readers)][static_cast<size_t>(actor.lane)] = actor.time;
    cell->read_place = place;
    return;
  } else if (!ordered(actor, cell->read_lane, cell->read_time)) {
    if (free_readers_.empty()) {
      free_readers_.push_back(static_cast<int32_t>(readers_.size()));
      readers_.emplace_back(static_cast<size_t>(threads_), 0u);
    }
    cell->readers = free_readers_.back();
    free_readers_.pop_back();
    Readers& readers = readers_[static_cast<size_t>(cell->readers)];
    readers[cell->read_lane] = cell->read_time;
    readers[static_cast<size_t>(actor.lane)] = actor.time;
  }
  cell->read_lane = static_cast<uint16_t>(actor.lane);
  cell->read_time = actor.time;
  cell->read_place = place;
}

void Memory::forget_readers(Cell* cell) {
  if (cell->readers >= 0) {
    Readers& readers = readers_[static_cast<size_t>(cell->readers)];
    std::fill(readers.begin(), readers.end(), 0u);
    free_readers_.push_back(cell->readers);
    cell->readers = -1;
  }
  cell->read_block = -1;
}

void Memory::write_cell(const Actor& actor, Array* array, Cell* cell, int64_t offset,
                        uintptr_t place) {
  const auto meets = [&](int lane, uint32_t time) { return !ordered(actor, lane, time); };
  if (cell->write_block >= 0 &&
      (cell->write_block != actor.block || meets(cell->write_lane, cell->write_time))) {
    race(actor, *array, offset, true, true, cell->write_lane, cell->write_block, place,
         cell->write_place);
  }
  if (cell->read_block >= 0 && (cell->read_block != actor.block || cell->read_by_blocks)) {
    race(actor, *array, offset, true, false, cell->read_lane, cell->read_block, place,
         cell->read_place);
  } else if (cell->read_block == actor.block && cell->readers < 0) {
    if (meets(cell->read_lane, cell->read_time)) {
      race(actor, *array, offset, true, false, cell->read_lane, cell->read_block, place,
           cell->read_place);
    }
  } else if (cell->read_block == actor.block) {
    const Readers& readers = readers_[static_cast<size_t>(cell->readers)];
    for (int lane = 0; lane < threads_; ++lane) {
      const uint32_t time = readers[static_cast<size_t>(lane)];
      if (time == 0 || !meets(lane, time)) continue;
      race(actor, *array, offset, true, false, lane, cell->read_block, place, cell->read_place);
      break;
    }
  }
  forget_readers(cell);
  cell->initialised = true;
  cell->write_block = actor.block;
  cell->write_lane = static_cast<uint16_t>(actor.lane);
  cell->write_time = actor.time;
  cell->write_place = place;
}

void Memory::race(const Actor& actor, const Array& array, int64_t offset, bool write,
                  bool before_write, int other_lane, int other_block, uintptr_t place,
                  uintptr_t before) {
  const bool blocks = other_block != actor.block;
  const Fault fault = blocks                        ? Fault::kBlockRace
                      : array.kind == Kind::kShared ? Fault::kSharedRace
                                                    : Fault::kDeviceRace;
  const char* missing = blocks ? "; nothing orders blocks of a launch" : " without a sync between";
  const std::string text =
      kernel_ + ": " + element_of(array, offset) + (write ? " is written by " : " is read by ") +
      lane_of(actor.lane, actor.block) + " after it was " +
      (before_write ? "written by " : "read by ") + lane_of(other_lane, other_block) + missing;
  reports_->add({fault, text, place, before});
}

void Memory::report(Fault fault, const Actor& actor, const Array& array, int64_t offset,
                    const char* verb, const std::string& rest, uintptr_t place) {
  reports_->add({fault,
                 kernel_ + ": " + lane_of(actor.lane, actor.block) + " " + verb + " " +
                     element_of(array, offset) + rest,
                 place});
}

void Memory::report_unwritten() {
  for (const auto& array : arrays_) {
    if (!array->must_be_written) continue;
    int64_t first = -1, count = 0;
    for (size_t i = 0; i < array->cells.size(); ++i) {
      if (!array->cells[i].usable || array->cells[i].initialised) continue;
      if (first < 0) first = static_cast<int64_t>(i) << array->cell_shift;
      ++count;
    }
    if (count == 0) continue;
    reports_->add({Fault::kNotWritten, kernel_ + ": " + element_of(*array, first) + " and " +
                                           std::to_string(count - 1) +
                                           " cells more were not written"});
  }
}

}  // namespace lanepack::emulator

#include "cores/core_memory.hpp"

#include <algorithm>
#include <bit>

namespace spica {

bool PendingResponses::has(uint32_t tag) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.tag == tag; });
}

void PendingResponses::add(uint32_t tag, uint64_t now) {
    entries_.push_back({tag, now + parameters_.latency + chance.below(parameters_.jitter + 1)});
}

int PendingResponses::choose(uint64_t next) {
    if (entries_.empty()) return -1;
    int place = 0;
    if (parameters_.is_shuffled) {
        uint64_t due = 0;
        for (const Entry& entry : entries_) due += entry.due <= next;
        if (due == 0) return -1;
        uint64_t skipped = chance.below(due);
        while (entries_[static_cast<size_t>(place)].due > next || skipped-- != 0) place++;
    } else if (entries_.front().due > next) {
        return -1;
    }
    return chance.happens(parameters_.silence) ? -1 : place;
}

CoreMemory::CoreMemory(const CorePorts& ports, CoreImage& image,
                       const CoreMemoryParameters& parameters, uint32_t core)
    : fetch_(ports.fetch),
      data_(ports.data),
      image_(image),
      split_(parameters.split),
      core_(core),
      fetches_(parameters, parameters.seed * 1024 + 2 * core),
      requests_(parameters, parameters.seed * 1024 + 2 * core + 1),
      words_(size_t{1} << fetch_.tag.width),
      answers_(size_t{1} << data_.tag.width) {}

void CoreMemory::reset() {
    fetches_.reset();
    requests_.reset();
    violation_.clear();
    fetches = loads = stores = 0;
}

bool CoreMemory::step(uint64_t now, const uint32_t* outputs, uint32_t* inputs) {
    bool moved = false;
    if (fetch_.valid.get(outputs) && fetch_.ready.get(inputs)) {
        accept_fetch(now, outputs);
        moved = true;
    }
    if (data_.valid.get(outputs) && data_.ready.get(inputs)) {
        accept_request(now, outputs);
        moved = true;
    }
    fetch_.ready.set(inputs, fetches_.willing());
    data_.ready.set(inputs, requests_.willing());
    moved |= answer_fetch(now + 1, inputs);
    moved |= answer_request(now + 1, inputs);
    return moved;
}

void CoreMemory::accept_fetch(uint64_t now, const uint32_t* outputs) {
    uint32_t tag = fetch_.tag.get(outputs), address = fetch_.address.get(outputs);
    if (fetches_.has(tag)) violation_ = "a fetch reuses the tag of an outstanding fetch";
    if (address % 8) violation_ = "a fetch address is not a multiple of 8";
    Words& words = words_[tag];
    // One valid word is enough: the other may not be needed.
    bool has_low = image_.fetch(address, words.low);
    bool has_high = image_.fetch(address + 4, words.high);
    words.error = !has_low && !has_high;
    fetches_.add(tag, now);
    fetches++;
}

void CoreMemory::accept_request(uint64_t now, const uint32_t* outputs) {
    uint32_t tag = data_.tag.get(outputs), mask = data_.mask.get(outputs);
    if (requests_.has(tag)) violation_ = "a request reuses the tag of an outstanding request";
    if (mask == 0) violation_ = "a request has no active lane";
    bool is_store = data_.is_store.get(outputs);
    const uint32_t* addresses = outputs + data_.address.offset;
    const uint32_t* strobes = outputs + data_.strobes.offset;
    Answer& answer = answers_[tag];
    answer.mask = mask;
    answer.error = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t address = addresses[lane], strobe = strobes[lane / 8] >> 4 * (lane % 8) & 15;
        uint32_t size = static_cast<uint32_t>(std::popcount(strobe));
        bool is_there;
        if (data_.atomic.exists() && data_.atomic.get(outputs)) {
            is_there = perform(now, outputs, lane, strobe, answer.words[lane]);
        } else if (is_store) {
            uint32_t word = outputs[data_.data.offset + static_cast<int>(lane)];
            answer.words[lane] = 0;
            is_there = image_.store(address, size, strobe, word);
        } else {
            is_there = image_.load(address, std::max(size, 1u), answer.words[lane]);
        }
        if (!is_there) answer.error |= 1u << lane;
    }
    requests_.add(tag, now);
    (is_store ? stores : loads)++;
}

// Performs the atomic access of a lane; returns whether there is memory for it.
bool CoreMemory::perform(uint64_t now, const uint32_t* outputs, uint32_t lane, uint32_t strobes,
                         uint32_t& result) {
    auto word = [&](const Field& field) { return outputs[field.offset + static_cast<int>(lane)]; };
    auto operation = static_cast<Atomic>(data_.operation.get(outputs));
    const AtomicAccess access{operation, strobes, word(data_.data), word(data_.expected)};
    uint32_t owner = data_.owner.exists() ? data_.owner.get(outputs) : 0;
    uint32_t thread = (core_ << data_.owner.width | owner) * kLanes + lane;
    return image_.perform(word(data_.address), access, thread, now, result);
}

bool CoreMemory::answer_fetch(uint64_t next, uint32_t* inputs) {
    int place = fetches_.choose(next);
    fetch_.answer.set(inputs, place >= 0);
    if (place < 0) return false;
    uint32_t tag = fetches_.tag(place);
    const Words& words = words_[tag];
    fetch_.answer_tag.set(inputs, tag);
    fetch_.error.set(inputs, words.error);
    inputs[fetch_.answer_data.offset] = words.low;
    inputs[fetch_.answer_data.offset + 1] = words.high;
    fetches_.remove(place);
    return true;
}

// Lanes of `mask` to answer now.
uint32_t CoreMemory::part(uint32_t mask) {
    if (!requests_.chance.happens(split_)) return mask;
    uint32_t chosen = mask & static_cast<uint32_t>(requests_.chance.next());
    return chosen ? chosen : mask & (~mask + 1);
}

bool CoreMemory::answer_request(uint64_t next, uint32_t* inputs) {
    int place = requests_.choose(next);
    data_.answer.set(inputs, place >= 0);
    if (place < 0) return false;
    uint32_t tag = requests_.tag(place);
    Answer& answer = answers_[tag];
    uint32_t mask = part(answer.mask);
    answer.mask &= ~mask;
    data_.answer_tag.set(inputs, tag);
    data_.answer_mask.set(inputs, mask);
    data_.error.set(inputs, answer.error & mask);
    uint32_t* words = inputs + data_.answer_data.offset;
    for (uint32_t lane = 0; lane < data_.lanes(); lane++) {
        // Lanes without response carry arbitrary values.
        words[lane] = mask >> lane & 1 ? answer.words[lane] : ~words[lane];
    }
    if (answer.mask == 0) requests_.remove(place);
    return true;
}

}  // namespace spica

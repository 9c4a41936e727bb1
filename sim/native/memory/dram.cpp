#include "memory/dram.hpp"

#include <algorithm>
#include <cmath>

namespace spica {

Channel::Channel(const DramParameters& parameters, uint32_t beat_bytes)
    : p_(parameters),
      write_capacity_(parameters.write_buffer_bytes / beat_bytes),
      beat_cost_(static_cast<uint64_t>(std::llround(
          beat_bytes * parameters.channels / parameters.bytes_per_cycle * kCycle))),
      banks_(parameters.banks) {}

void Channel::locate(Burst& burst) const {
    // Pieces of `interleave_bytes` alternate between the channels: remove the channel number.
    uint64_t piece = burst.address / p_.interleave_bytes / p_.channels;
    uint64_t local = piece * p_.interleave_bytes + burst.address % p_.interleave_bytes;
    uint64_t row = local / p_.row_bytes;
    // Upper row bits are folded into the bank, so that power-of-two pitches spread over banks.
    uint64_t bank = row;
    for (uint64_t fold = row / p_.banks; fold; fold /= p_.banks) bank ^= fold;
    burst.bank = static_cast<uint32_t>(bank % p_.banks);
    burst.row = row;
}

void Channel::add_read(Burst burst, uint64_t now) {
    locate(burst);
    burst.arrival = now;
    reads_.push_back(burst);
}

void Channel::add_write(Burst burst, uint64_t now) {
    locate(burst);
    burst.arrival = now;
    write_beats_ += burst.beats;
    writes_.push_back(burst);
}

bool Channel::ready(const Burst& burst, uint64_t now) const {
    const Bank& bank = banks_[burst.bank];
    return bank.row == burst.row || (now >= bank.next_activate && now >= next_activate_);
}

int Channel::pick(const std::deque<Burst>& queue, bool ordered, uint64_t now) const {
    if (queue.empty()) return -1;
    if (now - queue.front().arrival > kPatience) return ready(queue.front(), now) ? 0 : -1;
    int fallback = -1;
    for (size_t i = 0; i < queue.size(); i++) {
        bool eligible = ready(queue[i], now);
        for (size_t j = 0; ordered && eligible && j < i; j++) eligible = queue[j].id != queue[i].id;
        if (!eligible) continue;
        if (banks_[queue[i].bank].row == queue[i].row) return static_cast<int>(i);
        if (fallback < 0) fallback = static_cast<int>(i);
    }
    return fallback;
}

void Channel::choose_direction() {
    bool drains = draining_;
    if (writes_.empty()) {
        if (!reads_.empty()) drains = false;
    } else if (reads_.empty() || 4 * write_beats_ >= 3 * write_capacity_) {
        drains = true;
    } else if (4 * write_beats_ <= write_capacity_) {
        drains = false;
    }
    if (drains != draining_) {
        draining_ = drains;
        bus_free_ += p_.turnaround * kCycle;  // no loss if the bus has been idle since
    }
}

void Channel::open_row(const Burst& burst, uint64_t now) {
    Bank& bank = banks_[burst.bank];
    if (bank.row == burst.row) {
        statistics.row_hits++;
        return;
    }
    statistics.row_misses++;
    bank.row = burst.row;
    bank.next_activate = now + p_.row_cycle;
    next_activate_ = now + p_.activate_gap;
}

void Channel::step(uint64_t now, std::deque<Burst>& picked) {
    if (reads_.empty() && writes_.empty()) return;
    while (bus_free_ < (now + 1) * kCycle) {
        choose_direction();
        if (bus_free_ >= (now + 1) * kCycle) break;
        std::deque<Burst>& queue = draining_ ? writes_ : reads_;
        int index = pick(queue, !draining_, now);
        if (index < 0) break;
        Burst burst = queue[index];
        queue.erase(queue.begin() + index);
        open_row(burst, now);
        uint64_t start = std::max(bus_free_, now * kCycle);
        bus_free_ = start + burst.beats * beat_cost_;
        statistics.bus_cycles += burst.beats * beat_cost_;
        if (draining_) {
            write_beats_ -= burst.beats;
        } else {
            statistics.read_wait_cycles += now - burst.arrival;
            burst.arrival = start + p_.latency * kCycle;
            picked.push_back(burst);
        }
    }
}

}  // namespace spica

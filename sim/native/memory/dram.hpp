// Timing of one DRAM channel: banks, open rows, one data bus for reads and writes.
//
// A scheduled burst occupies the bus for its bytes; its first beat is at the port `latency` cycles
// later. Scheduling is FR-FCFS: bursts for an open row go first, but never before an older burst of
// the same id, nor before one that has waited longer than `kPatience`. A bank opens one row every
// `row_cycle` cycles, a channel one every `activate_gap`, so misses of different banks overlap.
// Writes collect in a buffer. They are drained when no read waits, or when the buffer is three
// quarters full, down to one quarter. Each change of direction costs `turnaround` bus cycles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "../iss/native/archive.hpp"

namespace spica {

constexpr uint64_t kCycle = 65536;  // bus time is counted in fractions of a cycle

extern "C" struct DramParameters {
    uint64_t base, end;
    double bytes_per_cycle;
    uint32_t channels, interleave_bytes;
    uint32_t latency, banks, row_bytes, row_cycle, activate_gap, turnaround;
    uint32_t read_queue, write_buffer_bytes, jitter;
    double stall;
    uint64_t seed;
};

extern "C" struct ChannelStatistics {
    uint64_t read_bytes, write_bytes, read_bursts, write_bursts;
    uint64_t row_hits, row_misses, bus_cycles, read_wait_cycles;
};

struct Burst {
    uint64_t address = 0;
    uint32_t id = 0, beats = 0;
    uint64_t arrival = 0;
    uint32_t bank = 0;
    uint64_t row = 0;

    void archive(Archive& archive) { archive(address, id, beats, arrival, bank, row); }
};

class Channel {
public:
    Channel(const DramParameters& parameters, uint32_t beat_bytes);

    void add_read(Burst burst, uint64_t now);
    void add_write(Burst burst, uint64_t now);
    // Schedules the bursts that the bus can begin in cycle `now`. Scheduled reads go to `picked`,
    // each with the time of its first beat in `arrival`, in 1/65536 cycles.
    void step(uint64_t now, std::deque<Burst>& picked);

    size_t reads_waiting() const { return reads_.size(); }
    size_t writes_waiting() const { return writes_.size(); }
    uint32_t write_beats() const { return write_beats_; }
    uint64_t beat_cost() const { return beat_cost_; }
    void archive(Archive& archive) {
        archive(statistics, banks_, reads_, writes_, write_beats_, bus_free_, next_activate_);
        archive(draining_);
    }

    ChannelStatistics statistics{};

private:
    static constexpr uint64_t kNoRow = ~uint64_t{0};
    static constexpr uint64_t kPatience = 512;  // wait in cycles after which age has priority
    struct Bank {
        uint64_t row = kNoRow;
        uint64_t next_activate = 0;
    };

    void locate(Burst& burst) const;
    int pick(const std::deque<Burst>& queue, bool ordered, uint64_t now) const;
    bool ready(const Burst& burst, uint64_t now) const;
    void choose_direction();
    void open_row(const Burst& burst, uint64_t now);

    DramParameters p_;
    uint32_t write_capacity_;
    uint64_t beat_cost_;
    std::vector<Bank> banks_;
    std::deque<Burst> reads_, writes_;
    uint32_t write_beats_ = 0;
    uint64_t bus_free_ = 0;
    uint64_t next_activate_ = 0;
    bool draining_ = false;
};

}  // namespace spica

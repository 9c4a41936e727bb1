// Host: executes a command list on the AXI4-Lite slave, one access at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "../iss/native/archive.hpp"
#include "ports.hpp"

namespace spica {

class Host {
public:
    enum Operation : uint32_t { kWrite = 0, kWaitEqual = 1, kWaitReached = 2, kRead = 3 };
    struct Command {
        uint32_t operation, address, data, mask;
    };
    struct Error {
        uint32_t command, address, response;
    };

    Host(const PortTable& ports, uint32_t access_cycles);

    // Replaces the list. An outstanding access is completed first and its result dropped.
    void load(const Command* commands, size_t count);
    // One clock edge. Returns whether a command completed.
    bool step(uint64_t now, const uint32_t* outputs, uint32_t* inputs);

    bool done() const { return current_ == commands_.size() && phase_ == Phase::kIdle; }
    bool failed() const { return !errors_.empty(); }
    size_t current() const { return current_; }
    const std::vector<Command>& commands() const { return commands_; }
    uint64_t first_command() const { return first_command_; }
    uint32_t last_read() const { return last_read_; }
    const std::vector<uint32_t>& reads() const { return reads_; }
    const std::vector<Error>& errors() const { return errors_; }
    void archive(Archive& archive) {
        archive(commands_, reads_, errors_, current_, access_, phase_);
        archive(address_pending_, data_pending_, dropped_);
        archive(next_start_, first_command_, last_read_);
    }

private:
    enum class Phase { kIdle, kWrite, kRead };

    void begin(uint64_t now);
    bool finish_write(uint32_t response);
    bool finish_read(uint32_t value, uint32_t response);

    uint32_t access_cycles_;
    Field awaddr_, awvalid_, wdata_, wstrb_, wvalid_, bready_, araddr_, arvalid_, rready_;
    Field awready_, wready_, bresp_, bvalid_, arready_, rdata_, rresp_, rvalid_;

    std::vector<Command> commands_;
    std::vector<uint32_t> reads_;
    std::vector<Error> errors_;
    size_t current_ = 0;
    Command access_{};
    Phase phase_ = Phase::kIdle;
    bool address_pending_ = false, data_pending_ = false, dropped_ = false;
    uint64_t next_start_ = 0, first_command_ = ~uint64_t{0};
    uint32_t last_read_ = 0;
};

}  // namespace spica

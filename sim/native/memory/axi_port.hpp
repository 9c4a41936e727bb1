// AXI4 slave port in front of a DRAM channel; all its outputs are registered.
//
// Reads of one id return in order. A write is in memory, and its response scheduled, once its last
// beat is accepted; the channel models its bus time later from the write buffer. With `jitter`,
// reads take up to that many cycles longer and overtake each other; writes reach memory in order,
// at any time before their response. Every transfer is checked against the AXI rules for masters.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "memory/dram.hpp"
#include "memory/memory.hpp"
#include "ports.hpp"

namespace spica {

struct FaultRange {
    uint64_t start, end;
    bool reads, writes;

    void archive(Archive& archive) { archive(start, end, reads, writes); }
};

class AxiPort {
public:
    AxiPort(const PortTable& ports, const std::string& name, const DramParameters& parameters,
            uint32_t number, Memory& memory, const std::vector<FaultRange>& faults);

    // One clock edge: `outputs` are the master's outputs before it; sets its `inputs` after it.
    // Returns whether anything was transferred.
    bool step(uint64_t now, const uint32_t* outputs, uint32_t* inputs);

    // Whether a part of a write was transferred in this cycle.
    bool wrote() const { return wrote_; }
    bool idle() const {
        return !outstanding_ && write_addresses_.empty() && beats_.empty() && responses_.empty();
    }
    uint64_t last_response() const { return last_response_; }
    uint32_t outstanding_reads() const { return outstanding_; }
    size_t outstanding_writes() const { return write_addresses_.size() + responses_.size(); }
    const std::string& violation() const { return violation_; }
    const ChannelStatistics& statistics() const { return channel_.statistics; }
    void archive(Archive& archive);

private:
    struct ReadData {
        uint32_t id, response, beats, next;
        uint64_t time;  // time of the next beat, in 1/65536 cycles
        std::vector<uint8_t> data;

        void archive(Archive& archive) { archive(id, response, beats, next, time, data); }
    };
    struct Held {  // payload of a stalled channel of the master
        bool waiting = false;
        std::vector<uint32_t> payload;

        void archive(Archive& archive) { archive(waiting, payload); }
    };

    bool take_read_address(uint64_t now, const uint32_t* outputs);
    bool take_write(uint64_t now, const uint32_t* outputs);
    void pair_beats(uint64_t now);
    void land(uint64_t now);
    // Whether the response to the first read has begun.
    bool begun() const { return r_valid_ || (!reads_.empty() && reads_.front().next); }
    uint64_t chance();
    uint64_t jitter() { return p_.jitter ? chance() % (p_.jitter + 1) : 0; }
    struct AddressFields {
        Field addr, id, len, size, burst, valid;
    };
    Burst burst(const char* channel, const AddressFields& fields, const uint32_t* outputs,
                uint64_t now);
    void fetch(const Burst& burst);
    void drive_read(uint64_t now, uint32_t* inputs);
    void drive_write(uint64_t now, uint32_t* inputs);
    void check_held(uint64_t now, const char* channel, Held& held, bool valid, bool ready,
                    const std::vector<Field>& fields, const uint32_t* outputs);
    uint32_t response_of(uint64_t address, uint64_t size, bool write) const;
    void complain(uint64_t now, const std::string& what);
    bool stalled();

    std::string name_;
    DramParameters p_;
    Memory& memory_;
    const std::vector<FaultRange>& faults_;
    uint32_t beat_bytes_, write_capacity_;
    Channel channel_;
    uint64_t random_;

    AddressFields aw_, ar_;
    Field wdata_, wstrb_, wlast_, wvalid_, bready_, rready_;
    Field awready_, wready_, bid_, bresp_, bvalid_, arready_, rid_, rdata_, rresp_, rlast_,
        rvalid_;
    std::vector<Field> aw_fields_, w_fields_, ar_fields_;
    Held aw_held_, w_held_, ar_held_;

    bool aw_ready_ = false, w_ready_ = false, ar_ready_ = false, b_valid_ = false, r_valid_ = false;
    uint32_t outstanding_ = 0;
    std::deque<Burst> picked_;
    std::deque<ReadData> reads_;
    std::deque<Burst> write_addresses_;
    struct WriteBeat {
        uint32_t data[32], strobe[4];
        bool last;

        void archive(Archive& archive) { archive(data, strobe, last); }
    };
    std::deque<WriteBeat> beats_;  // accepted, but not yet paired with an address
    uint32_t beats_paired_ = 0;    // of the first burst
    struct Response {
        uint32_t id, response;
        uint64_t time;
    };
    std::deque<Response> responses_;
    struct LateBeat {  // paired with its address, but not in memory yet
        uint64_t time, address;
        WriteBeat beat;

        void archive(Archive& archive) { archive(time, address, beat); }
    };
    std::deque<LateBeat> late_;
    uint64_t last_response_ = 0;
    bool wrote_ = false;  // in this cycle
    std::string violation_;
};

}  // namespace spica

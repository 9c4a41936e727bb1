#include "memory/axi_port.hpp"

#include <algorithm>
#include <cstring>

namespace spica {

namespace {
constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint32_t kSlaveError = 2;
constexpr uint32_t kIncrement = 1;
constexpr size_t kWriteAddresses = 64;
}  // namespace

AxiPort::AxiPort(const PortTable& ports, const std::string& name, const DramParameters& parameters,
                 uint32_t number, Memory& memory, const std::vector<FaultRange>& faults)
    : name_(name),
      p_(parameters),
      memory_(memory),
      faults_(faults),
      beat_bytes_(ports.output(name + "_wdata").width / 8),
      write_capacity_(parameters.write_buffer_bytes / beat_bytes_),
      channel_(parameters, beat_bytes_),
      random_((parameters.seed + 1) * 0x9E3779B97F4A7C15ull + number * 0xD1B54A32D192ED03ull + 1) {
    auto out = [&](const char* port) { return ports.output(name + "_" + port); };
    auto in = [&](const char* port) { return ports.input(name + "_" + port); };
    aw_ = {out("awaddr"), out("awid"), out("awlen"), out("awsize"), out("awburst"), out("awvalid")};
    ar_ = {out("araddr"), out("arid"), out("arlen"), out("arsize"), out("arburst"), out("arvalid")};
    wdata_ = out("wdata"), wstrb_ = out("wstrb"), wlast_ = out("wlast"), wvalid_ = out("wvalid");
    bready_ = out("bready"), rready_ = out("rready");
    awready_ = in("awready"), wready_ = in("wready"), arready_ = in("arready");
    bid_ = in("bid"), bresp_ = in("bresp"), bvalid_ = in("bvalid");
    rid_ = in("rid"), rdata_ = in("rdata"), rresp_ = in("rresp");
    rlast_ = in("rlast"), rvalid_ = in("rvalid");
    aw_fields_ = {aw_.addr, aw_.id, aw_.len, aw_.size, aw_.burst};
    ar_fields_ = {ar_.addr, ar_.id, ar_.len, ar_.size, ar_.burst};
    w_fields_ = {wdata_, wstrb_, wlast_};
}

void AxiPort::archive(Archive& archive) {
    archive(channel_, random_, aw_held_, w_held_, ar_held_);
    archive(aw_ready_, w_ready_, ar_ready_, b_valid_, r_valid_, outstanding_);
    archive(picked_, reads_, write_addresses_, beats_, beats_paired_, responses_, late_);
    archive(last_response_, violation_, wrote_);
}

bool AxiPort::step(uint64_t now, const uint32_t* outputs, uint32_t* inputs) {
    check_held(now, "AW", aw_held_, aw_.valid.get(outputs), aw_ready_, aw_fields_, outputs);
    check_held(now, "W", w_held_, wvalid_.get(outputs), w_ready_, w_fields_, outputs);
    check_held(now, "AR", ar_held_, ar_.valid.get(outputs), ar_ready_, ar_fields_, outputs);

    bool moved = false;
    if (r_valid_ && rready_.get(outputs)) {
        moved = true;
        r_valid_ = false;
        ReadData& front = reads_.front();
        if (++front.next == front.beats) {
            reads_.pop_front();
            outstanding_--;
        } else {
            front.time += channel_.beat_cost();
        }
    }
    if (b_valid_ && bready_.get(outputs)) {
        moved = true;
        b_valid_ = false;
        responses_.pop_front();
        last_response_ = now;
    }
    moved |= take_read_address(now, outputs);
    wrote_ = take_write(now, outputs);
    moved |= wrote_;
    land(now);
    channel_.step(now, picked_);
    for (; !picked_.empty(); picked_.pop_front()) fetch(picked_.front());
    drive_read(now, inputs);
    drive_write(now, inputs);
    return moved;
}

bool AxiPort::take_read_address(uint64_t now, const uint32_t* outputs) {
    if (!ar_ready_ || !ar_.valid.get(outputs)) return false;
    channel_.add_read(burst("AR", ar_, outputs, now), now);
    outstanding_++;
    return true;
}

bool AxiPort::take_write(uint64_t now, const uint32_t* outputs) {
    bool moved = false;
    if (aw_ready_ && aw_.valid.get(outputs)) {
        write_addresses_.push_back(burst("AW", aw_, outputs, now));
        moved = true;
    }
    if (w_ready_ && wvalid_.get(outputs)) {
        WriteBeat beat{};
        std::copy_n(outputs + wdata_.offset, (wdata_.width + 31) / 32, beat.data);
        std::copy_n(outputs + wstrb_.offset, (wstrb_.width + 31) / 32, beat.strobe);
        beat.last = wlast_.get(outputs);
        beats_.push_back(beat);
        moved = true;
    }
    if (moved) pair_beats(now);
    return moved;
}

// Pairs beats with addresses, and schedules their writes to memory and the response of a burst.
void AxiPort::pair_beats(uint64_t now) {
    while (!write_addresses_.empty() && !beats_.empty()) {
        const Burst& front = write_addresses_.front();
        const WriteBeat& beat = beats_.front();
        uint32_t size = front.beats * beat_bytes_;
        uint64_t start = front.address / beat_bytes_ * beat_bytes_;
        uint32_t response = response_of(start, size, true);
        if (!response) {  // with jitter, the last beat determines the time of the write
            late_.push_back({p_.jitter ? kNever : now, start + beats_paired_ * beat_bytes_, beat});
        }
        bool last = ++beats_paired_ == front.beats;
        if (beat.last != last) complain(now, last ? "W: wlast missing" : "W: wlast too early");
        beats_.pop_front();
        if (!last) continue;
        channel_.statistics.write_bursts++;
        channel_.statistics.write_bytes += size;
        uint64_t replied = now + p_.latency + jitter();
        if (!responses_.empty()) replied = std::max(replied, responses_.back().time);
        if (p_.jitter && !response) {
            uint64_t time = now + chance() % (replied - now);
            if (late_.size() > front.beats) {
                time = std::max(time, (late_.rbegin() + front.beats)->time);
            }
            for (uint32_t k = 0; k < front.beats; k++) (late_.rbegin() + k)->time = time;
        }
        responses_.push_back({front.id, response, replied});
        if (!response) channel_.add_write(front, now);
        write_addresses_.pop_front();
        beats_paired_ = 0;
    }
    if (!p_.jitter) land(now);
}

// Writes all due beats to memory.
void AxiPort::land(uint64_t now) {
    for (; !late_.empty() && late_.front().time <= now; late_.pop_front()) {
        const WriteBeat& beat = late_.front().beat;
        const auto* bytes = reinterpret_cast<const uint8_t*>(beat.data);
        for (uint32_t k = 0; k < beat_bytes_; k++) {
            if (beat.strobe[k / 32] >> (k % 32) & 1) {
                memory_.write_byte(late_.front().address + k, bytes[k]);
            }
        }
    }
}

Burst AxiPort::burst(const char* channel, const AddressFields& fields, const uint32_t* outputs,
                     uint64_t now) {
    Burst burst;
    burst.address = fields.addr.get(outputs);
    burst.id = fields.id.get(outputs);
    burst.beats = fields.len.get(outputs) + 1;
    uint64_t start = burst.address / beat_bytes_ * beat_bytes_;
    uint64_t end = start + uint64_t{burst.beats} * beat_bytes_;
    std::string prefix = std::string(channel) + ": ";
    if (1u << fields.size.get(outputs) != beat_bytes_) {
        complain(now, prefix + "size must be a whole beat");
    }
    if (fields.burst.get(outputs) != kIncrement) complain(now, prefix + "burst must be INCR");
    if (start / 4096 != (end - 1) / 4096) complain(now, prefix + "burst crosses 4096 bytes");
    return burst;
}

void AxiPort::fetch(const Burst& burst) {
    uint32_t size = burst.beats * beat_bytes_;
    uint64_t start = burst.address / beat_bytes_ * beat_bytes_;
    uint64_t time = burst.arrival + jitter() * kCycle;
    ReadData data{burst.id, response_of(start, size, false), burst.beats, 0, time, {}};
    data.data.resize(size);
    if (!data.response) memory_.read(start, data.data.data(), size);
    channel_.statistics.read_bursts++;
    channel_.statistics.read_bytes += size;
    auto place = reads_.end();
    // It overtakes other reads, except those of its id and one whose response has begun.
    while (p_.jitter && place - reads_.begin() > (begun() ? 1 : 0) &&
           (place - 1)->time > time && (place - 1)->id != burst.id) {
        --place;
    }
    reads_.insert(place, std::move(data));
}

void AxiPort::drive_read(uint64_t now, uint32_t* inputs) {
    if (!r_valid_ && !reads_.empty() && reads_.front().time < (now + 2) * kCycle && !stalled()) {
        const ReadData& front = reads_.front();
        r_valid_ = true;
        rid_.set(inputs, front.id);
        rresp_.set(inputs, front.response);
        rlast_.set(inputs, front.next + 1 == front.beats);
        std::memcpy(inputs + rdata_.offset, front.data.data() + front.next * beat_bytes_,
                    beat_bytes_);
    }
    rvalid_.set(inputs, r_valid_);
    ar_ready_ = outstanding_ < p_.read_queue && !stalled();
    arready_.set(inputs, ar_ready_);
}

void AxiPort::drive_write(uint64_t now, uint32_t* inputs) {
    if (!b_valid_ && !responses_.empty() && responses_.front().time <= now + 1 && !stalled()) {
        b_valid_ = true;
        bid_.set(inputs, responses_.front().id);
        bresp_.set(inputs, responses_.front().response);
    }
    bvalid_.set(inputs, b_valid_);
    aw_ready_ = write_addresses_.size() < kWriteAddresses && !stalled();
    awready_.set(inputs, aw_ready_);
    size_t level = channel_.write_beats() + beats_paired_ + beats_.size();
    w_ready_ = level < write_capacity_ && !stalled();
    wready_.set(inputs, w_ready_);
}

void AxiPort::check_held(uint64_t now, const char* channel, Held& held, bool valid, bool ready,
                         const std::vector<Field>& fields, const uint32_t* outputs) {
    if (!held.waiting && !(valid && !ready)) return;
    std::vector<uint32_t> payload;
    for (const Field& field : fields) {
        if (!field.exists()) continue;
        const uint32_t* words = outputs + field.offset;
        payload.insert(payload.end(), words, words + (field.width + 31) / 32);
    }
    if (held.waiting && !valid) complain(now, std::string(channel) + ": valid fell before ready");
    if (held.waiting && valid && payload != held.payload) {
        complain(now, std::string(channel) + ": payload changed before ready");
    }
    held.waiting = valid && !ready;
    held.payload = std::move(payload);
}

uint32_t AxiPort::response_of(uint64_t address, uint64_t size, bool write) const {
    if (!memory_.contains(address, size)) return kSlaveError;
    for (const FaultRange& fault : faults_) {
        bool hit = address < fault.end && address + size > fault.start;
        if (hit && (write ? fault.writes : fault.reads)) return kSlaveError;
    }
    return 0;
}

void AxiPort::complain(uint64_t now, const std::string& what) {
    if (!violation_.empty()) return;
    violation_ = name_ + " violates the AXI rules in cycle " + std::to_string(now) + ": " + what;
}

// Random back-pressure: true with probability `stall`.
bool AxiPort::stalled() {
    return p_.stall > 0 && chance() * 0x1p-53 < p_.stall;
}

uint64_t AxiPort::chance() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ >> 11;
}

}  // namespace spica

#include "memory/host.hpp"

namespace spica {

Host::Host(const PortTable& ports, uint32_t access_cycles) : access_cycles_(access_cycles) {
    auto in = [&](const char* port) { return ports.input(std::string("s_axil_") + port); };
    auto out = [&](const char* port) { return ports.output(std::string("s_axil_") + port); };
    awaddr_ = in("awaddr"), awvalid_ = in("awvalid"), wdata_ = in("wdata"), wstrb_ = in("wstrb");
    wvalid_ = in("wvalid"), bready_ = in("bready"), araddr_ = in("araddr");
    arvalid_ = in("arvalid"), rready_ = in("rready");
    awready_ = out("awready"), wready_ = out("wready"), bresp_ = out("bresp");
    bvalid_ = out("bvalid"), arready_ = out("arready"), rdata_ = out("rdata");
    rresp_ = out("rresp"), rvalid_ = out("rvalid");
}

void Host::load(const Command* commands, size_t count) {
    commands_.assign(commands, commands + count);
    reads_.clear();
    errors_.clear();
    current_ = 0;
    dropped_ = phase_ != Phase::kIdle;
    first_command_ = ~uint64_t{0};
    last_read_ = 0;
}

bool Host::step(uint64_t now, const uint32_t* outputs, uint32_t* inputs) {
    bool completed = false;
    if (phase_ == Phase::kWrite) {
        if (address_pending_ && awready_.get(outputs)) {
            address_pending_ = false;
            if (first_command_ == ~uint64_t{0} && !dropped_) first_command_ = now;
        }
        if (data_pending_ && wready_.get(outputs)) data_pending_ = false;
        if (bvalid_.get(outputs)) completed = finish_write(bresp_.get(outputs));
    } else if (phase_ == Phase::kRead) {
        if (address_pending_ && arready_.get(outputs)) address_pending_ = false;
        if (rvalid_.get(outputs)) completed = finish_read(rdata_.get(outputs), rresp_.get(outputs));
    }
    if (phase_ == Phase::kIdle && current_ < commands_.size() && now + 1 >= next_start_) {
        begin(now + 1);
    }
    const bool writing = phase_ == Phase::kWrite, reading = phase_ == Phase::kRead;
    awvalid_.set(inputs, writing && address_pending_);
    wvalid_.set(inputs, writing && data_pending_);
    bready_.set(inputs, writing);
    arvalid_.set(inputs, reading && address_pending_);
    rready_.set(inputs, reading);
    if (writing) {
        awaddr_.set(inputs, access_.address);
        wdata_.set(inputs, access_.data);
        wstrb_.set(inputs, 0xF);
    } else if (reading) {
        araddr_.set(inputs, access_.address);
    }
    return completed;
}

void Host::begin(uint64_t now) {
    access_ = commands_[current_];
    bool write = access_.operation == kWrite;
    phase_ = write ? Phase::kWrite : Phase::kRead;
    address_pending_ = true;
    data_pending_ = write;
    next_start_ = now + access_cycles_;
}

bool Host::finish_write(uint32_t response) {
    phase_ = Phase::kIdle;
    if (dropped_) {
        dropped_ = false;
        return true;
    }
    if (response) {
        errors_.push_back(
            {static_cast<uint32_t>(current_), access_.address, response});
    }
    current_++;
    return true;
}

bool Host::finish_read(uint32_t value, uint32_t response) {
    phase_ = Phase::kIdle;
    if (dropped_) {
        dropped_ = false;
        return true;
    }
    last_read_ = value;
    if (response) {
        errors_.push_back({static_cast<uint32_t>(current_), access_.address, response});
    } else if (access_.operation == kWaitEqual) {
        if ((value & access_.mask) != access_.data) return false;
    } else if (access_.operation == kWaitReached) {
        if (static_cast<int32_t>(value - access_.data) < 0) return false;
    }
    if (access_.operation == kRead) reads_.push_back(value);
    current_++;
    return true;
}

}  // namespace spica

#include "mirror.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace spica {

namespace {
// The model executes one instruction at a time, and what it says in it is collected here.
thread_local std::vector<uint32_t> commands;

// `Devices` of ../iss/native/machine.hpp: units that do nothing. Their side is the gateware's.
struct Silent {
    int (*read)(uint32_t, uint32_t* value) = [](uint32_t, uint32_t* value) {
        *value = 0;
        return 1;
    };
    int (*write)(uint32_t, uint32_t) = [](uint32_t, uint32_t) { return 1; };
    int (*cisc)(uint32_t) = [](uint32_t word) {
        commands.push_back(word);
        return 1;
    };
};
}  // namespace

Mirror::Mirror(const PortTable& ports, const MirrorSetup& setup) : setup_(setup) {
    const Silent silent;
    setup_.devices(setup_.machine, &silent);
    commands.clear();
    for (uint32_t number = 0;; number++) {
        std::string name = "shared_write_" + std::to_string(number);
        WritePort port{ports.output(name + "_valid"), ports.output(name + "_address"),
                       ports.output(name + "_data"), ports.output(name + "_mask")};
        if (!port.valid.exists()) break;
        shared_.push_back(port);
    }
}

void Mirror::archive(Archive& archive) { archive(writes_, first_, now_, commands); }

bool Mirror::step(uint64_t now, const uint32_t* outputs, const uint32_t*) {
    now_ = now;
    for (const WritePort& port : shared_) {
        if (!port.valid.get(outputs)) continue;
        uint32_t size = port.mask.width;
        uint32_t address = setup_.shared_base + port.address.get(outputs);
        const auto* bytes = reinterpret_cast<const uint8_t*>(outputs + port.data.offset);
        for (uint32_t at = 0; at < size; at += kBytes) {
            uint32_t count = std::min(size - at, kBytes);
            uint64_t strobes = 0;
            std::memcpy(&strobes, outputs + port.mask.offset + at / 32, (count + 7) / 8);
            take(address + at, bytes + at, strobes, count);
        }
    }
    return true;
}

void Mirror::written(uint64_t address, const uint8_t* bytes, const uint32_t* strobes,
                     uint32_t size, uint32_t id) {
    if (id >= setup_.dma_ids) return;  // of a core: the model has executed it
    for (uint32_t at = 0; at < size; at += kBytes) {
        uint32_t count = std::min(size - at, kBytes);
        uint64_t enabled = 0;
        std::memcpy(&enabled, strobes + at / 32, (count + 7) / 8);
        take(static_cast<uint32_t>(address) + at, bytes + at, enabled, count);
    }
}

void Mirror::take(uint32_t address, const uint8_t* bytes, uint64_t strobes, uint32_t size) {
    if (size < 64) strobes &= (uint64_t{1} << size) - 1;
    if (strobes == 0) return;
    Write& write = add();
    // DRAM takes its writes before the units are looked at in a cycle.
    write.begin = now_;
    write.end = now_ + 1;
    write.strobes = strobes;
    write.address = address;
    write.core = kNobody;
    setup_.read(setup_.machine, address, write.before.data(), size);
    write.after = write.before;
    for (uint64_t rest = strobes; rest != 0; rest &= rest - 1) {
        size_t byte = static_cast<size_t>(std::countr_zero(rest));
        write.after[byte] = bytes[byte];
    }
    setup_.write(setup_.machine, address, write.after.data(), size);
}

Mirror::Write& Mirror::add() {
    if (writes_.size() == kMost) {
        writes_.pop_front();
        first_++;
    }
    return writes_.emplace_back();
}

uint64_t Mirror::begin_store(uint32_t core, uint64_t begin, uint32_t lanes,
                             const iss::Access& access) {
    uint64_t number = first_ + writes_.size();
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        size_t lane = static_cast<size_t>(std::countr_zero(rest));
        uint32_t address = access.addresses[lane], shift = 8 * (address & 3);
        uint32_t data = access.data[lane] << shift;
        Write& write = add();
        write.begin = begin;
        write.end = kOpen;
        write.strobes = uint64_t{(1u << access.size) - 1} << (address & 3);
        write.address = address & ~3u;
        write.core = core;
        std::memcpy(write.before.data(), &access.before[lane], 4);
        std::memcpy(write.after.data(), &data, 4);
    }
    return number;
}

void Mirror::end_store(uint64_t first, uint32_t count, uint64_t end) {
    for (uint64_t number = std::max(first, first_); number < first + count; number++) {
        writes_[number - first_].end = end;
    }
}

bool Mirror::explains(uint32_t core, uint64_t from, uint64_t to, uint32_t address, uint32_t size,
                      uint32_t expected, uint32_t got) const {
    uint32_t found = 0;  // bytes that memory may have held as the core has them
    for (uint32_t byte = 0; byte < size; byte++) {
        uint32_t shift = 8 * byte;
        if ((expected >> shift & 0xFF) == (got >> shift & 0xFF)) found |= 1u << byte;
    }
    for (const Write& write : writes_) {
        // A core's own stores and loads take effect in their order.
        if (write.core == core || write.begin > to || write.end < from) continue;
        for (uint32_t byte = 0; byte < size; byte++) {
            uint32_t place = address + byte - write.address;
            if (place >= kBytes || !(write.strobes >> place & 1)) continue;
            uint8_t value = static_cast<uint8_t>(got >> 8 * byte);
            if (value == write.before[place] || value == write.after[place]) found |= 1u << byte;
        }
    }
    return found == (1u << size) - 1;
}

bool Mirror::has_commands() { return !commands.empty(); }

std::vector<uint32_t> Mirror::take_commands() { return std::exchange(commands, {}); }

}  // namespace spica

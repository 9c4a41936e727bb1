#include "memory/mirror.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace spica {

namespace {
// Command words of the instruction that the model executes; it executes one at a time.
thread_local std::vector<uint32_t> commands;

// `Devices` of ../iss/native/machine.hpp: inactive units. The RTL has the active ones.
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
    // Never called: the RTL decides when a warp continues.
    int (*wait)(uint32_t, uint32_t, uint32_t*) = nullptr;
};
}  // namespace

Mirror::Mirror(const PortTable& ports, const MirrorSetup& setup) : setup_(setup) {
    const Silent silent;
    commands.clear();
    for (uint32_t cluster = 0; cluster < setup_.clusters; cluster++) {
        setup_.devices(setup_.machine, cluster, &silent);
        add_ports(ports, cluster);
    }
}

void Mirror::add_ports(const PortTable& ports, uint32_t cluster) {
    for (uint32_t number = 0;; number++) {
        std::string name = in_cluster(cluster, "shared_write_" + std::to_string(number));
        WritePort port{setup_.placed(cluster, setup_.shared_base),
                       ports.output(name + "_valid"), ports.output(name + "_address"),
                       ports.output(name + "_data"), ports.output(name + "_mask")};
        if (!port.valid.exists()) break;
        shared_.push_back(port);
    }
    for (uint32_t number = 0;; number++) {
        DmaWrites port(ports, in_cluster(cluster, "dma_axi_" + std::to_string(number)));
        if (!port.exists()) break;
        dma_.push_back(port);
    }
}

void Mirror::archive(Archive& archive) { archive(writes_, first_, now_, dma_, commands); }

bool Mirror::step(uint64_t now, const uint32_t* outputs, const uint32_t*) {
    now_ = now;
    for (const WritePort& port : shared_) {
        if (!port.valid.get(outputs)) continue;
        take(port.base + port.address.get(outputs),
             reinterpret_cast<const uint8_t*>(outputs + port.data.offset),
             outputs + port.mask.offset, port.mask.width, now + 1);
    }
    for (DmaWrites& writes : dma_) {
        writes.step(
            outputs,
            [&](uint32_t address, const uint8_t* bytes, const uint32_t* strobes, uint32_t size) {
                return take(address, bytes, strobes, size, kOpen);
            },
            [&](const std::vector<uint64_t>& numbers, bool is_refused) {
                answer(numbers, is_refused);
            });
    }
    return true;
}

std::vector<uint64_t> Mirror::take(uint32_t address, const uint8_t* bytes, const uint32_t* strobes,
                                   uint32_t size, uint64_t end) {
    std::vector<uint64_t> numbers;
    for (uint32_t at = 0; at < size; at += kBytes) {
        uint32_t count = std::min(size - at, kBytes);
        uint64_t enabled = 0;
        std::memcpy(&enabled, strobes + at / 32, (count + 7) / 8);
        if (count < kBytes) enabled &= (uint64_t{1} << count) - 1;
        if (enabled == 0) continue;
        take_piece(address + at, bytes + at, enabled, count, end);
        numbers.push_back(first_ + writes_.size() - 1);
    }
    return numbers;
}

void Mirror::take_piece(uint32_t address, const uint8_t* bytes, uint64_t strobes, uint32_t size,
                        uint64_t end) {
    Write& write = add();
    write.begin = now_;
    write.end = end;
    write.strobes = strobes;
    write.address = address;
    write.core = kNobody;
    write.warp = write.pc = 0;
    write.is_window = false;
    setup_.read(setup_.machine, address, write.before.data(), size);
    write.after = write.before;
    for (uint64_t rest = strobes; rest != 0; rest &= rest - 1) {
        size_t byte = static_cast<size_t>(std::countr_zero(rest));
        write.after[byte] = bytes[byte];
    }
    // Only written bytes, as the model reports writes to operands of products.
    for (uint64_t rest = strobes; rest != 0;) {
        uint32_t first = static_cast<uint32_t>(std::countr_zero(rest));
        uint32_t count = static_cast<uint32_t>(std::countr_one(rest >> first));
        setup_.write(setup_.machine, address + first, write.after.data() + first, count);
        rest = first + count == kBytes ? 0 : rest >> (first + count) << (first + count);
    }
}

void Mirror::answer(const std::vector<uint64_t>& numbers, bool is_refused) {
    for (uint64_t number : numbers) {
        if (number < first_) continue;
        Write& write = writes_[number - first_];
        write.end = now_;
        if (is_refused) undo(write);
    }
}

// Reverts a write with an error response, except bytes that others have written since.
void Mirror::undo(const Write& write) {
    for (uint64_t rest = write.strobes; rest != 0; rest &= rest - 1) {
        uint32_t byte = static_cast<uint32_t>(std::countr_zero(rest));
        uint8_t value = 0;
        setup_.read(setup_.machine, write.address + byte, &value, 1);
        if (value != write.after[byte]) continue;
        setup_.write(setup_.machine, write.address + byte, &write.before[byte], 1);
    }
}

Mirror::Write& Mirror::add() {
    if (writes_.size() == kMost) {
        writes_.pop_front();
        first_++;
    }
    return writes_.emplace_back();
}

uint64_t Mirror::begin_store(const iss::Retired& store, uint64_t begin, uint32_t lanes) {
    const iss::Access& access = store.access;
    uint64_t number = first_ + writes_.size();
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        size_t lane = static_cast<size_t>(std::countr_zero(rest));
        uint32_t address = placed(store.core, access.addresses[lane]), shift = 8 * (address & 3);
        uint32_t data = access.data[lane] << shift;
        Write& write = add();
        write.begin = begin;
        write.end = kOpen;
        write.strobes = uint64_t{(1u << access.size) - 1} << (address & 3);
        write.address = address & ~3u;
        write.core = store.core;
        write.warp = store.warp;
        write.pc = store.pc;
        write.is_window = is_window(access.addresses[lane]);
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
    const bool through_window = is_window(address);
    address = placed(core, address);
    uint32_t explained = 0;  // bytes for which memory may have held the core's value
    for (uint32_t byte = 0; byte < size; byte++) {
        uint32_t shift = 8 * byte;
        if ((expected >> shift & 0xFF) == (got >> shift & 0xFF)) explained |= 1u << byte;
    }
    for (const Write& write : writes_) {
        // A core's own stores and loads of a word take effect in program order, unless they go
        // different ways.
        bool is_ordered = write.core == core && write.is_window == through_window;
        if (is_ordered || write.begin > to || write.end < from) continue;
        for (uint32_t byte = 0, place; byte < size; byte++) {
            if (!write.has(address + byte, place)) continue;
            uint8_t value = static_cast<uint8_t>(got >> 8 * byte);
            bool is_held = value == write.before[place] || value == write.after[place];
            if (is_held) explained |= 1u << byte;
        }
    }
    return explained == (1u << size) - 1;
}

Missed Mirror::missed(uint32_t core, uint64_t from, uint32_t address, uint32_t size,
                      uint32_t expected, uint32_t got) const {
    address = placed(core, address);
    Missed missed;
    for (uint32_t byte = 0, place; byte < size; byte++) {
        uint8_t value = static_cast<uint8_t>(got >> 8 * byte);
        if (value == static_cast<uint8_t>(expected >> 8 * byte)) continue;
        auto write = std::find_if(writes_.rbegin(), writes_.rend(), [&](const Write& other) {
            return other.core != core && other.end < from && other.has(address + byte, place) &&
                   other.before[place] == value && other.after[place] != value;
        });
        if (write == writes_.rend()) return {};
        if (!missed.is_found || write->end > missed.cycle) {
            missed = {true, write->core, write->warp, write->pc, write->end};
        }
    }
    return missed;
}

bool Mirror::has_commands() { return !commands.empty(); }

std::vector<uint32_t> Mirror::take_commands() { return std::exchange(commands, {}); }

}  // namespace spica

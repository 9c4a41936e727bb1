// Memory of cores without a cluster: DRAM, shared memory, print buffers, and allowed regions.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cores/atomics.hpp"
#include "memory/memory.hpp"
#include "../iss/native/regions.hpp"

namespace spica {

// Timing and address ranges of the memory of cores, filled in by Python.
extern "C" struct CoreMemoryParameters {
    uint32_t near_base, near_bytes;  // shared memory and the print buffers behind it
    uint32_t shared_bytes, reserved;
    uint32_t console_base, console_bytes;
    uint32_t dump_base, dump_bytes;  // counters that programs dump
    uint32_t latency, jitter, is_shuffled, padding;
    uint32_t begin_marker, end_marker;  // instructions
    double stall, silence, split;
    uint64_t seed;
};

class CoreImage {
public:
    CoreImage(Memory& dram, const CoreMemoryParameters& parameters)
        : dram_(dram),
          near_{parameters.near_base, std::vector<uint8_t>(parameters.near_bytes)},
          dump_{parameters.dump_base, std::vector<uint8_t>(parameters.dump_bytes)},
          shared_bytes_(parameters.shared_bytes),
          console_base_(parameters.console_base),
          console_bytes_(parameters.console_bytes) {}

    // Accesses of the host, not limited by regions; false for unmapped addresses.
    bool read(uint64_t address, uint8_t* data, uint64_t size) const {
        if (dram_.contains(address, size)) {
            dram_.read(address, data, size);
            return true;
        }
        const Piece* piece = holder(address, size);
        if (piece) std::memcpy(data, piece->bytes.data() + (address - piece->base), size);
        return piece;
    }
    bool write(uint64_t address, const uint8_t* data, uint64_t size) {
        if (dram_.contains(address, size)) {
            dram_.write(address, data, size);
            return true;
        }
        Piece* piece = const_cast<Piece*>(holder(address, size));
        if (piece) std::memcpy(piece->bytes.data() + (address - piece->base), data, size);
        return piece;
    }

    // Allows accesses of programs to these bytes of DRAM; without any call, all are allowed.
    void allow(uint64_t first, uint64_t last) { regions_.allow(first, last); }

    // Loads the word around `address`, for an access of `size` bytes; false if not allowed.
    bool load(uint32_t address, uint32_t size, uint32_t& word) {
        uint32_t aligned = address & ~3u;
        if (dram_.contains(address, size)) {
            if (!regions_.may_touch(address, size)) return false;
            word = dram_.word(aligned);
            return true;
        }
        const Piece* piece = holder(address, size);
        if (piece) std::memcpy(&word, piece->bytes.data() + (aligned - piece->base), 4);
        return piece;
    }
    // Stores the `size` bytes selected by `strobes` to the word around `address`.
    bool store(uint32_t address, uint32_t size, uint32_t strobes, uint32_t word) {
        uint8_t* bytes;
        uint32_t aligned = address & ~3u;
        if (dram_.contains(address, size)) {
            if (!regions_.may_touch(address, size)) return false;
            bytes = dram_.bytes(aligned);
        } else if (const Piece* piece = holder(address, size)) {
            bytes = const_cast<uint8_t*>(piece->bytes.data()) + (aligned - piece->base);
        } else if (address - console_base_ < console_bytes_ && size == 1) {
            console.push_back(static_cast<char>(word >> 8 * (address % 4)));
            return true;
        } else {
            return false;
        }
        reservations_.end(aligned);
        for (uint32_t byte = 0; byte < 4; byte++) {
            if (strobes >> byte & 1) bytes[byte] = static_cast<uint8_t>(word >> 8 * byte);
        }
        return true;
    }
    // Performs an atomic access of a thread; false if not allowed, or at the console.
    bool perform(uint32_t address, const AtomicAccess& access, uint32_t thread, uint64_t now,
                 uint32_t& result) {
        uint32_t size = static_cast<uint32_t>(std::popcount(access.strobes)), old = 0;
        if (!has_atomics(address, size) || !load(address, size, old)) return false;
        uint32_t word = address & ~3u;
        result = old;
        if (access.operation == Atomic::kStoreConditional) {
            result = !reservations_.take(thread, word, now);
            if (result != 0) return true;
        }
        if (access.operation == Atomic::kLoadReserved) reservations_.reserve(thread, word, now);
        if (!access.writes(old)) return true;
        return store(address, size, access.strobes, access.written(old));
    }
    // Fetches an instruction; false outside the placed program.
    bool fetch(uint32_t address, uint32_t& word) {
        word = 0;
        if (!dram_.contains(address, 4) || !dram_.is_written(address)) return false;
        if (!regions_.may_touch(address, 4)) return false;
        word = dram_.word(address);
        return true;
    }

    void archive(Archive& archive) {
        archive(near_.bytes, dump_.bytes, regions_, console, reservations_);
    }

    std::string console;  // console output

private:
    struct Piece {
        uint32_t base;
        std::vector<uint8_t> bytes;

        bool contains(uint64_t address, uint64_t size) const {
            return address >= base && address + size <= base + uint64_t{bytes.size()};
        }
    };
    const Piece* holder(uint64_t address, uint64_t size) const {
        if (near_.contains(address, size)) return &near_;
        return dump_.contains(address, size) ? &dump_ : nullptr;
    }

    // Whether atomics exist at an address: in DRAM and in shared memory, not behind it.
    bool has_atomics(uint32_t address, uint32_t size) const {
        return dram_.contains(address, size) ||
               (address >= near_.base && address - near_.base < shared_bytes_);
    }

    Memory& dram_;
    Piece near_, dump_;
    const uint32_t shared_bytes_;
    uint32_t console_base_, console_bytes_;
    Regions regions_;
    CoreReservations reservations_;
};

}  // namespace spica

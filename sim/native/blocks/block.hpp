// Interface of a library with one Verilated block; its functions are found by name.
#pragma once
#include <cstdint>

namespace spica {

// A port of a block: its storage, of 1, 2, 4 or 8 bytes or of 32-bit words, and its bits.
struct BlockPort {
    void* data;
    uint32_t width;
};

extern "C" struct BlockFunctions {
    // A block that has been evaluated once: a model detects no edge in its first evaluation.
    void* (*create)(uint64_t seed);
    void (*destroy)(void* block);
    // Ports in the order of the block's design; the last is the drive input, either of whose edges
    // takes over all inputs but clocks.
    const BlockPort* (*ports)(void* block, uint32_t* count);
    void (*evaluate)(void* block);
    // State of the block; the bytes stay valid until the next call.
    uint64_t (*save)(void* block, const uint8_t** bytes);
    int (*restore)(void* block, const uint8_t* bytes, uint64_t size);
    // Opens a waveform (VCD); returns 0 if the library was built without or the file cannot be
    // written. It is closed with the block.
    int (*trace)(void* block, const char* path);
    // Writes the values at a time, if a waveform is open.
    void (*dump)(void* block, uint64_t time);
};

}  // namespace spica

// Cores alone, with the simple memory at their ports.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cores/core_image.hpp"
#include "cores/core_memory.hpp"
#include "cores/cores.hpp"

namespace spica {

class LoneCores : public Cores {
public:
    LoneCores(const PortTable& ports, Memory& dram, const CoreMemoryParameters& parameters);

    void begin(bool starts, uint64_t max_cycles, uint64_t watchdog) override;
    StopReason step(const uint32_t* outputs, uint32_t* inputs);
    void allow(uint64_t first, uint64_t last) override { image.allow(first, last); }
    const std::string& console() const override { return image.console; }
    CoreState core_state(uint32_t core) const override;
    std::string violation() const;
    void archive(Archive& archive) override;

    CoreImage image;

private:
    Motion move(const uint32_t* outputs, uint32_t* inputs);
    StopReason stop_reason(const uint32_t* outputs);

    Field start_;
    std::vector<std::unique_ptr<CoreMemory>> memories_;
};

}  // namespace spica

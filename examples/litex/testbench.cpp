// Clock, reset and console of the simulated SoC.
#include <cstdint>
#include <cstdio>

#include "Vtop.h"

// Runs the SoC until its firmware ends; returns its exit code, or 1 at the limit of cycles.
extern "C" int simulate(uint64_t limit)
{
    VerilatedContext context;
    Vtop soc{&context};
    soc.rst = 1;
    for (uint64_t cycle = 0; cycle < limit; cycle++) {
        soc.clk = 0;
        soc.eval();
        if (soc.console_valid)
            std::putchar(soc.console_data);
        if (soc.finish_valid) {
            std::printf("Simulated cycles: %llu\n", static_cast<unsigned long long>(cycle));
            std::fflush(stdout);
            return soc.finish_data;
        }
        soc.rst = cycle < 4;
        soc.clk = 1;
        soc.eval();
    }
    std::printf("FAIL: no end within %llu cycles\n", static_cast<unsigned long long>(limit));
    std::fflush(stdout);
    return 1;
}

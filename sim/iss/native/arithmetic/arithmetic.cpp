// Arithmetic over whole arrays, for tests and measurements.
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "arithmetic/conversion16.hpp"
#include "arithmetic/float32.hpp"
#include "arithmetic/special.hpp"
#include "arithmetic/tensor.hpp"
#include "arithmetic/vector32.hpp"

using namespace spica;

namespace {

// Floating-point modes that other code in the process may have set.
extern "C" enum class Processor : uint32_t { AsIs, TowardZero, Down, Up, Flushing };
Processor chosen = Processor::AsIs;

// Sets the chosen mode for the duration of one call.
class Setting {
public:
    Setting() {
        if (chosen == Processor::AsIs) return;
        std::fegetenv(&before_);
        constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        if (chosen != Processor::Flushing) {
            std::fesetround(modes[static_cast<uint32_t>(chosen)]);
        } else {
#if defined(__SSE2__)
            constexpr unsigned flush_to_zero = 0x8000, subnormals_are_zero = 0x0040;
            _mm_setcsr(_mm_getcsr() | flush_to_zero | subnormals_are_zero);
#endif
        }
    }
    ~Setting() {
        if (chosen != Processor::AsIs) std::fesetenv(&before_);
    }

private:
    std::fenv_t before_;
};

// Rounded operation on warps of `lanes` lanes, with a mode, a mask and flags per warp.
template <typename Operation>
void warps(std::size_t count, unsigned lanes, const uint32_t* masks, const uint32_t* a,
           const uint32_t* b, const uint32_t* c, const uint32_t* modes, uint32_t* results,
           uint32_t* flags) {
    Setting setting;
    for (std::size_t k = 0; k < count; ++k) {
        std::size_t first = k * lanes;
        lanes32<Operation>(lanes, masks[k], a + first, b + first, c + first, results + first,
                           static_cast<Rounding>(modes[k]), flags[k]);
    }
}

}  // namespace

#define ARRAYS                                                                             \
    std::size_t count, const uint32_t *a, const uint32_t *b, const uint32_t *c,            \
        const uint32_t *modes, uint32_t *results, uint32_t *flags
#define OPERATION(name, ...)                                                               \
    extern "C" void spica_##name(ARRAYS) {                                                 \
        Setting setting;                                                                   \
        for (std::size_t k = 0; k < count; ++k) {                                          \
            uint32_t x = a[k], y = b[k], z = c[k], &raised = flags[k];                     \
            Rounding mode = static_cast<Rounding>(modes[k]);                               \
            (void)y, (void)z, (void)mode, (void)raised;                                    \
            results[k] = __VA_ARGS__;                                                      \
        }                                                                                  \
    }
// Three functions: one lane at a time, the exact path, and whole warps.
#define ROUNDED(name, policy, ...)                                                         \
    OPERATION(name, __VA_ARGS__)                                                           \
    OPERATION(name##_exact, policy::slow(x, y, z, mode, raised))                           \
    extern "C" void spica_##name##_lanes(                                                  \
        std::size_t count, unsigned lanes, const uint32_t* masks, const uint32_t* a,       \
        const uint32_t* b, const uint32_t* c, const uint32_t* modes, uint32_t* results,    \
        uint32_t* flags) {                                                                 \
        warps<policy>(count, lanes, masks, a, b, c, modes, results, flags);                \
    }

using Fused = MultiplyAdd<>;
using FusedSubtract = MultiplyAdd<0, kSign>;
using FusedNegatedSubtract = MultiplyAdd<kSign, 0>;
using FusedNegated = MultiplyAdd<kSign, kSign>;
using Subtract = Add<kSign>;

ROUNDED(fmadd_s, Fused, fma32(x, y, z, mode, raised))
ROUNDED(fmsub_s, FusedSubtract, fma32(x, y, z ^ kSign, mode, raised))
ROUNDED(fnmsub_s, FusedNegatedSubtract, fma32(x ^ kSign, y, z, mode, raised))
ROUNDED(fnmadd_s, FusedNegated, fma32(x ^ kSign, y, z ^ kSign, mode, raised))
ROUNDED(fadd_s, Add<>, add32(x, y, mode, raised))
ROUNDED(fsub_s, Subtract, sub32(x, y, mode, raised))
ROUNDED(fmul_s, Multiply, mul32(x, y, mode, raised))
ROUNDED(fdiv_s, Divide, div32(x, y, mode, raised))
ROUNDED(fsqrt_s, SquareRoot, sqrt32(x, mode, raised))
OPERATION(fmin_s, min32(x, y, raised))
OPERATION(fmax_s, max32(x, y, raised))
OPERATION(feq_s, eq32(x, y, raised))
OPERATION(flt_s, lt32(x, y, raised))
OPERATION(fle_s, le32(x, y, raised))
OPERATION(fclass_s, class32(x))
OPERATION(fcvt_w_s, to_int32(x, true, mode, raised))
OPERATION(fcvt_wu_s, to_int32(x, false, mode, raised))
OPERATION(fcvt_s_w, from_int32(x, true, mode, raised))
OPERATION(fcvt_s_wu, from_int32(x, false, mode, raised))
OPERATION(fcvt_h_s, boxed16<kFp16>(x, mode, raised))
OPERATION(fcvt_bf16_s, boxed16<kBf16>(x, mode, raised))
OPERATION(fpack_h_s, packed16<kFp16>(x, y, mode, raised))
OPERATION(fpack_bf16_s, packed16<kBf16>(x, y, mode, raised))
OPERATION(fcvt_s_h, unboxed16<kFp16>(x, raised))
OPERATION(fcvt_s_bf16, unboxed16<kBf16>(x, raised))
OPERATION(funpackl_s_h, widen16<kFp16>(x & 0xFFFF, raised))
OPERATION(funpackh_s_h, widen16<kFp16>(x >> 16, raised))
OPERATION(funpackl_s_bf16, widen16<kBf16>(x & 0xFFFF, raised))
OPERATION(funpackh_s_bf16, widen16<kBf16>(x >> 16, raised))

extern "C" {

void spica_choose_processor(uint32_t kind) { chosen = static_cast<Processor>(kind); }

void spica_special(std::size_t count, uint32_t function, const uint32_t* a, uint32_t* results) {
    Setting setting;
    for (std::size_t k = 0; k < count; ++k) {
        results[k] = special32(static_cast<Special>(function), a[k]);
    }
}

// `registers` holds the registers of `count` warps, both inputs and results.
void spica_hmma(const TensorNumerics* numerics, std::size_t count, uint32_t threads,
                uint32_t accumulators, uint32_t* registers) {
    Setting setting;
    for (std::size_t k = 0; k < count; ++k) {
        hmma(*numerics, registers + k * 32 * threads, threads, accumulators);
    }
}

void spica_hgmma(const TensorNumerics* numerics, std::size_t count, const uint8_t* a,
                 const uint8_t* b, uint32_t* registers) {
    Setting setting;
    constexpr std::size_t bytes = 1024, words = 32 * kTile;
    for (std::size_t k = 0; k < count; ++k) {
        hgmma(*numerics, a + k * bytes, b + k * bytes, registers + k * words);
    }
}

}  // extern "C"

// The arithmetic over whole arrays, for tests and measurements: each operation by its own name.
#include <cstddef>
#include <cstdint>

#include "float32.hpp"

using namespace spica;

namespace {

// Runs `operation` on each element; results and flags out.
template <typename Operation>
void each(std::size_t count, uint32_t* results, uint32_t* flags, Operation operation) {
    for (std::size_t k = 0; k < count; ++k) {
        uint32_t raised = 0;
        results[k] = operation(k, raised);
        flags[k] = raised;
    }
}

}  // namespace

#define ARRAYS                                                                                   \
    std::size_t count, const uint32_t *a, const uint32_t *b, const uint32_t *c,                  \
        const uint32_t *modes, uint32_t *results, uint32_t *flags
#define OPERATION(name, ...)                                                                     \
    void spica_##name(ARRAYS) {                                                                  \
        (void)a, (void)b, (void)c, (void)modes;                                                  \
        each(count, results, flags, [=](std::size_t k, uint32_t& raised) -> uint32_t {           \
            (void)k;                                                                             \
            return __VA_ARGS__;                                                                  \
        });                                                                                      \
    }
#define MODE static_cast<Rounding>(modes[k])

extern "C" {
OPERATION(fma32, fma32(a[k], b[k], c[k], MODE, raised))
OPERATION(add32, add32(a[k], b[k], MODE, raised))
OPERATION(sub32, sub32(a[k], b[k], MODE, raised))
OPERATION(mul32, mul32(a[k], b[k], MODE, raised))
OPERATION(div32, div32(a[k], b[k], MODE, raised))
OPERATION(sqrt32, sqrt32(a[k], MODE, raised))
OPERATION(min32, min32(a[k], b[k], raised))
OPERATION(max32, max32(a[k], b[k], raised))
OPERATION(eq32, eq32(a[k], b[k], raised))
OPERATION(lt32, lt32(a[k], b[k], raised))
OPERATION(le32, le32(a[k], b[k], raised))
OPERATION(class32, ((void)raised, class32(a[k])))
OPERATION(to_int32, to_int32(a[k], true, MODE, raised))
OPERATION(to_uint32, to_int32(a[k], false, MODE, raised))
OPERATION(from_int32, from_int32(a[k], true, MODE, raised))
OPERATION(from_uint32, from_int32(a[k], false, MODE, raised))
}

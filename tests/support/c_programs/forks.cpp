/* Parallel blocks of C++: with nothing from before them, with variables, with arrays and objects. */
#include <spica.h>
#include <spica_parallel.h>

static uint32_t out[2048];
static volatile uint32_t first;

struct Scale {
    uint32_t factor, offset;
    uint32_t operator()(uint32_t x) const { return factor * x + offset; }
};

template <typename Function> static void require(uint32_t number, Function f)
{
    for (uint32_t k = 0; k < SPICA_WARPS * SPICA_THREADS; k++) {
        const uint32_t thread = vx_core_id() * SPICA_WARPS * SPICA_THREADS + k;
        if (out[thread] != f(thread))
            exit((int)number);
    }
}

template <typename Value> static void fill(Value value)
{
    SPICA_PARALLEL {
        out[spica_thread()] = (uint32_t)(value * (Value)3);
    } SPICA_END_PARALLEL
}

int main()
{
    first = 12345;
    SPICA_PARALLEL {
        out[spica_thread()] = 12345;
    } SPICA_END_PARALLEL
    require(1, [](uint32_t) { return 12345u; });

    const uint32_t seed = first;
    uint32_t table[] = {seed, seed + 70000, 3};
    const Scale scale{seed, 98765};
    SPICA_PARALLEL {
        out[spica_thread()] = scale(spica_thread()) + table[spica_thread() % 3];
    } SPICA_END_PARALLEL
    require(2, [&](uint32_t t) { return scale(t) + table[t % 3]; });

    fill(seed);
    require(3, [&](uint32_t) { return 3 * seed; });
    fill(2.5f);
    require(4, [](uint32_t) { return 7u; });
    return 0;
}

// C++: templates, classes, lambdas as tasks, constructors of global objects.
#include <spica.h>

namespace {

struct Arguments {
    uint32_t count;
    const float *x;
    float *y;
    uint32_t *constructed; // by core
};

class Started {
public:
    Started() : value(static_cast<uint32_t>(1234 + __builtin_bit_cast(int32_t, 0u))) { twice = value * 2; }
    uint32_t value, twice;
};

volatile uint32_t seed = 21;
struct Later {
    Later() : value(seed * 2) {}
    uint32_t value;
};
Later later;

template <typename T, int degree>
struct Polynomial {
    T coefficients[degree + 1];
    T operator()(T x) const
    {
        T sum = coefficients[degree];
#pragma clang loop unroll(full)
        for (int k = degree - 1; k >= 0; k--)
            sum = sum * x + coefficients[k];
        return sum;
    }
};

} // namespace

int main()
{
    auto *arguments = static_cast<const Arguments *>(spica_arguments());
    arguments->constructed[vx_core_id()] = later.value + Started().twice;
    auto task = [](uint32_t i, void *argument) {
        auto *a = static_cast<const Arguments *>(argument);
        constexpr Polynomial<float, 3> cubic{{1.0f, -2.0f, 0.5f, 4.0f}};
        a->y[i] = cubic(a->x[i]);
    };
    vx_spawn_tasks(arguments->count, +task, const_cast<Arguments *>(arguments));
    return 0;
}

/* Float functions over arrays: function number, count, addresses of numbers and results. */
#include <spica.h>

typedef struct {
    uint32_t function, count;
    const float *x, *y;
    float *z;
} Arguments;

#define TASK(name, ...)                                   \
    static void task_##name(uint32_t i, void *argument)   \
    {                                                     \
        const Arguments *a = argument;                    \
        float x = a->x[i], y = a->y[i];                   \
        (void)y;                                          \
        a->z[i] = __VA_ARGS__;                            \
    }

TASK(exp, expf(x))
TASK(log, logf(x))
TASK(tanh, tanhf(x))
TASK(pow, powf(x, y))
TASK(sin, sinf(x))
TASK(cos, cosf(x))
TASK(rsqrt, rsqrtf(x))
TASK(floor, floorf(x))
TASK(ceil, ceilf(x))
TASK(trunc, truncf(x))
TASK(rint, rintf(x))
TASK(round, roundf(x))
TASK(sqrt, sqrtf(x))
TASK(exp2, exp2f(x))
TASK(log2, log2f(x))
TASK(fmin, fminf(x, y))
TASK(fmax, fmaxf(x, y))
TASK(fabs, fabsf(x))
TASK(copysign, copysignf(x, y))
TASK(rcp, spica_rcpf(x))

/* Upper and lower half of a float converted to double. */
static void task_upper(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    a->z[i] = spica_float((uint32_t)(__builtin_bit_cast(uint64_t, (double)a->x[i]) >> 32));
}

static void task_lower(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    a->z[i] = spica_float((uint32_t)__builtin_bit_cast(uint64_t, (double)a->x[i]));
}

static const spica_task tasks[] = {
    task_exp,  task_log,   task_tanh, task_pow,  task_sin,  task_cos,  task_rsqrt,
    task_floor, task_ceil, task_trunc, task_rint, task_round, task_sqrt, task_exp2,
    task_log2, task_fmin,  task_fmax, task_fabs, task_copysign, task_rcp,
    task_upper, task_lower,
};

int main(void)
{
    const Arguments *a = spica_arguments();
    vx_spawn_tasks(a->count, tasks[a->function], (void *)a);
    return 0;
}

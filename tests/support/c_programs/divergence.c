/* Divergent branches and loops, one function each. */
#include <spica.h>

typedef struct {
    uint32_t kind, count;
    const uint32_t *x;
    uint32_t *y;
} Arguments;

static void branch(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    uint32_t x = a->x[i], y = 1;
    SPICA_IF (x & 1) {
        y = x * 3 + 1;
    } SPICA_ELSE {
        y = x / 2;
    } SPICA_END_IF
    SPICA_IF (y > 100) {
        y -= 100;
    } SPICA_END_IF
    a->y[i] = y;
}

/* Nested splits: every side of each has a different value. */
static void nest(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    uint32_t x = a->x[i], y = 7;
    SPICA_IF (x & 1) {
        SPICA_IF (x & 2) {
            y = x + 10;
        } SPICA_ELSE {
            SPICA_IF (x & 4) {
                y = x + 20;
            } SPICA_END_IF
            y += 3;
        } SPICA_END_IF
    } SPICA_ELSE {
        y = x ^ 0x55;
        SPICA_IF (x & 8) {
            y += 1000;
        } SPICA_END_IF
    } SPICA_END_IF
    a->y[i] = y;
}

/* Steps of the Collatz sequence. */
static void loop(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    uint32_t x = a->x[i] % 1000 + 1, steps = 0;
    SPICA_WHILE (x != 1) {
        SPICA_IF (x & 1) {
            x = 3 * x + 1;
        } SPICA_ELSE {
            x >>= 1;
        } SPICA_END_IF
        steps++;
    } SPICA_END_WHILE
    a->y[i] = steps;
}

/* A loop in a loop in a branch. */
static void loops(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    uint32_t outer = a->x[i] % 7, sum = 0;
    SPICA_IF (outer != 3) {
        uint32_t k = 0;
        SPICA_WHILE (k < outer) {
            uint32_t j = k;
            SPICA_WHILE (j * j < outer + i % 5) {
                sum += j + 1;
                j++;
            } SPICA_END_WHILE
            k++;
        } SPICA_END_WHILE
        sum += k << 16;
    } SPICA_END_IF
    a->y[i] = sum;
}

/* Sides so simple that a compiler would prefer selections: integers, floats, equal sides. */
static void choose(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    uint32_t x = a->x[i], y = x ^ 0x1234, z = x * 7;
    float f = (float)(x & 0xFFF), g = (float)(x & 0xFF) + 0.5f;
    SPICA_IF (x & 1) {
        y = z;
    } SPICA_END_IF
    SPICA_IF (x & 2) {
        f = g;
    } SPICA_ELSE {
        f += 1.0f;
    } SPICA_END_IF
    SPICA_IF (x & 1) {
        z = y + 5;
    } SPICA_END_IF
    a->y[i] = y + 3 * z + (uint32_t)(2.0f * f);
}

/* Selections and the library's functions with divergent arguments. */
static void selections(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    uint32_t x = a->x[i];
    uint32_t y = spica_select(x & 4, x + 1, x - 1);
    y ^= spica_minu(x, 50) + spica_maxu(x % 9, 5);
    y += (uint32_t)spica_min((int32_t)x - 30, 4) * 3 + (uint32_t)spica_max((int32_t)x - 40, -6);
    a->y[i] = y;
}

static void strings(uint32_t i, void *argument)
{
    const Arguments *a = argument;
    const char *source = (const char *)a->x;
    char *target = (char *)(a->y + 8 * i);
    memset(target, (int)(i & 0x7F), 32);
    memcpy(target + (i & 3), source + i, i % 13);
    memmove(target + 15 + i % 3, target + 13, 8);
    target[30] = (char)(memcmp(source, source + i % 3, 9) != 0);
    target[31] = (char)strlen("abcdefgh" + i % 8);
}

static const spica_task tasks[] = {branch, nest, loop, loops, choose, selections, strings};

int main(void)
{
    const Arguments *a = spica_arguments();
    vx_spawn_tasks(a->count, tasks[a->kind], (void *)a);
    return 0;
}

/* Operands of a product, and the tile sizes and ranges of shared memory of a machine. */
#ifndef GEMM_SIZES_H
#define GEMM_SIZES_H

#include <virgo.h>

/* Whether the cores finish C. */
#ifndef GEMM_FINISHED
#define GEMM_FINISHED 0
#endif

/* Whether warp 1 loads; at least one warp must then remain to finish C. */
#define GEMM_LOADERS (SPICA_WARPS > 1 && SPICA_WARPS * SPICA_CORES > 1 + GEMM_FINISHED)

/* Rows of M x K, K x N and M x N elements; pitches in elements, at least a row. */
typedef struct {
    uint32_t m, n, k;
    const char *a, *b;
    char *c;
    uint32_t a_pitch, b_pitch, c_pitch;
    uint32_t options; /* options of virgo_store */
} Gemm;

/* Whether it is one of two programs: on the first matrix unit with the lower half of shared memory,
 * on the second with the upper half. */
#ifndef GEMM_HALVED
#define GEMM_HALVED 0
#endif

/* Constants that `tiles.py` computes for a machine. */
#if GEMM_HALVED
#define GEMM_PLAN_(name) SPICA_OF_UNIT(HALF_GEMM, PLAN_##name)
#elif GEMM_FINISHED
#define GEMM_PLAN_(name) SPICA_OF_UNIT(FINISHED_GEMM, PLAN_##name)
#else
#define GEMM_PLAN_(name) SPICA_OF_UNIT(GEMM, PLAN_##name)
#endif

/* Largest tiles, ranges of A and B in shared memory from GEMM_FIRST on with the tiles that fit, and
 * loads in progress. A
 * tile of C that the cores finish is behind these ranges. */
enum {
    GEMM_M = GEMM_PLAN_(M),
    GEMM_N = GEMM_PLAN_(N),
    GEMM_K = GEMM_PLAN_(K),
    GEMM_A_ROOM = GEMM_PLAN_(A_ROOM),
    GEMM_B_ROOM = GEMM_PLAN_(B_ROOM),
    GEMM_C_PLACE = GEMM_A_ROOM + GEMM_B_ROOM,
    GEMM_FIRST = GEMM_HALVED * VIRGO_UNIT * GEMM_C_PLACE,
    GEMM_A_BYTES = GEMM_PLAN_(A_BYTES),
    GEMM_B_BYTES = GEMM_PLAN_(B_BYTES),
    GEMM_A_SLOTS = GEMM_A_ROOM / GEMM_A_BYTES,
    GEMM_B_SLOTS = GEMM_B_ROOM / GEMM_B_BYTES,
    GEMM_LOADS = GEMM_PLAN_(LOADS),
};
_Static_assert(!GEMM_HALVED || (VIRGO_UNIT < 2 && !GEMM_FINISHED),
               "a half of shared memory is for gemm on one of two units");
_Static_assert(2 * GEMM_A_BYTES <= GEMM_A_ROOM && 2 * GEMM_B_BYTES <= GEMM_B_ROOM,
               "[larger shared.size] the range of each operand must hold two tiles of one block "
               "along K");

#endif

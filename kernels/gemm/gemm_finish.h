/* C = f(A * B): all warps of all cores finish one tile while the matrix unit computes the next.
 *
 * One thread commands as in gemm.h. The others read tiles of C from shared memory, in the
 * accumulator's format, and write the results to DRAM. A kernel includes this file and defines f:
 *
 *     // Value of a column of C.
 *     float finish_column(const void *more, uint32_t column);
 *     // Result element: from the product, its column's value, and the previous C if FINISH_READS_C.
 *     float finish_element(float sum, float column, float before);
 *
 * C is FP16, or has the accumulator's format if options say so. A lane has two columns of a tile, a
 * warp its share of the rows. Two FP16 elements next to each other are one word of a lane, and the
 * words of a warp are written together. */
#ifndef GEMM_FINISH_H
#define GEMM_FINISH_H

#define GEMM_FINISHED 1
#include "gemm.h"
#include "vx_spawn.h"

#ifndef FINISH_READS_C
#define FINISH_READS_C 0
#endif

enum {
    FINISH_INTEGERS = VIRGO_OPERAND_BYTES == 1 && VIRGO_NARROW_BYTES == 4,
    FINISH_WIDTH = 2 * SPICA_THREADS,
    FINISH_GROUPS = VIRGO_BLOCKS(GEMM_N, FINISH_WIDTH),
    FINISH_WARPS = SPICA_WARPS * SPICA_CORES - 1 - GEMM_LOADERS,
    FINISH_ACROSS = FINISH_GROUPS < FINISH_WARPS ? FINISH_GROUPS : FINISH_WARPS,
    FINISH_DOWN = FINISH_WARPS / FINISH_ACROSS,
};
_Static_assert(FINISH_WARPS > 0,
               "[larger core.warps] a warp besides the commanding and loading ones must finish C");

typedef struct {
    Gemm gemm;
    const char *more; /* argument of the kernel's functions */
} Finish;

SPICA_INLINE float finish_column(const void *more, uint32_t column);
SPICA_INLINE float finish_element(float sum, float column, float before);

/* A lane's part of a tile: two columns, adjacent or as many apart as there are lanes. */
typedef struct {
    const char *sums; /* first element of its first column */
    char *c;
    uint32_t sums_step, c_step; /* bytes from one row of this warp to its next */
    uint32_t rows;              /* rows of this warp */
    uint32_t in_words;          /* all lanes have two FP16 elements in a word of C */
    int32_t columns;            /* existing columns, from the first on */
    float first, second;        /* kept values */
} FinishPart;

/* Returns an element of the previous C. */
SPICA_INLINE float finish_before(const char *c, int is_half)
{
    if (!FINISH_READS_C)
        return 0.0f;
    return is_half ? spica_low_fp16(*(const uint16_t *)c) : *(const float *)c;
}

SPICA_INLINE void finish_store(char *c, float value, int is_half)
{
    if (is_half)
        *(uint16_t *)c = spica_to_fp16(value);
    else
        *(float *)c = value;
}

/* Finishes rows in which every lane has two elements in one word of C. */
SPICA_INLINE void finish_words(FinishPart part)
{
    for (; part.rows; part.rows--) {
        const volatile float *at = (const volatile float *)part.sums;
        uint32_t before = FINISH_READS_C ? *(const uint32_t *)part.c : 0;
        float low = finish_element(at[0], part.first, spica_low_fp16(before));
        float high = finish_element(at[1], part.second, spica_high_fp16(before));
        *(uint32_t *)part.c = spica_pack_fp16(low, high);
        part.sums += part.sums_step;
        part.c += part.c_step;
    }
}

/* Finishes any rows, element by element; `apart` elements lie between a lane's two columns. */
SPICA_INLINE void finish_elements(FinishPart part, uint32_t apart, int is_half)
{
    uint32_t bytes = is_half ? VIRGO_NARROW_BYTES : VIRGO_WIDE_BYTES;
    for (; part.rows; part.rows--) {
        const volatile float *at = (const volatile float *)part.sums;
        SPICA_IF (part.columns > 0) {
            float before = finish_before(part.c, is_half);
            finish_store(part.c, finish_element(at[0], part.first, before), is_half);
        } SPICA_END_IF
        SPICA_IF (part.columns > (int32_t)apart) {
            char *c = part.c + apart * bytes;
            float before = finish_before(c, is_half);
            finish_store(c, finish_element(at[apart], part.second, before), is_half);
        } SPICA_END_IF
        part.sums += part.sums_step;
        part.c += part.c_step;
    }
}

/* The kernel's arguments, read again at each use to save registers. */
SPICA_INLINE const Finish *finish_arguments(void)
{
    const Finish *all = spica_arguments();
    SPICA_ANEW(all);
    return all;
}

/* Warp number counted from the last one: left-over warps are then those of core 0, which
 * command. */
SPICA_INLINE uint32_t finish_number(void)
{
    return SPICA_WARPS * SPICA_CORES - 1 - (vx_core_id() * SPICA_WARPS + vx_warp_id());
}

/* Position in the sequence of tiles: panel of the kept operand, and panels of the other operand
 * swept so far. */
typedef struct {
    uint32_t keeps_b, panel, sweep;
} FinishPlace;

/* Advances to the next tile; returns whether there is one. */
SPICA_INLINE uint32_t finish_next(FinishPlace *at)
{
    const Finish *all = finish_arguments();
    uint32_t rows = VIRGO_BLOCKS(all->gemm.m, GEMM_M), columns = VIRGO_BLOCKS(all->gemm.n, GEMM_N);
    if (++at->sweep == (at->keeps_b ? rows : columns)) {
        at->sweep = 0;
        at->panel++;
    }
    return at->panel < (at->keeps_b ? columns : rows);
}

/* This lane's part of a group of columns of a tile: its warp has row `down` and every
 * FINISH_DOWN-th row after it. */
SPICA_INLINE FinishPart finish_part(FinishPlace at, uint32_t group, int is_half)
{
    const Finish *all = finish_arguments();
    SPICA_ANEW(at.keeps_b);
    SPICA_ANEW(at.panel);
    SPICA_ANEW(at.sweep);
    uint32_t last = VIRGO_BLOCKS(at.keeps_b ? all->gemm.m : all->gemm.n,
                                 at.keeps_b ? GEMM_M : GEMM_N) - 1;
    uint32_t position = at.panel & 1 ? last - at.sweep : at.sweep;
    uint32_t row = (at.keeps_b ? position : at.panel) * GEMM_M;
    uint32_t column = (at.keeps_b ? at.panel : position) * GEMM_N;
    uint32_t down = finish_number() / SPICA_CONSTANT(FINISH_ACROSS);
    if (down >= FINISH_DOWN)
        down = GEMM_M; /* left-over warp: no rows */
    uint32_t m = gemm_least(all->gemm.m - row, GEMM_M);
    uint32_t n = gemm_least(all->gemm.n - column, GEMM_N);
    uint32_t apart = is_half ? 1 : SPICA_THREADS;
    uint32_t first = group * FINISH_WIDTH + vx_thread_id() * (is_half ? 2 : 1);
    uint32_t pitch = VIRGO_BLOCKS(n, VIRGO_COLUMNS) * VIRGO_COLUMNS * VIRGO_WIDE_BYTES;
    uint32_t bytes = is_half ? VIRGO_NARROW_BYTES : VIRGO_WIDE_BYTES;
    uint32_t c_pitch = all->gemm.c_pitch * bytes;
    char *c = all->gemm.c + row * c_pitch + column * bytes;
    FinishPart part = {
        .sums = (const char *)SPICA_SHARED_BASE + GEMM_FIRST + GEMM_C_PLACE + down * pitch +
                first * 4,
        .c = c + down * c_pitch + first * bytes,
        .sums_step = FINISH_DOWN * pitch,
        .c_step = FINISH_DOWN * c_pitch,
        .rows = down < m ? (m - down + FINISH_DOWN - 1) / SPICA_CONSTANT(FINISH_DOWN) : 0,
        .in_words = is_half && (group + 1) * FINISH_WIDTH <= n && !(((uint32_t)c | c_pitch) & 3),
        .columns = n - first,
    };
    /* Missing columns get the value of the last one. */
    uint32_t end = all->gemm.n - 1;
    part.first = finish_column(all->more, spica_minu(column + first, end));
    part.second = finish_column(all->more, spica_minu(column + first + apart, end));
    /* Compute all fields now, not at their use: their inputs need registers too. */
    SPICA_ANEW(part.sums);
    SPICA_ANEW(part.c);
    SPICA_ANEW(part.sums_step);
    SPICA_ANEW(part.c_step);
    SPICA_ANEW(part.rows);
    SPICA_ANEW(part.in_words);
    SPICA_ANEW(part.columns);
    return part;
}

/* Finishes this warp's part of a tile: every FINISH_ACROSS-th group of columns. Kept values of the
 * first group are loaded before the tile arrives. */
SPICA_INLINE void finish_tile(FinishPlace at, int is_half)
{
    _Pragma("clang loop unroll(disable)")
    for (uint32_t group = finish_number() % SPICA_CONSTANT(FINISH_ACROSS); group < FINISH_GROUPS;) {
        FinishPart part = finish_part(at, group, is_half);
        if (group < FINISH_ACROSS)
            gemm_barrier();
        if (is_half && part.in_words)
            finish_words(part);
        else
            finish_elements(part, is_half ? 1 : SPICA_THREADS, is_half);
        if (FINISH_ACROSS == FINISH_GROUPS)
            break;
        group += FINISH_ACROSS;
        SPICA_ANEW(group);
    }
}

/* Finishes all tiles in the order in which they are computed. */
SPICA_INLINE void finish_tiles(int is_half)
{
    const Gemm *gemm = &finish_arguments()->gemm;
    FinishPlace at = {.keeps_b = (uint32_t)gemm_keeps_b(gemm, gemm_panels(gemm, GEMM_A_SLOTS))};
    SPICA_ANEW(at.keeps_b);
    for (;;) {
        finish_tile(at, is_half);
        if (!finish_next(&at))
            return;
        gemm_barrier();
    }
}

/* Finishes all tiles, in all threads except the commanding and the loading one. */
static __attribute__((noinline)) void finish_all(void)
{
    SPICA_ENTRY_
    if (VIRGO_NARROW_BYTES == 2 && !(finish_arguments()->gemm.options & VIRGO_WIDE))
        finish_tiles(1);
    else
        finish_tiles(0);
    SPICA_LEAVE_
}

/* Text by which warp 1 of core 0 loads instead. */
#if GEMM_LOADERS
#define FINISH_LOADS_                                                 \
    "csrr t0, " SPICA_TEXT(SPICA_CSR_MHARTID) "\n\t"                  \
    "li t1, 1 << " SPICA_TEXT(SPICA_THREAD_WIDTH) "\n\t"              \
    "bne t0, t1, 3f\n\ttail gemm_supply\n3:\t"
#else
#define FINISH_LOADS_
#endif

/* Computes C; C is in DRAM when all cores have returned. main of every core calls this, and it
 * returns in one thread of each. All threads of all warps finish tiles, except the commanding and
 * the loading thread of core 0. */
SPICA_INLINE void finish_run(void)
{
    spica_begin();
    if (vx_core_id() == 0) {
        const Gemm gemm = gemm_read(&finish_arguments()->gemm);
        gemm_begun = gemm_begin(&finish_arguments()->gemm, &gemm);
    }
    __asm__ goto(SPICA_START_WARPS_
                 "csrr t0, " SPICA_TEXT(SPICA_CSR_CORE_ID) "\n\t"
                 "beqz t0, %l[commands]\n\t" SPICA_RETURN_TO_2_
                 "1:\t" FINISH_LOADS_ SPICA_ENTER_("%0")
                 : : "i"(finish_all) : SPICA_EVERY_REGISTER_ : commands);
    spica_end();
    return;
commands:;
    const GemmBegun begun = gemm_begun;
    const Gemm gemm = gemm_read(&finish_arguments()->gemm);
    gemm_command(&gemm, begun);
    vx_wspawn_wait();
    spica_end();
}

#endif

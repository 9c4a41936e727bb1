/* Sizes of attention on tensor units, and places of its data.
 *
 * A warp has a tile of 8 queries, and all warps together process the keys of a head in blocks. A
 * block of K and V is in shared memory as fragments, once for all warps, and the next block is
 * copied meanwhile. A panel is the fragments of 8 keys of K along d, or of 8 columns of V along the
 * keys. Panel p is in bank p modulo ATTENTION_BANKS. A warp has its scores, and the fragments of
 * its queries and its accumulators of O, in the bank of its core. If shared memory has no room for
 * the latter two, they are in DRAM, behind the L1D. plan.py chooses the keys of a block
 * (ATTENTION_KEYS), the warps with queries (ATTENTION_WARPS) and what is in shared memory.
 *
 * Register plan of a warp, by phase:
 *
 *   phase     f0-f7                         f8-f15     f16-f31
 *   scores    queries                       keys       scores of 16 keys
 *   maximum   maxima of two rows            maxima     scores of 16 keys
 *   powers    scale, shifts, sums           sums       scores, then powers of 16 keys
 *   product   powers                        V          16 columns of O
 *
 * Between these phases maxima and sums of rows are in memory. The last scores of a block stay in
 * f16-f31 until their powers are computed, the others wait in shared memory. Positions in the work
 * are in memory too, so that no value is on the stack. */
#ifndef ATTENTION_SIZES_H
#define ATTENTION_SIZES_H

#include <spica.h>
#include <spica_parallel.h>

#include "../attention_seen.h"

#define ATTENTION_BLOCKS(size, block) (((size) + (block)-1) / (block))

enum {
    ATTENTION_LANES = 8,
    ATTENTION_PER_WORD = 32 / SPICA_TENSOR_OPERAND_BITS, /* elements of a word */
    ROW_WORDS = ATTENTION_DEPTH / ATTENTION_PER_WORD,
    ROW_BYTES = 4 * ROW_WORDS,
    REGISTER_BYTES = 4 * ATTENTION_LANES,
    FRAGMENT_BYTES = 8 * REGISTER_BYTES,
    CHUNK = 16, /* columns of two accumulators */
    CHUNK_BYTES = CHUNK * REGISTER_BYTES,
    SCORE_CHUNKS = ATTENTION_KEYS / CHUNK,
    OUTPUT_CHUNKS = ATTENTION_DEPTH / CHUNK,
    /* Instructions along d for scores, and along the keys of a block for O. */
    SCORE_STEPS = ROW_WORDS / 8,
    OUTPUT_STEPS = ATTENTION_KEYS / ATTENTION_PER_WORD / 8,
    /* Bytes between the fragments of powers: those of 16 keys are where their scores were. */
    POWER_STRIDE = FRAGMENT_BYTES * ATTENTION_PER_WORD,
    K_PANEL_BYTES = ROW_WORDS * REGISTER_BYTES,
    V_PANEL_BYTES = ATTENTION_KEYS / ATTENTION_PER_WORD * REGISTER_BYTES,
    ATTENTION_BANKS = SPICA_CONFIG_SHARED_BANKS,
    BANK_BYTES = SPICA_SHARED_BYTES / ATTENTION_BANKS,
    /* In each bank, for each of two buffers. */
    K_BYTES = ATTENTION_BLOCKS(ATTENTION_KEYS / 8, ATTENTION_BANKS) * K_PANEL_BYTES,
    V_BYTES = ATTENTION_BLOCKS(ATTENTION_DEPTH / 8, ATTENTION_BANKS) * V_PANEL_BYTES,
    BUFFER_BYTES = K_BYTES + V_BYTES,
    SCORE_BYTES = SCORE_CHUNKS * CHUNK_BYTES,
    QUERY_BYTES = ROW_WORDS * REGISTER_BYTES,
    OUTPUT_BYTES = OUTPUT_CHUNKS * CHUNK_BYTES,
    HAS_QUERIES = ATTENTION_HAS_QUERIES,
    HAS_OUTPUT = ATTENTION_HAS_OUTPUT,
    WARP_BYTES = SCORE_BYTES + (HAS_QUERIES ? QUERY_BYTES : 0) + (HAS_OUTPUT ? OUTPUT_BYTES : 0),
    ALL_WARPS = ATTENTION_WARPS * SPICA_CORES,
    TILE_ROWS = 8 * ALL_WARPS, /* queries of all warps */
};
_Static_assert(ATTENTION_BANKS == 1 || ATTENTION_BANKS % 2 == 0,
               "[other shared.banks] two panels are in two banks");

/* Queries and accumulators of all warps that are not in shared memory. Start-up does not clear
 * them. */
static char attention_rest[ALL_WARPS * ((HAS_QUERIES ? 0 : QUERY_BYTES) +
                                        (HAS_OUTPUT ? 0 : OUTPUT_BYTES)) + 1]
    __attribute__((section(".unset"), aligned(64)));

/* A constant, and the address of these, loaded at their use: otherwise they occupy registers all
 * the time. */
#define ATTENTION_LOADED(number)                                                                 \
    ({                                                                                           \
        uint32_t attention_loaded_;                                                              \
        __asm__ volatile("li %0, %1" : "=r"(attention_loaded_) : "i"(number));                   \
        attention_loaded_;                                                                       \
    })

SPICA_INLINE char *attention_rest_place(void)
{
    char *address;
    __asm__ volatile("la %0, %1" : "=r"(address) : "i"(attention_rest));
    return address;
}

/* Number of the warp; warps of different cores follow each other. */
SPICA_INLINE uint32_t attention_warp(void)
{
    return vx_warp_id() * SPICA_CORES + vx_core_id();
}

/* Address of the lane's word in the first register of a panel. */
SPICA_INLINE char *attention_panel(uint32_t panel, uint32_t panel_bytes, uint32_t start)
{
    uint32_t row = panel / ATTENTION_BANKS, bank = panel % ATTENTION_BANKS;
    SPICA_ANEW(row); /* or masks of merged shifts, and sums of constants, occupy registers */
    SPICA_ANEW(bank);
    SPICA_ANEW(start);
    return (char *)(ATTENTION_LOADED(SPICA_SHARED_BASE) + start + bank * BANK_BYTES +
                    row * panel_bytes + 4 * vx_thread_id());
}

/* The panel after one whose number is odd or even, and the even one after the panels of a chunk. */
SPICA_INLINE const char *attention_odd(const char *even, uint32_t panel_bytes)
{
    return even + (ATTENTION_BANKS > 1 ? ATTENTION_LOADED(BANK_BYTES) : panel_bytes);
}

SPICA_INLINE const char *attention_next_even(const char *even, uint32_t chunk, uint32_t panel_bytes)
{
    if (ATTENTION_BANKS == 1)
        return even + 2 * panel_bytes;
    if (ATTENTION_BANKS == 2)
        return even + panel_bytes;
    even += ATTENTION_LOADED(2 * BANK_BYTES);
    if ((chunk + 1) % (ATTENTION_BANKS / 2) == 0)
        even += panel_bytes - ATTENTION_LOADED(ATTENTION_BANKS * BANK_BYTES);
    return even;
}

/* The first panel of K, and of V, in a buffer. */
SPICA_INLINE const char *attention_first_k(uint32_t buffer)
{
    return (const char *)(ATTENTION_LOADED(SPICA_SHARED_BASE) + buffer * BUFFER_BYTES +
                          4 * vx_thread_id());
}

SPICA_INLINE const char *attention_first_v(uint32_t buffer)
{
    return attention_first_k(buffer) + ATTENTION_LOADED(K_BYTES);
}

/* Panels of K and V in a buffer. */
SPICA_INLINE char *attention_k(uint32_t buffer, uint32_t panel)
{
    return attention_panel(panel, K_PANEL_BYTES, buffer * BUFFER_BYTES);
}

SPICA_INLINE char *attention_v(uint32_t buffer, uint32_t panel)
{
    return attention_panel(panel, V_PANEL_BYTES, buffer * BUFFER_BYTES) + ATTENTION_LOADED(K_BYTES);
}

/* Addresses of the lane's words in the data of its warp: scores, and accumulators of O and
 * fragments of its queries. They are computed where they are used, as registers are few. */
SPICA_INLINE char *attention_scores_place(void)
{
    const uint32_t core = vx_core_id();
    uint32_t number = core / ATTENTION_BANKS * ATTENTION_WARPS, bank = core % ATTENTION_BANKS;
    SPICA_ANEW(number);
    SPICA_ANEW(bank);
    number += vx_warp_id();
    uint32_t at = ATTENTION_LOADED(SPICA_SHARED_BASE + 2 * BUFFER_BYTES);
    at += bank * BANK_BYTES + number * ATTENTION_LOADED(WARP_BYTES);
    return (char *)(at + 4 * vx_thread_id());
}

SPICA_INLINE char *attention_queries_place(char *scores)
{
    if (HAS_QUERIES)
        return scores + SCORE_BYTES;
    const uint32_t before = ATTENTION_LOADED(HAS_OUTPUT ? 0 : ALL_WARPS * OUTPUT_BYTES);
    return attention_rest_place() + before + attention_warp() * QUERY_BYTES + 4 * vx_thread_id();
}

SPICA_INLINE char *attention_output_place(char *scores)
{
    if (HAS_OUTPUT)
        return scores + SCORE_BYTES + QUERY_BYTES;
    return attention_rest_place() + 4 * vx_thread_id() + attention_warp() * OUTPUT_BYTES;
}

#endif

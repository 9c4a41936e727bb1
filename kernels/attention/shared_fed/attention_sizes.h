/* Sizes of attention on tensor units that read shared memory, and places of its data.
 *
 * An instruction multiplies A, 16 rows of 64 bytes, by B, 32 rows of 16 columns. Products and the
 * places of their factors:
 *
 *   S^T = K Q^T   A: 16 keys of a panel of K, 32 columns of d   B: 32 rows of Q^T of the warp
 *   O = P V       A: P of the warp, 32 keys                      B: 32 keys of a panel of V
 *
 * Scores are computed transposed, so that a lane has all keys of a tile of its two queries, and
 * rows of the softmax need no reduction between lanes. The DMA copies K in panels of 32 columns and
 * V in panels of 16, which are operands without a rearrangement. Only Q is transposed, once by its
 * warp. A warp has 16 queries. All warps of all cores process the same block of keys or the one after
 * it.
 *
 * plan.py has the sizes of a block and its places. O between blocks is in the order of registers:
 * a tile of 16 columns has 32 registers of 8 words.
 *
 * A warp executes 1,259 instructions per block of 64 keys with d = 64, no mask and no new maxima:
 *
 *   scores    8 products and 128 clears of registers
 *   powers    128 fmadd, 128 fexp2, 128 fadd, 64 fpack, 64 stores, 32 moves of scores, 28 moves of
 *             scale, shifts and sums
 *   O         8 products, 128 loads and 128 stores
 *   rest      287 integer instructions for addresses, positions and meetings, and branches
 *
 * A product of 16 x 16 x 32 occupies the issue slots of 32 instructions, and the unit 128 cycles.
 *
 * A tile of scores needs no room in memory: its powers have the maximum known so far, at first that of
 * the first tile. No maxima are computed then. Only if the sum of a query's powers exceeds the limit
 * after the block, the warp computes the maxima of the block, and its powers again. */
#ifndef ATTENTION_SIZES_H
#define ATTENTION_SIZES_H

#include <spica.h>
#include <spica_parallel.h>

#include "../attention_seen.h"

enum {
    LANES = 8,
    SIDE = 16,
    ROW_BYTES = 2 * ATTENTION_DEPTH,
    ROW_WORDS = ROW_BYTES / 4,
    OPERAND_BYTES = 1024, /* of A and of B */
    BLOCK_KEYS = ATTENTION_KEYS,
    SCORE_TILES = BLOCK_KEYS / SIDE,
    SCORE_STEPS = ATTENTION_DEPTH / 32, /* products of a tile of scores, and panels of K */
    OUTPUT_TILES = ATTENTION_DEPTH / SIDE,
    OUTPUT_STEPS = BLOCK_KEYS / 32, /* products of a tile of O */
    K_ROW_BYTES = 64,
    V_ROW_BYTES = 32,
    K_PANEL_BYTES = BLOCK_KEYS * K_ROW_BYTES,
    V_PANEL_BYTES = BLOCK_KEYS * V_ROW_BYTES,
    K_BYTES = SCORE_STEPS * K_PANEL_BYTES,
    BLOCK_LOADS = SCORE_STEPS + OUTPUT_TILES, /* of the DMA */
    REGISTER_BYTES = 4 * LANES,
    TILE_BYTES = 32 * REGISTER_BYTES, /* of O */
    QUERY_BYTES = ROW_BYTES * SIDE,
    POWER_BYTES = 2 * BLOCK_KEYS * SIDE,
    OUTPUT_BYTES = OUTPUT_TILES * TILE_BYTES,
    BANKS = SPICA_CONFIG_SHARED_BANKS,
    BANK_BYTES = SPICA_SHARED_BYTES / BANKS,
    SHARE_BYTES = ATTENTION_SHARE_BYTES,
    /* Panels of V in a bank. */
    BANK_PANELS = (SHARE_BYTES - K_BYTES % SHARE_BYTES) / V_PANEL_BYTES,
    WARPS = ATTENTION_WARPS,
    WARP_BYTES = QUERY_BYTES + POWER_BYTES + (ATTENTION_HAS_OUTPUT ? OUTPUT_BYTES : 0),
    ALL_WARPS = WARPS * SPICA_CORES,
    ALL_ROWS = SIDE * ALL_WARPS, /* queries of all warps */
    LOADER = ALL_WARPS,          /* number of the helper of core 0 */
};
_Static_assert(SPICA_HGMMA_OPERAND_BITS == 16,
               "[other core.tensor_operand] elements must have 16 bits");
_Static_assert(BLOCK_KEYS % 32 == 0, "a product adds 32 keys to O");

/* Data of a warp in DRAM, behind the L1D: factors of its queries, or votes of its lanes, for all
 * lanes, and O if it is not in shared memory. Start-up does not clear them. */
typedef struct {
    float factors[SIDE];
} AttentionFactors;
static AttentionFactors attention_factors_[ALL_WARPS] __attribute__((section(".unset"), aligned(64)));
static char attention_output_[ATTENTION_HAS_OUTPUT ? 1 : ALL_WARPS * OUTPUT_BYTES]
    __attribute__((section(".unset"), aligned(64)));

/* A constant or an address, loaded at its use: otherwise it occupies a register all the time. */
#define ATTENTION_LOADED(number)                                                  \
    ({                                                                            \
        uint32_t attention_loaded_;                                               \
        __asm__ volatile("li %0, %1" : "=r"(attention_loaded_) : "i"(number));    \
        attention_loaded_;                                                        \
    })
#define ATTENTION_ADDRESS(of)                                                     \
    ({                                                                            \
        uint32_t attention_address_;                                              \
        __asm__ volatile("lla %0, %1" : "=r"(attention_address_) : "i"(of));      \
        attention_address_;                                                       \
    })

/* Numbers and places of a warp, in registers of each lane: reads of control registers wait for all
 * earlier instructions of the warp. */
typedef struct {
    uint32_t lane;     /* number of the lane */
    uint32_t number;   /* of the warp; warps of different cores follow each other */
    uint32_t operands; /* address of Q^T, in the bank of its core; P follows */
} AttentionWarp;

/* Place of byte `x` of a block of K and V, from the start of its buffer on: a share per bank. */
#define ATTENTION_SPREAD(x) ((x) / SHARE_BYTES * BANK_BYTES + (x) % SHARE_BYTES)

SPICA_INLINE uint32_t attention_buffer(uint32_t buffer)
{
    return ATTENTION_LOADED(SPICA_SHARED_BASE) + buffer * ATTENTION_LOADED(SHARE_BYTES);
}

/* Address of P of the warp. */
SPICA_INLINE uint32_t attention_power_rows(AttentionWarp *warp)
{
    return warp->operands + ATTENTION_LOADED(QUERY_BYTES);
}

/* Makes the compiler compute places anew instead of keeping them in registers. */
SPICA_INLINE void attention_renew(AttentionWarp *warp)
{
    SPICA_ANEW(warp->lane);
    SPICA_ANEW(warp->number);
    SPICA_ANEW(warp->operands);
}

SPICA_INLINE AttentionWarp attention_warp(void)
{
    const uint32_t core = vx_core_id(), number = vx_warp_id();
    AttentionWarp warp = {vx_thread_id(), number * SPICA_CORES + core, 0};
    warp.operands = SPICA_SHARED_BASE + 2 * SHARE_BYTES + core % BANKS * BANK_BYTES +
                    (core / BANKS * WARPS + number) * WARP_BYTES;
    attention_renew(&warp);
    return warp;
}

/* Address of the lane's word in the first register of O. */
SPICA_INLINE char *attention_output(AttentionWarp *warp)
{
    uint32_t at = 4 * warp->lane;
    if (ATTENTION_HAS_OUTPUT)
        at += warp->operands + ATTENTION_LOADED(QUERY_BYTES + POWER_BYTES);
    else
        at += ATTENTION_ADDRESS(attention_output_) + warp->number * OUTPUT_BYTES;
    SPICA_ANEW(at);
    return (char *)at;
}

/* Factors of the warp's queries. */
SPICA_INLINE volatile float *attention_factors(AttentionWarp *warp)
{
    return (volatile float *)(ATTENTION_ADDRESS(attention_factors_) +
                              warp->number * (uint32_t)sizeof(AttentionFactors));
}

/* Waits until the stores of the warp are complete, so that products and other lanes read them. */
SPICA_INLINE void attention_settle(void)
{
    vx_fence();
}

#endif

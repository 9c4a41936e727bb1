/* Tiles in the float registers of a warp, f0-f31, between memory and products.
 *
 * No other code of a thread uses float registers while one of these statements leaves values there
 * for the next. Lane l has columns 2 l and 2 l + 1 of row r in f(2 r) and f(2 r + 1). */
#ifndef ATTENTION_TILES_H
#define ATTENTION_TILES_H

#include "attention_position.h"

/* The same for each register: M(number, offset in a tile of O). */
#define HALF_OF_REGISTERS_(M)                                                                    \
    M(0, 0) M(1, 32) M(2, 64) M(3, 96) M(4, 128) M(5, 160) M(6, 192) M(7, 224)                   \
    M(8, 256) M(9, 288) M(10, 320) M(11, 352) M(12, 384) M(13, 416) M(14, 448) M(15, 480)
#define EACH_REGISTER_(M)                                                                        \
    HALF_OF_REGISTERS_(M)                                                                        \
    M(16, 512) M(17, 544) M(18, 576) M(19, 608) M(20, 640) M(21, 672) M(22, 704) M(23, 736)      \
    M(24, 768) M(25, 800) M(26, 832) M(27, 864) M(28, 896) M(29, 928) M(30, 960) M(31, 992)
#define LOAD_ONE_(n, offset) "flw f" #n ", " #offset "(%0)\n\t"
#define STORE_ONE_(n, offset) "fsw f" #n ", " #offset "(%0)\n\t"

SPICA_INLINE void attention_load_tile(const char *from)
{
    __asm__ volatile(EACH_REGISTER_(LOAD_ONE_) : : "r"(from) : SPICA_HGMMA_C_, "memory");
}

SPICA_INLINE void attention_store_tile(char *to)
{
    __asm__ volatile(EACH_REGISTER_(STORE_ONE_) : : "r"(to) : "memory");
}

/* Score of key r and query i: -infinity unless r < rest, as integers. */
#define MASK_ONE_(n, r, rest)                                                                    \
    "fmv.x.w %0, f" #n "\n\taddi %1, %[" #rest "], " #r "\n\tsrai %1, %1, 31\n\t"                \
    "xor %0, %0, %[low]\n\tand %0, %0, %1\n\txor %0, %0, %[low]\n\tfmv.w.x f" #n ", %0\n\t"
#define MASK_KEY_(even, odd, r) MASK_ONE_(even, r, first) MASK_ONE_(odd, r, second)

/* Sets scores of keys from the numbers of keys on that the lane's queries see to -infinity. */
SPICA_INLINE void attention_mask(int32_t first, int32_t second)
{
    uint32_t bits, visible;
    __asm__ volatile(MASK_KEY_(0, 1, 0) MASK_KEY_(2, 3, 1) MASK_KEY_(4, 5, 2) MASK_KEY_(6, 7, 3)
                     MASK_KEY_(8, 9, 4) MASK_KEY_(10, 11, 5) MASK_KEY_(12, 13, 6)
                     MASK_KEY_(14, 15, 7) MASK_KEY_(16, 17, 8) MASK_KEY_(18, 19, 9)
                     MASK_KEY_(20, 21, 10) MASK_KEY_(22, 23, 11) MASK_KEY_(24, 25, 12)
                     MASK_KEY_(26, 27, 13) MASK_KEY_(28, 29, 14) MASK_KEY_(30, 31, 15)
                     : "=&r"(bits), "=&r"(visible)
                     : [first] "r"(-first), [second] "r"(-second), [low] "r"(0xFF800000)
                     : SPICA_HGMMA_C_);
}

#define SCORE_STEP_(step)                                                               \
    if ((step) < SCORE_STEPS)                                                           \
        spica_hgmma(keys + ATTENTION_LOADED(ATTENTION_SPREAD((step)*K_PANEL_BYTES)),    \
                    queries + (step)*OPERAND_BYTES);

/* Products of a tile of scores: 16 keys at `keys` in the first panel of K, and Q^T. */
SPICA_INLINE void attention_scores(uint32_t keys, uint32_t queries)
{
    spica_hgmma_clear();
    spica_hgmma(keys, queries);
    SCORE_STEP_(1) SCORE_STEP_(2) SCORE_STEP_(3)
}

/* Loads a tile of O, or clears it. */
SPICA_INLINE void attention_begin_tile(const char *output, uint32_t is_first)
{
    if (is_first)
        spica_hgmma_clear();
    else
        attention_load_tile(output);
}

/* O := O + P V, 16 columns after the other, and waits until the operands are read. The first tile of O
 * is in the registers. */
SPICA_INLINE void attention_add(uint32_t powers, char *output, uint32_t buffer, uint32_t is_first)
{
    uint32_t panel = attention_buffer(buffer) + ATTENTION_LOADED(ATTENTION_SPREAD(K_BYTES));
#pragma unroll 1
    for (uint32_t left = OUTPUT_TILES / BANK_PANELS;;) {
#pragma unroll
        for (int tile = 0; tile < BANK_PANELS; tile++) {
#pragma unroll
            for (int step = 0; step < OUTPUT_STEPS; step++, panel += OPERAND_BYTES)
                spica_hgmma(powers + step * OPERAND_BYTES, panel);
            attention_store_tile(output);
            if (tile == BANK_PANELS - 1 && !--left) {
                spica_hgmma_wait();
                return;
            }
            output += TILE_BYTES;
            attention_begin_tile(output, is_first);
        }
        panel += ATTENTION_LOADED(BANK_BYTES - BANK_PANELS * V_PANEL_BYTES);
    }
}

#endif

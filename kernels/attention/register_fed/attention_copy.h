/* Arrangement of Q, K and V in the order of fragments, by the warps through integer registers. */
#ifndef ATTENTION_COPY_H
#define ATTENTION_COPY_H

#include "attention_sizes.h"

enum {
    WORD_GROUPS = ROW_WORDS / 8,                        /* of a row */
    BLOCK_PIECES = ATTENTION_KEYS / 8 * WORD_GROUPS,    /* of K, and of V */
};

/* Words of a piece, of a lane. */
typedef struct {
    uint32_t word[8];
} AttentionPiece;

/* A word of each of 8 keys from `key` on; of keys that do not exist 0. */
SPICA_INLINE AttentionPiece attention_take(const char *from, uint32_t key)
{
    AttentionPiece piece;
    const uint32_t keys = ATTENTION->keys;
    if (key + 8 <= keys) {
#pragma unroll
        for (int i = 0; i < 8; i++) piece.word[i] = *(const uint32_t *)(from + i * ROW_BYTES);
        return piece;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        piece.word[i] = 0;
        if (key + i < keys)
            piece.word[i] = *(const uint32_t *)(from + i * ROW_BYTES);
    }
    return piece;
}

/* Puts words of 8 keys into their panel of K, where a lane has the words of a key. */
SPICA_INLINE void attention_put_k(AttentionPiece piece, uint32_t buffer, uint32_t keys,
                                  uint32_t words)
{
    const uint32_t lane = vx_thread_id();
    char *to = attention_k(buffer, keys) + words * FRAGMENT_BYTES +
               lane * (REGISTER_BYTES - 4);
#pragma unroll
    for (int i = 0; i < 8; i++) *(uint32_t *)(to + 4 * i) = piece.word[i];
}

/* Puts words of 8 keys into panels of V, where a lane has a column. With two elements in a word,
 * one panel has the even columns of 16, the next one the odd ones, and words have two keys. */
SPICA_INLINE void attention_put_v(AttentionPiece piece, uint32_t buffer, uint32_t keys,
                                  uint32_t words)
{
#if SPICA_TENSOR_OPERAND_BITS == 32
    char *to = attention_v(buffer, words) + keys * FRAGMENT_BYTES;
#pragma unroll
    for (int i = 0; i < 8; i++) *(uint32_t *)(to + i * REGISTER_BYTES) = piece.word[i];
#else
    char *even = attention_v(buffer, 2 * words) + keys * (FRAGMENT_BYTES / 2);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        uint32_t low = piece.word[i] << 16;
        SPICA_ANEW(low); /* or masks occupy registers */
        *(uint32_t *)(even + i / 2 * REGISTER_BYTES) = low >> 16 | piece.word[i + 1] << 16;
    }
    SPICA_ANEW(words); /* compute the other address only now */
    char *odd = attention_v(buffer, 2 * words + 1) + keys * (FRAGMENT_BYTES / 2);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        uint32_t high = piece.word[i + 1] >> 16;
        SPICA_ANEW(high);
        *(uint32_t *)(odd + i / 2 * REGISTER_BYTES) = piece.word[i] >> 16 | high << 16;
    }
#endif
}

/* Copies this warp's pieces of a block of K or V; `head` is the offset of the head. */
SPICA_INLINE void attention_copy_block(uint32_t head, uint32_t key, uint32_t buffer, uint32_t is_v)
{
#pragma unroll 1
    for (uint32_t number = attention_warp(); number < BLOCK_PIECES; number += ALL_WARPS) {
        uint32_t keys = number / WORD_GROUPS, words = number % WORD_GROUPS;
        SPICA_ANEW(keys); /* or masks of merged shifts occupy registers */
        SPICA_ANEW(words);
        const uint32_t first = key + 8 * keys;
        const char *from = (&ATTENTION->k)[is_v];
        from += head + first * ROW_BYTES + words * 32 + 4 * vx_thread_id();
        const AttentionPiece piece = attention_take(from, first);
        if (is_v)
            attention_put_v(piece, buffer, keys, words);
        else
            attention_put_k(piece, buffer, keys, words);
        SPICA_ANEW(head);
        SPICA_ANEW(key);
        SPICA_ANEW(buffer);
    }
}

/* Arranges 8 rows of Q from `row` on. Rows that do not exist are the last one again. */
SPICA_INLINE void attention_copy_queries(uint32_t problem, uint32_t row, char *to)
{
    const uint32_t queries = ATTENTION->queries;
    const uint32_t own = spica_minu(row + vx_thread_id(), queries - 1);
    const char *from = ATTENTION->q + (problem * queries + own) * ROW_BYTES;
    const char *end = to + ATTENTION_LOADED(QUERY_BYTES);
#pragma unroll 1
    for (; to != end; to += FRAGMENT_BYTES, from += 32) {
        uint32_t words[8];
#pragma unroll
        for (int i = 0; i < 8; i++) words[i] = ((const uint32_t *)from)[i];
#pragma unroll
        for (int i = 0; i < 8; i++) *(uint32_t *)(to + i * REGISTER_BYTES) = words[i];
    }
}

#endif

// Transpose of m rows of n words.
#include <spica.h>
#include <spica_parallel.h>

// A warp moves tiles of SIDE x SIDE words through its own part of shared memory, COLUMNS words of a
// row per lane: rows in, columns out, both coalesced in DRAM. An odd pitch spreads a column over
// the banks. No other warp uses the tile, so no barrier is needed.
enum {
    WARP_WORDS = SPICA_SHARED_BYTES / 4 / (SPICA_WARPS * SPICA_CORES),
    FOUR = 4 * SPICA_THREADS <= 16 && 4 * SPICA_THREADS * (4 * SPICA_THREADS | 1) <= WARP_WORDS,
    TWO = 2 * SPICA_THREADS <= 16 && 2 * SPICA_THREADS * (2 * SPICA_THREADS | 1) <= WARP_WORDS,
    HAS_TILES = SPICA_THREADS * (SPICA_THREADS | 1) <= WARP_WORDS,
    COLUMNS = FOUR ? 4 : TWO ? 2 : 1,
    SIDE = COLUMNS * SPICA_THREADS,
    PITCH = SIDE | 1,
    // Rows in flight at a time.
    BATCH = SIDE % 8 == 0 ? 8 : SIDE % 4 == 0 ? 4 : 1,
    ALL_WARPS = SPICA_WARPS * SPICA_CORES,
};

// Any 32 bits, moved through float registers: the integer registers hold addresses.
typedef float Word;

typedef struct {
    uint32_t m, n;
    const Word *words;
    Word *result;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

// Keeps accesses to other lanes' words in program order: a warp runs in lockstep.
#define IN_STEP() __asm__ volatile("" ::: "memory")

// Moves a complete tile.
SPICA_INLINE void move_whole(Word *tile, const Word *from, uint32_t n, Word *to, uint32_t m) {
    Word *row = tile + vx_thread_id();
    const Word *column = tile + vx_thread_id() * PITCH;
    for (int first = 0; first < SIDE; first += BATCH, row += BATCH * PITCH) {
        Word words[BATCH][COLUMNS];
#pragma unroll
        for (int i = 0; i < BATCH; i++, from += n)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) words[i][j] = from[j * SPICA_THREADS];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) row[i * PITCH + j * SPICA_THREADS] = words[i][j];
    }
    IN_STEP();
    for (int first = 0; first < SIDE; first += BATCH, column += BATCH) {
        Word words[BATCH][COLUMNS];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) words[i][j] = column[j * SPICA_THREADS * PITCH + i];
#pragma unroll
        for (int i = 0; i < BATCH; i++, to += m)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) to[j * SPICA_THREADS] = words[i][j];
    }
    IN_STEP();
}

// Moves the existing part of the tile at `row` and `column`.
SPICA_INLINE void move_ragged(Word *tile, uint32_t row, uint32_t column) {
    const uint32_t lane = vx_thread_id(), m = ARGUMENTS->m, n = ARGUMENTS->n;
    const uint32_t rows = m - row < SIDE ? m - row : SIDE;
    const uint32_t columns = n - column < SIDE ? n - column : SIDE;
#pragma unroll 1
    for (uint32_t j = lane; j < columns + lane; j += SPICA_THREADS) {
        SPICA_IF (j < columns) {
            const Word *from = ARGUMENTS->words + row * n + column + j;
            for (uint32_t i = 0; i < rows; i++, from += n) tile[i * PITCH + j] = *from;
        } SPICA_END_IF
    }
#pragma unroll 1
    for (uint32_t j = lane; j < rows + lane; j += SPICA_THREADS) {
        SPICA_IF (j < rows) {
            Word *to = ARGUMENTS->result + column * m + row + j;
            for (uint32_t i = 0; i < columns; i++, to += m) *to = tile[j * PITCH + i];
        } SPICA_END_IF
    }
    IN_STEP();
}

SPICA_INLINE Word *own_tile(void) {
    return (Word *)spica_shared() + (vx_core_id() * SPICA_WARPS + vx_warp_id()) * WARP_WORDS;
}

// Moves all complete tiles: numbered along rows, every ALL_WARPS-th belongs to the warp.
SPICA_INLINE void move_inside(void) {
    const uint32_t m = ARGUMENTS->m, n = ARGUMENTS->n, lane = vx_thread_id();
    const uint32_t warp = vx_core_id() * SPICA_WARPS + vx_warp_id();
    const uint32_t across = n / SIDE, width = across * SIDE, height = m / SIDE * SIDE;
    if (across == 0) return;
    const uint32_t down_step = ALL_WARPS / across * SIDE, right_step = ALL_WARPS % across * SIDE;
    uint32_t row = warp / across * SIDE, column = warp % across * SIDE;
    while (row < height) {
        move_whole(own_tile(), ARGUMENTS->words + row * n + column + lane, n,
                   ARGUMENTS->result + column * m + row + lane, m);
        row += down_step, column += right_step;
        if (column >= width) {
            column -= width;
            row += SIDE;
        }
    }
}

// Tiles that extend past an edge: first those at the bottom, then those at the right.
SPICA_INLINE uint32_t bottom_edges(void) {
    const uint32_t side = SPICA_CONSTANT(SIDE);
    return ARGUMENTS->m % side > 0 ? (ARGUMENTS->n + side - 1) / side : 0;
}

SPICA_INLINE uint32_t right_edges(void) {
    const uint32_t side = SPICA_CONSTANT(SIDE);
    return ARGUMENTS->n % side > 0 ? ARGUMENTS->m / side : 0;
}

SPICA_INLINE void move_edges(void) {
    uint32_t edge = vx_core_id() * SPICA_WARPS + vx_warp_id();
    for (; edge < bottom_edges() + right_edges(); edge += ALL_WARPS) {
        const uint32_t side = SPICA_CONSTANT(SIDE), bottom = bottom_edges();
        uint32_t row = (edge - bottom) * side, column = ARGUMENTS->n / side * side;
        if (edge < bottom) row = ARGUMENTS->m / side * side, column = edge * side;
        SPICA_ANEW(row);
        SPICA_ANEW(column);
        move_ragged(own_tile(), row, column);
    }
}

// If shared memory holds no tile for each warp: row after row, with uncoalesced writes.
SPICA_INLINE void move_directly(void) {
    const uint32_t m = ARGUMENTS->m, n = ARGUMENTS->n, lane = vx_thread_id();
    for (uint32_t i = vx_core_id() * SPICA_WARPS + vx_warp_id(); i < m; i += ALL_WARPS)
        for (uint32_t j = lane; j < n + lane; j += SPICA_THREADS) {
            SPICA_IF (j < n) {
                ARGUMENTS->result[j * m + i] = ARGUMENTS->words[i * n + j];
            } SPICA_END_IF
        }
}

int main(void) {
    SPICA_PARALLEL {
        if (HAS_TILES) {
            move_inside();
            move_edges();
        } else {
            move_directly();
        }
    } SPICA_END_PARALLEL
    return 0;
}

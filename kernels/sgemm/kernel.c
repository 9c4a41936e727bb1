// Matrix product C = A B in FP32: m x k times k x n, row-major and dense.
#include <spica.h>
#include <spica_parallel.h>

// A thread keeps ROWS x COLUMNS elements of C in registers: ROWS rows of its warp, and every
// SPICA_THREADS-th column from its lane on. A core thus computes a tile of TILE_M x TILE_N. Slabs
// of A and B, TILE_K deep, pass through the core's part of shared memory. Per step of k, four words
// of A (the same for all lanes) and four of B feed sixteen multiply-adds.
//
// If a tile extends past the edge of C, the last row or column is loaded again for the missing
// ones, and their sums are not stored.
enum {
    ROWS = 4,
    COLUMNS = 4,
    TILE_M = ROWS * SPICA_WARPS,
    TILE_N = COLUMNS * SPICA_THREADS,
    CORE_WORDS = SPICA_SHARED_BYTES / 4 / SPICA_CORES,
    DEPTH = CORE_WORDS / (TILE_M + TILE_N) < 32 ? CORE_WORDS / (TILE_M + TILE_N) : 32,
    // The same number of rows of B for every warp, if they fit.
    TILE_K = DEPTH < SPICA_WARPS ? DEPTH : DEPTH / SPICA_WARPS * SPICA_WARPS,
    // Consecutive steps of k within reach of load offsets.
    REACH = 128 / SPICA_THREADS,
    UNROLL = TILE_K % 16 == 0 && REACH >= 16 ? 16
             : TILE_K % 8 == 0 && REACH >= 8 ? 8
             : TILE_K % 7 == 0 && REACH >= 7 ? 7
             : TILE_K % 6 == 0 && REACH >= 6 ? 6
             : TILE_K % 5 == 0 && REACH >= 5 ? 5
             : TILE_K % 4 == 0               ? 4
             : TILE_K % 3 == 0               ? 3
             : TILE_K % 2 == 0               ? 2
                                             : 1,
    // Words of a row of A that every lane loads, words of each row in flight at a time, and the
    // number of lanes that load one more.
    A_WORDS = TILE_K / SPICA_THREADS,
    A_BATCH = A_WORDS % 4 == 0 ? 4 : A_WORDS % 2 == 0 ? 2 : 1,
    A_REST = TILE_K % SPICA_THREADS,
    // Rows of B that every warp loads, and rows in flight. If there are more warps than rows, some
    // warps load one.
    B_ROWS = TILE_K / SPICA_WARPS,
    B_BATCH = B_ROWS % 4 == 0 ? 4 : B_ROWS % 2 == 0 ? 2 : 1,
};
_Static_assert(DEPTH >= 1,
               "[larger shared.size] shared memory must hold one step of k of every core's tile");

typedef struct {
    uint32_t m, n, k;
    const float *a, *b;
    float *c;
} Arguments;

#define ARGUMENTS ((const Arguments *)spica_arguments())

// Number of tiles that cover a size.
#define TILES_OF(size, tile) (((size) + (tile)-1) / SPICA_CONSTANT(tile))

// Shared-memory addresses of the warp's rows of A, and of the lane's words in the warp's first row
// of B. Recomputed for each tile, since values kept during a tile occupy registers.
typedef struct {
    float *a, *b;
} Slabs;

SPICA_INLINE Slabs own_slabs(void) {
    const uint32_t warp = vx_warp_id();
    float *core = (float *)spica_shared() + vx_core_id() * SPICA_CONSTANT(CORE_WORDS);
    Slabs slabs = {
        .a = core + warp * SPICA_CONSTANT(ROWS * TILE_K),
        .b = core + TILE_M * TILE_K + warp * SPICA_CONSTANT(TILE_N) + vx_thread_id(),
    };
    SPICA_ANEW(slabs.a);
    SPICA_ANEW(slabs.b);
    return slabs;
}

// The warp's first row of a tile of C, and the tile's first column.
typedef struct {
    uint32_t row, column;
} Corner;

SPICA_INLINE Corner corner_of(uint32_t tile) {
    const uint32_t across = TILES_OF(ARGUMENTS->n, TILE_N), down = tile / across;
    return (Corner){
        .row = down * TILE_M + vx_warp_id() * ROWS,
        .column = (tile - down * across) * TILE_N,
    };
}

// The lane's first word of each of its warp's rows of A, and of each of its columns of B; they
// advance with the slabs.
typedef struct {
    const float *a[ROWS], *b[COLUMNS];
} Sources;

SPICA_INLINE Sources sources(Corner corner) {
    const uint32_t row = corner.row, column = corner.column, lane = vx_thread_id();
    const uint32_t m = ARGUMENTS->m, n = ARGUMENTS->n, k = ARGUMENTS->k;
    Sources from;
    from.a[0] = ARGUMENTS->a + (row < m ? row : m - 1) * k + lane;
#pragma unroll
    for (uint32_t r = 1; r < ROWS; r++) from.a[r] = from.a[r - 1] + (row + r < m ? k : 0);
    const float *b = ARGUMENTS->b + vx_warp_id() * n;
    if (column + TILE_N <= n) {
#pragma unroll
        for (uint32_t c = 0; c < COLUMNS; c++)
            from.b[c] = b + column + lane + c * SPICA_THREADS;
    } else {
#pragma unroll
        for (uint32_t c = 0; c < COLUMNS; c++)
            from.b[c] = b + spica_minu(column + lane + c * SPICA_THREADS, n - 1);
    }
    return from;
}

// Copies the warp's rows of A to its part of the slab.
SPICA_INLINE void load_a(float *slab, Sources *from) {
    slab += vx_thread_id();
#pragma unroll 1
    for (int first = 0; first < A_WORDS; first += A_BATCH, slab += A_BATCH * SPICA_THREADS) {
        float words[ROWS][A_BATCH];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int i = 0; i < A_BATCH; i++) words[r][i] = from->a[r][i * SPICA_THREADS];
            from->a[r] += A_BATCH * SPICA_THREADS;
            SPICA_ANEW(from->a[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < A_BATCH; i++) slab[r * TILE_K + i * SPICA_THREADS] = words[r][i];
    }
    if (A_REST > 0) {
        SPICA_IF (vx_thread_id() < A_REST) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) slab[r * TILE_K] = *from->a[r];
        } SPICA_END_IF
#pragma unroll
        for (int r = 0; r < ROWS; r++) from->a[r] += A_REST;
    }
}

// Copies the warp's share of B's rows to the slab: every SPICA_WARPS-th row.
SPICA_INLINE void load_b(float *slab, Sources *from, uint32_t n) {
    if (B_ROWS == 0) {
        if (vx_warp_id() < TILE_K) {
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) slab[c * SPICA_THREADS] = *from->b[c];
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) from->b[c] += TILE_K * n;
    }
#pragma unroll 1
    for (int first = 0; first < B_ROWS; first += B_BATCH) {
        float words[B_BATCH][COLUMNS];
#pragma unroll
        for (int i = 0; i < B_BATCH; i++)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                words[i][c] = *from->b[c];
                from->b[c] += SPICA_WARPS * n;
                SPICA_ANEW(from->b[c]);
            }
#pragma unroll
        for (int i = 0; i < B_BATCH; i++, slab += SPICA_WARPS * TILE_N) {
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) slab[c * SPICA_THREADS] = words[i][c];
            if (SPICA_WARPS * TILE_N > 256) SPICA_ANEW(slab);  // beyond the reach of offsets
        }
    }
}

// Loads the last slab, with fewer than TILE_K columns of A and rows of B.
SPICA_INLINE void load_rest(Slabs slabs, Sources *from, uint32_t n, uint32_t depth) {
    const uint32_t lane = vx_thread_id();
    float *slab = slabs.a + lane;
    for (uint32_t column = lane; column < depth + lane; column += SPICA_THREADS) {
        SPICA_IF (column < depth) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) slab[r * TILE_K] = *from->a[r];
        } SPICA_END_IF
#pragma unroll
        for (int r = 0; r < ROWS; r++) from->a[r] += SPICA_THREADS;
        slab += SPICA_THREADS;
    }
    for (uint32_t row = vx_warp_id(); row < depth; row += SPICA_WARPS) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            slabs.b[c * SPICA_THREADS] = *from->b[c];
            from->b[c] += SPICA_WARPS * n;
        }
        slabs.b += SPICA_WARPS * TILE_N;
    }
}

// Adds the products of `steps` columns of A and rows of B, `unroll` at a time.
SPICA_INLINE void multiply(Slabs slabs, uint32_t steps, const int unroll,
                           float sums[ROWS][COLUMNS]) {
    const float *a = slabs.a, *b = slabs.b - vx_warp_id() * SPICA_CONSTANT(TILE_N);
    for (const float *end = a + steps; a != end; a += unroll, b += unroll * TILE_N) {
#pragma unroll
        for (int i = 0; i < unroll; i++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    sums[r][c] =
                        fmaf(a[r * TILE_K + i], b[i * TILE_N + c * SPICA_THREADS], sums[r][c]);
            // Keep loads of later steps after these: they would need more registers than there are.
            __asm__ volatile("" ::: "memory");
        }
    }
}

SPICA_INLINE void store(Corner corner, const float sums[ROWS][COLUMNS]) {
    const uint32_t row = corner.row, column = corner.column;
    const uint32_t m = ARGUMENTS->m, n = ARGUMENTS->n, lane = vx_thread_id();
    float *c = ARGUMENTS->c + row * n + column + lane;
    if (row + ROWS <= m && column + TILE_N <= n) {
#pragma unroll
        for (int r = 0; r < ROWS; r++, c += n)
#pragma unroll
            for (int i = 0; i < COLUMNS; i++) c[i * SPICA_THREADS] = sums[r][i];
        return;
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++, c += n) {
        if (row + r >= m) return;
#pragma unroll
        for (uint32_t i = 0; i < COLUMNS; i++) {
            SPICA_IF (column + lane + i * SPICA_THREADS < n) {
                c[i * SPICA_THREADS] = sums[r][i];
            } SPICA_END_IF
        }
    }
}

// Computes one tile of C; without a tile of that number, only takes part in the barriers: these may
// span all cores, and each core passes the same number.
SPICA_INLINE void make_tile(uint32_t tile) {
    const uint32_t n = ARGUMENTS->n, rest = ARGUMENTS->k % SPICA_CONSTANT(TILE_K);
    const Slabs slabs = own_slabs();
    Sources from = sources(corner_of(tile));
    float zero, sums[ROWS][COLUMNS];
    __asm__ volatile("fmv.w.x %0, x0" : "=f"(zero));  // not kept in a register either
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS; i++) sums[i / COLUMNS][i % COLUMNS] = zero;
    for (uint32_t left = ARGUMENTS->k - rest; left > 0; left -= TILE_K) {
        vx_barrier(0, SPICA_WARPS);  // the previous slab has been read
        load_a(slabs.a, &from);
        load_b(slabs.b, &from, n);
        vx_barrier(0, SPICA_WARPS);
        multiply(slabs, TILE_K, UNROLL, sums);
    }
    if (rest > 0) {
        vx_barrier(0, SPICA_WARPS);
        load_rest(slabs, &from, n, rest);
        vx_barrier(0, SPICA_WARPS);
        multiply(slabs, rest, 1, sums);
    }
    SPICA_ANEW(tile);
    store(corner_of(tile), sums);
}

SPICA_INLINE uint32_t all_tiles(void) {
    return TILES_OF(ARGUMENTS->m, TILE_M) * TILES_OF(ARGUMENTS->n, TILE_N);
}

int main(void) {
    SPICA_PARALLEL {
        for (uint32_t first = 0; first < all_tiles(); first += SPICA_CORES)
            make_tile(first + vx_core_id());
    } SPICA_END_PARALLEL
    return 0;
}

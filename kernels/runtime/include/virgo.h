/* Commands of one thread to the cluster's DMA and matrix unit: copies between DRAM and shared
 * memory, tile products, and waits. spica.h already has virgo_fence.
 *
 *     virgo_dma_load(0, a, pitch, 128, 128, 256, 0, 0);
 *     ...
 *     virgo_tile(128, 64, 128);
 *     virgo_store_pitch(c_pitch);
 *     virgo_operands(0, b_place + VIRGO_B_BYTES(64, 128));
 *     virgo_prepare(accumulate);
 *     virgo_await(SPICA_DMA_LOADS_DONE, loads);
 *     virgo_start();
 *     ...
 *     virgo_store(c, 0);
 *     virgo_fence(0);
 *
 * Commands are queued and return at once; a write to a full queue stalls until there is room. Core
 * writes to DRAM are visible to the DMA after vx_fence, and DMA writes are visible to cores after
 * vx_fence. Addresses in shared memory are byte offsets from its start, multiples of 4.
 *
 * In shared memory a tile of A is row-major. Each row is a sequence of blocks of
 * SPICA_CONFIG_MATRIX_ROWS elements. A tile of B has the same layout, with blocks as wide as the
 * array's columns. A block has at least 4 bytes; padding elements are 0. */
#ifndef VIRGO_H
#define VIRGO_H

#include <spica.h>
#include <spica_parallel.h>

#ifdef SPICA_MATRIX_INSTRUCTION

#define VIRGO_ROWS SPICA_OF_UNIT(CONFIG_MATRIX, ROWS)
#define VIRGO_COLUMNS SPICA_OF_UNIT(CONFIG_MATRIX, COLUMNS)
/* Largest tile of a CISC command word; bytes of an element of A and B, and of C. */
#define VIRGO_TILE_M SPICA_OF_UNIT(CONFIG_MATRIX, TILE_0)
#define VIRGO_TILE_N SPICA_OF_UNIT(CONFIG_MATRIX, TILE_1)
#define VIRGO_TILE_K SPICA_OF_UNIT(CONFIG_MATRIX, TILE_2)
#define VIRGO_OPERAND_BYTES SPICA_OF_UNIT(OPERAND, BYTES)
#define VIRGO_NARROW_BYTES SPICA_OF_UNIT(NARROW, BYTES)
#define VIRGO_WIDE_BYTES SPICA_OF_UNIT(WIDE, BYTES)
#define VIRGO_BLOCKS(size, block) (((size) + (block) - 1) / (block))
/* Bytes of a block in a row of A, and of B. */
#define VIRGO_A_BLOCK SPICA_OF_UNIT(A_BLOCK, BYTES)
#define VIRGO_B_BLOCK SPICA_OF_UNIT(B_BLOCK, BYTES)
/* Bytes of a row in a tile of A with k elements, and of B with n elements. */
#define VIRGO_A_PITCH(k) (VIRGO_BLOCKS(k, VIRGO_ROWS) * VIRGO_A_BLOCK)
#define VIRGO_B_PITCH(n) (VIRGO_BLOCKS(n, VIRGO_COLUMNS) * VIRGO_B_BLOCK)
/* Rows of a tile of B for k rows of the matrix, and bytes of such a tile. */
#define VIRGO_B_ROWS(k) (VIRGO_BLOCKS(k, VIRGO_ROWS) * VIRGO_ROWS)
#define VIRGO_B_BYTES(n, k) (VIRGO_B_ROWS(k) * VIRGO_B_PITCH(n))

/* Options of a LOOP_WS. */
#define VIRGO_ACCUMULATE SPICA_LOOP_ACCUMULATE
/* With VIRGO_ACCUMULATE: multiplies each row by its scale first (virgo_accumulator). */
#define VIRGO_SCALE_ROWS SPICA_LOOP_SCALE_ROWS
/* Added to SPICA_ONLY_COMPUTE: A, or B, is stored transposed. */
#define VIRGO_TRANSPOSED_A SPICA_LOOP_TRANSPOSE_A
#define VIRGO_TRANSPOSED_B SPICA_LOOP_TRANSPOSE_B
/* Options of virgo_store: accumulator format instead of the narrow one; negative results as 0. */
#define VIRGO_WIDE SPICA_LOOP_FULL_C
#define VIRGO_RELU SPICA_LOOP_ACTIVATION

/* Sets the descriptor that virgo_dma_start starts: `rows` rows of `bytes` bytes, at most 65535 of
 * each, with row starts `dram_pitch` and `local_pitch` bytes apart. A load pads with zeros up to
 * `fill_rows` rows of `fill_bytes` bytes, unless these are 0. */
SPICA_INLINE void virgo_dma_descriptor(uint32_t local, const void *dram, uint32_t dram_pitch,
                                uint32_t local_pitch, uint32_t rows, uint32_t bytes,
                                uint32_t fill_rows, uint32_t fill_bytes)
{
    spica_store_register(SPICA_OF_UNIT(DMA, DRAM), (uint32_t)dram);
    spica_store_register(SPICA_OF_UNIT(DMA, DRAM_PITCH), dram_pitch);
    spica_store_register(SPICA_OF_UNIT(DMA, LOCAL), local);
    spica_store_register(SPICA_OF_UNIT(DMA, LOCAL_PITCH), local_pitch);
    spica_store_register(SPICA_OF_UNIT(DMA, SHAPE), rows | bytes << 16);
    spica_store_register(SPICA_OF_UNIT(DMA, FILL), fill_rows | fill_bytes << 16);
}

/* Copies rows from DRAM to shared memory. Loads complete in the order in which they were queued. */
SPICA_INLINE void virgo_dma_load(uint32_t local, const void *dram, uint32_t dram_pitch,
                                 uint32_t local_pitch, uint32_t rows, uint32_t bytes,
                                 uint32_t fill_rows, uint32_t fill_bytes)
{
    virgo_dma_descriptor(local, dram, dram_pitch, local_pitch, rows, bytes, fill_rows, fill_bytes);
    spica_store_register(SPICA_OF_UNIT(DMA, START), 0);
}

/* Copies rows of the pitches, shape and fill of the descriptor before. */
SPICA_INLINE void virgo_dma_load_again(uint32_t local, const void *dram)
{
    spica_store_register(SPICA_OF_UNIT(DMA, DRAM), (uint32_t)dram);
    spica_store_register(SPICA_OF_UNIT(DMA, LOCAL), local);
    spica_store_register(SPICA_OF_UNIT(DMA, START), 0);
}

/* Copies rows from shared memory to DRAM. Stores complete in order among themselves, not relative
 * to loads. */
SPICA_INLINE void virgo_dma_store(void *dram, uint32_t local, uint32_t dram_pitch,
                                  uint32_t local_pitch, uint32_t rows, uint32_t bytes)
{
    virgo_dma_descriptor(local, dram, dram_pitch, local_pitch, rows, bytes, 0, 0);
    spica_store_register(SPICA_OF_UNIT(DMA, START), 1);
}

/* Reads a register again after a delay. Division of the address by 1 takes several cycles and one
 * instruction, so the waiting warp leaves the core and the path to the devices to others. */
SPICA_INLINE uint32_t virgo_look_again(const volatile uint32_t **address)
{
    __asm__ volatile("divu %0, %0, %1" : "+r"(*address) : "r"(1));
    return **address;
}

/* Sleeps until the counter at an address is at or past `count`, as vx_wait; returns `count`, which it
 * has reached. */
SPICA_INLINE uint32_t virgo_await(uint32_t counter, uint32_t count)
{
    vx_wait(counter, count);
    return count;
}

/* Sleeps until at most `descriptors` DMA loads and stores of programs are running. */
SPICA_INLINE void virgo_dma_fence(uint32_t descriptors)
{
    vx_wait(SPICA_OF_UNIT(DMA, RUNNING), descriptors);
}

/* Sets rows and columns of C for the following computes and stores, and the depth k of a compute;
 * at most the accumulator's size. Stays set until the next call. */
SPICA_INLINE void virgo_tile(uint32_t m, uint32_t n, uint32_t k)
{
    uint32_t i_blocks = VIRGO_BLOCKS(m, VIRGO_ROWS), j_blocks = VIRGO_BLOCKS(n, VIRGO_COLUMNS);
    uint32_t k_blocks = VIRGO_BLOCKS(k, VIRGO_ROWS);
    uint32_t i_pad = i_blocks * VIRGO_ROWS - m, j_pad = j_blocks * VIRGO_COLUMNS - n;
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), i_pad | j_pad << 16);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_HIGH), k_blocks * VIRGO_ROWS - k);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), i_blocks | j_blocks << 16);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_HIGH), k_blocks);
    spica_store_register(SPICA_OF_UNIT(MATRIX, INSTRUCTION), SPICA_CONSTANT(SPICA_ROCC_BOUNDS));
    /* No other command here uses the upper halves. */
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_HIGH), 0);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_HIGH), 0);
}

/* Issues a RoCC instruction whose operands have no upper halves; call it after virgo_tile. */
SPICA_INLINE void virgo_instruction(uint32_t instruction, uint32_t rs1, uint32_t rs2)
{
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), rs1);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), rs2);
    spica_store_register(SPICA_OF_UNIT(MATRIX, INSTRUCTION), instruction);
}

/* Sets the start of the tile of A and the end of the tile of B, in shared memory. */
SPICA_INLINE void virgo_operands(uint32_t a, uint32_t b_end)
{
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_SPAD_AB), a / VIRGO_A_BLOCK, b_end / VIRGO_B_BLOCK);
}

/* Sets the first accumulator row of C for the following computes and stores, and the place of the
 * scales of its rows, FP32 values for computes with VIRGO_SCALE_ROWS. Stays set until the next
 * call. */
SPICA_INLINE void virgo_accumulator(uint32_t row, uint32_t scales)
{
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_ACCUMULATOR), row, scales / VIRGO_A_BLOCK);
}

/* Writes everything of a compute except the word that starts it. */
SPICA_INLINE void virgo_prepare(uint32_t accumulate)
{
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS1_LOW), accumulate);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_LOW), SPICA_ONLY_COMPUTE);
}

/* Starts the prepared compute; two computes can be in flight, and they complete in order. */
SPICA_INLINE void virgo_start(void)
{
    spica_store_register(SPICA_OF_UNIT(MATRIX, INSTRUCTION), SPICA_CONSTANT(SPICA_ROCC_LOOP_WS));
}

/* Computes the product of the tile at `a` and the tile before `b_end`; sets the accumulator or adds
 * to it. */
SPICA_INLINE void virgo_compute(uint32_t a, uint32_t b_end, uint32_t accumulate)
{
    virgo_operands(a, b_end);
    virgo_prepare(accumulate);
    virgo_start();
}

/* Sets the elements between rows of C in DRAM. Stays set until the next call. */
SPICA_INLINE void virgo_store_pitch(uint32_t elements)
{
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_STRIDES_DC), 0, elements);
}

/* Sets the elements between rows of D, and between rows of C as virgo_store_pitch does. */
SPICA_INLINE void virgo_pitches(uint32_t d, uint32_t c)
{
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_STRIDES_DC), d, c);
}

/* Loads D, rows of the accumulator's format in DRAM or at an address of shared memory, into the rows
 * of the accumulator set by virgo_tile and virgo_accumulator. Later computes that add to these rows,
 * and stores, wait for it. */
SPICA_INLINE void virgo_load_d(const void *d)
{
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_ADDRESSES_DC), (uint32_t)d, 0);
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_LOOP_WS), 0,
                      SPICA_LOOP_SKIP_LOAD_A | SPICA_LOOP_SKIP_LOAD_B | SPICA_LOOP_SKIP_COMPUTE |
                          SPICA_LOOP_SKIP_STORE);
}

/* Stores the accumulator as the computes so far leave it; later computes do not affect it. */
SPICA_INLINE void virgo_store(void *c, uint32_t options)
{
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_ADDRESSES_DC), 0, (uint32_t)c);
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_LOOP_WS), options, SPICA_ONLY_STORE);
}

/* Stores to shared memory instead, at a multiple of VIRGO_A_BLOCK bytes: the rows set by
 * virgo_tile, dense, each as long as its blocks. */
SPICA_INLINE void virgo_spill(uint32_t local, uint32_t options)
{
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_HIGH), local / VIRGO_A_BLOCK);
    virgo_instruction(SPICA_CONSTANT(SPICA_ROCC_LOOP_WS), options, SPICA_ONLY_SPILL);
    spica_store_register(SPICA_OF_UNIT(MATRIX, RS2_HIGH), 0);
}

/* Waits for `warps` warps of every core; one of them may be a single thread that commands devices.
 * Cores may pass different numbers, and warp 0 of each core must take part. Unlike
 * spica_barrier_of, it does not order stores to DRAM. Shared memory that was read and used may be
 * overwritten after it. */
SPICA_INLINE void virgo_meet_of(uint32_t warps)
{
    vx_barrier(SPICA_BARRIER_ALL, warps);
#if !SPICA_BARRIERS_OF_CLUSTER && SPICA_CORES > 1
    if (vx_warp_id() == 0)
        vx_barrier(0x80000000u | SPICA_BARRIER_ALL, SPICA_CORES);
    vx_barrier(SPICA_BARRIER_ALL, warps);
#endif
}

/* Waits for all warps of all cores in the same way. */
SPICA_INLINE void virgo_meet(void)
{
    virgo_meet_of(SPICA_WARPS);
}

#endif

#endif

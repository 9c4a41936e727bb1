/* Launches: one thread of a core starts all of its threads and waits for them.
 *
 * Registers of masked threads are undefined except gp, sp and tp, so a launch passes data through
 * memory: one record per core with entry, argument, and a flag that is set during a launch. Only
 * thread 0 of warp 0 has registers to preserve, those of its caller. */
#include "spica.h"

#define ENTRY_OF 0
#define ARGUMENT_OF 4
#define BUSY_OF 8
#define TASKS_OF 12
#define RECORD_WIDTH 6

    .section .unset, "aw", @nobits
    .balign 64
spica_records:
    .zero SPICA_CORES << RECORD_WIDTH

    .text
/* Returns t0 = this core's record; clobbers t1. */
    .globl spica_this_record
    .type spica_this_record, @function
spica_this_record:
    csrr t0, SPICA_CSR_CORE_ID
    slli t0, t0, RECORD_WIDTH
    la t1, spica_records
    add t0, t0, t1
    ret
    .size spica_this_record, . - spica_this_record

/* void spica_run_warps(uint32_t warps, spica_entry entry, void *argument) */
    .globl spica_run_warps
    .type spica_run_warps, @function
spica_run_warps:
    addi sp, sp, -64
    sw ra, 60(sp)
    call spica_this_record
    lw t1, BUSY_OF(t0)
    bnez t1, spica_nested
    csrr t1, SPICA_CSR_WARP_MASK    /* a parallel block is also refused */
    csrr t2, SPICA_CSR_THREAD_MASK
    or t2, t2, t1
    li t1, 1
    bne t2, t1, spica_nested
    sw t1, BUSY_OF(t0)
    sw a1, ENTRY_OF(t0)
    sw a2, ARGUMENT_OF(t0)
    sw s0, 56(sp)
    sw s1, 52(sp)
    sw s2, 48(sp)
    sw s3, 44(sp)
    sw s4, 40(sp)
    sw s5, 36(sp)
    sw s6, 32(sp)
    sw s7, 28(sp)
    li t1, 2
    bltu a0, t1, 1f
    la t1, spica_warp
    .insn r SPICA_INSN_VX_WSPAWN, x0, a0, t1
1:  li t1, -1
    .insn r SPICA_INSN_VX_TMC, x0, t1, x0
    call spica_enter
    li t0, 1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
2:  csrr t1, SPICA_CSR_WARP_MASK
    bne t1, t0, 2b
    call spica_this_record
    sw x0, BUSY_OF(t0)
    lw ra, 60(sp)
    lw s0, 56(sp)
    lw s1, 52(sp)
    lw s2, 48(sp)
    lw s3, 44(sp)
    lw s4, 40(sp)
    lw s5, 36(sp)
    lw s6, 32(sp)
    lw s7, 28(sp)
    addi sp, sp, 64
    ret
    .size spica_run_warps, . - spica_run_warps

    .type spica_nested, @function
spica_nested:
    li a0, SPICA_EXIT_NESTED
    j exit
    .size spica_nested, . - spica_nested

/* Entry of the other warps, thread 0 only. */
    .type spica_warp, @function
spica_warp:
    li t0, -1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
    call spica_enter
    .insn r SPICA_INSN_VX_TMC, x0, x0, x0
    .size spica_warp, . - spica_warp

/* All threads of a warp: jump to the entry of the record. */
    .type spica_enter, @function
spica_enter:
    mv t2, ra
    call spica_this_record
    mv ra, t2
    lw t1, ENTRY_OF(t0)
    lw a0, ARGUMENT_OF(t0)
    jr t1
    .size spica_enter, . - spica_enter

/* Programs without parallel blocks (spica_parallel.h) have none of this section. */
    .section .text.spica_parallel, "ax", @progbits

/* A parallel block with variables: its function in a1 gets a0 in all threads. Preserves no register
 * but sp, gp and tp. */
    .globl spica_run_block
    .type spica_run_block, @function
spica_run_block:
    addi sp, sp, -16
    sw ra, 12(sp)
    call spica_this_record
    sw a1, ENTRY_OF(t0)
    sw a0, ARGUMENT_OF(t0)
    csrr t0, SPICA_CSR_NUM_WARPS
    la t1, 1f
    .insn r SPICA_INSN_VX_WSPAWN, x0, t0, t1
1:  li t0, -1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
    call spica_enter
    /* Continues. */
    .size spica_run_block, . - spica_run_block

/* Block literals point to these; nothing reads them. */
    .globl _NSConcreteGlobalBlock, _NSConcreteStackBlock
    .set _NSConcreteGlobalBlock, 0
    .set _NSConcreteStackBlock, 0

/* All threads of a warp, after a parallel block: all but thread 0 of warp 0 end. That one waits for
 * the other warps and continues at the address at 12(sp), with sp before it was pushed. */
    .globl spica_leave
    .type spica_leave, @function
spica_leave:
    csrr t0, SPICA_CSR_WARP_ID
    beqz t0, 1f
    .insn r SPICA_INSN_VX_TMC, x0, x0, x0
1:  li t0, 1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
2:  csrr t1, SPICA_CSR_WARP_MASK
    bne t1, t0, 2b
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
    .size spica_leave, . - spica_leave

    .text

/* void spica_spawn_tasks(uint32_t tasks, spica_task f, void *argument)
 *
 * A block has as many tasks as a warp has threads. Warp w of core c runs the blocks
 * w * cores + c + k * cores * warps; only as many warps as have a block are started. */
    .globl spica_spawn_tasks
    .type spica_spawn_tasks, @function
spica_spawn_tasks:
    beqz a0, 1f
    csrr t0, SPICA_CSR_NUM_THREADS
    addi t1, a0, -1
    divu t1, t1, t0                 /* blocks - 1 */
    csrr t0, SPICA_CSR_CORE_ID
    bltu t1, t0, 1f                 /* no block for this core */
    sub t1, t1, t0
    csrr t0, SPICA_CSR_NUM_CORES
    divu t1, t1, t0
    addi t1, t1, 1                  /* blocks of this core */
    csrr t0, SPICA_CSR_NUM_WARPS
    bltu t1, t0, 2f
    mv t1, t0
2:  addi sp, sp, -16
    sw ra, 12(sp)
    sw a0, 0(sp)
    sw a1, 4(sp)
    sw a2, 8(sp)
    mv a0, t1
    la a1, spica_run_tasks
    mv a2, sp
    call spica_run_warps
    lw ra, 12(sp)
    addi sp, sp, 16
1:  ret
    .size spica_spawn_tasks, . - spica_spawn_tasks

/* All threads of a warp: run its blocks. a0 points to number of tasks, function and argument.
 * s0 function, s1 argument, s2 this thread's task, s3 full blocks left, s4 tasks from one block
 * of this warp to its next, s5 threads, s6 return, s7 tasks of a last partial block. */
    .type spica_run_tasks, @function
spica_run_tasks:
    lw s7, 0(a0)
    lw s0, 4(a0)
    lw s1, 8(a0)
    mv s6, ra
    csrr s5, SPICA_CSR_NUM_THREADS
    csrr t0, SPICA_CSR_NUM_CORES
    csrr t1, SPICA_CSR_WARP_ID
    mul t2, t0, t1
    csrr t1, SPICA_CSR_CORE_ID
    add t2, t2, t1
    mul t2, t2, s5                  /* first task of the first block */
    csrr s2, SPICA_CSR_THREAD_ID
    add s2, s2, t2
    csrr t1, SPICA_CSR_NUM_WARPS
    mul s4, t0, t1
    mul s4, s4, s5
    sub s7, s7, t2                  /* tasks from the first block on */
    bltu s7, s5, 2f
    sub s3, s7, s5
    divu s3, s3, s4
    addi s3, s3, 1
    mul t0, s3, s4
    sub s7, s7, t0                  /* below 1: no block after the full ones */
1:  mv a0, s2
    mv a1, s1
    jalr s0
    addi s3, s3, -1
    add s2, s2, s4
    bnez s3, 1b
    blez s7, 3f
2:  li t0, 1
    sll t0, t0, s7
    addi t0, t0, -1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
    mv a0, s2
    mv a1, s1
    jalr s0
    li t0, -1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
3:  jr s6
    .size spica_run_tasks, . - spica_run_tasks

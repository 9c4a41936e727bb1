/* Start-up code before main, and termination after it.
 *
 * Every core starts here with thread 0 of warp 0 only. All threads of all warps get their gp, sp
 * and tp, which they keep; then main runs in thread 0 of warp 0 of every core.
 *
 * Initial memory contents are undefined, also for variables with initial value 0. All warps of core
 * 0 clear these variables. The cores then wait at a barrier, so that no core reads a variable before
 * it is cleared. Programs without such variables, and machines with one core, have no barrier.
 *
 * In a program without markers of its own the measured region begins here, before constructors and
 * main. */
#include "spica.h"

/* Reports identify stacks of this size by this symbol. */
    .globl spica_stack_bytes
    .set spica_stack_bytes, SPICA_STACK_BYTES

    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    csrr a0, SPICA_CSR_NUM_WARPS
    la a1, spica_prepare_warp
    .insn r SPICA_INSN_VX_WSPAWN, x0, a0, a1
    li t0, -1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
    call spica_prepare_threads
    li t0, 1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
1:  csrr t1, SPICA_CSR_WARP_MASK
    bne t1, t0, 1b
    call spica_this_record
    sw x0, 8(t0)
    call spica_meet
    lui t0, %hi(spica_own_markers)
    addi t0, t0, %lo(spica_own_markers)
    bnez t0, 1f
    slti x0, x1, SPICA_MARKER_BEGIN
1:  call spica_construct
    li a0, 0
    li a1, 0
    call main
    j spica_finish
    .size _start, . - _start

    .type spica_prepare_warp, @function
spica_prepare_warp:
    li t0, -1
    .insn r SPICA_INSN_VX_TMC, x0, t0, x0
    call spica_prepare_threads
    .insn r SPICA_INSN_VX_TMC, x0, x0, x0
    .size spica_prepare_warp, . - spica_prepare_warp

/* All threads of a warp: set the registers that they keep, and clear variables. */
    .type spica_prepare_threads, @function
spica_prepare_threads:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    csrr t0, SPICA_CSR_MHARTID
    li t1, SPICA_STACK_BYTES
    mul t0, t0, t1
    li sp, SPICA_STACK_TOP
    sub sp, sp, t0
    la tp, _end
    /* Continues. */
    .size spica_prepare_threads, . - spica_prepare_threads

/* All threads of all warps of core 0: each clears a word, then the one as far on as they are
 * threads. */
    .type spica_clear, @function
spica_clear:
    csrr t0, SPICA_CSR_CORE_ID
    bnez t0, 2f
    la t1, __bss_start
    la t2, __bss_end
    beq t1, t2, 2f
    csrr t3, SPICA_CSR_NUM_THREADS
    slli t3, t3, 2
    csrr t4, SPICA_CSR_WARP_ID
    mul t4, t4, t3
    add t1, t1, t4                  /* first word of this warp */
    csrr t4, SPICA_CSR_NUM_WARPS
    mul t3, t3, t4                  /* bytes that all warps clear at a time */
    csrr t4, SPICA_CSR_THREAD_ID
    slli t4, t4, 2
    add t4, t4, t1
1:  bgeu t1, t2, 3f
    sw x0, 0(t4)
    add t4, t4, t3
    add t1, t1, t3
    j 1b
3:
#if SPICA_CORES > 1
    fence                           /* of each warp: for the other cores */
#endif
2:  ret
    .size spica_clear, . - spica_clear

/* Waits for all cores if core 0 had variables to clear. */
    .type spica_meet, @function
spica_meet:
#if SPICA_CORES > 1
    la t1, __bss_start
    la t2, __bss_end
    beq t1, t2, 1f
    fence
#if SPICA_BARRIERS_OF_CLUSTER
    li t0, SPICA_BARRIERS - 1
    li t1, 1
#else
    li t0, 0x80000000 + SPICA_BARRIERS - 1
    csrr t1, SPICA_CSR_NUM_CORES
#endif
    .insn r SPICA_INSN_VX_BAR, x0, t0, t1
1:
#endif
    ret
    .size spica_meet, . - spica_meet

/* Calls C++ constructors of global objects before main, on every core. */
    .type spica_construct, @function
spica_construct:
    addi sp, sp, -16
    sw ra, 12(sp)
    sw s0, 8(sp)
    sw s1, 4(sp)
    la s0, __init_array_start
    la s1, __init_array_end
1:  bgeu s0, s1, 2f
    lw t0, 0(s0)
    addi s0, s0, 4
    jalr t0
    j 1b
2:  lw ra, 12(sp)
    lw s0, 8(sp)
    lw s1, 4(sp)
    addi sp, sp, 16
    ret
    .size spica_construct, . - spica_construct

/* void exit(int code). A thread alone in its core ends as main does and dumps its counters;
 * otherwise ecall ends the core, including its other warps. */
    .globl exit
    .type exit, @function
exit:
    csrr t0, SPICA_CSR_WARP_MASK
    li t1, 1
    bne t0, t1, 1f
    csrr t0, SPICA_CSR_THREAD_MASK
    beq t0, t1, spica_finish
1:  mv gp, a0
    ecall
    j 1b
    .size exit, . - exit

    .globl abort
    .type abort, @function
abort:
    li gp, SPICA_EXIT_ABORT
    ebreak
    j abort
    .size abort, . - abort

/* Stores the counters of a block, whose numbers begin at low and high, from place first on. A read of
 * a counter waits for all earlier stores, so several are read before the next stores. */
    .macro store_counters first, low, high
    .set k, 0
    .rept SPICA_COUNTERS_OF_BLOCK / 4
    csrr t0, \low + k + 0
    csrr t2, \high + k + 0
    csrr t3, \low + k + 1
    csrr t4, \high + k + 1
    csrr t5, \low + k + 2
    csrr t6, \high + k + 2
    csrr a1, \low + k + 3
    csrr a2, \high + k + 3
    sw t0, 4 * (\first + k + 0)(t1)
    sw t2, 4 * (SPICA_COUNTERS + \first + k + 0)(t1)
    sw t3, 4 * (\first + k + 1)(t1)
    sw t4, 4 * (SPICA_COUNTERS + \first + k + 1)(t1)
    sw t5, 4 * (\first + k + 2)(t1)
    sw t6, 4 * (SPICA_COUNTERS + \first + k + 2)(t1)
    sw a1, 4 * (\first + k + 3)(t1)
    sw a2, 4 * (SPICA_COUNTERS + \first + k + 3)(t1)
    .set k, k + 4
    .endr
    .endm

/* Thread 0 of warp 0, exit code in a0: stores the counters and ends the warp. */
    .type spica_finish, @function
spica_finish:
    li t1, SPICA_COUNTER_DUMP
    li t2, SPICA_COUNTER_DUMP_BYTES
    csrr t0, SPICA_CSR_CORE_ID
    mul t0, t0, t2
    add t1, t1, t0
    store_counters 0, SPICA_CSR_COUNTERS, SPICA_CSR_COUNTERS_HIGH
#if SPICA_COUNTERS > SPICA_COUNTERS_OF_BLOCK
    store_counters SPICA_COUNTERS_OF_BLOCK, SPICA_CSR_COUNTERS1, SPICA_CSR_COUNTERS1_HIGH
#endif
    fence
    mv gp, a0
    .insn r SPICA_INSN_VX_TMC, x0, x0, x0
    .size spica_finish, . - spica_finish

    .section .text.start
    .globl _start
_start:
    la sp, stack_top
    call main
    call finish

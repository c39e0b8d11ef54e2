# What GHC makes of `work x = helper x`: control comes by a jump, and leaves by one. The stack pointer is a register of its own, %rbp.
    .text
    .globl  Main_work_info
    .type   Main_work_info, @function
Main_work_info:
    lea     -8(%rbp), %rax
    cmp     %r15, %rax
    jb      1f
    jmp     Main_helper_info
1:  jmp     *-8(%r13)
    .size   Main_work_info, . - Main_work_info

    .globl  Main_helper_info
    .type   Main_helper_info, @function
Main_helper_info:
    inc     %r14
    jmp     *(%rbp)
    .size   Main_helper_info, . - Main_helper_info

    .ident  "GHC 9.0.2"
    .section .note.GNU-stack,"",@progbits

# Every form of a call, in the order in which tests/call_forms.rs expects them.
    .text
    .globl  every_form
    .type   every_form, @function
every_form:
    .cfi_startproc
    call    callee                          # call, function
    .byte   0xf2; call callee               # bnd call: the prefix is left out
    .byte   0x67; call callee               # addr32 call: the same
    call    puts@PLT                        # call, import
    call    *puts@GOTPCREL(%rip)            # ff 15: indirect, import
    call    *%rax                           # ff d0
    call    *%r11                           # 41 ff d3
    call    *(%rbx)                         # ff 13
    call    *8(%rsp)                        # ff 54 24 08
    call    *0x100(%rdi)                    # ff 97 00 01 00 00
    call    *0x10(%rax,%r9,8)               # 42 ff 54 c8 10
    call    *0x1000(,%rcx,4)                # ff 14 8d 00 10 00 00
    call    *-8(%r12)                       # 41 ff 54 24 f8
    call    *%fs:0x10(%rax)                 # unusual: segment
    call    *(%eax)                         # unusual: address size
    call    1f                              # reads the instruction pointer
1:  call    _setjmp@PLT                     # returns twice
    call    dlsym@PLT                       # caller-sensitive
    call    abort@PLT                       # never returns
    .byte   0x66, 0x66, 0x48; call __tls_get_addr@PLT   # caller-sensitive
    je      callee                          # conditional tail jump
    jmp     *0x18(%rdi)                     # indirect tail jump
    notrack jmp *%rax                       # a switch: not listed
    jmp     *0x1000(,%rax,8)                # a switch: not listed
    syscall                                 # not a call
    jmp     1b                              # a loop: not listed
    jmp     puts@PLT                        # tail jump, import
    .byte   0xe9; .long callee - . - 4      # tail jump, function
    .byte   0xf2, 0xe9; .long callee - . - 4  # bnd jmp: the prefix is left out
    .byte   0xeb; .byte callee - . - 1      # short tail jump
    sub     $24, %rsp
    .cfi_adjust_cfa_offset 24
    jmp     *0x18(%rdi)                     # a frame on the stack: no tail call, not listed
    .cfi_endproc
    .size   every_form, . - every_form

    .globl  callee
    .type   callee, @function
callee:
    ret
    .size   callee, . - callee

    .globl  broken
    .type   broken, @function
broken:
    call    callee                          # call, function
    .byte   0x06                            # no instruction in 64-bit mode
    call    callee                          # not looked at
    ret
    .size   broken, . - broken

    .globl  chooser
    .type   chooser, @gnu_indirect_function
chooser:
    lea     callee(%rip), %rax
    ret
    .size   chooser, . - chooser

    .globl  chosen
    .type   chosen, @function
chosen:
    call    chooser@PLT                     # call, import by the name of the indirect function
    ret
    .size   chosen, . - chosen

    # As compilers without descriptions of epilogues have it: the frame is said to be there until the end.
    .globl  old_epilogue
    .type   old_epilogue, @function
old_epilogue:
    .cfi_startproc
    push    %rbp
    .cfi_def_cfa_offset 16
    mov     %rsp, %rbp
    .cfi_def_cfa_register 6
    mov     0x420(%rdi), %r11
    jmp     *%r11                           # a frame on the stack: not listed
    mov     0x420(%rdi), %r11
    leave
    jmp     *%r11                           # indirect tail jump
    .cfi_endproc
    .size   old_epilogue, . - old_epilogue
    .section .note.GNU-stack, "", @progbits

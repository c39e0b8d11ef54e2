# Every form of call and of function entry. All functions take a number and return it plus one, but for those that say
# otherwise.
        .text
        .macro function name
        .globl \name
        .type \name, @function
        .p2align 4
\name:
        .cfi_startproc
        .endm
        .macro end name
        .cfi_endproc
        .size \name, .-\name
        .endm

# Boundaries at 1, 4: push, three bytes, four bytes.
        function frame
        push %rbp
        mov %rsp, %rbp
        lea 1(%rdi), %rax
        pop %rbp
        ret
        end frame

# Boundaries at 2, 4.
        function twos
        xor %ecx, %ecx
        xor %edx, %edx
        lea 1(%rdi,%rdx), %rax
        ret
        end twos

# Boundaries at 1, 2, 3, 4: one place only that a safe jump can lead to.
        function ones
        nop
        nop
        nop
        nop
        nop
        lea 1(%rdi), %rax
        ret
        end ones

# Boundary at 0 only.
        function five
        mov $1, %eax
        add %rdi, %rax
        ret
        end five

# Boundary at 4.
        function landing
        endbr64
        lea 1(%rdi), %rax
        ret
        end landing

# Boundaries at 1, 3.
        function mixed
        push %rbx
        xor %ebx, %ebx
        lea 1(%rdi,%rbx), %rax
        pop %rbx
        ret
        end mixed

# A call is the first instruction.
        function calls
        call five
        nop
        ret
        end calls

# A call is the second instruction; boundary at 1.
        function pushes_and_calls
        push %rbx
        call five
        pop %rbx
        ret
        end pushes_and_calls

# A branch and a RIP-relative operand move; boundaries at 3.
        function branches
        test %rdi, %rdi
        js 1f
        mov one(%rip), %rax
        add %rdi, %rax
        ret
1:      lea 1(%rdi), %rax
        ret
        end branches

# Another function's frame in a tail call.
        function tail
        test %rdi, %rdi
        jmp frame
        end tail

        function tail_of_tail
        test %rdi, %rdi
        jmp tail
        end tail_of_tail

# Calls all of the above in turn: adds 11.
        function chain
        sub $8, %rsp
        call frame
        .irp f, twos, ones, five, landing, mixed, calls, pushes_and_calls, branches, tail, tail_of_tail
        mov %rax, %rdi
        call \f
        .endr
        add $8, %rsp
        ret
        end chain

# A call at every offset in a cache line: adds 64.
        function aligned
        sub $8, %rsp
        mov %rdi, %rax
        .set i, 0
        .rept 64
        mov %rax, %rdi
        jmp 1f
        .p2align 6, 0xcc
        .if i
        .skip i, 0xcc
        .endif
1:      call five
        .set i, i+1
        .endr
        add $8, %rsp
        ret
        end aligned

# Indirect calls of all lengths and kinds of operand: adds 17.
        function indirect
        push %r12
        push %r13
        push %rbx
        push %rbp
        sub $0x208, %rsp
        lea pointers(%rip), %r12
        lea five(%rip), %rax
        mov %rax, 0x20(%rsp)
        mov %rax, 0x200(%rsp)
        .macro through operand:vararg
        call *\operand
        mov %rax, %rdi
        .endm
        through pointers(%rip)
        mov %r12, %rsi
        through (%rsi)
        through 0x10(%rsi)
        through 0x100(%rsi)
        through (%r12)
        through 0x100(%r12)
        mov $3, %r13d
        through (%r12,%r13,8)
        mov $3, %r13d
        through 0x100(%r12,%r13,8)
        mov $1, %r13d
        through 8(%r12,%r13,8)
        mov $2, %ebx
        through 0x100(%rsi,%rbx,4)
        through 0x20(%rsp)
        through 0x200(%rsp)
        lea -0x100(%r12), %rbp
        through 0x100(%rbp)
        lea -0x100(%r12), %r13
        through 0x100(%r13)
        lea 0(,%rbx,8), %r9
        through 0x80(%r12,%r9)
        lea five(%rip), %r11
        through %r11
        lea five(%rip), %rbx
        through %rbx
        add $0x208, %rsp
        pop %rbp
        pop %rbx
        pop %r13
        pop %r12
        ret
        end indirect

# Enters a function in the middle, with rdi as it is.
        function enter_at
        jmp *%rsi
        end enter_at

# The same behind a `push`.
        function enter_behind_rbp
        push %rbp
        jmp *%rsi
        end enter_behind_rbp
        function enter_behind_rbx
        push %rbx
        jmp *%rsi
        end enter_behind_rbx

        .section .rodata
one:    .quad 1
        .data
        .balign 64
pointers:
        .rept 128
        .quad five
        .endr
        .section .note.GNU-stack,"",@progbits

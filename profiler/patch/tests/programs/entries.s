# Functions that begin with every form of jump and call. All take a number in rdi and return it plus one. What rsi has, the name's
# ending says: _r a function that adds one, _m a table whose words are such functions, nothing else what is not looked at.
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

        function plus_one
        lea 1(%rdi), %rax
        nop
        ret
        end plus_one

        function jump_r
        jmp *%rsi
        end jump_r

        function jump_m
        jmp *0x18(%rsi)
        end jump_m

        function jump_far_m
        jmp *0x118(%rsi)
        end jump_far_m

        function jump_indexed_m
        xor %ecx, %ecx
        jmp *0x18(%rsi,%rcx,8)
        end jump_indexed_m

        function jump_slot
        jmp *slot(%rip)
        end jump_slot

        function jump_plt
        endbr64
        jmp *slot(%rip)
        nopw 0(%rax,%rax)
        end jump_plt

        function jump_notrack_r
        notrack jmp *%rsi
        end jump_notrack_r

        function jump_notrack_m
        notrack jmp *0x18(%rsi)
        end jump_notrack_m

        function endbr_r
        endbr64
        jmp *%rsi
        end endbr_r

        function endbr_m
        endbr64
        jmp *0x18(%rsi)
        end endbr_m

        function behind_test_r
        test %rdi, %rdi
        jmp *%rsi
        end behind_test_r

        function jump_two_bytes
        jmp 1f
        end jump_two_bytes
        .p2align 4
        function near
1:      lea 1(%rdi), %rax
        nop
        ret
        end near

        function jump_five_bytes
        jmp plus_one
        end jump_five_bytes

        function call_m
        sub $8, %rsp
        call *0x18(%rsi)
        add $8, %rsp
        ret
        end call_m

        function call_r
        push %rbx
        call *%rsi
        pop %rbx
        ret
        end call_r

        function call_slot
        sub $8, %rsp
        call *slot(%rip)
        add $8, %rsp
        ret
        end call_slot

        function call_direct
        sub $8, %rsp
        call plus_one
        add $8, %rsp
        ret
        end call_direct

        function call_at_once
        call plus_one
        ret
        nop
        end call_at_once

        function call_later_m
        sub $8, %rsp
        mov %rsi, %rax
        test %rdi, %rdi
        call *0x18(%rax)
        add $8, %rsp
        ret
        end call_later_m

        function plain
        push %rbp
        mov %rsp, %rbp
        lea 1(%rdi), %rax
        pop %rbp
        ret
        end plain

# A jump whose target cannot be read: rdi has no table.
        function fails
        jmp *0x18(%rdi)
        end fails

        .data
        .balign 8
slot:   .quad plus_one
        .globl table
table:  .rept 64
        .quad plus_one
        .endr
        .section .note.GNU-stack,"",@progbits

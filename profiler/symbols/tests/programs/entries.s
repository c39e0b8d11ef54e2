# Entries and the branches that lead to them; expectations in tests/functions.rs.
    .text
    .macro  function name
    .globl  \name
    .type   \name, @function
\name:
    .endm

    .p2align 4
    function loops_to_entry
1:  dec     %edi
    jne     1b                  # to the entry itself: harmless
    ret
    .size   loops_to_entry, . - loops_to_entry

    .p2align 4
    function loops_inside
    nop
1:  dec     %edi
    jne     1b                  # to the second byte
    ret
    .size   loops_inside, . - loops_inside

    .p2align 4
    function entered_from_outside
    nop
    nop
1:  nop
    nop
    nop
    ret
    .size   entered_from_outside, . - entered_from_outside

    .p2align 4
    function intruder
    jmp     1b                  # to the third byte
    .size   intruder, . - intruder

    .p2align 4
    function tiny
    ret                         # fifteen bytes of padding follow
    .size   tiny, . - tiny

    .p2align 4
    function cramped
    ret                         # another function follows at once
    .size   cramped, . - cramped
    function neighbour
    xor     %eax, %eax
    ret
    .size   neighbour, . - neighbour
    .section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook: a trampoline jumps here instead of making its call: rax is the call's number, the arguments
 * are where the kernel wants them, rcx is the address to return to. rcx and r11 are lost, as the
 * kernel loses them; everything else is as the kernel leaves it, the flags and the 128 bytes below
 * the stack pointer included.
 *
 * Signals may come at any instruction, and their handlers may make calls, or never come back. So
 * the state of a call is on the stack of its thread and in its own record, and nowhere else.
 */
#include "layout.h"

	.text
/* The registers that the hook has pushed. */
.macro restore
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%r10
	pop	%r8
	pop	%r9
	pop	%rax
	pop	%rcx
.endm

/* struct as_inside_image */
	.quad start
	.quad hook
	.quad allowed
	.quad as_inside_copy
	.quad copy_end
	.quad copy_fault
	.quad image_end
	.globl as_inside_entry
as_inside_entry:
	.quad 0
pool_id:
	.quad 0
	.globl as_inside_row
as_inside_row:
	.skip AS_INSIDE_NRS
	.globl as_inside_rows
as_inside_rows:
	.skip AS_INSIDE_ROWS * 14
	.balign 16

/* The program's first instructions: the pool is attached, and the program begins. */
start:
	mov	pool_id, %edi
	mov	$AS_INSIDE_POOL, %esi
	xor	%edx, %edx
	mov	$30, %eax /* shmat */
	syscall
	cmp	%rsi, %rax
	je	1f
	xor	%eax, %eax
	wrgsbase %rax
1:	xor	%eax, %eax
	xor	%edi, %edi
	xor	%esi, %esi
	xor	%ecx, %ecx
	xor	%r11d, %r11d
	jmp	*as_inside_entry

	.balign 16
hook:
	lea	-128(%rsp), %rsp
	pushfq
	cmp	$AS_INSIDE_NRS, %rax
	jae	raw
	cmpb	$0, as_inside_row(%rax)
	je	raw
	rdgsbase %r11
	sub	$(AS_INSIDE_POOL + AS_INSIDE_SLOT), %r11
	cmp	$(AS_INSIDE_POOL_BYTES - AS_INSIDE_SLOT), %r11
	jae	raw
	test	$(AS_INSIDE_SLOT - 1), %r11d
	jnz	raw
	cld
	push	%rcx
	push	%rax
	push	%r9
	push	%r8
	push	%r10
	push	%rdx
	push	%rsi
	push	%rdi
	mov	%rsp, %rdi
	lea	(AS_INSIDE_POOL + AS_INSIDE_SLOT)(%r11), %rsi
	mov	%eax, %edx
	call	as_inside_begin
	test	%rax, %rax
	jz	unseen
	mov	(%rsp), %rdi
	mov	8(%rsp), %rsi
	mov	16(%rsp), %rdx
	mov	24(%rsp), %r10
	mov	32(%rsp), %r8
	mov	40(%rsp), %r9
	push	%rax
	mov	56(%rsp), %rax
	syscall
allowed:
	mov	%rax, 56(%rsp)
	pop	%rdi
	mov	%rax, %rsi
	mov	%rsp, %rdx
	rdgsbase %rcx
	call	as_inside_end
	restore
	popfq
	lea	128(%rsp), %rsp
	jmp	*%rcx

/* No room, or not of interest: the call is made as if there were no hook. */
unseen:
	restore
raw:
	popfq
	lea	128(%rsp), %rsp
	lea	AS_INSIDE_RAW(%rcx), %rcx
	jmp	*%rcx

/* long as_inside_copy(void *to, const void *from, unsigned long n, long text): how many bytes were
 * copied; with text, up to a NUL, which counts; to NULL: only counts. -1: memory that is not there.
 * Only the return address is on the stack: after a fault, the recorder continues the task at
 * copy_fault. */
	.globl	as_inside_copy
as_inside_copy:
	xor	%eax, %eax
	test	%rcx, %rcx
	jnz	4f
	mov	%rdx, %rax
	mov	%rdx, %rcx
	shr	$3, %rcx
	and	$7, %edx
	rep	movsq
	mov	%edx, %ecx
	rep	movsb
	ret
4:	test	%rdx, %rdx
	jz	3f
1:	movzbl	(%rsi,%rax), %ecx
	inc	%rax
	test	%ecx, %ecx
	jz	3f
	cmp	%rdx, %rax
	jb	1b
3:	ret
copy_end:
copy_fault:
	mov	$-1, %rax
	ret

	.section .end, "ax"
image_end:
	.section .note.GNU-stack, "", @progbits

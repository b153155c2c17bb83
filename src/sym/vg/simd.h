/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves of bytes within vectors; `lane` of struct op: where, in bytes, or bits of a lane. */
#ifndef AS_SYM_VG_SIMD_H
#define AS_SYM_VG_SIMD_H

enum bytes {
	B_LOW, /* bytes from `lane` on */
	B_KEEP, /* the first `lane` bytes, zeros above */
	B_SETLOW, /* a, its first `lane` bytes from b */
	B_JOIN, /* a above b, `lane` bytes each */
	B_JOIN4, /* four operands, the first one highest */
	B_WEAVE_LOW, /* lanes of b and a in turn, from the low half */
	B_WEAVE_HIGH, /* the same from the high half */
	B_EVEN, /* even lanes of b, then those of a */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_site: see record_site.h. */
#include "record/record_site.h"

#include "record/inside/layout.h"

#include <string.h>

#define SHORT_REACH 127

/* ---- Lengths of instructions ----------------------------------------------------------------- */

/*
 * What comes after an opcode: m a ModRM byte, 1 4 so many bytes, v four (two with the prefix 66), q
 * eight with REX.W, else as v, a an address of eight, t: ModRM and a byte or four if the operation
 * is "test" (f6, f7), p a prefix, - nothing, x not known.
 */
static const char one_byte[] = "mmmm1vxxmmmm1vxe" /* 00 */
			       "mmmm1vxxmmmm1vxx" /* 10 */
			       "mmmm1vpxmmmm1vpx" /* 20 */
			       "mmmm1vpxmmmm1vpx" /* 30 */
			       "pppppppppppppppp" /* 40 */
			       "----------------" /* 50 */
			       "xxxmppppvnio----" /* 60: n: ModRM and four, i: one, o: ModRM, one */
			       "1111111111111111" /* 70 */
			       "onxommmmmmmmmmmm" /* 80 */
			       "----------x-----" /* 90 */
			       "aaaa----1v------" /* a0 */
			       "11111111qqqqqqqq" /* b0 */
			       "oo2-xxonx-2--1x-" /* c0 */
			       "mmmmxxx-mmmmmmmm" /* d0 */
			       "1111111144x1----" /* e0 */
			       "p-pp--tt------mm"; /* f0 */
/* After 0f. */
static const char two_bytes[] = "mmmmx-----x-xmxx" /* 00 */
				"mmmmmmmmmmmmmmmm" /* 10 */
				"mmmmxxxxmmmmmmmm" /* 20 */
				"------x-xxxxxxxx" /* 30 */
				"mmmmmmmmmmmmmmmm" /* 40 */
				"mmmmmmmmmmmmmmmm" /* 50 */
				"mmmmmmmmmmmmmmmm" /* 60 */
				"oooommm-mmxxmmmm" /* 70 */
				"4444444444444444" /* 80 */
				"mmmmmmmmmmmmmmmm" /* 90 */
				"---momxx---mommm" /* a0 */
				"mmmmmmmmmxommmmm" /* b0 */
				"mmomooom--------" /* c0 */
				"mmmmmmmmmmmmmmmm" /* d0 */
				"mmmmmmmmmmmmmmmm" /* e0 */
				"mmmmmmmmmmmmmmmm"; /* f0 */

static unsigned modrm_bytes(const unsigned char *at, size_t left)
{
	unsigned mod, rm, n = 1;

	if (left < 2)
		return 0;
	mod = at[0] >> 6;
	rm = at[0] & 7;
	if (mod == 3)
		return 1;
	if (rm == 4) {
		n++;
		if (!mod && (at[1] & 7) == 5)
			n += 4;
	} else if (!mod && rm == 5) {
		n += 4;
	}
	return n + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* What follows an opcode of this kind. */
static unsigned operands(char kind, const unsigned char *at, size_t left, bool short_words,
			 bool wide)
{
	unsigned word = short_words ? 2 : 4, m = strchr("mont", kind) ? modrm_bytes(at, left) : 0;

	if (strchr("mont", kind) && !m)
		return 99;
	switch (kind) {
	case '-':
	case 'm':
		return m;
	case '1':
	case 'i':
		return 1;
	case '2':
		return 2;
	case '4':
		return 4;
	case 'v':
		return word;
	case 'o':
		return m + 1;
	case 'n':
		return m + word;
	case 'q':
		return wide ? 8 : word;
	case 'a':
		return 8;
	default:
		return 99;
	}
}

/* The length of the instruction at text, 0: not known. */
static unsigned site_instruction(const unsigned char *text, size_t len)
{
	bool short_words = false, wide = false;
	unsigned n = 0, more;
	char kind;

	while (n < len && n < 15 && one_byte[text[n]] == 'p') {
		short_words |= text[n] == 0x66;
		/* REX counts only as the last prefix. */
		wide = (text[n] & 0xf8) == 0x48;
		n++;
	}
	if (n >= len)
		return 0;
	kind = one_byte[text[n]];
	if ((text[n] & 0xf8) == 0xb8)
		kind = 'q';
	else if ((text[n] & 0xf0) == 0xb0)
		kind = '1';
	if (kind == 'e' && n + 1 < len)
		kind = two_bytes[text[++n]];
	if (kind == 't') {
		bool test = n + 1 < len && !(text[n + 1] & 0x38);

		kind = !test ? 'm' : text[n] == 0xf6 ? 'o' : 'n';
	}
	n++;
	more = operands(kind, text + n, len - n, short_words, wide);
	return n + more <= 15 && n + more <= len ? n + more : 0;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static bool is_nop(const unsigned char *at, unsigned len)
{
	unsigned n = 0;

	while (n < len && (at[n] == 0x66 || at[n] == 0x2e || at[n] == 0xf3))
		n++;
	if (n + 1 == len)
		return at[n] == 0x90 || at[n] == 0xcc;
	return n + 2 < len && at[n] == 0x0f && at[n + 1] == 0x1f;
}

/* The flow of control never continues after it. */
static bool ends_flow(const unsigned char *at, unsigned len)
{
	return at[0] == 0xc3 || at[0] == 0xe9 || at[0] == 0xeb || (len == 2 && at[1] == 0xc3);
}

/* Finds five unused bytes that a short jump reaches: padding after a return or a jump. */
static void find_pad(const unsigned char *text, size_t len, size_t at, struct as_site *out)
{
	size_t from = at + 2;
	bool over = false; /* the flow has ended */
	size_t unused = 0; /* since where, 0: not */

	while (from < len && from <= at + 2 + SHORT_REACH) {
		unsigned n = site_instruction(text + from, len - from);

		if (!n)
			return;
		if (!over || !is_nop(text + from, n)) {
			over = ends_flow(text + from, n);
			unused = 0;
		} else {
			unused = unused ? unused : from;
			if (from + n - unused >= AS_SITE_JUMP && unused - at - 2 <= SHORT_REACH) {
				out->usable = true;
				out->pad = (short)(unused - at);
				memcpy(out->displaced, text + unused, AS_SITE_JUMP);
				return;
			}
		}
		from += n;
	}
}

/* A call whose number is set just before it, or whose result is checked just after it, may be
 * moved. The others are wrappers for any call. For some of them (the cancellation points of C
 * libraries, those of Valgrind) a signal handler checks whether the signal came in their middle. */
static bool stands_alone(const unsigned char *text, size_t len, size_t at)
{
	static const unsigned char compare[] = { 0x48, 0x3d }, rest[] = { 0xf0, 0xff, 0xff };

	if (at >= 2 && !memcmp(text + at - 2, "\x31\xc0", 2))
		return true;
	if (at >= AS_SITE_JUMP && text[at - AS_SITE_JUMP] == 0xb8)
		return true;
	return at + 8 <= len && !memcmp(text + at + 2, compare, sizeof(compare)) &&
	       !memcmp(text + at + 5, rest, sizeof(rest));
}

void as_site_plan(const unsigned char *text, size_t len, size_t at, int nr, struct as_site *out)
{
	static const unsigned char load_r9[] = { 0x4c, 0x8b, 0x4c, 0x24, 0x08 };
	const unsigned char *before = text + at - AS_SITE_JUMP;
	int number;

	*out = (struct as_site){ .usable = false };
	if (at + 2 > len || text[at] != 0x0f || text[at + 1] != 0x05 ||
	    !stands_alone(text, len, at))
		return;
	if (at > AS_SITE_JUMP) {
		memcpy(&number, before + 1, sizeof(number));
		/* The number of its own call; a REX prefix would make it another register. */
		out->usable = before[0] == 0xb8 && (nr < 0 || number == nr) && number >= 0 &&
			      number < AS_INSIDE_NRS && (before[-1] & 0xf0) != 0x40;
		out->usable |= !memcmp(before, load_r9, sizeof(load_r9));
	}
	if (out->usable) {
		out->from = out->pad = -AS_SITE_JUMP;
		memcpy(out->displaced, before, AS_SITE_JUMP);
		return;
	}
	find_pad(text, len, at, out);
}

/* ---- Code ------------------------------------------------------------------------------------ */

bool as_site_jump(uint64_t from, uint64_t to, unsigned char out[AS_SITE_JUMP])
{
	int64_t distance = (int64_t)(to - from - AS_SITE_JUMP);
	int32_t near = (int32_t)distance;

	out[0] = 0xe9;
	memcpy(out + 1, &near, sizeof(near));
	return near == distance;
}

void as_site_trampoline(const struct as_site *site, uint64_t call, uint64_t here, uint64_t hook,
			unsigned char out[AS_SITE_TRAMPOLINE])
{
	static const unsigned char to_hook[] = {
		0x48, 0x8d, 0x0d, 9, 0, 0, 0, /* lea back(%rip), %rcx */
		0x41, 0xbb, 0,	  0, 0, 0, /* mov $hook, %r11d */
		0x41, 0xff, 0xe3, /* jmp *%r11 */
	};
	unsigned n = 0;
	uint32_t address = (uint32_t)hook;
	bool near;

	memset(out, 0xcc, AS_SITE_TRAMPOLINE);
	if (site->from < 0) {
		memcpy(out, site->displaced, AS_SITE_JUMP);
		n = AS_SITE_JUMP;
	}
	memcpy(out + n, to_hook, sizeof(to_hook));
	memcpy(out + n + 9, &address, sizeof(address));
	n += sizeof(to_hook);
	near = as_site_jump(here + n, call + 2, out + n);
	n += AS_INSIDE_RAW;
	out[n] = 0x0f;
	out[n + 1] = 0x05;
	near &= as_site_jump(here + n + 2, call + 2, out + n + 2);
	as_assert(near && n + 2 + AS_SITE_JUMP <= AS_SITE_TRAMPOLINE);
}

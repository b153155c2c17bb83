/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symdump LOG [branches]: what is in a log of the Valgrind tool; a summary, or each branch with its
 * expression. For tests and for people. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/vg/log.h"

static const char *const op_names[AS_SYM_OP_COUNT] = {
	[AS_SYM_INPUT] = "input",  [AS_SYM_CONST] = "const",   [AS_SYM_ADD] = "+",
	[AS_SYM_SUB] = "-",	   [AS_SYM_MUL] = "*",	       [AS_SYM_UDIV] = "/u",
	[AS_SYM_UREM] = "%u",	   [AS_SYM_SDIV] = "/s",       [AS_SYM_SREM] = "%s",
	[AS_SYM_AND] = "&",	   [AS_SYM_OR] = "|",	       [AS_SYM_XOR] = "^",
	[AS_SYM_NOT] = "~",	   [AS_SYM_NEG] = "neg",       [AS_SYM_SHL] = "<<",
	[AS_SYM_LSHR] = ">>u",	   [AS_SYM_ASHR] = ">>s",      [AS_SYM_CONCAT] = "..",
	[AS_SYM_EXTRACT] = "bits", [AS_SYM_ZEXT] = "zext",     [AS_SYM_SEXT] = "sext",
	[AS_SYM_EQ] = "==",	   [AS_SYM_ULT] = "<u",	       [AS_SYM_ULE] = "<=u",
	[AS_SYM_SLT] = "<s",	   [AS_SYM_SLE] = "<=s",       [AS_SYM_ITE] = "if",
	[AS_SYM_CLZ] = "clz",	   [AS_SYM_CTZ] = "ctz",       [AS_SYM_POPCNT] = "popcnt",
	[AS_SYM_TABLE] = "table",  [AS_SYM_OPAQUE] = "opaque",
};

static const struct as_symlog_head *head;
static const struct as_symlog_node *nodes;

static void expr(uint32_t id, unsigned depth)
{
	const struct as_symlog_node *n = &nodes[id];

	if (n->op == AS_SYM_INPUT) {
		printf("[%" PRIu64 "]", n->imm[0]);
	} else if (n->op == AS_SYM_CONST) {
		printf("0x%" PRIx64, n->imm[0]);
	} else if (depth > 12) {
		printf("...");
	} else {
		printf("(%s:%u", op_names[n->op], n->width);
		if (n->op == AS_SYM_EXTRACT || n->op == AS_SYM_TABLE || n->op == AS_SYM_OPAQUE)
			printf(" @%" PRIu64, n->imm[0]);
		for (unsigned i = 0; i < 3; i++) {
			uint32_t a = i == 0 ? n->a : i == 1 ? n->b : n->c;

			if (a) {
				printf(" ");
				expr(a, depth + 1);
			}
		}
		printf(")");
	}
}

static void show_path(const uint8_t *e)
{
	const struct as_symlog_branch *b = (const void *)e;
	const struct as_symlog_pin *p = (const void *)e;

	switch (*e) {
	case AS_SYMLOG_BRANCH:
	case AS_SYMLOG_SEAL:
		printf("%s 0x%" PRIx64 " %u %s%s", *e == AS_SYMLOG_SEAL ? "seal" : "branch",
		       b->site, b->taken, b->flags & AS_SYMLOG_B_BOUND ? "bound " : "",
		       b->flags & AS_SYMLOG_B_CAPPED ? "capped " : "");
		expr(b->node, 0);
		printf("\n");
		return;
	case AS_SYMLOG_PIN:
		printf("pin 0x%" PRIx64 " why=%u 0x%" PRIx64 " ", p->site, p->why, p->value[0]);
		expr(p->node, 0);
		printf("\n");
		return;
	default:
		return;
	}
}

static void show_end(const uint8_t *e)
{
	const struct as_symlog_end *n = (const void *)e;
	const struct as_symlog_drop *d = (const void *)e;

	if (*e == AS_SYMLOG_DROP)
		printf("drop %u %s\n", d->count, d->name);
	if (*e == AS_SYMLOG_END)
		printf("end branches=%" PRIu64 " mismatches=%" PRIu64 " nodes=%" PRIu64
		       " pins=%" PRIu64 " seals=%" PRIu64 " capped=%" PRIu64 " drops=%" PRIu64 "\n",
		       n->branches, n->mismatches, n->nodes, n->pins, n->seals, n->capped,
		       n->drops);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	unsigned count[AS_SYMLOG_END + 1] = { 0 };
	uint64_t bytes = 0;
	struct stat st;
	const uint8_t *map;

	if (fd < 0 || fstat(fd, &st) != 0) {
		fprintf(stderr, "usage: symdump LOG [branches]\n");
		return 2;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || *(const uint64_t *)map != AS_SYMLOG_MAGIC) {
		fprintf(stderr, "symdump: not a log\n");
		return 1;
	}
	head = (const void *)map;
	nodes = (const void *)(map + head->nodes_offset);
	for (uint64_t at = 0; at < head->events_bytes;) {
		const uint8_t *e = map + head->events_offset + at;
		uint64_t len = as_symlog_event_bytes(e, head->events_bytes - at);

		if (!len) {
			fprintf(stderr, "symdump: unknown event %u\n", *e);
			return 1;
		}
		at += len;
		count[*e]++;
		if (argc > 2)
			show_path(e);
		if (*e == AS_SYMLOG_COVER)
			bytes += ((const struct as_symlog_cover *)e)->size;
		show_end(e);
	}
	printf("flags=%u nodes=%" PRIu64 " events=%" PRIu64 " instructions=%" PRIu64
	       " mismatches=%" PRIu64 "\n",
	       head->flags, head->nodes_count, head->events_bytes, head->instructions,
	       head->mismatches);
	printf("objects=%u branches=%u pins=%u seals=%u tables=%u cover=%u coverbytes=%" PRIu64
	       "\n",
	       count[AS_SYMLOG_OBJ], count[AS_SYMLOG_BRANCH], count[AS_SYMLOG_PIN],
	       count[AS_SYMLOG_SEAL], count[AS_SYMLOG_TABLE], count[AS_SYMLOG_COVER], bytes);
	return 0;
}

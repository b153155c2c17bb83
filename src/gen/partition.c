/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partition: the parts of a distribution that coverage counts apart, and how the draw is shifted
 * towards one of them. A distribution that was never shifted is drawn as it is written; the first
 * shift gives every partition a weight (or a percentage) of its own.
 */
#include "gen/dist.h"

#include <string.h>

#define PERCENT_RAISED_MAX 50u

/* 0 holds 0 and below, b >= 1 holds [2^(b-1), 2^b). */
static unsigned bucket_of(int64_t value)
{
	return value <= 0 ? 0 : 64 - (unsigned)__builtin_clzll((uint64_t)value);
}

void as_bucket_bounds(const struct as_dist *dist, size_t b, int64_t *lo, int64_t *hi)
{
	*lo = b == 0 ? dist->lo : (int64_t)1 << (b - 1);
	*hi = b == 0 ? 0 : ((int64_t)1 << (b - 1)) * 2 - 1;
	if (*lo < dist->lo)
		*lo = dist->lo;
	if (*hi > dist->hi)
		*hi = dist->hi;
}

/* Bits of a mode, from the lowest. */
static const char *const mode_bits[AS_MODE_BITS] = {
	"S_IXOTH", "S_IWOTH", "S_IROTH", "S_IXGRP", "S_IWGRP", "S_IRGRP",
	"S_IXUSR", "S_IWUSR", "S_IRUSR", "S_ISVTX", "S_ISGID", "S_ISUID",
};

bool as_mode_bit(const char *name, unsigned *bit)
{
	for (*bit = 0; *bit < AS_MODE_BITS; (*bit)++)
		if (!strcmp(mode_bits[*bit], name))
			return true;
	return false;
}

size_t as_dist_partitions(const struct as_draw *draw, const struct as_dist *dist)
{
	switch (draw->how) {
	case AS_HOW_FLAGS:
	case AS_HOW_ONE:
	case AS_HOW_SOME:
		return dist->n;
	case AS_HOW_MODE:
		return AS_MODE_BITS;
	case AS_HOW_RANGE:
		return bucket_of(dist->hi) + 1;
	case AS_HOW_CHANCE:
		return 2;
	default:
		return 0;
	}
}

void as_dist_partition_name(const struct as_draw *draw, const struct as_dist *dist, size_t i,
			    struct as_buf *out)
{
	int64_t exclusive;
	size_t n;

	switch (draw->how) {
	case AS_HOW_FLAGS:
		as_buf_adds(out, as_draw_words(draw, &n, &exclusive)[i].word);
		break;
	case AS_HOW_MODE:
		as_buf_adds(out, mode_bits[i]);
		break;
	case AS_HOW_RANGE:
		if (i)
			as_buf_addf(out, "2^%zu", i - 1);
		else
			as_buf_adds(out, "0");
		break;
	case AS_HOW_CHANCE:
		as_buf_addc(out, i ? '1' : '0');
		break;
	default:
		as_buf_adds(out, dist->word[i]);
		break;
	}
}

/* The parts of a range weigh alike, unless its pieces say otherwise: drawn evenly, small numbers
 * would have nothing that could be raised. */
static uint32_t bucket_weight(const struct as_dist *dist, size_t b)
{
	uint32_t weight = 0;
	int64_t lo, hi;

	as_bucket_bounds(dist, b, &lo, &hi);
	for (uint32_t i = 0; i < dist->n_pieces; i++)
		if (dist->piece[i].lo <= hi && lo <= dist->piece[i].hi &&
		    weight < dist->piece[i].weight)
			weight = dist->piece[i].weight;
	return weight;
}

/* Weights as they are without feedback. */
static void make_weights(const struct as_draw *draw, struct as_dist *dist)
{
	if (dist->shifted)
		return;
	dist->shifted = true;
	for (size_t i = 0; i < as_dist_partitions(draw, dist); i++) {
		if (draw->how == AS_HOW_ONE)
			dist->weight[i] = 1;
		else if (draw->how == AS_HOW_RANGE)
			dist->weight[i] = bucket_weight(dist, i);
		else if (draw->how == AS_HOW_FLAGS)
			dist->weight[i] = dist->chance[i];
		else if (draw->how == AS_HOW_MODE) /* of the modes that are not the base */
			dist->weight[i] = (100 - dist->percent + 1) / 2 +
					  (dist->base >> i & 1 ? dist->percent : 0);
		else
			dist->weight[i] = dist->percent;
	}
}

void as_dist_raise(const struct as_draw *draw, struct as_dist *dist, size_t i, uint32_t factor)
{
	uint64_t raised;

	make_weights(draw, dist);
	raised = (uint64_t)dist->weight[i] * factor;
	if (draw->how == AS_HOW_CHANCE) {
		/* Partition 0 is raised by drawing 1 less often. */
		if (i == 0)
			dist->weight[1] /= factor;
		else
			dist->weight[1] =
				raised < PERCENT_RAISED_MAX ? (uint32_t)raised : PERCENT_RAISED_MAX;
	} else if (draw->how == AS_HOW_FLAGS || draw->how == AS_HOW_SOME ||
		   draw->how == AS_HOW_MODE) {
		if (raised > PERCENT_RAISED_MAX && dist->weight[i] < PERCENT_RAISED_MAX)
			raised = PERCENT_RAISED_MAX;
		dist->weight[i] = raised < 100 ? (uint32_t)raised : 100;
	} else {
		dist->weight[i] = raised < 1000000 ? (uint32_t)raised : 1000000;
	}
}

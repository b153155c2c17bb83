/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmeans: see kmeans.h.
 *
 * Method. Equal points are joined first (with a count each), since states have many inodes that
 * look alike. The first centre is a random point, each further one the point farthest from all
 * centres so far; this stops early when every point is a centre. Then Lloyd's iteration, ROUNDS
 * times at most. Centres are means in fixed point (times ONE), rounded down.
 */
#include "gen/kmeans.h"

#include <string.h>
#include <sys/stat.h>

#define POINTS_MAX 64u /* different points; beyond it a random stretch of them is clustered */
#define ROUNDS 3
#define ONE_SHIFT 3 /* centres have eighths */

/* How much a difference of one counts, and where larger values are cut off. */
#define ATTRIBUTES(X)      \
	X(symlinked, 3, 4) \
	X(depth, 2, 12)    \
	X(hardlinks, 3, 5) \
	X(children, 2, 12) \
	X(open, 3, 4)

#define TYPE_WEIGHT 8 /* another type is never alike */
#define ORDER_STEPS 4 /* of the order of use only the quarter counts */

static int16_t type_number(uint32_t type)
{
	return S_ISDIR(type) ? 0 : S_ISREG(type) ? 1 : S_ISLNK(type) ? 2 : 3;
}

struct as_point as_point_of(const struct as_attrs *attrs, uint32_t inodes)
{
	struct as_point point = { { 0 } };
	unsigned at = 0;

	point.x[at++] = (int16_t)(type_number(attrs->type) * TYPE_WEIGHT);
#define X(field, weight, max) \
	point.x[at++] = (int16_t)((attrs->field < (max) ? attrs->field : (max)) * (weight));
	ATTRIBUTES(X)
#undef X
	point.x[at++] = (int16_t)(inodes ? attrs->atime_order * ORDER_STEPS / inodes : 0);
	return point;
}

/* Different points, how many inodes each stands for, and one of them. */
struct cloud {
	struct as_point point[POINTS_MAX];
	uint32_t count[POINTS_MAX], index[POINTS_MAX];
	uint8_t cluster[POINTS_MAX];
	int32_t nearest[POINTS_MAX]; /* squared distance to the centre of its cluster */
	unsigned n;
};

static void join_alike(struct cloud *cloud, const struct as_point *points, size_t n,
		       struct as_choice *choice)
{
	size_t first = n > POINTS_MAX ? as_choose(choice, (unsigned)n) : 0;

	cloud->n = 0;
	for (size_t i = 0; i < n && cloud->n < POINTS_MAX; i++) {
		size_t from = first + i < n ? first + i : first + i - n;
		unsigned k = 0;

		while (k < cloud->n && memcmp(&cloud->point[k], &points[from], sizeof(*points)))
			k++;
		if (k == cloud->n) {
			cloud->point[cloud->n] = points[from];
			cloud->count[cloud->n] = 0;
			cloud->index[cloud->n++] = (uint32_t)from;
		}
		cloud->count[k]++;
	}
}

/* Among the inodes that look like the one chosen. */
static uint32_t one_of(const struct cloud *cloud, unsigned at, const struct as_point *points,
		       size_t n, struct as_choice *choice)
{
	unsigned skip = cloud->count[at] > 1 ? as_choose(choice, cloud->count[at]) : 0;
	size_t i = cloud->index[at];

	while (skip) {
		i = i + 1 < n ? i + 1 : 0;
		skip -= !memcmp(&points[i], &cloud->point[at], sizeof(*points));
	}
	return (uint32_t)i;
}

static int32_t distance(const struct as_point *a, const struct as_point *centre)
{
	int32_t sum = 0;

	for (unsigned d = 0; d < AS_POINT_DIMS; d++) {
		int32_t diff = a->x[d] * (1 << ONE_SHIFT) - centre->x[d];

		sum += diff * diff;
	}
	return sum;
}

static struct as_point as_centre(const struct as_point *point)
{
	struct as_point centre;

	for (unsigned d = 0; d < AS_POINT_DIMS; d++)
		centre.x[d] = (int16_t)(point->x[d] * (1 << ONE_SHIFT));
	return centre;
}

/* Assigns every point that is nearer to centre c than to its own. */
static bool draw_near(struct cloud *cloud, const struct as_point *centre, unsigned c)
{
	bool any = false;

	for (unsigned i = 0; i < cloud->n; i++) {
		int32_t dist = distance(&cloud->point[i], centre);

		if (dist < cloud->nearest[i]) {
			cloud->nearest[i] = dist;
			any |= cloud->cluster[i] != c;
			cloud->cluster[i] = (uint8_t)c;
		}
	}
	return any;
}

static unsigned seed_centres(struct cloud *cloud, unsigned k, struct as_choice *choice,
			     struct as_point centre[AS_KMEANS_MAX])
{
	unsigned next = as_choose(choice, cloud->n), n = 0;

	for (unsigned i = 0; i < cloud->n; i++)
		cloud->nearest[i] = INT32_MAX;
	memset(cloud->cluster, 0xff, sizeof(cloud->cluster));
	while (n < k) {
		int32_t far = 0;

		centre[n] = as_centre(&cloud->point[next]);
		draw_near(cloud, &centre[n], n);
		n++;
		for (unsigned i = 0; i < cloud->n; i++)
			if (cloud->nearest[i] > far) {
				far = cloud->nearest[i];
				next = i;
			}
		if (!far)
			break;
	}
	return n;
}

/* Moves each centre to the mean of its cluster and assigns anew; false when nothing changed. */
static bool move_centres(struct cloud *cloud, struct as_point centre[AS_KMEANS_MAX], unsigned n)
{
	int32_t sum[AS_KMEANS_MAX][AS_POINT_DIMS] = { { 0 } };
	uint32_t count[AS_KMEANS_MAX] = { 0 };
	uint8_t before[POINTS_MAX];

	for (unsigned i = 0; i < cloud->n; i++) {
		unsigned c = cloud->cluster[i];

		count[c] += cloud->count[i];
		for (unsigned d = 0; d < AS_POINT_DIMS; d++)
			sum[c][d] += cloud->point[i].x[d] * (int32_t)cloud->count[i];
	}
	memcpy(before, cloud->cluster, cloud->n);
	for (unsigned i = 0; i < cloud->n; i++)
		cloud->nearest[i] = INT32_MAX;
	for (unsigned c = 0; c < n; c++) {
		if (!count[c])
			continue;
		for (unsigned d = 0; d < AS_POINT_DIMS; d++)
			centre[c].x[d] =
				(int16_t)(sum[c][d] * (1 << ONE_SHIFT) / (int32_t)count[c]);
		draw_near(cloud, &centre[c], c);
	}
	return memcmp(before, cloud->cluster, cloud->n) != 0;
}

unsigned as_kmeans(const struct as_point *points, size_t n, unsigned k, struct as_choice *choice,
		   uint32_t chosen[AS_KMEANS_MAX])
{
	struct as_point centre[AS_KMEANS_MAX];
	struct cloud cloud;
	unsigned clusters, out = 0;

	if (!n || !k)
		return 0;
	join_alike(&cloud, points, n, choice);
	if (cloud.n <= k) { /* every different point is typical */
		for (unsigned i = 0; i < cloud.n; i++)
			chosen[i] = one_of(&cloud, i, points, n, choice);
		return cloud.n;
	}
	clusters = seed_centres(&cloud, k, choice, centre);
	for (unsigned round = 0; round < ROUNDS && move_centres(&cloud, centre, clusters); round++)
		;
	for (unsigned c = 0; c < clusters; c++) {
		unsigned best = cloud.n;

		for (unsigned i = 0; i < cloud.n; i++)
			if (cloud.cluster[i] == c &&
			    (best == cloud.n || cloud.nearest[i] < cloud.nearest[best]))
				best = i;
		if (best < cloud.n)
			chosen[out++] = one_of(&cloud, best, points, n, choice);
	}
	return out;
}

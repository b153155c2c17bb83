/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmeans: typical inodes of a state (Dogfood, rule P3). Attribute vectors are clustered by k-means
 * in whole numbers, so that every machine finds the same clusters; of each cluster the inode
 * nearest to its centre is typical.
 */
#ifndef AS_GEN_KMEANS_H
#define AS_GEN_KMEANS_H

#include "model/model.h"

#include <assay/choice.h>

#define AS_KMEANS_MAX 16 /* largest k */
#define AS_POINT_DIMS 8

/* An attribute vector as it is clustered: small numbers, weighed by the table in kmeans.c. */
struct as_point {
	int16_t x[AS_POINT_DIMS];
};

struct as_point as_point_of(const struct as_attrs *attrs, uint32_t inodes);

/*
 * Puts the indices of at most k typical points into chosen and returns how many there are: one for
 * each cluster, fewer when there are fewer different points. Among points that are alike chance
 * decides.
 */
unsigned as_kmeans(const struct as_point *points, size_t n, unsigned k, struct as_choice *choice,
		   uint32_t chosen[AS_KMEANS_MAX]);

#endif

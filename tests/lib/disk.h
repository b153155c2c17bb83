/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disk: what the tests of disks share: disks without error handling, patterns of bytes, and a store
 * that must be empty in the end. */
#ifndef AS_TESTS_LIB_DISK_H
#define AS_TESTS_LIB_DISK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "base/choice.h"
#include "base/err.h"
#include "disk/cow.h"

#include <stdlib.h>
#include <string.h>

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

struct as_disk *t_disk_new(struct as_chunks *store, uint64_t size_bytes);

/* Bytes that depend on the seed and the place, none of them zero. */
void t_fill(unsigned char *buf, size_t len, unsigned seed);

void t_write_fill(struct as_bd *bd, uint64_t off, size_t len, unsigned seed);

/* The whole device holds exactly these bytes. */
void t_assert_holds(struct as_bd *bd, const unsigned char *want);

/* Nothing is left in the store, and it is freed. */
void t_store_done(struct as_chunks *store);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_read: mounts an image with the file system itself and reads everything in it.
 */
#ifndef AS_TESTS_LIB_LAB_READ_H
#define AS_TESTS_LIB_LAB_READ_H

#include "tests/lib/lab_rig.h"
#include "tests/lib/lab_sample.h"

int t_mount_and_read(struct img *img);

#endif

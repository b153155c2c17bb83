/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disk_show: `assay disk show`. */
#ifndef AS_CMD_DISK_SHOW_H
#define AS_CMD_DISK_SHOW_H

#include "cli/cli.h"

AS_MUST_CHECK int as_disk_show(const struct as_args *args, struct as_err *err);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swap: which files the operation `swapon` can be tried on, for who does it and who judges it. */
#ifndef AS_WORK_SWAP_H
#define AS_WORK_SWAP_H

#define AS_SWAP_PAGE 4096u
#define AS_SWAP_MIN_BYTES (10 * (int64_t)AS_SWAP_PAGE) /* as mkswap(8) asks */

#endif

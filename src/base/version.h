/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version: that of assay, for --version, the manual page and reports. */
#ifndef AS_BASE_VERSION_H
#define AS_BASE_VERSION_H

#define AS_VERSION "0.1.0"

#endif

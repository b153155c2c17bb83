/* SPDX-License-Identifier: GPL-2.0-or-later */
/* detail: words in the detail of a finding by which a reader finds its parts. */
#ifndef AS_BASE_DETAIL_H
#define AS_BASE_DETAIL_H

/* The line before what a file system was answered that had asked what to do (choice.h). */
#define AS_DETAIL_ANSWERS "with these answers to its questions"

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin.h: plugins in benchmarks (bench_plugin.c). They lie beside the program, in plugins/. */
#ifndef AS_BENCH_PLUGIN_H
#define AS_BENCH_PLUGIN_H

#include "base/buf.h"
#include "bench/bench.h"

#include <assay/target.h>

/* Adds the path of a plugin; false: it is not there. */
bool bench_plugin_path(const char *name, struct as_buf *out);
/* NULL: it is not there, or cannot be loaded. It stays loaded. */
const struct as_target_ops *bench_plugin_load(const char *name);
extern const struct as_host bench_plugin_host;
/* The plugin of hunt.plugin by itself. */
void bench_plugin_alone(as_bench_report report);

#endif

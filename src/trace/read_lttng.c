/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_lttng: LTTng's kernel traces natively, through libbabeltrace2: a graph of its readers (one
 * for the folder), its muxer, which puts the events of all processors in order, and a sink of ours.
 * What becomes of the events is in lttng.c, the same as for babeltrace's text.
 */
#include "trace/lttng.h"

#include <babeltrace2/babeltrace.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct lttng_reader {
	struct as_lttng lttng;
	bt_message_iterator *messages;
	uint64_t events;
};

/* ---- Events ---------------------------------------------------------------------------------- */

/* Integers and enumerations of any size; false: something else. */
static bool number_of(const bt_field *field, uint64_t *out)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*out = bt_field_integer_unsigned_get_value(field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*out = (uint64_t)bt_field_integer_signed_get_value(field);
	else
		return false;
	return true;
}

static bool member(const bt_field *structure, const char *name, uint64_t *out)
{
	const bt_field *field =
		structure ? bt_field_structure_borrow_member_field_by_name_const(structure, name)
			  : NULL;

	return field && number_of(field, out);
}

static void take_ids(const bt_event *event, struct as_lttng_ids *ids)
{
	const bt_field *context = bt_event_borrow_common_context_field_const(event);
	const bt_packet *packet = bt_stream_class_supports_packets(bt_stream_borrow_class_const(
					  bt_event_borrow_stream_const(event)))
					  ? bt_event_borrow_packet_const(event)
					  : NULL;
	uint64_t value;

	if (packet && member(bt_packet_borrow_context_field_const(packet), "cpu_id", &value))
		ids->cpu = (unsigned)value;
	if (member(context, "tid", &value) || member(context, "vtid", &value)) {
		ids->has_tid = true;
		ids->tid = (unsigned)value;
	}
	if (member(context, "pid", &value) || member(context, "vpid", &value)) {
		ids->has_pid = true;
		ids->pid = (unsigned)value;
	}
}

static void take_fields(struct as_lttng *lttng, const bt_field *payload)
{
	const bt_field_class *class = bt_field_borrow_class_const(payload);
	uint64_t n = bt_field_class_structure_get_member_count(class);

	for (uint64_t i = 0; i < n; i++) {
		const bt_field_class_structure_member *m =
			bt_field_class_structure_borrow_member_by_index_const(class, i);
		const char *name = bt_field_class_structure_member_get_name(m);
		const bt_field *field =
			bt_field_structure_borrow_member_field_by_index_const(payload, i);
		uint64_t value;

		if (number_of(field, &value))
			as_lttng_number(lttng, name, strlen(name), value);
		else if (bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_STRING)
			as_lttng_text(lttng, name, strlen(name), bt_field_string_get_value(field),
				      bt_field_string_get_length(field));
	}
}

/* What came back through memory: the first array of two numbers. */
static void take_pair(const bt_field *payload, int made[2])
{
	static const char *const names[] = { "fildes", "socket" };

	for (int k = 0; k < 2; k++) {
		const bt_field *field =
			bt_field_structure_borrow_member_field_by_name_const(payload, names[k]);
		uint64_t fd;

		if (!field || !bt_field_class_type_is(bt_field_get_class_type(field),
						      BT_FIELD_CLASS_TYPE_ARRAY))
			continue;
		for (uint64_t i = 0; i < 2 && i < bt_field_array_get_length(field); i++)
			if (number_of(bt_field_array_borrow_element_field_by_index_const(field, i),
				      &fd))
				made[i] = (int)fd;
	}
}

static void take_entry(struct as_lttng *lttng, const bt_field *payload,
		       const struct as_lttng_ids *ids, const char *name, size_t len)
{
	const struct as_spec_call *spec = as_spec_find(lttng->to->spec, name, len);

	if (!spec) {
		lttng->to->unknown_call(lttng->to, name, len);
		return;
	}
	as_lttng_begin(lttng, spec);
	if (payload)
		take_fields(lttng, payload);
	as_lttng_enter(lttng, ids);
}

static void take_exit(struct as_lttng *lttng, const bt_field *payload,
		      const struct as_lttng_ids *ids, const char *name, size_t len)
{
	const struct as_spec_call *spec = len ? as_spec_find(lttng->to->spec, name, len) : NULL;
	int made[2] = { -1, -1 };
	uint64_t ret;

	if (len && !spec && !(as_lttng_is_unknown(name, len) && as_lttng_in_sigreturn(lttng, ids)))
		return;
	if (!member(payload, "ret", &ret)) {
		lttng->to->not_understood(lttng->to, name, len);
		return;
	}
	take_pair(payload, made);
	as_lttng_leave(lttng, ids, spec, (int64_t)ret, made);
}

static void take_event(struct as_lttng *lttng, const bt_event *event)
{
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event)), *call;
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	struct as_lttng_ids ids = { 0 };
	uint64_t a, b;
	size_t len;

	if (!name)
		return;
	take_ids(event, &ids);
	switch (as_lttng_kind(name, strlen(name), &call, &len)) {
	case AS_LTTNG_ENTRY:
		take_entry(lttng, payload, &ids, call, len);
		break;
	case AS_LTTNG_EXIT:
		take_exit(lttng, payload, &ids, call, len);
		break;
	case AS_LTTNG_FOREIGN:
		if (strstr(name, "_entry_"))
			lttng->to->remark(lttng->to, AS_REMARK_OTHER_ARCH, 1);
		break;
	case AS_LTTNG_FORK:
		if (member(payload, "parent_tid", &a) && member(payload, "child_tid", &b))
			as_lttng_forked(lttng, (unsigned)a, (unsigned)b);
		break;
	case AS_LTTNG_END:
		if (member(payload, "tid", &a))
			as_world_exit(lttng->to->world, (unsigned)a);
		break;
	case AS_LTTNG_OTHER:
		break;
	}
}

/* ---- The sink -------------------------------------------------------------------------------- */

static void take_message(struct lttng_reader *r, const bt_message *message)
{
	uint64_t n = 1;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		r->events++;
		take_event(&r->lttng, bt_message_event_borrow_event_const(message));
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (bt_message_discarded_events_get_count(message, &n) !=
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			n = 1;
		r->lttng.to->lost(r->lttng.to, n);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		r->lttng.to->lost(r->lttng.to, 1);
		break;
	default:
		break;
	}
}

static bt_graph_simple_sink_component_initialize_func_status start(bt_message_iterator *messages,
								   void *ctx)
{
	(void)messages;
	(void)ctx;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *messages,
								  void *ctx)
{
	bt_message_array_const batch;
	uint64_t n;

	switch (bt_message_iterator_next(messages, &batch, &n)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < n; i++) {
		take_message(ctx, batch[i]);
		bt_message_put_ref(batch[i]);
	}
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- The graph ------------------------------------------------------------------------------- */

struct graph {
	const bt_plugin *ctf, *utils;
	bt_value *params;
	bt_graph *graph;
	const bt_component_source *source;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
};

static bool find_parts(struct graph *g)
{
	return bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &g->ctf) ==
		       BT_PLUGIN_FIND_STATUS_OK &&
	       bt_plugin_find("utils", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &g->utils) ==
		       BT_PLUGIN_FIND_STATUS_OK;
}

static bool add_parts(struct graph *g, const char *folder, struct lttng_reader *r)
{
	const bt_component_class_source *fs =
		bt_plugin_borrow_source_component_class_by_name_const(g->ctf, "fs");
	const bt_component_class_filter *muxer =
		bt_plugin_borrow_filter_component_class_by_name_const(g->utils, "muxer");
	bt_value *inputs;

	g->graph = bt_graph_create(0);
	g->params = bt_value_map_create();
	return fs && muxer && g->graph && g->params &&
	       !bt_value_map_insert_empty_array_entry(g->params, "inputs", &inputs) &&
	       !bt_value_array_append_string_element(inputs, folder) &&
	       !bt_graph_add_source_component(g->graph, fs, "trace", g->params,
					      BT_LOGGING_LEVEL_NONE, &g->source) &&
	       !bt_graph_add_filter_component(g->graph, muxer, "order", NULL, BT_LOGGING_LEVEL_NONE,
					      &g->muxer) &&
	       !bt_graph_add_simple_sink_component(g->graph, "count", start, consume, NULL, r,
						   &g->sink);
}

static bool connect_parts(struct graph *g)
{
	uint64_t n = bt_component_source_get_output_port_count(g->source);

	for (uint64_t i = 0; i < n; i++)
		if (bt_graph_connect_ports(
			    g->graph,
			    bt_component_source_borrow_output_port_by_index_const(g->source, i),
			    bt_component_filter_borrow_input_port_by_index_const(g->muxer, i),
			    NULL))
			return false;
	return n &&
	       !bt_graph_connect_ports(
		       g->graph, bt_component_filter_borrow_output_port_by_index_const(g->muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(g->sink, 0), NULL);
}

static void free_graph(struct graph *g)
{
	bt_graph_put_ref(g->graph);
	bt_value_put_ref(g->params);
	bt_plugin_put_ref(g->ctf);
	bt_plugin_put_ref(g->utils);
	bt_current_thread_clear_error();
}

/* A trace is where its metadata is: the folder, or "kernel" below that of a session. */
static bool find_metadata(const char *path, char *out, size_t size)
{
	static const char *const below[] = { "", "/kernel" };
	char file[4200];

	for (int i = 0; i < 2; i++) {
		snprintf(out, size, "%s%s", path, below[i]);
		snprintf(file, sizeof(file), "%s/metadata", out);
		if (!access(file, R_OK))
			return true;
	}
	return false;
}

static int run(const struct as_source_input *input, struct as_receiver *to, struct as_err *err)
{
	struct graph g = { 0 };
	struct lttng_reader r = { 0 };
	bt_graph_run_status status;
	char folder[4100];
	int rc = 0;

	if (!find_metadata(input->path, folder, sizeof(folder)))
		return as_fail(err, AS_EUSE, "%s: no trace of LTTng: there is no file 'metadata'",
			       input->path);
	as_lttng_open(&r.lttng, to);
	if (!find_parts(&g)) {
		rc = as_fail(err, AS_ELACK,
			     "libbabeltrace2 has no plugins for CTF here "
			     "(libbabeltrace2-0)");
	} else if (!add_parts(&g, folder, &r) || !connect_parts(&g)) {
		rc = as_fail(err, AS_EUSE, "%s: libbabeltrace2 cannot read it", folder);
	} else {
		do
			status = bt_graph_run(g.graph);
		while (status == BT_GRAPH_RUN_STATUS_AGAIN);
		if (status != BT_GRAPH_RUN_STATUS_OK)
			rc = as_fail(err, AS_EUSE,
				     "%s: damaged: libbabeltrace2 gave up after %llu "
				     "events",
				     folder, (unsigned long long)r.events);
	}
	to->remark(to, AS_REMARK_LINES, r.events);
	as_lttng_close(&r.lttng);
	free_graph(&g);
	return rc;
}

const struct as_source_ops as_source_lttng = {
	.name = "lttng",
	.about = "LTTng kernel traces, a folder, through libbabeltrace2",
	.version = AS_SOURCE_VERSION,
	.flags = AS_SOURCE_FOLDER,
	.run = run,
};

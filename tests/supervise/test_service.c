/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: what a hostile guest says in answer to each request. Whatever it is, the supervisor
 * comes back, and nothing is found that is not the guest's own death.
 */
#include "tests/lib/skip.h"

#include "disk/image.h"
#include "supervise/boxed.h"
#include "tests/lib/fake_box.h"
#include "tests/lib/tmpdir.h"
#include "work/parse.h"

#include <stdio.h>
#include <string.h>

#define SILENCE_MS 4000 /* a beat comes once, so this long is a hang */
#define ASKS 2

enum ends { ANSWERED, DIED, HUNG, FAILED };

/* The ends are those of two requests that are answered, and of a run of one workload. */
static const struct row {
	const char *name, *script;
	enum ends ends[ASKS], run;
	const char *why; /* in what a failure says */
} rows[] = {
	{ "it answers",
	  "up; n=0; while next; do n=$((n + 1)); answer \"answer $n\"; done",
	  { ANSWERED, ANSWERED },
	  ANSWERED,
	  "" },
	{ "it talks garbage before it answers",
	  "up; n=0; while next; do n=$((n + 1)); head -c 5000 /dev/urandom >&3; say; say '{'; "
	  "say '{\"event\":7}'; say '{\"event\":\"no such\"}'; say '[]'; say 'done ask'; "
	  "answer \"answer $n\"; done",
	  { ANSWERED, ANSWERED },
	  ANSWERED,
	  "" },
	{ "it speaks of what it was not asked",
	  "up; n=0; while next; do n=$((n + 1)); say '{\"event\":\"told\",\"text\":\"x\"}'; "
	  "say '{\"event\":\"finding\",\"kind\":\"kernel\"}'; say '{\"event\":\"check\"}'; "
	  "if [ $asked = run ]; then say '{\"event\":\"answer\",\"number\":1}'; else "
	  "say '{\"event\":\"workload\"}'; say '{\"event\":\"batch\",\"done\":9}'; fi; "
	  "answer \"answer $n\"; done",
	  { ANSWERED, ANSWERED },
	  ANSWERED,
	  "" },
	{ "it says twice that it is done",
	  "up; n=0; while next; do n=$((n + 1)); answer \"answer $n\"; "
	  "done_with $number; done_with $number; done",
	  { ANSWERED, ANSWERED },
	  ANSWERED,
	  "" },
	{ "it says that others are done",
	  "up; n=0; while next; do n=$((n + 1)); for i in 0 7 99 -1 1e9; do "
	  "say \"{\\\"event\\\":\\\"answer\\\",\\\"number\\\":$i}\"; done; "
	  "answer \"answer $n\"; done",
	  { ANSWERED, ANSWERED },
	  ANSWERED,
	  "" },
	{ "it dies in the middle of a line",
	  "up; beat; next; printf '{\"event\":\"answ' >&3; die",
	  { DIED, DIED },
	  DIED,
	  "" },
	{ "it dies after half of an answer",
	  "up; beat; next; printf half >/proc/$$/fd/5/out/answer; die",
	  { DIED, DIED },
	  DIED,
	  "" },
	{ "it hangs", "up; beat; next; sleep 100", { HUNG, HUNG }, HUNG, "" },
	{ "it floods the console",
	  "up; beat; next; while :; do yes 'F2FS-fs: something' | head -c 300000; beat; done",
	  { HUNG, HUNG },
	  DIED,
	  "" },
	{ "it floods its line",
	  "up; beat; next; while :; do head -c 600000 /dev/zero | tr '\\000' x >&3; say; "
	  "beat; done",
	  { FAILED, FAILED },
	  FAILED,
	  "said more than 64 MiB" },
	{ "it never ends its line",
	  "up; beat; next; while :; do head -c 600000 /dev/zero | tr '\\000' x >&3; beat; done",
	  { FAILED, FAILED },
	  FAILED,
	  "never ends its line" },
	{ "it speaks another version",
	  "echo 'assay: the engine begins'; say '{\"event\":\"hello\",\"wire\":1}'; sleep 100",
	  { FAILED, FAILED },
	  FAILED,
	  "speaks version 1 of the wire, this program version 3" },
	{ "it does not say its version",
	  "echo 'assay: the engine begins'; next; answer x; sleep 100",
	  { FAILED, FAILED },
	  FAILED,
	  "did not say its version" },
	{ "it gives up",
	  "up; beat; next; say '{\"event\":\"error\",\"text\":\"no room\"}'; sleep 100",
	  { FAILED, FAILED },
	  HUNG,
	  "no room" },
	{ "others kill it again and again",
	  "up; next; kill -KILL $$",
	  { FAILED, FAILED },
	  FAILED,
	  "was killed 8 times" },
};

/* ---- Requests -------------------------------------------------------------------------------- */

static struct as_boxed how_of(struct as_sink *sink)
{
	return (struct as_boxed){ .sandbox = &t_fake_box,
				  .box = { .core = AS_CORE_ANY },
				  .target = "lab",
				  .notes = sink,
				  .findings = sink,
				  .silence_ms = SILENCE_MS };
}

static struct as_seq *workload(void)
{
	static const char text[] = "mkdir /a 0755\n";
	struct as_seq *seq = NULL;

	assert_int_equal(as_parse_text("w", text, strlen(text), &seq, NULL), 0);
	return seq;
}

static void ask_once(struct as_boxed_session *session, enum as_wire_request request,
		     const struct row *row, int i)
{
	struct as_buf image = { 0 }, answer = { 0 }, want = { 0 };
	struct as_seq *seq = workload();
	struct as_boxed_question question = { .request = request, .image = &image };
	struct as_boxed_death death;
	struct as_err err = { 0 };
	enum ends got;
	int rc;

	as_buf_adds(&image, "an image");
	question.seq = as_wire_requests[request].work_min ? seq : NULL;
	rc = as_boxed_ask(session, &question, &answer, &death, &err);
	got = rc ? FAILED : death.died ? (death.hung ? HUNG : DIED) : ANSWERED;
	if (got != row->ends[i])
		fail_msg("%s, request %d: %d and not %d: %s", row->name, i, got, row->ends[i],
			 err.msg);
	if (got == FAILED)
		assert_non_null(strstr(err.msg, row->why));
	as_buf_addf(&want, "answer %d", i + 1);
	if (got == ANSWERED)
		assert_string_equal(as_buf_str(&answer), as_buf_str(&want));
	as_boxed_death_free(&death);
	as_buf_free(&image);
	as_buf_free(&answer);
	as_buf_free(&want);
	as_seq_free(seq);
}

static void test_asked(void **state)
{
	(void)state;
	for (int request = 0; request < AS_WIRE_REQUESTS; request++) {
		if (!as_wire_requests[request].answer)
			continue;
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct as_boxed how = how_of(NULL);
			struct as_boxed_session *session;
			struct as_err err = { 0 };

			print_message("%s: %s\n", as_wire_requests[request].name, rows[i].name);
			t_fake_box_set(t_tmpdir(), rows[i].script);
			assert_int_equal(as_boxed_open(&how, &session, &err), 0);
			for (int k = 0; k < ASKS; k++)
				ask_once(session, (enum as_wire_request)request, &rows[i], k);
			as_boxed_close(session);
		}
	}
}

/* ---- Runs ------------------------------------------------------------------------------------ */

struct ear {
	struct as_sink sink;
	unsigned n;
	enum as_finding_kind kind;
};

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct ear *ear = (struct ear *)sink;

	ear->n++;
	ear->kind = f->kind;
}

static void test_run(void **state)
{
	static const enum as_finding_kind kinds[] = {
		[DIED] = AS_FIND_KERNEL, [HUNG] = AS_FIND_HANG
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ear ear = { .sink.finding = hear };
		struct as_boxed how = how_of(&ear.sink);
		struct as_boxed_session *session;
		struct as_run_result stats = { 0 };
		struct as_seq *seq = workload();
		const char *name = "w";
		const struct as_work work = { (const struct as_seq *const *)&seq, &name, 1, NULL };
		struct as_err err = { 0 };
		bool found = rows[i].run == DIED || rows[i].run == HUNG;
		int rc;

		print_message("run: %s\n", rows[i].name);
		t_fake_box_set(t_tmpdir(), rows[i].script);
		assert_int_equal(as_boxed_open(&how, &session, &err), 0);
		rc = as_boxed_give(session, &work, &stats, &err);
		if (!rc != (rows[i].run != FAILED) || ear.n != found)
			fail_msg("%s: %d, %u findings: %s", rows[i].name, rc, ear.n, err.msg);
		if (found)
			assert_int_equal(ear.kind, kinds[rows[i].run]);
		if (rc)
			assert_non_null(strstr(err.msg, rows[i].why));
		as_boxed_close(session);
		as_seq_free(seq);
	}
}

/* ---- Findings -------------------------------------------------------------------------------- */

#define FIND(id, target)                                                              \
	"say '{\"event\":\"finding\",\"form\":1,\"id\":\"" id "\",\"kind\":\"data\"," \
	"\"target\":\"" target "\",\"summary\":\"s\",\"signature\":\"g\","            \
	"\"options\":\"check=end\",\"workload\":\"mkdir /a 0755\",\"disk\":true}'; "
#define KEEP(id, command) \
	"mkdir -p $out/findings/" id "; " command " $out/findings/" id "/disk.img.zst; "

/* What is said of an id, and with which disk. */
struct told {
	struct as_sink sink;
	struct as_disk *disk; /* the right one */
	struct as_buf order;
};

static void tell_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct told *told = (struct told *)sink;
	bool right = f->disk && as_disk_eq((struct as_disk *)f->disk, told->disk);

	as_buf_addf(&told->order, "%s %s\n", f->kind == AS_FIND_KERNEL ? "kernel" : f->id,
		    right     ? "with its disk"
		    : f->disk ? "with another disk"
			      : "without a disk");
}

static void tell_note(struct as_sink *sink, const char *line)
{
	as_buf_addf(&((struct told *)sink)->order, "note %s\n", line);
}

/* Each is told when its event comes, with the disk that is there by then; a kernel that dies before
 * the workload is done takes none of them away. */
static void test_findings(void **state)
{
	static const char script[] = "up; beat; next; " KEEP("a-1", "cp $0/disk")
		FIND("a-1", "lab") "say '{\"event\":\"note\",\"text\":\"then\"}'; " FIND("a-2",
											 "lab")
			KEEP("a-3", "echo none >") FIND("a-3", "lab") KEEP("a-4", "ln -s $0/disk")
				FIND("a-4", "lab") KEEP("a-5", "cp $0/disk")
					FIND("a-5", "plugin:/x.so") "die";
	struct told told = { .sink = { .finding = tell_finding, .note = tell_note } };
	struct as_boxed how = how_of(&told.sink);
	struct as_chunks *store = as_chunks_new();
	struct as_seq *seq = workload();
	const char *name = "w";
	const struct as_work work = { (const struct as_seq *const *)&seq, &name, 1, NULL };
	struct as_boxed_session *session;
	struct as_run_result sum = { 0 };
	struct as_err err = { 0 };
	const char *folder = t_tmpdir();
	char path[1024];

	(void)state;
	snprintf(path, sizeof(path), "%s/disk", folder);
	assert_int_equal(as_disk_new(store, 1 << 20, &told.disk, NULL), 0);
	assert_int_equal(as_bd_write(as_disk_bd(told.disk), 4096, script, 512), 0);
	assert_int_equal(as_image_save(told.disk, path, NULL), 0);
	t_fake_box_set(folder, script);
	how.out = folder;
	assert_int_equal(as_boxed_open(&how, &session, &err), 0);
	if (as_boxed_give(session, &work, &sum, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(as_buf_str(&told.order),
			    "a-1 with its disk\n"
			    "note then\n"
			    "a-2 without a disk\n"
			    "a-3 without a disk\n"
			    "a-4 without a disk\n"
			    "note the sandbox reported a finding that cannot be true: it does not "
			    "count\n"
			    "kernel without a disk\n");
	assert_int_equal(sum.workloads, 1);
	as_boxed_close(session);
	as_buf_free(&told.order);
	as_disk_free(told.disk);
	as_chunks_free(store);
	as_seq_free(seq);
}

/* The rows that the table has are the ones that are tried: a new one needs no new test. */
static void test_rows(void **state)
{
	(void)state;
	for (int i = 0; i < AS_WIRE_REQUESTS; i++)
		assert_non_null(as_wire_requests[i].name);
	assert_false(as_wire_requests[AS_WIRE_RUN].answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

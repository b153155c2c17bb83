/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disks: requests about a disk that comes as an image: damage/disk_host.h does them. */
#include "guest/service_priv.h"

#include "damage/disk_host.h"
#include "os/out.h"
#include "work/print.h"

#include <string.h>

#define IMAGE_MAX_BYTES ((size_t)1 << 30)

static int read_image(const struct as_service *s, struct as_buf *image, struct as_err *err)
{
	return as_buf_read_file(image, s->call->image, IMAGE_MAX_BYTES, err);
}

/* The file is there before its event is. */
static int answer(struct as_service *s, const struct as_buf *answer, struct as_err *err)
{
	int rc = as_out_save(s->call->answer, answer, err);

	if (!rc)
		as_service_say(s, &(struct as_wire_event){ .kind = AS_WIRE_ANSWER,
							   .number = s->call->number });
	return rc;
}

int as_service_make(struct as_service *s, struct as_err *err)
{
	struct as_buf image = { 0 }, text = { 0 }, made = { 0 };
	int rc = read_image(s, &image, err);

	as_print_seq(s->call->work.seqs[0], &text);
	if (!rc)
		rc = as_disk_host_make(s->call->target, as_buf_str(&image), image.len,
				       as_buf_str(&text), &made, err);
	if (!rc)
		rc = answer(s, &made, err);
	as_buf_free(&image);
	as_buf_free(&text);
	as_buf_free(&made);
	return rc;
}

int as_service_mount(struct as_service *s, struct as_err *err)
{
	struct as_buf image = { 0 }, text = { 0 };
	struct as_word word = { 0 };
	struct as_disk *disk = NULL;
	int rc = read_image(s, &image, err);

	if (!s->store)
		s->store = as_chunks_new();
	if (!rc)
		rc = as_image_decode(s->store, as_buf_str(&image), image.len, &disk, err);
	if (!rc && !s->host)
		rc = as_disk_host_open(s->call->target, &s->host, err);
	if (!rc)
		rc = as_disk_host_ask(s->host, disk, &word, err);
	if (!rc) {
		as_word_print(&word, &text);
		rc = answer(s, &text, err);
	}
	as_word_free(&word);
	as_disk_free(disk);
	as_buf_free(&image);
	as_buf_free(&text);
	return rc;
}

void as_service_disks_close(struct as_service *s)
{
	as_disk_host_free(s->host);
	as_chunks_free(s->store);
	s->host = NULL;
	s->store = NULL;
}

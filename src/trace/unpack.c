/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unpack: see unpack.h. Several packed files in a row are read as one. */
#include "trace/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#ifdef AS_HAVE_zlib
#include <zlib.h>
#endif

#define PACKED_BYTES (64u << 10)

struct as_unpack {
	as_unpack_source source;
	void *ctx;
	const char *name;
	ZSTD_DCtx *zstd;
#ifdef AS_HAVE_zlib
	z_stream gzip;
#endif
	bool is_zstd, inside; /* inside: a packed file has begun and not ended */
	size_t at, n;
	char packed[PACKED_BYTES];
};

static int new_gzip(struct as_unpack *u, struct as_err *err)
{
#ifdef AS_HAVE_zlib
	if (inflateInit2(&u->gzip, 15 + 16) == Z_OK)
		return 0;
	return as_fail(err, AS_ENOMEM, "%s: zlib has no memory", u->name);
#else
	return as_fail(err, AS_ELACK,
		       "%s is packed by gzip, which this build cannot read (zlib1g-dev)", u->name);
#endif
}

int as_unpack_new(const char *head, size_t head_len, as_unpack_source source, void *ctx,
		  const char *name, struct as_unpack **out, struct as_err *err)
{
	bool gzip = head_len >= 2 && !memcmp(head, "\x1f\x8b", 2);
	bool zstd = head_len >= 4 && !memcmp(head, "\x28\xb5\x2f\xfd", 4);
	struct as_unpack *u;
	int rc = 0;

	*out = NULL;
	if (!gzip && !zstd)
		return 0;
	u = as_xcalloc(1, sizeof(*u));
	u->source = source;
	u->ctx = ctx;
	u->name = name;
	u->is_zstd = zstd;
	memcpy(u->packed, head, head_len);
	u->n = head_len;
	if (zstd)
		u->zstd = ZSTD_createDCtx();
	else
		rc = new_gzip(u, err);
	if (rc)
		free(u);
	else
		*out = u;
	return rc;
}

static bool more(struct as_unpack *u)
{
	if (u->at == u->n) {
		u->at = 0;
		u->n = u->source(u->ctx, u->packed, sizeof(u->packed));
	}
	return u->at < u->n;
}

/* One step: some bytes, or 0 for "go on", or -1 with *err. */
static long step_zstd(struct as_unpack *u, char *out, size_t len, struct as_err *err)
{
	ZSTD_inBuffer from = { u->packed, u->n, u->at };
	ZSTD_outBuffer to = { out, len, 0 };
	size_t rc = ZSTD_decompressStream(u->zstd, &to, &from);

	u->at = from.pos;
	if (ZSTD_isError(rc)) {
		as_fail(err, AS_EUSE, "%s: damaged: %s", u->name, ZSTD_getErrorName(rc));
		return -1;
	}
	u->inside = rc != 0;
	return (long)to.pos;
}

static long step_gzip(struct as_unpack *u, char *out, size_t len, struct as_err *err)
{
#ifdef AS_HAVE_zlib
	int rc;

	u->gzip.next_in = (unsigned char *)u->packed + u->at;
	u->gzip.avail_in = (unsigned)(u->n - u->at);
	u->gzip.next_out = (unsigned char *)out;
	u->gzip.avail_out = (unsigned)len;
	rc = inflate(&u->gzip, Z_NO_FLUSH);
	u->at = u->n - u->gzip.avail_in;
	u->inside = rc != Z_STREAM_END;
	if (rc == Z_STREAM_END)
		rc = inflateReset(&u->gzip);
	if (rc != Z_OK && rc != Z_BUF_ERROR) {
		as_fail(err, AS_EUSE, "%s: damaged: %s", u->name,
			u->gzip.msg ? u->gzip.msg : "not gzip");
		return -1;
	}
	return (long)(len - u->gzip.avail_out);
#else
	(void)out;
	(void)len;
	return as_fail(err, AS_ELACK, "%s: no zlib", u->name), -1;
#endif
}

size_t as_unpack_read(struct as_unpack *u, char *out, size_t len, struct as_err *err)
{
	while (more(u)) {
		long n = u->is_zstd ? step_zstd(u, out, len, err) : step_gzip(u, out, len, err);

		if (n)
			return n > 0 ? (size_t)n : 0;
	}
	if (u->inside && !err->code)
		as_fail(err, AS_EUSE, "%s: cut off in the middle", u->name);
	return 0;
}

void as_unpack_free(struct as_unpack *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
#ifdef AS_HAVE_zlib
	if (!u->is_zstd)
		inflateEnd(&u->gzip);
#endif
	free(u);
}

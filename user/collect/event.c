/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/event.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "collect/counters.h"

static const char *const kind_names[N_EVENT_KINDS] = {
	[EVENT_COUNTER] = "counter",	 [EVENT_TRACEPOINT] = "tracepoint",
	[EVENT_UPROBE] = "uprobe",	 [EVENT_URETPROBE] = "uretprobe",
	[EVENT_USDT] = "usdt",		 [EVENT_KPROBE] = "kprobe",
	[EVENT_KRETPROBE] = "kretprobe",
};

const char *event_kind_name(enum event_kind kind)
{
	return kind_names[kind];
}

bool event_counts_misses(enum event_kind kind)
{
	return kind != EVENT_COUNTER && kernel_is_since(6, 7);
}

static const char *const forms[N_EVENT_KINDS] = {
	[EVENT_COUNTER] = "NAME[:u|:k][:PERIOD]",
	[EVENT_TRACEPOINT] = "tracepoint:CATEGORY:NAME[:PERIOD]",
	[EVENT_UPROBE] = "uprobe:FILE:FUNCTION[+OFFSET][:PERIOD]",
	[EVENT_URETPROBE] = "uretprobe:FILE:FUNCTION[:PERIOD]",
	[EVENT_USDT] = "usdt:FILE:[PROVIDER:]NAME[:PERIOD]",
	[EVENT_KPROBE] = "kprobe:FUNCTION[+OFFSET][:PERIOD]",
	[EVENT_KRETPROBE] = "kretprobe:FUNCTION[:PERIOD]",
};

static int refuse(const char *text, enum event_kind kind, struct failure *failure)
{
	failure_set(failure, -EINVAL, "-e %s: not an event", text);
	return failure_fix(failure, -EINVAL, "write it as %s; bpfflame events lists what there is",
			   forms[kind]);
}

/* The kind before the first colon of @text; @ret_rest is the part after it. */
static enum event_kind event_kind_of(const char *text, const char **ret_rest)
{
	for (enum event_kind kind = EVENT_COUNTER + 1; kind < N_EVENT_KINDS; kind++) {
		size_t n = strlen(kind_names[kind]);

		if (strncmp(text, kind_names[kind], n) == 0 && text[n] == ':') {
			*ret_rest = text + n + 1;
			return kind;
		}
	}
	*ret_rest = text;
	return EVENT_COUNTER;
}

/* Takes a number off the end of @name, if one follows a colon. */
static int take_period(char *name, uint64_t *ret_period)
{
	char *colon = strrchr(name, ':'), *end;

	*ret_period = 0;
	if (!colon || !isdigit((unsigned char)colon[1]))
		return 0;
	errno = 0;
	*ret_period = strtoull(colon + 1, &end, 10);
	if (*end) { /* 0x1234 */
		*ret_period = 0;
		return 0;
	}
	*colon = '\0';
	return errno || !*ret_period || *ret_period > INT64_MAX ? -EINVAL : 0;
}

/* Takes `uk` off the end, after a colon or, for a PMU's event, the last slash. */
static bool take_modifiers(struct event_request *request)
{
	char *slash = strrchr(request->target, '/'), *end = slash ? slash + 1 : request->target;
	char *mark = strrchr(end, ':'), *first = mark ? mark + 1 : end;
	bool user = strchr(first, 'u'), kernel = strchr(first, 'k');

	if (!mark && !(slash && *first))
		return true;
	if (!*first || strspn(first, "uk") != strlen(first))
		return false;
	request->user_only = user && !kernel;
	request->kernel_only = kernel && !user;
	*(mark ? mark : first) = '\0';
	return true;
}

/* Takes `+OFFSET` off the end of a function. */
static bool take_offset(struct event_request *request)
{
	char *plus = strrchr(request->target, '+'), *end;

	if (!plus || !isdigit((unsigned char)plus[1]))
		return true;
	errno = 0;
	request->offset = strtoull(plus + 1, &end, 0);
	if (*end)
		return true; /* `operator+1x`: no number */
	*plus = '\0';
	return !errno;
}

static int copy(const char *text, size_t n, char **ret)
{
	*ret = strndup(text, n);
	return *ret ? 0 : -ENOMEM;
}

/* Puts the part before the first colon of *@rest into *@ret. Returns 0 if there is none. */
static int take_part(const char **rest, char **ret)
{
	size_t n = strcspn(*rest, ":");
	int r;

	if (!n || !(*rest)[n])
		return 0;
	r = copy(*rest, n, ret);
	*rest += n + 1;
	return r < 0 ? r : 1;
}

static int take_tracepoint(struct event_request *request, const char *rest)
{
	int r = take_part(&rest, &request->group);

	request->kind = EVENT_TRACEPOINT;
	if (r <= 0)
		return r < 0 ? r : -EINVAL;
	return strchr(rest, ':') || !*rest ? -EINVAL : copy(rest, strlen(rest), &request->target);
}

static int take_probe(struct event_request *request, const char *rest)
{
	bool in_kernel = request->kind == EVENT_KPROBE || request->kind == EVENT_KRETPROBE;
	int r = in_kernel ? 1 : take_part(&rest, &request->path);

	if (r <= 0)
		return r < 0 ? r : -EINVAL;
	if (request->kind == EVENT_USDT)
		r = take_part(&rest, &request->group);
	if (r < 0)
		return r;
	r = copy(rest, strlen(rest), &request->target);
	if (r < 0)
		return r;
	if (request->kind != EVENT_USDT && !take_offset(request))
		return -EINVAL;
	return *request->target ? 0 : -EINVAL;
}

static int take_counter(struct event_request *request, const char *rest)
{
	int r = copy(rest, strlen(rest), &request->target);

	if (r < 0)
		return r;
	return take_modifiers(request) && *request->target ? 0 : -EINVAL;
}

/* Matches CATEGORY:NAME, but no counter: neither a name with modifiers nor an event of a PMU. */
static bool is_tracepoint(const char *text)
{
	const char *colon = strchr(text, ':');
	char name[64];

	if (!colon || strchr(text, '/') || (size_t)(colon - text) >= sizeof name)
		return false;
	memcpy(name, text, colon - text);
	name[colon - text] = '\0';
	return !counter_is_known(name) && strspn(colon + 1, "uk") != strlen(colon + 1);
}

static int take_parts(struct event_request *request)
{
	const char *rest;

	request->kind = event_kind_of(request->name, &rest);
	if (request->kind == EVENT_TRACEPOINT ||
	    (request->kind == EVENT_COUNTER && is_tracepoint(rest)))
		return take_tracepoint(request, rest);
	return request->kind == EVENT_COUNTER ? take_counter(request, rest)
					      : take_probe(request, rest);
}

int event_parse(const char *text, struct event_request *ret, struct failure *failure)
{
	struct event_request request = {};
	int r = copy(text, strlen(text), &request.name);

	if (r < 0)
		return r;
	r = take_period(request.name, &request.period);
	if (r < 0) {
		event_request_done(&request);
		return failure_set(failure, r, "-e %s: PERIOD is a number from 1 to 2^63 - 1",
				   text);
	}
	r = take_parts(&request);
	if (r < 0) {
		enum event_kind kind = request.kind;

		event_request_done(&request);
		return r == -EINVAL ? refuse(text, kind, failure) : r;
	}
	*ret = request;
	return 0;
}

void event_request_done(struct event_request *request)
{
	free(request->name);
	free(request->path);
	free(request->group);
	free(request->target);
	*request = (struct event_request){};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_link: what the processes of the daemon say to each other, a datagram each.
 *
 *	recorder ──window──▶ writer		its bytes are in a memory file that comes along
 *	recorder, writer, server ──report──▶ supervisor
 *
 * The supervisor holds both ends of each connection: whoever is started again finds what the other
 * one has sent meanwhile.
 */
#ifndef CMD_DAEMON_LINK_H
#define CMD_DAEMON_LINK_H

#include <stddef.h>
#include <stdint.h>

enum daemon_report_kind {
	REPORT_RECORDING, /* the recorder works: once */
	REPORT_WRITING,	  /* the writer does */
	REPORT_SERVING,	  /* requests are answered */
	REPORT_RECORDED,  /* a window was recorded */
	REPORT_WRITTEN,	  /* a window was written */
	REPORT_LOST,	  /* a window could not be written */
};

struct daemon_report {
	uint32_t kind;
	int32_t error;	 /* -errno of REPORT_LOST */
	uint64_t own_ns; /* CPU time of the process and those that it started, so far */
	uint64_t windows, lost, bytes;
};

/* A connection: who sends has the first end, who receives the second. Errors: -errno. */
int daemon_link_make(int ret_fds[static 2]);

/* Never waits. Errors: -EAGAIN the other one does not read; -errno. */
int daemon_link_report(int fd, const struct daemon_report *report);
/* 1, or 0: there is none; -errno. */
int daemon_link_take_report(int fd, struct daemon_report *ret);

/* The @n bytes of a window. Never waits. Errors: as above. */
int daemon_link_send_window(int fd, const void *bytes, size_t n);
/*
 * Waits for a window; *@ret is malloc'ed. Returns 1; 0: nobody will send any more. Errors: -ENOMEM;
 * -EPROTO; -errno.
 */
int daemon_link_take_window(int fd, uint8_t **ret, size_t *ret_n);

#endif

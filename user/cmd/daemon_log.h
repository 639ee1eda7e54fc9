/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_log: one line an event on standard error, with a level before it for the journal. The same
 * fault is said at most once a minute, with how often it was in between.
 */
#ifndef CMD_DAEMON_LOG_H
#define CMD_DAEMON_LOG_H

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6 };

/* Equal lines are the same fault. */
void daemon_log(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_certificate: the files of --tls-cert and --tls-key.
 */
#ifndef CMD_DAEMON_CERTIFICATE_H
#define CMD_DAEMON_CERTIFICATE_H

#include "base/failure.h"
#include "serve/tls.h"

/*
 * Reads both, with no more rights than the user has. A key that anybody but its owner can read or
 * change is refused. Errors: -EINVAL, -EPERM, -errno; explained.
 */
int daemon_certificate_read(const char *certificate, const char *key, struct tls_identity **ret,
			    struct failure *failure);

#endif

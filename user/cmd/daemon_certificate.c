/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "base/system.h"

#define MAX_BYTES (256 << 10) /* of a chain of certificates, or a key */

struct pem_file {
	const char *option, *path;
	bool is_secret;
	char *text; /* owned, MAX_BYTES + 1 */
};

static int fail_file(const struct pem_file *file, int error, struct failure *failure)
{
	return failure_set(failure, error, "%s: cannot read %s: %s", file->option, file->path,
			   strerror(-error));
}

static int check_file(const struct pem_file *file, int fd, struct failure *failure)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_file(file, -errno, failure);
	if (!S_ISREG(st.st_mode))
		return failure_set(failure, -EINVAL, "%s: %s is no file", file->option, file->path);
	if (st.st_size > MAX_BYTES)
		return fail_file(file, -EFBIG, failure);
	if (file->is_secret && (st.st_mode & (S_IRWXG | S_IRWXO))) {
		failure_set(failure, -EPERM, "%s: others than its owner can read or change %s",
			    file->option, file->path);
		return failure_fix(failure, -EPERM, "chmod 600 %s", file->path);
	}
	return 0;
}

static int read_bytes(const struct pem_file *file, int fd, struct failure *failure)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < MAX_BYTES && got) {
		got = read(fd, file->text + n, MAX_BYTES - n);
		if (got < 0)
			return fail_file(file, -errno, failure);
		n += got;
	}
	file->text[n] = '\0';
	return 0;
}

static int read_file(struct pem_file *file, struct failure *failure)
{
	uint64_t capabilities = sandbox_set_aside();
	_cleanup_close_ int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int r = fd < 0 ? -errno : 0;

	sandbox_take_up(capabilities);
	if (r < 0)
		return fail_file(file, r, failure);
	r = check_file(file, fd, failure);
	if (r < 0)
		return r;
	file->text = malloc(MAX_BYTES + 1);
	return file->text ? read_bytes(file, fd, failure) : -ENOMEM;
}

static void done_file(struct pem_file *file)
{
	if (file->text && file->is_secret)
		explicit_bzero(file->text, MAX_BYTES + 1);
	free(file->text);
}

static int explain(int error, const char *certificate, const char *key, struct failure *failure)
{
	switch (error) {
	case -EBADMSG:
		return failure_set(failure, -EINVAL, "--tls-cert: %s holds no certificate (PEM)",
				   certificate);
	case -ENOKEY: return failure_set(failure, -EINVAL, "--tls-key: %s holds no key (PEM)", key);
	case -EKEYREJECTED:
		failure_set(failure, -EINVAL, "--tls-key: the key in %s is encrypted", key);
		return failure_fix(failure, -EINVAL, "openssl pkey -in %s -out FILE", key);
	case -EINVAL:
		return failure_set(failure, -EINVAL,
				   "--tls-key: the key in %s is not that of the certificate in %s",
				   key, certificate);
	default: return error;
	}
}

static int read_files(struct pem_file *certificate, struct pem_file *key, struct tls_identity **ret,
		      struct failure *failure)
{
	int r = read_file(certificate, failure);

	if (r < 0)
		return r;
	r = read_file(key, failure);
	if (r < 0)
		return r;
	return explain(tls_identity_new(certificate->text, key->text, ret), certificate->path,
		       key->path, failure);
}

int daemon_certificate_read(const char *certificate, const char *key, struct tls_identity **ret,
			    struct failure *failure)
{
	struct pem_file files[] = {{"--tls-cert", certificate}, {"--tls-key", key, true}};
	int r = read_files(&files[0], &files[1], ret, failure);

	done_file(&files[0]);
	done_file(&files[1]);
	return r;
}

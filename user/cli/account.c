/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/account.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "base/system.h"

#define PASSWD "/etc/passwd"
/* A limit for the output of getent and id. */
#define MAX_SAID (1 << 20)

enum passwd_field {
	PASSWD_NAME,
	PASSWD_PASSWORD,
	PASSWD_UID,
	PASSWD_GID,
	PASSWD_GECOS,
	PASSWD_HOME,
	PASSWD_SHELL,
	N_PASSWD_FIELDS,
};

/* A number that fits an id; (uid_t)-1 means "none" to the kernel. */
static bool parse_id(const char *text, unsigned int *ret)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*end || errno || value >= 0xffffffff)
		return false;
	*ret = value;
	return true;
}

/* Splits @line at its colons. False if it has fewer fields, or invalid ids. */
static bool split_line(char *line, char *fields[N_PASSWD_FIELDS], struct account *ids)
{
	for (int i = 0; i < N_PASSWD_FIELDS; i++) {
		fields[i] = strsep(&line, ":");
		if (!fields[i])
			return false;
	}
	return *fields[PASSWD_NAME] && parse_id(fields[PASSWD_UID], &ids->uid) &&
	       parse_id(fields[PASSWD_GID], &ids->gid);
}

static int fill_in(char *fields[N_PASSWD_FIELDS], struct account *account)
{
	account->name = strdup(fields[PASSWD_NAME]);
	account->home = strdup(fields[PASSWD_HOME]);
	account->shell = strdup(*fields[PASSWD_SHELL] ? fields[PASSWD_SHELL] : "/bin/sh");
	if (account->name && account->home && account->shell)
		return 0;
	account_done(account);
	return -ENOMEM;
}

int account_parse(const char *passwd, const char *text, struct account *ret)
{
	_cleanup_free_ char *copy = strdup(passwd);
	char *rest = copy, *line, *fields[N_PASSWD_FIELDS];
	unsigned int uid;
	bool is_number = parse_id(text, &uid);
	int r;

	if (!copy)
		return -ENOMEM;
	while ((line = strsep(&rest, "\n"))) {
		struct account account = {};

		if (!split_line(line, fields, &account))
			continue;
		if (strcmp(fields[PASSWD_NAME], text) != 0 && !(is_number && account.uid == uid))
			continue;
		r = fill_in(fields, &account);
		if (r == 0)
			*ret = account;
		return r;
	}
	return -ENOENT;
}

static void run_program(char *const argv[], int out_fd)
{
	char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
	int null_fd = open("/dev/null", O_RDWR);

	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(null_fd, 2) < 0)
		_exit(127);
	execvpe(argv[0], argv, environment);
	_exit(127);
}

/* Reads a program's standard output; *ret is the caller's. -ENOENT if it fails. */
static int ask_program(char *const argv[], char **ret)
{
	char *text = malloc(MAX_SAID);
	size_t n = 0;
	ssize_t got = 1;
	int out[2], status;
	pid_t pid;

	if (!text || pipe2(out, O_CLOEXEC) < 0) {
		free(text);
		return -ENOMEM;
	}
	pid = fork();
	if (pid == 0)
		run_program(argv, out[1]);
	close(out[1]);
	while (pid > 0 && n < MAX_SAID - 1 && got > 0) {
		got = read(out[0], text + n, MAX_SAID - 1 - n);
		n += got > 0 ? got : 0;
	}
	close(out[0]);
	text[n] = '\0';
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		free(text);
		return -ENOENT;
	}
	*ret = text;
	return 0;
}

static int look_up(const char *text, struct account *ret)
{
	char *getent[] = {"getent", "passwd", (char *)text, NULL};
	_cleanup_free_ char *said = NULL;
	_cleanup_free_ char *passwd = NULL;
	size_t size;
	int r;

	if (read_whole_file(PASSWD, &passwd, &size) == 0) {
		r = account_parse(passwd, text, ret);
		if (r != -ENOENT)
			return r;
	}
	r = ask_program(getent, &said);
	if (r < 0)
		return r;
	return account_parse(said, text, ret);
}

static int add_group(struct account *account, gid_t gid)
{
	gid_t *grown = realloc(account->groups, (account->n_groups + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	account->groups = grown;
	grown[account->n_groups++] = gid;
	return 0;
}

/* All groups, by id(1); if that fails, the user's own alone: fewer rights, never more. */
static int find_groups(struct account *account)
{
	char *id[] = {"id", "-G", account->name, NULL};
	_cleanup_free_ char *said = NULL;
	char *rest, *word;
	int r = add_group(account, account->gid);

	if (r < 0 || !*account->name || ask_program(id, &said) < 0)
		return r;
	rest = said;
	while ((word = strsep(&rest, " \n"))) {
		unsigned int gid;

		if (!parse_id(word, &gid) || gid == account->gid)
			continue;
		r = add_group(account, gid);
		if (r < 0)
			return r;
	}
	return 0;
}

int account_find(const char *text, gid_t gid, struct account *ret)
{
	struct account account = {};
	char *nobody[N_PASSWD_FIELDS] = {"", "", "", "", "", "", ""};
	int r = *text == '-' ? -ENOENT : look_up(text, &account);

	if (r == -ENOENT && parse_id(text, &account.uid)) {
		account.gid = account.uid;
		r = fill_in(nobody, &account);
	}
	if (r < 0)
		return r;
	if (gid != (gid_t)-1)
		account.gid = gid;
	r = find_groups(&account);
	if (r < 0)
		account_done(&account);
	else
		*ret = account;
	return r;
}

void account_done(struct account *account)
{
	free(account->name);
	free(account->home);
	free(account->shell);
	free(account->groups);
	*account = (struct account){};
}

static int set_variables(const struct account *account)
{
	const struct {
		const char *name, *value;
	} variables[] = {
		{"HOME", account->home},
		{"USER", account->name},
		{"LOGNAME", account->name},
		{"SHELL", *account->name ? account->shell : ""},
	};

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		if (*variables[i].value && setenv(variables[i].name, variables[i].value, 1) < 0)
			return -errno;
	return 0;
}

int account_become(const struct account *account)
{
	int r = sandbox_forbid_typing();

	if (r < 0)
		return r;
	if (setgroups(account->n_groups, account->groups) < 0 ||
	    setresgid(account->gid, account->gid, account->gid) < 0 ||
	    setresuid(account->uid, account->uid, account->uid) < 0)
		return -errno;
	/* Inheritable capabilities remain. */
	r = sandbox_drop_capabilities(SANDBOX_ALL);
	if (r < 0)
		return r;
	return set_variables(account);
}

int account_choose(const char *user, bool as_root, struct account *ret, bool *ret_found,
		   struct failure *failure)
{
	const char *sudo_uid = getenv("SUDO_UID"), *sudo_gid = getenv("SUDO_GID");
	const char *text = user ? user : sudo_uid;
	gid_t gid = -1;
	int r;

	*ret_found = false;
	if (user && geteuid() != 0) {
		failure_set(failure, -EPERM, "only root can run a command as another user");
		return failure_fix(failure, -EPERM, "leave --user out, or use sudo");
	}
	if (!user && (as_root || geteuid() != 0 || !sudo_uid || strcmp(sudo_uid, "0") == 0))
		return 0;
	if (!user && (strspn(sudo_uid, "0123456789") != strlen(sudo_uid) || !*sudo_uid))
		return failure_set(failure, -EINVAL, "SUDO_UID is '%s', which is no user id",
				   sudo_uid);
	if (!user && sudo_gid && strspn(sudo_gid, "0123456789") == strlen(sudo_gid) && *sudo_gid)
		gid = strtoul(sudo_gid, NULL, 10);
	r = account_find(text, gid, ret);
	if (r == -ENOENT)
		return failure_set(failure, -EINVAL, "--user %s: there is no such user", text);
	if (r < 0)
		return failure_set(failure, r, "cannot look up user %s: %s", text, strerror(-r));
	*ret_found = true;
	return 0;
}

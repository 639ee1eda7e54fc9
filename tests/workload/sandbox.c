/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox: enters bpfflame's sandbox and tries to escape, each time in a process of its own. Prints
 * "NAME signal N" or "NAME exit N" for each attempt; exit 0 means that it worked.
 * usage: sandbox [confined|server]	the sandboxes of base/confined.h
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sandbox.h"

static int try_open(void)
{
	return open("/etc/passwd", O_RDONLY) < 0;
}

static int try_write_file(void)
{
	return open("/tmp/bpfflame-sandbox", O_WRONLY | O_CREAT, 0600) < 0;
}

static int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0;
}

static int try_fork(void)
{
	return fork() < 0;
}

static int try_exec(void)
{
	char *arguments[] = {"true", NULL};

	return execv("/bin/true", arguments) < 0;
}

static int try_kill(void)
{
	return kill(getppid(), 0) < 0;
}

static int try_ptrace(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) < 0;
}

static int try_read_parent(void)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)try_open, 1};

	return process_vm_readv(getppid(), &to, 1, &from, 1, 0) < 0;
}

static int try_mmap_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static int try_mprotect_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0;
}

static int try_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0) < 0;
}

static int try_become_root(void)
{
	return setuid(0) < 0;
}

static int try_chmod(void)
{
	return fchmod(STDOUT_FILENO, 0777) < 0;
}

static int try_memory(void)
{
	return malloc(600ul << 20) == NULL;
}

/* Calls that a reader needs. */
static int try_allowed(void)
{
	char *memory = malloc(8 << 20), byte;
	struct stat st;

	memset(memory, 1, 8 << 20);
	memory = realloc(memory, 16 << 20);
	return !memory || fstat(STDIN_FILENO, &st) < 0 || read(STDIN_FILENO, &byte, 1) != 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} tries[] = {
	{"open", try_open},	       {"write_file", try_write_file},
	{"socket", try_socket},	       {"fork", try_fork},
	{"exec", try_exec},	       {"kill", try_kill},
	{"ptrace", try_ptrace},	       {"read_parent", try_read_parent},
	{"mmap_code", try_mmap_code},  {"mprotect_code", try_mprotect_code},
	{"bpf", try_bpf},	       {"become_root", try_become_root},
	{"chmod", try_chmod},	       {"memory", try_memory},
	{"allowed", try_allowed},
};

static int enter(const char *kind)
{
	return strcmp(kind, "confined") == 0 ? sandbox_enter_confined()
	       : strcmp(kind, "server") == 0 ? sandbox_enter_server()
					     : sandbox_enter(512ul << 20);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(enter(argc > 1 ? argv[1] : "") < 0 ? 99 : tries[i].run());
		waitpid(pid, &status, 0);
		if (WIFSIGNALED(status))
			printf("%s signal %d\n", tries[i].name, WTERMSIG(status));
		else
			printf("%s exit %d\n", tries[i].name, WEXITSTATUS(status));
	}
	return 0;
}

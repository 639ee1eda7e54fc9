/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign: paths that try to escape from a root folder, and things that must not be opened. Each
 * test of finding runs twice: with the kernel's openat2(), and by hand where that is refused.
 */
#include "unit/made_files.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/foreign.h"
#include "base/system.h"
#include "collect/maps.h"

static int root = -1;

static int build(void **state)
{
	made_setup(state);
	made("mkdir -p root/etc root/opt/bin root/proc outside && echo secret >outside/secret && "
	     "echo inside >root/opt/bin/inside && mkfifo root/etc/pipe && "
	     "ln -s /secret root/etc/absolute && ln -s ../../outside/secret root/etc/relative && "
	     "ln -s /../../outside/secret root/etc/up && ln -s loop root/etc/loop && "
	     "ln -s /proc/self/root%s/outside/secret root/etc/magic && "
	     "ln -s /opt/./bin/../bin/inside root/etc/inside && ln -s opt root/folder && "
	     "ln -s ../folder/bin root/etc/more",
	     made_folder);
	root = open(made_path("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -1 : 0;
}

static int clean(void **state)
{
	close(root);
	made_done(state);
	return 0;
}

/* Contents of @path below @root, or "". */
static const char *text_at(int below, const char *path)
{
	_cleanup_close_ int fd = foreign_open(below, path);
	static char text[64];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static void paths_stay_below_the_root(void **state)
{
	static const char *const paths[] = {"/opt/bin/inside",	  "opt/bin/inside",
					    "//etc/inside",	  "/etc/more/inside",
					    "/folder/bin/inside", "/../../opt/bin/../bin/./inside"};
	char outside[PATH_MAX];

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		assert_string_equal(text_at(root, paths[i]), "inside\n");
	assert_int_equal(foreign_open(root, "/etc/absolute"), -ENOENT);
	assert_int_equal(foreign_open(root, "/etc/relative"), -ENOENT);
	assert_int_equal(foreign_open(root, "/etc/up"), -ENOENT);
	assert_int_equal(foreign_open(root, "/etc/magic"), -ENOENT);
	assert_int_equal(foreign_open(root, "/etc/loop"), -ELOOP);
	assert_int_equal(foreign_open(root, "/opt/bin/inside/more"), -ENOTDIR);
	snprintf(outside, sizeof outside, "/../..%s", made_path("outside/secret"));
	assert_int_equal(foreign_open(root, outside), -ENOENT);
	assert_string_equal(text_at(FOREIGN_OUR_ROOT, made_path("outside/secret")), "secret\n");
	assert_string_equal(text_at(FOREIGN_OUR_ROOT, outside), "secret\n");
}

static void long_paths_are_refused(void **state)
{
	char path[2 * PATH_MAX];

	memset(path, 'a', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_int_equal(foreign_open(root, path), -ENAMETOOLONG);
	path[1000] = '\0';
	assert_int_equal(foreign_open(root, path), -ENAMETOOLONG);
}

/* Links in /proc lead to whatever a process has open, including our own files. */
static void links_of_proc_are_not_followed(void **state)
{
	char path[64];
	int fd = open(made_path("outside/secret"), O_RDONLY | O_CLOEXEC);

	snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
	assert_true(foreign_open(FOREIGN_OUR_ROOT, path) < 0);
	snprintf(path, sizeof path, "/proc/%d/root", getpid());
	assert_true(foreign_open(FOREIGN_OUR_ROOT, path) < 0);
	close(fd);
}

static void only_files_are_opened(void **state)
{
	assert_int_equal(foreign_open(root, "/etc/pipe"), -EINVAL);
	assert_int_equal(foreign_open(root, "/etc"), -EINVAL);
	assert_int_equal(foreign_open(root, "/"), -EINVAL);
	assert_int_equal(foreign_open(root, ""), -EINVAL);
	assert_int_equal(foreign_open(FOREIGN_OUR_ROOT, "/dev/null"), -EINVAL);
}

/* Reading /proc/kmsg takes messages away from its other readers. */
static void the_kernels_own_files_are_not_opened(void **state)
{
	assert_int_equal(foreign_open(FOREIGN_OUR_ROOT, "/proc/version"), -EINVAL);
	assert_int_equal(foreign_open(FOREIGN_OUR_ROOT, "/proc/kmsg"), -EINVAL);
	assert_int_equal(foreign_open(FOREIGN_OUR_ROOT, "/sys/devices/system/cpu/online"), -EINVAL);
}

/* Without O_NONBLOCK, opening waits until the kernel breaks the lease: 45 s. */
static void leases_make_nobody_wait(void **state)
{
	int fd;

	made_text("leased", "text");
	signal(SIGIO, SIG_IGN);
	fd = open(made_path("leased"), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		close(fd);
		skip(); /* a filesystem without leases */
	}
	assert_int_equal(foreign_open(FOREIGN_OUR_ROOT, made_path("leased")), -EAGAIN);
	close(fd);
	assert_string_equal(text_at(FOREIGN_OUR_ROOT, made_path("leased")), "text");
}

static void links_and_second_names_in_a_folder_are_refused(void **state)
{
	_cleanup_close_ int folder = foreign_find(FOREIGN_OUR_ROOT, made_folder);
	int fd;

	made_text("map", "text");
	made("ln -sf map linked");
	fd = foreign_find_in(folder, "map");
	assert_true(fd >= 0);
	close(fd);
	fd = foreign_find_in(folder, "linked"); /* the link itself */
	assert_true(fd >= 0);
	assert_int_equal(foreign_open_found(fd), -EINVAL);
	close(fd);
	made("ln map again");
	assert_int_equal(foreign_find_in(folder, "map"), -EMLINK);
	assert_int_equal(foreign_find_in(folder, "missing"), -ENOENT);
}

/* A mount over a name could show files that the mount's creator may not read; here, /proc. */
static void mounts_in_a_folder_are_refused(void **state)
{
	_cleanup_close_ int ours = foreign_find(FOREIGN_OUR_ROOT, "/");

	assert_int_equal(foreign_find_in(ours, "proc"), -EXDEV);
}

static void mapped_files_are_found_without_their_names(void **state)
{
	struct maps_entry entry;
	char path[PATH_MAX], text[8];
	uint32_t filesystem;
	void *memory;
	int fd;

	made_text("mapped", "mapped");
	fd = open(made_path("mapped"), O_RDONLY | O_CLOEXEC);
	memory = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	made("rm mapped");
	assert_int_equal(maps_find(getpid(), (uintptr_t)memory, &entry, path), 1);
	fd = foreign_find_mapped(getpid(), entry.start, entry.end);
	if (fd == -EPERM) {
		munmap(memory, 1);
		skip(); /* takes CAP_CHECKPOINT_RESTORE */
	}
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, 1), -1); /* not open yet */
	close(fd);
	fd = foreign_open_mapped(getpid(), entry.start, entry.end, &filesystem);
	assert_true(fd >= 0);
	assert_int_equal(filesystem, foreign_filesystem(fd));
	assert_int_equal(read(fd, text, sizeof text), 6);
	assert_memory_equal(text, "mapped", 6);
	close(fd);
	munmap(memory, 1);
	assert_int_equal(foreign_open_mapped(getpid(), entry.start, entry.end, &filesystem),
			 -ENOENT);
}

static void our_root_is_known(void **state)
{
	_cleanup_close_ int ours = foreign_find_root(getpid());

	assert_true(foreign_is_our_root(ours));
	assert_false(foreign_is_our_root(root));
	assert_false(foreign_is_our_root(-1));
}

/* Imitates a container whose seccomp filter predates openat2(). */
static int refuse_openat2(void **state)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -1;
	return syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) < 0 && errno == EPERM ? build(state)
										  : -1;
}

/* A path needs as many descriptors as it has folders. */
static void a_deep_path_leaves_no_descriptors(void **state)
{
	int before = dup(root), after;

	close(before);
	made("mkdir -p root/$(printf 'd/%%.0s' $(seq 300)) && "
	     "echo deep >root/$(printf 'd/%%.0s' $(seq 200))/file");
	for (int n = 200; n <= 300; n += 100) {
		char path[PATH_MAX];

		for (int i = 0; i < n; i++)
			memcpy(path + 2 * i, "d/", 3);
		strcat(path, n == 200 ? "file" : "");
		if (n == 200)
			assert_string_equal(text_at(root, path), "deep\n");
		else
			assert_int_equal(foreign_open(root, path), -ELOOP);
	}
	after = dup(root);
	assert_int_equal(before, after);
	close(after);
}

/* Reads all pieces or none; never more or larger ones than there is room for. */
static void memory_is_read_in_pieces(void **state)
{
	static const char one[] = "one", two[] = "two";
	struct foreign_piece pieces[FOREIGN_MAX_PIECES + 1] = {
		{(uintptr_t)one, 3}, {(uintptr_t)two, 3}, {(uintptr_t)one, 0}};
	char read[8] = "";

	assert_int_equal(foreign_read_memory(getpid(), pieces, 3, read), 0);
	assert_string_equal(read, "onetwo");
	assert_int_equal(foreign_read_memory(getpid(), pieces, 0, read), 0);
	pieces[1].address = 4096;
	assert_int_equal(foreign_read_memory(getpid(), pieces, 2, read), -EFAULT);
	pieces[1] = (struct foreign_piece){(uintptr_t)two, UINT64_MAX - 2};
	assert_int_equal(foreign_read_memory(getpid(), pieces, 2, read), -EINVAL);
	assert_int_equal(foreign_read_memory(getpid(), pieces, FOREIGN_MAX_PIECES + 1, read),
			 -EINVAL);
	assert_int_equal(foreign_read_memory(4194305, pieces, 1, read), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest by_kernel[] = {
		cmocka_unit_test(paths_stay_below_the_root),
		cmocka_unit_test(long_paths_are_refused),
		cmocka_unit_test(links_of_proc_are_not_followed),
		cmocka_unit_test(only_files_are_opened),
		cmocka_unit_test(the_kernels_own_files_are_not_opened),
		cmocka_unit_test(leases_make_nobody_wait),
		cmocka_unit_test(links_and_second_names_in_a_folder_are_refused),
		cmocka_unit_test(mounts_in_a_folder_are_refused),
		cmocka_unit_test(mapped_files_are_found_without_their_names),
		cmocka_unit_test(our_root_is_known),
		cmocka_unit_test(memory_is_read_in_pieces),
	};
	const struct CMUnitTest by_hand[] = {
		cmocka_unit_test(paths_stay_below_the_root),
		cmocka_unit_test(long_paths_are_refused),
		cmocka_unit_test(only_files_are_opened),
		cmocka_unit_test(the_kernels_own_files_are_not_opened),
		cmocka_unit_test(a_deep_path_leaves_no_descriptors),
	};
	int failed = cmocka_run_group_tests(by_kernel, build, clean);

	strcpy(made_folder + strlen(made_folder) - 6, "XXXXXX");
	return failed + cmocka_run_group_tests(by_hand, refuse_openat2, clean);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_files and files: which files they keep open for real processes, namely this one and its
 * children.
 */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "collect/locate.h"

#define PAGE	   4096
#define EXECUTABLE (PROT_READ | PROT_EXEC)

static struct processes processes;
static struct jit_files *jit;
static struct jit_image self;
static char map_path[64], other_path[80], folder[] = "/tmp/test_collect_jit.XXXXXX";

/* Start time of process @pid, boot-time ns. */
static uint64_t start_of(pid_t pid)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	assert_int_equal(read_text_file(path, text, sizeof text), 0);
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	return strtoull(at, NULL, 10) * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

static int setup(void **state)
{
	self = (struct jit_image){.pid = getpid(), .start = start_of(getpid())};
	snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", getpid());
	snprintf(other_path, sizeof other_path, "/tmp/perf-%d.map.other", getpid());
	jit = &processes.jit_files;
	processes_init(&processes);
	return 0;
}

static int teardown(void **state)
{
	processes_done(&processes);
	unlink(map_path);
	unlink(other_path);
	return 0;
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Maps memory under the name @path; no file is involved. */
static uint32_t memory_of(const char *path)
{
	const struct file_name name = {.path = path};
	uint32_t file;

	assert_int_equal(files_get(&processes.files, &name, getpid(), 0, PAGE, &file), 0);
	return file;
}

static size_t n_watched(void)
{
	return jit->pool.n - jit->pool.n_free;
}

static void see_memory(const struct jit_image *image)
{
	assert_int_equal(jit_files_see(jit, &processes.files, image, memory_of("//anon")), 0);
}

/* Creates a file at that path; its contents don't matter. */
static void see_file(const char *path)
{
	const struct file_name name = {.inode = 1, .path = path};
	uint32_t file;

	assert_int_equal(files_get(&processes.files, &name, getpid(), 0, PAGE, &file), 0);
	assert_int_equal(jit_files_see(jit, &processes.files, &self, file), 0);
	files_put(&processes.files, file);
}

/* Contents of the map found for @image, or "". */
static const char *map_of(const struct jit_image *image)
{
	struct mapping_source source = MAPPING_SOURCE_NONE;
	static char text[64];
	ssize_t n;

	jit_files_source(jit, &processes.files, image, &source);
	n = source.perf_map < 0 ? 0 : pread(source.perf_map, text, sizeof text - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static void a_map_is_found_at_once_and_kept(void **state)
{
	write_file(map_path, "first");
	see_memory(&self);
	unlink(map_path);
	assert_string_equal(map_of(&self), "first");
}

static void a_map_is_found_when_it_comes(void **state)
{
	see_memory(&self);
	jit_files_retry(jit);
	assert_string_equal(map_of(&self), "");
	write_file(map_path, "later");
	jit_files_retry(jit);
	assert_string_equal(map_of(&self), "later");
}

static void a_map_that_is_replaced_is_followed_until_the_end(void **state)
{
	write_file(map_path, "first");
	see_memory(&self);
	write_file(other_path, "second");
	assert_int_equal(rename(other_path, map_path), 0);
	jit_files_end(jit, &self, 0);
	assert_string_equal(map_of(&self), "second");
	write_file(other_path, "of somebody else");
	assert_int_equal(rename(other_path, map_path), 0);
	jit_files_retry(jit);
	see_memory(&self);
	assert_string_equal(map_of(&self), "second");
}

/* A program execs another one, and both write maps: the same file, with the other's names. */
static void what_is_written_after_an_exec_is_the_next_images(void **state)
{
	struct jit_image next = self;

	write_file(map_path, "first");
	see_memory(&self);
	usleep(30000); /* more than a tick of the clock of files */
	next.exec_id++;
	next.since = monotonic_ns();
	jit_files_end(jit, &self, next.since);
	assert_string_equal(map_of(&self), "first");
	see_memory(&next);
	assert_string_equal(map_of(&next), "");
	usleep(30000);
	write_file(map_path, "second");
	jit_files_retry(jit);
	assert_string_equal(map_of(&next), "second");
	assert_string_equal(map_of(&self), "");
}

/* The same, known only after the next one has put a file of its own there. */
static void a_map_that_replaced_it_after_an_exec_is_not_taken(void **state)
{
	uint64_t exec_ns;

	write_file(map_path, "first");
	see_memory(&self);
	exec_ns = monotonic_ns();
	usleep(30000);
	write_file(other_path, "second");
	assert_int_equal(rename(other_path, map_path), 0);
	jit_files_end(jit, &self, exec_ns);
	assert_string_equal(map_of(&self), "first");
}

static void only_memory_that_can_hold_a_jits_code_is_watched(void **state)
{
	static const char *const kernels[] = {"[vdso]", "[vsyscall]", "[uprobes]"};

	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		assert_int_equal(jit_files_see(jit, &processes.files, &self, memory_of(kernels[i])),
				 0);
	see_file("/lib/libc.so.6");
	see_file("/tmp/jit-12.dump.gz");
	see_file("/tmp/jit-.dump");
	assert_int_equal(n_watched(), 0);
}

static void what_is_no_file_is_refused(void **state)
{
	write_file(other_path, "through a link");
	assert_int_equal(symlink(other_path, map_path), 0);
	see_memory(&self);
	assert_string_equal(map_of(&self), "");
	unlink(map_path);
	assert_int_equal(mkfifo(map_path, 0600), 0);
	jit_files_retry(jit); /* does not wait for a writer */
	assert_string_equal(map_of(&self), "");
	unlink(map_path);
	assert_int_equal(mkdir(map_path, 0700), 0);
	jit_files_retry(jit);
	assert_string_equal(map_of(&self), "");
	rmdir(map_path);
}

/* A file in another folder, such as root's, where links to other users' files may be created. */
static void a_map_of_two_names_is_refused(void **state)
{
	write_file(other_path, "of another name");
	assert_int_equal(link(other_path, map_path), 0);
	see_memory(&self);
	assert_string_equal(map_of(&self), "");
	unlink(other_path);
	jit_files_retry(jit);
	assert_string_equal(map_of(&self), "of another name");
}

static void a_map_of_an_earlier_process_is_refused(void **state)
{
	const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	write_file(map_path, "of an earlier process");
	assert_int_equal(utimensat(AT_FDCWD, map_path, long_ago, 0), 0);
	see_memory(&self);
	assert_string_equal(map_of(&self), "");
	write_file(map_path, "of this one");
	jit_files_retry(jit);
	assert_string_equal(map_of(&self), "of this one");
}

static void a_map_of_another_user_is_refused(void **state)
{
	if (geteuid() != 0)
		skip(); /* only root can give a file away */
	write_file(map_path, "of nobody");
	assert_int_equal(chown(map_path, 65534, 65534), 0);
	see_memory(&self);
	assert_string_equal(map_of(&self), "");
	assert_int_equal(chown(map_path, 0, 0), 0);
	jit_files_retry(jit);
	assert_string_equal(map_of(&self), "of nobody");
}

/* This PID is ours now, but belonged to another process then: our file is not used for it. */
static void a_pid_used_again_is_not_mixed_up(void **state)
{
	struct jit_image before = self;

	if (geteuid() != 0)
		skip();
	before.start -= 3600 * NSEC_PER_SEC;
	write_file(map_path, "of this one");
	assert_int_equal(chown(map_path, 65534, 65534), 0);
	assert_int_equal(seteuid(65534), 0);
	see_memory(&before);
	see_memory(&self);
	assert_int_equal(seteuid(0), 0);
	assert_string_equal(map_of(&before), "");
	assert_string_equal(map_of(&self), "of this one");
}

static void a_forked_process_has_its_parents_code(void **state)
{
	const struct jit_image child = {.pid = 4194305, .start = self.start + 1},
			       grandchild = {.pid = 4194306, .start = self.start + 2},
			       stranger = {.pid = 4194307};

	write_file(map_path, "of the parent");
	see_memory(&self);
	assert_int_equal(jit_files_fork(jit, &self, &child), 0);
	assert_int_equal(jit_files_fork(jit, &child, &grandchild), 0);
	assert_int_equal(jit_files_fork(jit, &stranger, &(struct jit_image){.pid = 4194308}), 0);
	assert_int_equal(n_watched(), 3);
	jit_files_retry(jit);
	assert_string_equal(map_of(&child), "of the parent");
	assert_string_equal(map_of(&grandchild), "of the parent");
	assert_string_equal(map_of(&stranger), "");
	/* Keeps the parent's map while a descendant needs it. */
	jit_files_release(jit, &processes.files, &self);
	jit_files_release(jit, &processes.files, &child);
	assert_string_equal(map_of(&grandchild), "of the parent");
	jit_files_release(jit, &processes.files, &grandchild);
	assert_int_equal(n_watched(), 0);
}

/* A child that finished its work and waits until it may exit. */
static pid_t start_child(void (*work)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		work();
		raise(SIGSTOP);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The exit of a process that nobody asked about while it lived: looks in our /tmp, by its PID. */
static void nothing(void)
{
}

static void a_map_of_a_process_that_is_gone_is_found_if_roots(void **state)
{
	pid_t pid = start_child(nothing);
	const struct jit_image image = {.pid = pid, .start = start_of(pid)};

	if (geteuid() != 0) {
		end_child(pid);
		skip();
	}
	snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", pid);
	write_file(map_path, "root's");
	assert_int_equal(chown(map_path, 65534, 65534), 0);
	end_child(pid);
	see_memory(&image);
	assert_string_equal(map_of(&image), "");
	assert_int_equal(chown(map_path, 0, 0), 0);
	jit_files_retry(jit);
	assert_string_equal(map_of(&image), "root's");
}

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void copy_self(int to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, n) != n)
			abort();
	close(from);
}

/* Maps @fd or shared memory, and says which file that is according to our own maps. */
static uint32_t file_of_mapping(int fd)
{
	int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
	void *memory = mmap(NULL, PAGE, EXECUTABLE, flags, fd, 0);
	uint32_t process, file;

	if (memory == MAP_FAILED && errno == EPERM)
		skip(); /* mounted noexec */
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(processes_add(&processes, self.pid, self.start, 0, &process), 0);
	assert_int_equal(processes_read_maps(&processes, process), 0);
	file = mapping_find(processes.processes[process].mappings, (uintptr_t)memory)->file;
	munmap(memory, PAGE);
	return file;
}

static bool is_memory_mapped(int fd)
{
	uint32_t file = file_of_mapping(fd);

	return processes.files.files[file].is_memory;
}

static void a_jitdump_is_found_by_its_mapping(void **state)
{
	struct mapping_source source = MAPPING_SOURCE_NONE;
	struct stat wanted, found;
	uint32_t file;
	int fd;

	write_file(in_folder("jit-77.dump"), "dump");
	fd = open(in_folder("jit-77.dump"), O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &wanted), 0);
	if (geteuid() == 0) /* found through the mapping, even after its name is gone */
		unlink(in_folder("jit-77.dump"));
	file = file_of_mapping(fd);
	close(fd);
	assert_false(processes.files.files[file].is_memory);
	jit_files_source(jit, &processes.files, &self, &source);
	assert_int_equal(source.jitdump, processes.files.files[file].fd);
	assert_int_equal(fstat(source.jitdump, &found), 0);
	assert_int_equal(found.st_ino, wanted.st_ino);
}

static void a_jitdump_of_another_user_is_refused(void **state)
{
	struct mapping_source source = MAPPING_SOURCE_NONE;
	int fd;

	if (geteuid() != 0)
		skip();
	write_file(in_folder("jit-78.dump"), "dump");
	assert_int_equal(chown(in_folder("jit-78.dump"), 65534, 65534), 0);
	fd = open(in_folder("jit-78.dump"), O_RDWR | O_CLOEXEC);
	assert_false(is_memory_mapped(fd));
	close(fd);
	jit_files_source(jit, &processes.files, &self, &source);
	assert_int_equal(source.jitdump, -1);
}

static void memory_that_looks_like_a_file_is_none(void **state)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_true(is_memory_mapped(fd));
	close(fd);
	assert_int_equal(processes.files.n_unopened, 0);
}

static void shared_memory_is_no_file(void **state)
{
	assert_true(is_memory_mapped(-1));
}

static void a_program_in_a_memfd_is_a_file(void **state)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint32_t file;

	if (geteuid() != 0)
		skip(); /* /proc/PID/map_files */
	copy_self(fd);
	file = file_of_mapping(fd);
	close(fd);
	assert_false(processes.files.files[file].is_memory);
	assert_true(processes.files.files[file].fd >= 0);
	assert_int_equal(processes.files.files[file].root, UINT32_MAX);
}

/* --- other roots --- */

static void enter_folder(void)
{
	if (chroot(folder) < 0 || chdir("/") < 0)
		abort();
}

static void work_below_folder(void)
{
	int fd;

	enter_folder();
	fd = open("/program", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, "text", 4) != 4 || mkdir("/tmp", 01777) < 0)
		abort();
	if (mmap(NULL, PAGE, EXECUTABLE, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    mmap(NULL, PAGE, EXECUTABLE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		abort();
}

/* As the kernel records the mapping: with the path that the process sees. */
static struct file_name name_of(const char *file, const char *path)
{
	struct stat stat_buffer;

	assert_int_equal(stat(file, &stat_buffer), 0);
	return (struct file_name){major(stat_buffer.st_dev), minor(stat_buffer.st_dev),
				  stat_buffer.st_ino, path};
}

static size_t n_roots(void)
{
	return processes.files.roots.pool.n - processes.files.roots.pool.n_free;
}

static void files_below_other_roots_are_found(void **state)
{
	struct stat wanted, found;
	struct file_name name;
	uint32_t first, later, process;
	pid_t pid;

	if (geteuid() != 0)
		skip(); /* chroot */
	pid = start_child(work_below_folder);
	snprintf(map_path, sizeof map_path, "%s/tmp/perf-%d.map", folder, pid);
	write_file(map_path, "below");
	write_file(in_folder("other"), "text");
	/* Its maps give its root and /tmp, which are known from then on. */
	assert_int_equal(processes_add(&processes, pid, start_of(pid), 0, &process), 0);
	assert_int_equal(processes_read_maps(&processes, process), 0);
	assert_int_equal(n_roots(), 1);
	name = name_of(in_folder("program"), "/program");
	assert_int_equal(files_get(&processes.files, &name, pid, 0, PAGE, &first), 0);
	end_child(pid);
	assert_string_equal(map_of(&(struct jit_image){
				    .pid = pid, .start = processes.processes[process].start}),
			    "below");
	/* A process that is gone is found by the root of a known file. */
	name = name_of(in_folder("other"), "/other");
	assert_int_equal(files_get(&processes.files, &name, pid, 0, PAGE, &later), 0);
	assert_true(processes.files.files[later].fd >= 0);
	assert_int_equal(processes.files.files[later].root, processes.files.files[first].root);
	assert_true(processes.files.files[first].fd >= 0);
	assert_int_equal(processes.files.files[first].root, 0);
	assert_int_equal(fstat(processes.files.roots.items[0].fd, &found), 0);
	assert_int_equal(stat(folder, &wanted), 0);
	assert_int_equal(found.st_ino, wanted.st_ino);
	assert_int_equal(n_roots(), 1);
	/* The root is closed with the last of its files. */
	files_put(&processes.files, later);
	files_put(&processes.files, first);
	assert_int_equal(n_roots(), 1);
	assert_int_equal(processes_take_changed(&processes), process);
	processes_put(&processes, process);
	processes_put(&processes, process);
	assert_int_equal(n_roots(), 0);
}

/* With its debug files we would name our own programs. */
static void a_file_of_two_roots_belongs_to_none(void **state)
{
	struct file_name name;
	uint32_t file, again;
	char path[128];
	pid_t pid;

	if (geteuid() != 0)
		skip(); /* chroot */
	write_file(in_folder("shared"), "text");
	snprintf(path, sizeof path, "%s", in_folder("shared"));
	pid = start_child(enter_folder);
	name = name_of(path, "/shared");
	assert_int_equal(files_get(&processes.files, &name, pid, 0, PAGE, &file), 0);
	assert_int_not_equal(processes.files.files[file].root, UINT32_MAX);
	assert_int_equal(files_get(&processes.files, &name, pid, 0, PAGE, &again), 0);
	assert_int_not_equal(processes.files.files[file].root, UINT32_MAX);
	name.path = path;
	assert_int_equal(files_get(&processes.files, &name, getpid(), 0, PAGE, &again), 0);
	assert_int_equal(file, again);
	assert_int_equal(processes.files.files[file].root, UINT32_MAX);
	assert_int_equal(n_roots(), 0);
	end_child(pid);
}

static void a_file_that_was_out_of_reach_is_opened_for_the_next_process(void **state)
{
	struct file_name name;
	uint32_t first, later;
	pid_t gone = start_child(nothing);
	char path[128];

	end_child(gone);
	write_file(in_folder("hidden"), "text");
	snprintf(path, sizeof path, "%s", in_folder("hidden"));
	name = name_of(path, path);
	assert_int_equal(rename(in_folder("hidden"), other_path), 0);
	assert_int_equal(files_get(&processes.files, &name, gone, 0, PAGE, &first), 0);
	assert_int_equal(processes.files.files[first].fd, -1);
	assert_int_equal(processes.files.n_unopened, 1);
	assert_int_equal(rename(other_path, in_folder("hidden")), 0);
	assert_int_equal(files_get(&processes.files, &name, getpid(), 0, PAGE, &later), 0);
	assert_int_equal(first, later);
	assert_true(processes.files.files[first].fd >= 0);
	assert_int_equal(processes.files.n_unopened, 0);
}

/* --- locating --- */

static void memory_belongs_to_one_image(void **state)
{
	struct mapping memory = {.start = 0x1000, .end = 0x2000};
	struct bf_count_key key = {.user_stack = 5, .process_start = 10, .pid = 4194305};
	struct bf_count count = {.samples = 1};
	__u64 frames[] = {0x1100};
	struct raw_stacks stacks = {};
	struct wakers wakers = {};
	struct locator locator;
	struct profile *profile;
	uint32_t process;

	memory.file = memory_of("//anon");
	files_hold(&processes.files, memory.file); /* held once per mapping, three in all */
	files_hold(&processes.files, memory.file);
	assert_int_equal(profile_new(PROFILE_ONCPU, &profile), 0);
	assert_int_equal(raw_stacks_add(&stacks, 5, 0, frames, 1, BF_END_ENTRY), 0);
	locator_init(&locator, &processes, &stacks, &wakers, profile, true);
	assert_int_equal(processes_add(&processes, 4194305, 10, 0, &process), 0);
	assert_int_equal(processes_map(&processes, 4194305, &memory, 0), 0);
	assert_int_equal(locate(&locator, &key, &count), 0);
	/* The same after an exec, and in another process. */
	assert_int_equal(processes_exec(&processes, 4194305, 0), 0);
	assert_int_equal(processes_map(&processes, 4194305, &memory, 0), 0);
	key.exec_id = 1;
	assert_int_equal(locate(&locator, &key, &count), 0);
	assert_int_equal(processes_add(&processes, 4194306, 10, 0, &process), 0);
	assert_int_equal(processes_map(&processes, 4194306, &memory, 0), 0);
	key.pid = 4194306;
	key.exec_id = 0;
	assert_int_equal(locate(&locator, &key, &count), 0);

	assert_int_equal(profile->n_locations, 3);
	assert_int_equal(profile->n_mappings, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(profile->mappings[i].kind, MAPPING_ANON);
		assert_int_equal(profile->mappings[i].pid, i < 2 ? 4194305 : 4194306);
		assert_int_equal(profile->mappings[i].exec_id, i == 1);
		assert_int_equal(profile->mappings[i].process_start, 10);
	}
	locator_done(&locator);
	raw_stacks_done(&stacks);
	profile_free(profile);
}

#define COLLECT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COLLECT_TEST(a_map_is_found_at_once_and_kept),
		COLLECT_TEST(a_map_is_found_when_it_comes),
		COLLECT_TEST(a_map_that_is_replaced_is_followed_until_the_end),
		COLLECT_TEST(what_is_written_after_an_exec_is_the_next_images),
		COLLECT_TEST(a_map_that_replaced_it_after_an_exec_is_not_taken),
		COLLECT_TEST(only_memory_that_can_hold_a_jits_code_is_watched),
		COLLECT_TEST(what_is_no_file_is_refused),
		COLLECT_TEST(a_map_of_two_names_is_refused),
		COLLECT_TEST(a_map_of_an_earlier_process_is_refused),
		COLLECT_TEST(a_map_of_another_user_is_refused),
		COLLECT_TEST(a_pid_used_again_is_not_mixed_up),
		COLLECT_TEST(a_forked_process_has_its_parents_code),
		COLLECT_TEST(a_map_of_a_process_that_is_gone_is_found_if_roots),
		COLLECT_TEST(a_jitdump_is_found_by_its_mapping),
		COLLECT_TEST(a_jitdump_of_another_user_is_refused),
		COLLECT_TEST(memory_that_looks_like_a_file_is_none),
		COLLECT_TEST(shared_memory_is_no_file),
		COLLECT_TEST(a_program_in_a_memfd_is_a_file),
		COLLECT_TEST(files_below_other_roots_are_found),
		COLLECT_TEST(a_file_of_two_roots_belongs_to_none),
		COLLECT_TEST(a_file_that_was_out_of_reach_is_opened_for_the_next_process),
		COLLECT_TEST(memory_belongs_to_one_image),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

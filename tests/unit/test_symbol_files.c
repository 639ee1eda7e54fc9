/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_files: every place where a debug file may be, below a root made for the test; and files
 * there that don't belong.
 */
#include "unit/made_files.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "symbol/debug_files.h"
#include "symbol/debug_links.h"
#include "symbol/elf_symbols.h"

#define ID   "0123456789abcdef"
#define PATH "/opt/bin/program"

static const char program[] = "int helper(int n) { return n * 3; }\n"
			      "int main(int n, char **a) { return helper(n); }\n";

static struct elf_file file;
static struct debug_files files;
static struct debuginfod debuginfod;
static int root = -1, symfs = -1;
static bool want_dwarf;

static int build(void **state)
{
	made_setup(state);
	made_text("program.c", program);
	made("gcc -O1 -g -Wl,--build-id=0x" ID " -o whole program.c && "
	     "objcopy --only-keep-debug whole debug && strip -o stripped whole && "
	     "strip -g -o symbols whole");
	made("gcc -O1 -g -Wl,--build-id=none -o whole_noid program.c && "
	     "objcopy --only-keep-debug whole_noid program.debug && "
	     "strip -o noid whole_noid && objcopy --add-gnu-debuglink=program.debug noid");
	made("gcc -O1 -g -Wl,--build-id=0xfedcba -o other program.c && "
	     "objcopy --only-keep-debug other other.debug && "
	     "cp stripped linked && objcopy --add-gnu-debuglink=program.debug linked");
	made("gcc -O2 -g -Wl,--build-id=none -o changed program.c && "
	     "objcopy --only-keep-debug changed changed.debug");
	return 0;
}

static int setup(void **state)
{
	made("rm -rf root && mkdir -p root/usr/lib/debug/.build-id/01 root/opt/bin/.debug "
	     "root/usr/lib/debug/opt/bin root/etc");
	root = open(made_path("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	symfs = -1;
	want_dwarf = true;
	debuginfod = (struct debuginfod){};
	unsetenv("DEBUGINFOD_URLS");
	return 0;
}

static int teardown(void **state)
{
	close(root);
	return 0;
}

static void find(const char *name)
{
	struct debug_places places = {made_open(name), root, symfs, &debuginfod, {}};
	struct debug_place place;
	const struct debug_search search = {
		.file = &file, .place = &place, .want_dwarf = want_dwarf};
	char real[PATH_MAX];

	debug_place_init(&places, PATH, real, &place);
	assert_int_equal(elf_file_open(&file, places.file), 0);
	assert_int_equal(debug_files_find(&search, &files), 0);
}

static void done(void)
{
	debug_files_done(&files);
	close(file.fd);
	elf_file_done(&file);
}

/* Asserts that the file at @path below the root has everything that @name lacks. */
static void assert_found(const char *name, const char *path)
{
	find(name);
	assert_int_equal(files.n_opened, 1);
	assert_string_equal(files.opened[0].path, path);
	assert_ptr_equal(files.symbols, &files.opened[0].elf);
	assert_ptr_equal(files.dwarf, &files.opened[0].elf);
	done();
}

static void assert_nothing(const char *name)
{
	find(name);
	assert_int_equal(files.n_opened, 0);
	assert_null(files.symbols);
	assert_null(files.dwarf);
	done();
}

static void a_file_that_has_all_is_enough(void **state)
{
	made("cp debug root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	find("whole");
	assert_ptr_equal(files.symbols, &file);
	assert_ptr_equal(files.dwarf, &file);
	assert_int_equal(files.n_opened, 0);
	done();
}

static void only_what_is_missing_is_taken(void **state)
{
	made("cp debug root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	find("symbols");
	assert_ptr_equal(files.symbols, &file);
	assert_ptr_equal(files.dwarf, &files.opened[0].elf);
	done();
	want_dwarf = false;
	find("symbols");
	assert_ptr_equal(files.symbols, &file);
	assert_null(files.dwarf);
	assert_int_equal(files.n_opened, 0);
	done();
	find("stripped");
	assert_ptr_equal(files.symbols, &files.opened[0].elf);
	assert_null(files.dwarf);
	done();
}

static void by_build_id(void **state)
{
	static const char path[] = "/usr/lib/debug/.build-id/01/23456789abcdef.debug";

	assert_nothing("stripped");
	made("cp debug root%s", path);
	assert_found("stripped", path);
	/* Belongs to another program, or does not say to which. */
	made("cp other.debug root%s", path);
	assert_nothing("stripped");
	made("cp program.debug root%s", path);
	assert_nothing("stripped");
	made("head -c 3000 debug >root%s", path);
	assert_nothing("stripped");
	made("echo text >root%s", path);
	assert_nothing("stripped");
}

static void by_link(void **state)
{
	static const char *const places[] = {"/opt/bin/program.debug",
					     "/opt/bin/.debug/program.debug",
					     "/usr/lib/debug/opt/bin/program.debug"};

	for (size_t i = 0; i < 3; i++) {
		made("cp program.debug root%s", places[i]);
		assert_found("noid", places[i]);
		/* Without a build-id the checksum decides, … */
		made("cp changed.debug root%s", places[i]);
		assert_nothing("noid");
		made("cp program.debug root%s && printf x >>root%s", places[i], places[i]);
		assert_nothing("noid");
		/* … and with one in both files, the build-id does. */
		made("cp debug root%s", places[i]);
		assert_found("linked", places[i]);
		made("cp other.debug root%s", places[i]);
		assert_nothing("linked");
		made("rm root%s", places[i]);
	}
}

/* Other processes have mapped the program: not every user may say what those run. */
static void the_owner_counts(void **state)
{
	static const char path[] = "/usr/lib/debug/.build-id/01/23456789abcdef.debug";

	if (geteuid() != 0)
		skip(); /* only root can give files away */
	made("cp debug root%1$s && chown 1234 root%1$s", path);
	assert_nothing("stripped");
	made("chown 1235 stripped");
	assert_nothing("stripped");
	made("chown 1234 stripped");
	assert_found("stripped", path);
	made("chown 1235 stripped && chown 0 root%s", path);
	assert_found("stripped", path);
	/* The user is responsible for files below --symfs. */
	made("chown 1234 root%s", path);
	symfs = root;
	assert_found("stripped", path);
	made("chown 0 stripped");
}

/* Its owner holds a lease, which would make us wait for 45 s. */
static void leases_make_nobody_wait(void **state)
{
	int fd;

	made("cp debug root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	signal(SIGIO, SIG_IGN);
	fd = open(made_path("root/usr/lib/debug/.build-id/01/23456789abcdef.debug"),
		  O_RDWR | O_CLOEXEC);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		close(fd);
		skip(); /* a filesystem without leases */
	}
	find("stripped");
	assert_true(files.is_held);
	assert_int_equal(files.n_opened, 0);
	done();
	close(fd);
	assert_found("stripped", "/usr/lib/debug/.build-id/01/23456789abcdef.debug");
}

static void links_that_lie(void **state)
{
	struct debug_link link;
	struct elf_file lying;

	made("printf '../../../etc/passwd\\0\\1\\2\\3\\4' >link && cp stripped lying && "
	     "objcopy --add-section .gnu_debuglink=link lying");
	assert_int_equal(elf_file_open(&lying, made_open("lying")), 0);
	assert_int_equal(debug_link_read(&lying, &link), -ENOEXEC);
	close(lying.fd);
	elf_file_done(&lying);
	made("printf 'name' >link && cp stripped lying && "
	     "objcopy --add-section .gnu_debuglink=link lying");
	assert_int_equal(elf_file_open(&lying, made_open("lying")), 0);
	assert_int_equal(debug_link_read(&lying, &link), -ENOEXEC);
	close(lying.fd);
	elf_file_done(&lying);
}

static void mini_debug_info(void **state)
{
	made("nm whole --format=posix --defined-only | awk '$2 ~ /[tT]/ {print $1}' >keep && "
	     "objcopy -S --remove-section .gnu_debuglink --remove-section .comment "
	     "--keep-symbols=keep debug mini && rm -f mini.xz && xz mini && cp stripped minidebug "
	     "&& "
	     "objcopy --add-section .gnu_debugdata=mini.xz minidebug");
	find("minidebug");
	assert_int_equal(files.n_opened, 1);
	assert_ptr_equal(files.symbols, &files.opened[0].elf);
	assert_non_null(files.opened[0].image);
	assert_null(files.dwarf);
	done();
	/* A real debug file has more and comes first. */
	made("cp debug root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	assert_found("minidebug", "/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	made("rm root/usr/lib/debug/.build-id/01/* && head -c 100 mini.xz >short && "
	     "cp stripped minidebug && objcopy --add-section .gnu_debugdata=short minidebug");
	assert_nothing("minidebug");
}

static void symfs_goes_first(void **state)
{
	made("rm -rf sysroot && mkdir -p sysroot/opt/bin && cp whole sysroot/opt/bin/program && "
	     "cp debug root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	symfs = open(made_path("sysroot"), O_PATH | O_CLOEXEC);
	assert_found("stripped", PATH);
	/* Comes even before the file itself. */
	assert_found("whole", PATH);
	/* If a file does not identify itself, the user is responsible. */
	made("cp whole_noid sysroot/opt/bin/program");
	assert_found("stripped", PATH);
	made("cp other sysroot/opt/bin/program");
	assert_found("stripped", "/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	made("mkdir -p sysroot/usr/lib/debug/.build-id/01 && "
	     "cp debug sysroot/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	find("stripped");
	assert_int_equal(files.opened[0].root, DEBUG_SYMFS);
	done();
	close(symfs);
}

static void a_shared_file(void **state)
{
	struct debug_alternate_link link;

	if (!made_try("dwz --version >/dev/null"))
		skip();
	made("mkdir -p root/usr/lib/debug/.dwz && gcc -O1 -g -Wl,--build-id=0x77 -o second "
	     "program.c "
	     "&& cp whole first && dwz -l none -M /usr/lib/debug/.dwz/common -m common first "
	     "second");
	made("objcopy --only-keep-debug first "
	     "root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	find("stripped");
	assert_non_null(files.dwarf);
	assert_null(files.alternate);
	assert_int_equal(debug_alternate_link_read(files.dwarf, &link), 0);
	assert_string_equal(link.path, "/usr/lib/debug/.dwz/common");
	done();

	made("cp common root/usr/lib/debug/.dwz/common");
	find("stripped");
	assert_non_null(files.alternate);
	done();
	/* A different file of that name does not count. */
	made("cp other.debug root/usr/lib/debug/.dwz/common");
	find("stripped");
	assert_null(files.alternate);
	done();

	/* Relative to the debug file, or to the target of a link to it. */
	made("gcc -O1 -g -Wl,--build-id=0x77 -o second program.c && cp whole first && "
	     "dwz -l none -r -m common first second && rm root/usr/lib/debug/.dwz/common && "
	     "mkdir -p root/usr/lib/debug/real && cp common root/usr/lib/debug/real/ && "
	     "objcopy --only-keep-debug first root/usr/lib/debug/real/first && "
	     "ln -sf ../../real/first root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
	find("stripped");
	assert_non_null(files.dwarf);
	assert_int_equal(debug_alternate_link_read(files.dwarf, &link), 0);
	assert_true(link.path[0] != '/');
	assert_non_null(files.alternate);
	done();
}

/* ---- debuginfod: a script in place of the real program */

static void install_client(const char *script)
{
	char text[PATH_MAX * 2];

	made("mkdir -p tools");
	made_text("tools/debuginfod-find", script);
	made("chmod +x tools/debuginfod-find");
	snprintf(text, sizeof text, "%s:/usr/bin:/bin", made_path("tools"));
	setenv("PATH", text, 1);
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	setenv("DEBUGINFOD_CACHE_PATH", made_path("cache"), 1);
}

static void debuginfod_is_asked(void **state)
{
	char script[PATH_MAX * 2];

	snprintf(script, sizeof script, "#!/bin/sh\necho \"$@\" >>%s\n[ $2 = " ID " ] && echo %s\n",
		 made_path("asked"), made_path("debug"));
	made("rm -f asked");
	install_client(script);
	find("stripped");
	assert_non_null(files.symbols);
	assert_non_null(files.dwarf);
	done();
	made("[ \"$(cat asked)\" = 'debuginfo " ID "' ]");
	/* Not unless the user asks for it. */
	unsetenv("DEBUGINFOD_URLS");
	assert_nothing("stripped");
	setenv("DEBUGINFOD_URLS", " ", 1);
	assert_nothing("stripped");
	/* Not if nothing is missing, or there is no id to ask for. */
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	find("whole");
	done();
	assert_nothing("noid");
	made("[ \"$(wc -l <asked)\" = 1 ]");
}

static void debuginfod_may_be_wrong(void **state)
{
	char script[PATH_MAX * 2];

	snprintf(script, sizeof script, "#!/bin/sh\necho %s\n", made_path("other.debug"));
	install_client(script);
	assert_nothing("stripped");
	install_client("#!/bin/sh\necho relative/path\n");
	assert_nothing("stripped");
	install_client("#!/bin/sh\nexit 1\n");
	assert_nothing("stripped");
	install_client("#!/bin/sh\nyes | head -c 1000000\n");
	assert_nothing("stripped");
	assert_false(debuginfod.is_off);
	/* After one failure the file is not asked for again. */
	made("rm tools/debuginfod-find");
	setenv("PATH", "/nonexistent", 1);
	assert_nothing("stripped");
	assert_true(debuginfod.is_off);
	setenv("PATH", "/usr/bin:/bin", 1);
}

static void debuginfod_may_hang(void **state)
{
	struct timespec before, after;

	install_client("#!/bin/sh\nexec sleep 100\n");
	debuginfod.limit_ns = 200 * 1000000;
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_nothing("stripped");
	assert_true(debuginfod.is_off);
	assert_nothing("stripped");
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 10);
}

static void debuginfod_has_a_cache(void **state)
{
	install_client("#!/bin/sh\nexit 1\n");
	made("mkdir -p cache/" ID " && cp debug cache/" ID "/debuginfo");
	find("stripped");
	assert_non_null(files.dwarf);
	done();
	made("cp other.debug cache/" ID "/debuginfo");
	assert_nothing("stripped");
	made(": >cache/" ID "/debuginfo");
	assert_nothing("stripped");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	made("rm -r cache && mkdir -p .cache/debuginfod_client/" ID
	     " && cp debug .cache/debuginfod_client/" ID "/debuginfo");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", made_folder, 1);
	find("stripped");
	assert_non_null(files.dwarf);
	done();
}

#define FILES_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES_TEST(a_file_that_has_all_is_enough),
		FILES_TEST(only_what_is_missing_is_taken),
		FILES_TEST(by_build_id),
		FILES_TEST(by_link),
		FILES_TEST(the_owner_counts),
		FILES_TEST(leases_make_nobody_wait),
		FILES_TEST(links_that_lie),
		FILES_TEST(mini_debug_info),
		FILES_TEST(symfs_goes_first),
		FILES_TEST(a_shared_file),
		FILES_TEST(debuginfod_is_asked),
		FILES_TEST(debuginfod_may_be_wrong),
		FILES_TEST(debuginfod_may_hang),
		FILES_TEST(debuginfod_has_a_cache),
	};

	return cmocka_run_group_tests(tests, build, made_done);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes lack names, and what would provide them. */
#include "unit/cmocka_all.h"

#include "record/unnamed.h"
#include "made_profile.h"

static struct profile *profile;
static struct unnamed unnamed;

static int setup(void **state)
{
	return profile_new(PROFILE_ONCPU, &profile);
}

static int teardown(void **state)
{
	profile_free(profile);
	return 0;
}

static const char *build_id = "0123";

static uint32_t mapping_of(enum mapping_kind kind, const char *path)
{
	struct profile_mapping mapping = {.kind = kind,
					  .path = made_string(profile, path),
					  .build_id = made_string(profile, build_id)};
	uint32_t index;

	made_check(profile_add_mapping(profile, &mapping, &index), "profile_add_mapping");
	return index;
}

/* @count samples of @pid, with one frame at @address of @mapping, called @name. */
static void add(uint32_t pid, const char *comm, uint32_t mapping, uint64_t address,
		const char *name, uint64_t count)
{
	struct profile_sample sample = {
		.pid = pid, .comm = made_string(profile, comm), .count = count};
	struct profile_frame frame = {.kind = FRAME_USER, .function = made_string(profile, name)};
	uint32_t location;

	made_check(profile_add_location(profile, mapping, address, false, &location), "location");
	if (!profile->locations[location].n_frames)
		made_check(profile_set_frames(profile, location, &frame, 1), "profile_set_frames");
	made_check(profile_add_stack(profile, &location, 1, STACK_COMPLETE, &sample.stack),
		   "stack");
	made_check(profile_add_sample(profile, &sample), "profile_add_sample");
}

static void find(const char *urls, const char *os_release)
{
	assert_int_equal(unnamed_find(profile, urls, os_release, &unnamed), 0);
}

static void expect_advice(size_t i, uint32_t pid, const char *advice)
{
	assert_in_range(i, 0, unnamed.n - 1);
	assert_int_equal(unnamed.processes[i].pid, pid);
	assert_string_equal(unnamed.processes[i].advice, advice);
}

/* Generated code, named by the runtime whose library is also on the stacks. */
static void expect_runtime(const char *path, const char *advice)
{
	setup(NULL);
	add(123, "worker", mapping_of(MAPPING_FILE, path), 1, "run", 49);
	add(123, "worker", mapping_of(MAPPING_ANON, "[anon]"), 2, "[anon]", 51);
	find(NULL, "ID=debian");
	expect_advice(0, 123, advice);
	assert_string_equal(unnamed.processes[0].comm, "worker");
	assert_int_equal(unnamed.processes[0].frames, 100);
	assert_int_equal(unnamed.processes[0].unnamed, 51);
	teardown(NULL);
}

static void test_runtimes(void **state)
{
	expect_runtime("/usr/lib/jvm/lib/server/libjvm.so", "jcmd 123 Compiler.perfmap");
	expect_runtime("/usr/bin/node", "start it with node --perf-basic-prof");
	expect_runtime("/usr/bin/python3.13", "start it with python3 -X perf");
	expect_runtime("/opt/dotnet/libcoreclr.so", "start it with DOTNET_PerfMapEnabled=1");
	expect_runtime("/usr/bin/mono-sgen", "start it with mono --jitmap");
	expect_runtime("/usr/bin/qemu-aarch64-static",
		       "start it with -perfmap (QEMU 8.0 or newer)");
	expect_runtime("/usr/bin/other", "its runtime has to write /tmp/perf-123.map or a jitdump");
}

/* A file's names are in its debug package, or on the distribution's server. */
static void test_files(void **state)
{
	uint32_t library = mapping_of(MAPPING_FILE, "/usr/lib/libother.so.1");

	add(7, "program", mapping_of(MAPPING_FILE, "/usr/bin/program"), 1, "[program+0x1]", 10);
	add(7, "program", library, 2, "[libother.so.1+0x2]", 20);
	find(NULL, "NAME=x\nID=debian\nVERSION_ID=12");
	expect_advice(0, 7,
		      "most in libother.so.1: DEBUGINFOD_URLS=https://debuginfod.debian.net (apt "
		      "install debuginfod), or its debug package");
	find("", "ID_LIKE=debian\nID=\"ubuntu\"\n");
	assert_non_null(strstr(unnamed.processes[0].advice, "https://debuginfod.ubuntu.com"));
	find("https://x", "ID=debian");
	expect_advice(0, 7, "most in libother.so.1: its debug package (-dbgsym, -debuginfo)");
	find(NULL, "ID=unknown");
	expect_advice(0, 7, "most in libother.so.1: its debug package (-dbgsym, -debuginfo)");
	find(NULL, "");
	expect_advice(0, 7, "most in libother.so.1: its debug package (-dbgsym, -debuginfo)");
}

/* Without a build ID, no server and no package has names: Free Pascal's programs, SBCL's images. */
static void test_no_build_id(void **state)
{
	build_id = "";
	add(7, "sbcl", mapping_of(MAPPING_FILE, "/usr/lib/sbcl.core"), 1, "[sbcl.core+0x1]", 10);
	build_id = "0123";
	find(NULL, "ID=debian");
	expect_advice(0, 7, "most in sbcl.core: no symbols in it, and no build ID to find them by");
}

/* A process with few unnamed frames, or few frames at all, is not worth a line. */
static void test_few(void **state)
{
	uint32_t mapping = mapping_of(MAPPING_FILE, "/usr/bin/program");

	find(NULL, "");
	assert_int_equal(unnamed.n, 0);
	add(1, "named", mapping, 1, "f", 910);
	add(1, "named", mapping, 2, "[program+0x2]", 90);
	add(2, "small", mapping, 2, "[program+0x2]", 9);
	add(3, "kernel", mapping_of(MAPPING_KERNEL, ""), 3, "[kernel]", 5000);
	find(NULL, "");
	assert_int_equal(unnamed.n, 0);
	add(2, "small", mapping, 2, "[program+0x2]", 9);
	find(NULL, "");
	assert_int_equal(unnamed.n, 1);
	assert_int_equal(unnamed.processes[0].pid, 2);
}

static void test_order(void **state)
{
	uint32_t mapping = mapping_of(MAPPING_FILE, "/usr/bin/program");

	for (uint32_t pid = 1; pid <= 5; pid++)
		add(pid, (char[]){'p', '0' + pid, '\0'}, mapping, 2, "[program+0x2]",
		    10 * (pid == 4 ? 9 : pid));
	find(NULL, "");
	assert_int_equal(unnamed.n, UNNAMED_MOST);
	assert_int_equal(unnamed.processes[0].pid, 4);
	assert_int_equal(unnamed.processes[1].pid, 5);
	assert_int_equal(unnamed.processes[2].pid, 3);
}

/* A pool of workers is one line. */
static void test_alike(void **state)
{
	uint32_t mapping = mapping_of(MAPPING_FILE, "/usr/bin/program");

	for (uint32_t pid = 1; pid <= 6; pid++) {
		add(pid, pid == 5 ? "other" : "worker", mapping, 1, "f", 10);
		add(pid, pid == 5 ? "other" : "worker", mapping, 2, "[program+0x2]", 10 * pid);
	}
	find(NULL, "");
	assert_int_equal(unnamed.n, 2);
	assert_int_equal(unnamed.processes[0].pid, 6);
	assert_int_equal(unnamed.processes[0].n_alike, 5);
	assert_int_equal(unnamed.processes[0].frames, 50 + 160);
	assert_int_equal(unnamed.processes[0].unnamed, 160);
	assert_int_equal(unnamed.processes[1].pid, 5);
	assert_int_equal(unnamed.processes[1].n_alike, 1);
}

/* Microsoft's builds are in no debuginfod of a distribution. */
static void test_microsoft(void **state)
{
	static const char folder[] = "dotnet/shared/Microsoft.NETCore.App/9.0.1/libcoreclr.so";
	char path[128];

	snprintf(path, sizeof path, "/usr/share/%s", folder);
	add(7, "app", mapping_of(MAPPING_FILE, path), 1, "[libcoreclr.so+0x1]", 10);
	snprintf(path, sizeof path, "/usr/lib/%s", folder);
	add(8, "app", mapping_of(MAPPING_FILE, path), 2, "[libcoreclr.so+0x2]", 9);
	find(NULL, "ID=ubuntu");
	expect_advice(0, 7,
		      "most in libcoreclr.so, which Microsoft builds: no distribution has "
		      "its symbols");
	assert_non_null(strstr(unnamed.processes[1].advice, "debuginfod.ubuntu.com"));
}

/* A process that has ended is called as its first thread was, if samples know their threads. */
static void test_threads(void **state)
{
	uint32_t mapping = mapping_of(MAPPING_ANON, "[anon]");

	add(9, "GC Thread#0", mapping, 1, "[anon]", 10);
	add(9, "java", mapping, 2, "[anon]", 1);
	add(9, "worker", mapping, 3, "[anon]", 5);
	profile->samples[0].tid = 11;
	profile->samples[1].tid = 9;
	profile->samples[2].tid = 10;
	find(NULL, "");
	assert_int_equal(unnamed.n, 1);
	assert_string_equal(unnamed.processes[0].comm, "java");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_few, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alike, setup, teardown),
		cmocka_unit_test_setup_teardown(test_microsoft, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

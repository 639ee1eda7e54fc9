/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about machines and commits of checkouts, from files made for the test. */
#include <errno.h>
#include <sys/utsname.h>

#include "store/checkout.h"
#include "store/machine.h"
#include "unit/made_files.h"

#define HASH "0123456789abcdef0123456789abcdef01234567"

static int setup(void **state)
{
	made_setup(state);
	made("mkdir -p proc sys/devices/system/cpu/cpu0/cpufreq sys/class/dmi/id");
	return 0;
}

static void machine_of_x86(void **state)
{
	struct machine machine;
	struct utsname system;

	made_text("proc/cpuinfo", "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\n"
				  "model name\t: AMD EPYC 7763\nflags\t\t: fpu hypervisor vme\n\n"
				  "processor\t: 1\nmodel name\t: another\nflags\t\t: fpu\n");
	made_text("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
	made_text("sys/devices/system/cpu/online", "0-2,5\n");
	made_text("sys/class/dmi/id/sys_vendor", "QEMU\n");
	made_text("sys/class/dmi/id/product_name", "Standard PC\n");
	made_text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
	made_text("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
	machine_read(made_folder, &machine);
	assert_string_equal(machine.cpu_model, "AMD EPYC 7763");
	assert_int_equal(machine.is_virtual, VIRTUAL_YES);
	assert_int_equal(machine.cpus, 4);
	assert_int_equal(machine.memory, 2048 * 1024);
	assert_string_equal(machine.product, "QEMU Standard PC");
	assert_string_equal(machine.governor, "powersave");
	assert_int_equal(machine.max_kilohertz, 3500000);
	assert_int_equal(uname(&system), 0);
	assert_string_equal(machine.kernel, system.release);
	assert_string_equal(machine.host, system.nodename);
	assert_string_equal(machine.architecture, system.machine);
}

static void not_virtual(void **state)
{
	struct machine machine;

	/* A flag that has this one as a prefix is another flag. */
	made_text("proc/cpuinfo", "model name : Xeon\nflags : fpu hypervisor_x xhypervisor\n");
	machine_read(made_folder, &machine);
	assert_int_equal(machine.is_virtual, VIRTUAL_NO);
}

static void machine_of_arm(void **state)
{
	struct machine machine;

	made_text("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"
				  "CPU part\t: 0xd0c\n\nprocessor : 1\nCPU part : 0xfff\n");
	made("mkdir -p sys/hypervisor && echo xen >sys/hypervisor/type");
	machine_read(made_folder, &machine);
	assert_string_equal(machine.cpu_model, "implementer 0x41 part 0xd0c");
	assert_int_equal(machine.is_virtual, VIRTUAL_YES);
}

static void nothing_to_read(void **state)
{
	struct machine machine;

	made("rm -r proc sys");
	machine_read(made_folder, &machine);
	assert_string_equal(machine.cpu_model, "");
	assert_int_equal(machine.cpus, 0);
	assert_int_equal(machine.memory, 0);
	assert_int_equal(machine.is_virtual, VIRTUAL_UNKNOWN);
}

static void hostile_machine(void **state)
{
	struct machine machine;

	/* A line without an end, longer than any buffer. */
	made("printf 'model name : ' >proc/cpuinfo; head -c 100000 /dev/zero | tr '\\0' x "
	     ">>proc/cpuinfo; printf 'MemTotal' >proc/meminfo; "
	     "echo 5-3 >sys/devices/system/cpu/online");
	machine_read(made_folder, &machine);
	assert_int_equal(strlen(machine.cpu_model), sizeof machine.cpu_model - 1);
	assert_int_equal(machine.cpus, 0);
	assert_int_equal(machine.memory, 0);
}

/* Checkouts */

static void expect_checkout(const char *folder, const char *commit, const char *branch)
{
	struct checkout checkout;

	assert_int_equal(checkout_read(made_path(folder), &checkout), 0);
	assert_string_equal(checkout.commit, commit);
	assert_string_equal(checkout.branch, branch);
}

static void expect_none(const char *folder, int error)
{
	struct checkout checkout = {.commit = "untouched"};

	assert_int_equal(checkout_read(made_path(folder), &checkout), error);
	assert_string_equal(checkout.commit, "untouched");
}

/* @name: preceded by options for git init. Makes one commit. */
static void make_repository(const char *name, char commit[static 128])
{
	FILE *stream;

	if (system("git --version >/dev/null 2>&1") != 0)
		skip();
	made("git init -q -b main %s && set -- %s && shift $(($# - 1)) && cd $1 && "
	     "git config user.email a@b && git config user.name a && "
	     "git commit -q --allow-empty -m one && git rev-parse HEAD >../one",
	     name, name);
	stream = fopen(made_path("one"), "r");
	assert_non_null(fgets(commit, 128, stream));
	fclose(stream);
	commit[strcspn(commit, "\n")] = '\0';
}

static void checkout_of_git(void **state)
{
	char commit[128];

	make_repository("repo", commit);
	made("git init -q none; cd repo && mkdir -p a/b && git branch feature/x && "
	     "git worktree add -q ../other feature/x");
	expect_none("none", -ENODATA);
	expect_checkout("repo", commit, "main");
	expect_checkout("repo/a/b", commit, "main");
	expect_checkout("other", commit, "feature/x");
	made("cd repo && git pack-refs --all");
	expect_checkout("repo/a", commit, "main");
	expect_checkout("other", commit, "feature/x");
	made("cd repo && git checkout -q --detach");
	expect_checkout("repo", commit, "");
	/* A hash of 64 digits. */
	make_repository("--object-format=sha256 long", commit);
	assert_int_equal(strlen(commit), 64);
	expect_checkout("long", commit, "main");
	/* A branch name that is too long. */
	made("cd long && git checkout -q -b $(printf %%0200d 1)/$(printf %%0200d 1)");
	expect_checkout("long", commit, "");
}

/* Only git can resolve these: HEAD as a link, and reference tables. */
static void checkout_of_other_layouts(void **state)
{
	char commit[128];

	make_repository("repo", commit);
	made("cd repo/.git && rm HEAD && ln -s refs/heads/main HEAD");
	expect_checkout("repo", commit, "main");
	if (system("git init -h 2>&1 | grep -q ref-format") != 0) {
		print_message("this git has no tables of references: before 2.45\n");
		return;
	}
	make_repository("--ref-format=reftable tables", commit);
	expect_checkout("tables", commit, "main");
	made("cd tables && git worktree add -q ../third -b third");
	expect_checkout("third", commit, "third");
}

/* Git's version decides which of the two. */
static void expect_refused(const char *folder)
{
	struct checkout checkout = {.commit = "untouched"};
	int r = checkout_read(made_path(folder), &checkout);

	assert_true(r == -ENOENT || r == -ENODATA);
	assert_string_equal(checkout.commit, "untouched");
}

static void hostile_checkouts(void **state)
{
	char commit[128];

	make_repository("r", commit);
	made("echo " HASH " >secret; rm r/.git/refs/heads/main");
	made("echo 'ref: refs/../../secret' >r/.git/HEAD");
	expect_refused("r");
	made("echo 'ref: refs/heads/a' >r/.git/HEAD; cp r/.git/HEAD r/.git/refs/heads/a");
	expect_refused("r");
	made("head -c 10000 /dev/zero | tr '\\0' a >r/.git/HEAD");
	expect_refused("r");
	made("rm r/.git/HEAD");
	expect_refused("r");
	made("mkdir plain; echo nonsense >plain/.git");
	expect_none("plain", -ENOENT);
	expect_none("missing", -ENOENT);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, made_done)
	const struct CMUnitTest tests[] = {
		TEST(machine_of_x86),
		TEST(not_virtual),
		TEST(machine_of_arm),
		TEST(nothing_to_read),
		TEST(hostile_machine),
		TEST(checkout_of_git),
		TEST(checkout_of_other_layouts),
		TEST(hostile_checkouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

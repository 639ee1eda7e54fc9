/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "collect/rights.h"

#define BIT(capability) (1ULL << (capability))
#define BOTH		(BIT(CAP_BPF) | BIT(CAP_PERFMON))

#define assert_contains(text, part)                                                                \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("'%s' does not say '%s'", text, part);                            \
	} while (0)

/* The message for -EPERM, with both texts. */
static void says(struct rights rights, enum rights_of tried, const char *what, const char *fix)
{
	struct failure failure = {};

	assert_true(rights_explain_with(&rights, tried, -EPERM, &failure));
	assert_contains(failure.what, what);
	assert_contains(failure.fix, fix);
	/* A fix that is cut off would be useless. */
	assert_true(strlen(failure.what) < sizeof failure.what - 1);
	assert_true(strlen(failure.fix) < sizeof failure.fix - 1);
}

static void missing_capabilities_are_named(void **state)
{
	says((struct rights){}, RIGHTS_BPF, "CAP_BPF and CAP_PERFMON are missing",
	     "sudo setcap cap_bpf,cap_perfmon+ep");
	says((struct rights){.capabilities = BIT(CAP_BPF)}, RIGHTS_BPF, "CAP_PERFMON is missing",
	     "sudo bpfflame");
	says((struct rights){.capabilities = BIT(CAP_PERFMON)}, RIGHTS_PERF_EVENTS,
	     "open perf events: CAP_BPF is missing", "root");
}

static void restricted_events_are_explained(void **state)
{
	static const char *const fixes[] = {
		[PLACE_HOST] = "sysctl kernel.perf_event_paranoid=2",
		[PLACE_DOCKER] = "docker run --cap-add=SYS_ADMIN",
		[PLACE_KUBERNETES] = "add: [SYS_ADMIN]",
	};
	struct rights rights = {.capabilities = BOTH, .perf_restricted = true};
	struct failure failure = {};

	for (enum rights_place place = PLACE_HOST; place <= PLACE_KUBERNETES; place++) {
		rights.place = place;
		assert_true(rights_explain_with(&rights, RIGHTS_PERF_EVENTS, -EACCES, &failure));
		assert_contains(failure.what, "kernel.perf_event_paranoid");
		assert_contains(failure.fix, fixes[place]);
		assert_true(strlen(failure.fix) < sizeof failure.fix - 1);
	}
	rights.capabilities = ~0ULL;
	assert_false(rights_explain_with(&rights, RIGHTS_PERF_EVENTS, -EACCES, &failure));
}

static void each_place_has_its_way(void **state)
{
	says((struct rights){.place = PLACE_DOCKER, .is_root = true}, RIGHTS_BPF, "CAP_BPF",
	     "docker run --cap-add=BPF --cap-add=PERFMON");
	says((struct rights){.place = PLACE_DOCKER}, RIGHTS_BPF, "CAP_BPF",
	     "docker run --user=0 --cap-add=BPF");
	says((struct rights){.place = PLACE_KUBERNETES, .is_root = true}, RIGHTS_BPF, "CAP_BPF",
	     "securityContext: {capabilities: {add: [BPF, PERFMON]}}");
	says((struct rights){.place = PLACE_KUBERNETES}, RIGHTS_BPF, "CAP_BPF", "{runAsUser: 0, ");
	says((struct rights){.can_gain_none = true}, RIGHTS_BPF, "CAP_BPF", "AmbientCapabilities=");
}

static void obstacles_to_capabilities_are_named(void **state)
{
	struct rights rights = {.capabilities = ~0ULL, .is_root = true};

	for (enum rights_place place = PLACE_HOST; place <= PLACE_KUBERNETES; place++) {
		rights.place = place;
		rights.bpf_filtered = true;
		says(rights, RIGHTS_BPF, "refuses bpf()", "perf_event_open");
		rights.perf_filtered = true;
		says(rights, RIGHTS_BPF, "refuses bpf() and perf_event_open()", "");
		rights.bpf_filtered = false;
		says(rights, RIGHTS_PERF_EVENTS, "refuses perf_event_open()", "");
		rights.perf_filtered = false;
		says(rights, RIGHTS_BPF, "security module", "dmesg");
	}
}

static void a_user_namespace_is_said_first(void **state)
{
	says((struct rights){.in_user_namespace = true, .capabilities = ~0ULL}, RIGHTS_BPF,
	     "user namespace", "root");
	says((struct rights){.in_user_namespace = true}, RIGHTS_PERF_EVENTS, "user namespace",
	     "containers.md");
}

static void limits_and_lockdown(void **state)
{
	struct rights rights = {.capabilities = BOTH, .memory_limited = true};

	says(rights, RIGHTS_PERF_EVENTS, "locked memory", "ulimit -l");
	rights.place = PLACE_DOCKER;
	says(rights, RIGHTS_PERF_EVENTS, "locked memory", "--ulimit memlock=-1");
	rights.place = PLACE_KUBERNETES;
	says(rights, RIGHTS_PERF_EVENTS, "locked memory", "IPC_LOCK");
	says(rights, RIGHTS_BPF, "security module", "");
	rights.capabilities |= BIT(CAP_IPC_LOCK);
	says(rights, RIGHTS_PERF_EVENTS, "security module", "");
	rights.locked_down = true;
	says(rights, RIGHTS_BPF, "locked down", "integrity");
}

static void other_errors_are_not_explained(void **state)
{
	static const int errors[] = {-EINVAL, -ENOMEM, -ENOENT, -E2BIG};
	struct rights all = {.capabilities = ~0ULL}, none = {};
	struct failure failure = {};

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		assert_false(rights_explain_with(&all, RIGHTS_BPF, errors[i], &failure));
		assert_false(rights_explain_with(&none, RIGHTS_BPF, errors[i], &failure));
	}
	/* Refused by the verifier, with all rights. */
	assert_false(rights_explain_with(&all, RIGHTS_BPF, -EACCES, &failure));
	assert_true(rights_explain_with(&none, RIGHTS_BPF, -EACCES, &failure));
	/* What sandboxes return for system calls that they do not know. */
	all.bpf_filtered = true;
	assert_true(rights_explain_with(&all, RIGHTS_BPF, -ENOSYS, &failure));
}

static void our_own_rights_can_be_read(void **state)
{
	struct rights rights;
	char text[200];

	rights_read(&rights);
	assert_false(rights.bpf_filtered && !rights.capabilities);
	rights_fix_for_files(text, sizeof text);
	assert_true(strlen(text) < sizeof text - 1);
	assert_false(rights_is_hidden(getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_capabilities_are_named),
		cmocka_unit_test(restricted_events_are_explained),
		cmocka_unit_test(each_place_has_its_way),
		cmocka_unit_test(obstacles_to_capabilities_are_named),
		cmocka_unit_test(a_user_namespace_is_said_first),
		cmocka_unit_test(limits_and_lockdown),
		cmocka_unit_test(other_errors_are_not_explained),
		cmocka_unit_test(our_own_rights_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

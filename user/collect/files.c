/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/system.h"
#include "base/text.h"

#define MAX_ROOTS_TRIED 64 /* for a file of a process that has ended */

/* Limits for each user's files: open ones; mappings; CPU time for making tables. */
#define MOST_OPEN	 4096
#define MOST_MAPPED	 500000 /* some 16 MB, and as much in the tables of BPF */
#define TABLES_CPU_NS	 NSEC_PER_SEC
#define TABLES_CPU_SHARE 0.05
#define MEMORY_NS	 (2 * NSEC_PER_SEC)
#define MEMORY_SHARE	 0.2

void files_init(struct files *files)
{
	struct rlimit limit;
	struct stat root;

	*files = (struct files){
		.budgets = {.cpu_ns = TABLES_CPU_NS,
			    .cpu_share = TABLES_CPU_SHARE,
			    .since_ns = monotonic_ns(),
			    .most_open = MOST_OPEN,
			    .most_mapped = MOST_MAPPED},
		.memory_budgets = {.cpu_ns = MEMORY_NS,
				   .cpu_share = MEMORY_SHARE,
				   .since_ns = monotonic_ns()},
		.last_root.fd = -1,
	};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max / 4 < MOST_OPEN)
		files->budgets.most_open = limit.rlim_max / 4;
	if (stat("/", &root) == 0) {
		files->own_root_device = root.st_dev;
		files->own_root_inode = root.st_ino;
	}
}

void files_done(struct files *files)
{
	for (size_t i = 0; i < files->pool.n; i++) {
		if (!files->files[i].n_references)
			continue;
		closep(&files->files[i].fd);
		free(files->files[i].path);
	}
	files_forget_root(files);
	free(files->files);
	free(files->pool.free);
	table_done(&files->by_name);
	folders_done(&files->roots);
	budgets_done(&files->budgets);
	budgets_done(&files->memory_budgets);
	*files = (struct files){};
}

/* --- Finding the file of a name --- */

/* The kernel's name for @fd when mapped: on some filesystems it differs from stat(). */
static bool is_mapped_as(int fd, const struct file_name *name)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_NONE, MAP_PRIVATE, fd, 0);
	struct maps_entry entry = {};
	char path[PATH_MAX];

	if (memory == MAP_FAILED)
		return false;
	if (maps_find(getpid(), (uintptr_t)memory, &entry, path) <= 0)
		entry.name.inode = 0;
	munmap(memory, page);
	return entry.name.inode == name->inode && entry.name.device_major == name->device_major &&
	       entry.name.device_minor == name->device_minor;
}

/* Snapshots of a filesystem share the kernel's device and the numbers of inodes. */
static bool is_ambiguous(int fd)
{
	return fd >= 0 && foreign_filesystem(fd) == BTRFS_SUPER_MAGIC;
}

/* Takes over @fd. Returns it if it is the file of that name, or -1. */
static int verify_open(int fd, uint32_t filesystem, const struct file_name *name)
{
	struct stat stat;

	if (fd < 0)
		return -1;
	/* Records and maps disagree on overlayfs in some kernels. */
	if ((foreign_status(fd, &stat) == 0 && stat.st_ino == name->inode &&
	     (stat.st_dev == makedev(name->device_major, name->device_minor) ||
	      filesystem == OVERLAYFS_SUPER_MAGIC)) ||
	    is_mapped_as(fd, name))
		return fd;
	close(fd);
	return -1;
}

/*
 * Takes over @place, which is not open yet. Returns it, open, if it is the file of that name, or
 * -1.
 */
static int verify(int place, const struct file_name *name)
{
	int fd = place < 0 ? -1 : foreign_open_found(place);

	closep(&place);
	return verify_open(fd, fd < 0 ? 0 : foreign_filesystem(fd), name);
}

/* The folder @root as one of files->roots, with a reference; UINT32_MAX if it is our own. */
static uint32_t find_root(struct files *files, int root)
{
	struct stat stat;
	uint32_t found;
	int copy;

	if (foreign_status(root, &stat) < 0 ||
	    (stat.st_dev == files->own_root_device && stat.st_ino == files->own_root_inode))
		return UINT32_MAX;
	copy = fcntl(root, F_DUPFD_CLOEXEC, 0);
	return copy < 0 || folders_add(&files->roots, copy, &found) < 0 ? UINT32_MAX : found;
}

/* An open file, and the root it was found below, with a reference. */
struct opened {
	int fd; /* -1: none */
	uint32_t root;
	bool is_ambiguous;
};

#define NOT_OPENED ((struct opened){-1, UINT32_MAX, false})

static void close_opened(struct files *files, struct opened *opened)
{
	closep(&opened->fd);
	folders_put(&files->roots, opened->root);
	*opened = NOT_OPENED;
}

#define ROOT_NS (NSEC_PER_SEC / 100)

void files_forget_root(struct files *files)
{
	closep(&files->last_root.fd);
	files->last_root.fd = -1;
}

/*
 * The root folder of process @pid, which stays ours, or what it was a moment ago: a process can map
 * thousands of files at once. *@ret_thread: a thread that has one, which is another than the main
 * thread if that has ended. Errors: those of foreign_find_root().
 */
static int find_process_root(struct files *files, uint32_t pid, uint32_t *ret_thread)
{
	uint64_t now = monotonic_ns();

	if (files->last_root.fd < 0 || files->last_root.pid != pid ||
	    now >= files->last_root.until) {
		int root = foreign_find_root(pid);

		files_forget_root(files);
		*ret_thread = pid;
		if (root == -ENOENT) {
			*ret_thread = maps_thread(pid);
			root = foreign_find_root(*ret_thread);
		}
		if (root < 0)
			return root;
		files->last_root.pid = pid;
		files->last_root.thread = *ret_thread;
		files->last_root.fd = root;
		files->last_root.until = now + ROOT_NS;
	}
	*ret_thread = files->last_root.thread;
	return files->last_root.fd;
}

/* By the mapping, which reaches deleted files; then by the path as the process sees it. */
static struct opened open_of_process(struct files *files, const struct file_name *name,
				     uint32_t pid, uint64_t start, uint64_t end)
{
	uint32_t thread, filesystem = 0;
	int root = find_process_root(files, pid, &thread);
	struct opened opened = {.root = find_root(files, root)};
	int fd = root == -ETIMEDOUT ? root : foreign_open_mapped(thread, start, end, &filesystem);

	files->n_refused += fd == -EACCES;
	if (fd == -ETIMEDOUT)
		budgets_hang(&files->budgets, pid);
	opened.fd = verify_open(fd, filesystem, name);
	opened.is_ambiguous = opened.fd >= 0 && filesystem == BTRFS_SUPER_MAGIC;
	if (opened.fd >= 0 || root < 0 || name->path[0] != '/')
		return opened;
	/* Our own root may have other mounts below it. */
	opened.fd = verify(foreign_find(root, name->path), name);
	opened.is_ambiguous = is_ambiguous(opened.fd);
	return opened;
}

/* --- Known files --- */

static int identify(int fd, struct file_identity *ret)
{
	struct stat stat;
	int r = fd < 0 ? -EBADF : foreign_status(fd, &stat);

	if (r < 0)
		return r;
	*ret = (struct file_identity){
		stat.st_dev,
		stat.st_ino,
		stat.st_size,
		stat.st_mtim.tv_sec * 1000000000LL + stat.st_mtim.tv_nsec,
		stat.st_ctim.tv_sec * 1000000000LL + stat.st_ctim.tv_nsec,
		stat.st_nlink,
	};
	return 0;
}

static bool is_same_content(const struct file_identity *a, const struct file_identity *b)
{
	if (a->device != b->device || a->inode != b->inode || a->size != b->size ||
	    a->modified_ns != b->modified_ns)
		return false;
	/* Adding or removing a name changes this time stamp, too. */
	return a->changed_ns == b->changed_ns || a->n_links != b->n_links;
}

/*
 * Gives what @file is now. Returns whether its content is the same; of one that was opened for us,
 * but that we may not ask about since we gave up rights (FUSE of another user), it is.
 */
static bool is_still_same(const struct file *file, struct file_identity *ret_now)
{
	int r = identify(file->fd, ret_now);

	if (r == -EACCES)
		*ret_now = file->identity;
	return r == -EACCES || (r == 0 && is_same_content(ret_now, &file->identity));
}

bool file_is_unchanged(const struct file *file)
{
	struct file_identity now;

	return is_still_same(file, &now);
}

/*
 * Whether a file mapped at @time has the content that is known, by a look since then; its current
 * names are known from that look on.
 */
static bool look_again(struct file *file, uint64_t time)
{
	uint64_t looked_at = monotonic_ns();
	struct file_identity now;

	if (file->looked_at >= time)
		return true;
	if (!is_still_same(file, &now))
		return false;
	file->identity = now;
	file->looked_at = looked_at;
	return true;
}

/* Which of the files with one name to find. */
enum find {
	FIND_ANY,
	FIND_UNOPENED,
	FIND_SAME,  /* of the same identity */
	FIND_OTHER, /* on another device, by stat(): in another snapshot */
};

struct file_key {
	const struct file_name *name;
	enum find find;
	const struct file_identity *identity;
};

static bool key_equal(const void *items, uint32_t position, const void *context)
{
	const struct file *file = (const struct file *)items + position;
	const struct file_key *key = context;
	const struct file_name *name = key->name;
	bool is_unopened = file->fd < 0 && !file->is_memory;

	if (file->mapped_inode != name->inode ||
	    file->mapped_device != makedev(name->device_major, name->device_minor))
		return false;
	if (!name->inode || is_unopened)
		return key->find <= FIND_UNOPENED && strcmp(file->path, name->path) == 0;
	if (key->find <= FIND_UNOPENED)
		return key->find == FIND_ANY;
	return key->find == FIND_SAME ? is_same_content(&file->identity, key->identity)
				      : file->identity.device != key->identity->device;
}

static uint64_t key_hash(dev_t device, ino_t inode, const char *path)
{
	return hash_mix(inode ? hash_mix(0, inode) : hash_bytes(path, strlen(path)), device);
}

static uint64_t name_hash(const struct file_name *name)
{
	return key_hash(makedev(name->device_major, name->device_minor), name->inode, name->path);
}

static uint64_t file_hash(const struct file *file)
{
	return key_hash(file->mapped_device, file->mapped_inode, file->path);
}

/* @identity: for FIND_SAME and FIND_OTHER. */
static uint32_t find_file(const struct files *files, const struct file_name *name, enum find find,
			  const struct file_identity *identity)
{
	const struct file_key key = {name, find, identity};

	return table_find(&files->by_name, name_hash(name), key_equal, files->files, &key);
}

/* --- Processes that have ended --- */

static bool is_same_file(int a, int b)
{
	struct stat of_a, of_b;

	return foreign_status(a, &of_a) == 0 && foreign_status(b, &of_b) == 0 &&
	       of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/* Whether another file of the same name as @fd is known. */
static bool knows_other(const struct files *files, const struct file_name *name, int fd)
{
	struct file_identity identity;

	return identify(fd, &identity) == 0 &&
	       find_file(files, name, FIND_OTHER, &identity) != TABLE_NONE;
}

/*
 * Opens by path alone, below our root, then below those of other files, where an ended process may
 * have lived. For an ambiguous file only ours is used, and only if no other is known.
 */
static struct opened open_by_path(struct files *files, const struct file_name *name)
{
	int ours = verify(foreign_find(FOREIGN_OUR_ROOT, name->path), name);
	bool is_only = !knows_other(files, name, ours);

	if (ours >= 0 && !is_ambiguous(ours))
		return (struct opened){ours, UINT32_MAX, false};
	for (size_t i = files->roots.pool.n, tried = 0; i-- > 0 && tried < MAX_ROOTS_TRIED;) {
		const struct folder *root = &files->roots.items[i];
		int fd;

		if (!root->n_references)
			continue;
		tried++;
		fd = verify(foreign_find(root->fd, name->path), name);
		if (ours < 0 && fd >= 0 && !is_ambiguous(fd)) {
			folders_hold(&files->roots, i);
			return (struct opened){fd, i, false};
		}
		is_only &= fd < 0 || is_same_file(ours, fd);
		closep(&fd);
	}
	if (is_only)
		return (struct opened){ours, UINT32_MAX, is_ambiguous(ours)};
	closep(&ours);
	return NOT_OPENED;
}

static struct opened open_mapped(struct files *files, const struct file_name *name, uint32_t pid,
				 uint64_t start, uint64_t end)
{
	struct opened opened = open_of_process(files, name, pid, start, end);
	uint32_t root = opened.root;

	if (opened.fd >= 0 || name->path[0] != '/')
		return opened;
	opened = open_by_path(files, name);
	if (opened.root == UINT32_MAX)
		opened.root = root;
	else
		folders_put(&files->roots, root);
	return opened;
}

/* --- References --- */

void files_hold(struct files *files, uint32_t file)
{
	files->files[file].n_references++;
}

void files_put(struct files *files, uint32_t index)
{
	struct file *file = &files->files[index];

	if (--file->n_references)
		return;
	if (!file->is_replaced && !file->is_made)
		table_remove(&files->by_name, file_hash(file), index);
	if (file->table)
		files->release_table(files->release_context, file->table);
	closep(&file->fd);
	budgets_close(&files->budgets, file->opener);
	free(file->path);
	folders_put(&files->roots, file->root);
	pool_give(&files->pool, index);
}

/* --- Adding --- */

/* Takes an index for @new, which is found by its name unless we made it. */
static int enter_file(struct files *files, const struct file *new, uint32_t *ret_file)
{
	int r = pool_take(files->files, files->pool, ret_file);

	if (r < 0 || new->is_made)
		return r;
	r = table_add(&files->by_name, file_hash(new), *ret_file);
	if (r < 0)
		pool_give(&files->pool, *ret_file);
	return r;
}

/* Takes over @new's descriptor and root; copies its path. */
static int add_file(struct files *files, const struct file *new, uint32_t *ret_file)
{
	char *path = strdup(new->path);
	int r = path ? enter_file(files, new, ret_file) : -ENOMEM;

	if (r < 0) {
		free(path);
		closep((int *)&new->fd);
		budgets_close(&files->budgets, new->opener);
		folders_put(&files->roots, new->root);
		return r;
	}
	files->files[*ret_file] = *new;
	files->files[*ret_file].path = path;
	files->files[*ret_file].n_references = 1;
	files->files[*ret_file].profile_mapping = UINT32_MAX;
	return 0;
}

static struct file file_of_name(const struct file_name *name)
{
	return (struct file){
		.fd = -1,
		.path = (char *)name->path,
		.root = UINT32_MAX,
		.budget = BUDGETS_UNLIMITED,
		.opener = BUDGETS_UNLIMITED,
		.mapped_device = makedev(name->device_major, name->device_minor),
		.mapped_inode = name->inode,
	};
}

/* Whether the mapping with that name is memory, not a file; @fd: of it, or -1. */
static bool is_memory(const char *path, int fd)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (text_begins(path, prefixes[i]))
			/* Programs do run from memfds. */
			return fd < 0 || !foreign_is_elf(fd);
	return false;
}

/* Whether the user of process @pid may open one more file; if not, that is counted. */
static bool may_open(struct files *files, uint32_t pid)
{
	uint32_t budget;

	/* While nobody was refused, nobody has too many. */
	if (!files->budgets.is_full && !files->budgets.n_hung)
		return true;
	budget = budgets_of_process(&files->budgets, pid);
	if (!budgets_may_ask(&files->budgets, budget))
		return false;
	if (budgets_may_open(&files->budgets, budget))
		return true;
	budgets_refuse(&files->budgets, budget);
	return false;
}

/*
 * Finds the budgets of @file, which is @opened. Its descriptor counts for the user of process @pid,
 * even if root owns the file: there are many of those. For root's processes it counts for the
 * file's owner. Returns false, with @opened closed, if that budget is used up.
 */
static bool may_stay_open(struct files *files, struct file *file, struct opened *opened,
			  uint32_t pid)
{
	struct budgets *budgets = &files->budgets;
	int r = budgets_find(budgets, opened->fd, opened->root == UINT32_MAX, &file->budget);

	file->opener = opened->fd < 0 ? BUDGETS_UNLIMITED : budgets_of_process(budgets, pid);
	if (file->opener == BUDGETS_UNLIMITED)
		file->opener = file->budget;
	if (r == 0 && budgets_open(budgets, file->opener))
		return true;
	file->budget = file->opener = BUDGETS_UNLIMITED;
	close_opened(files, opened);
	return false;
}

/* Takes over @opened. */
static int add_opened(struct files *files, const struct file_name *name, struct opened opened,
		      uint32_t pid, uint32_t version, uint32_t *ret_file)
{
	struct file file = file_of_name(name);

	file.is_memory = is_memory(name->path, opened.fd);
	if (file.is_memory) {
		file.path = "";
		close_opened(files, &opened);
		return add_file(files, &file, ret_file);
	}
	may_stay_open(files, &file, &opened, pid);
	file.fd = opened.fd;
	file.root = opened.root;
	file.version = version;
	file.is_ambiguous = opened.fd >= 0 && opened.is_ambiguous;
	files->n_unopened += opened.fd < 0;
	if (identify(opened.fd, &file.identity) < 0) {
		file.identity.device = file.mapped_device;
		file.identity.inode = file.mapped_inode;
	}
	return add_file(files, &file, ret_file);
}

/* Memory: by its name in brackets, or as one entry for all. */
static int get_memory(struct files *files, const char *path, uint32_t *ret_file)
{
	const struct file_name name = {.path = path[0] == '[' ? path : ""};
	struct file file = file_of_name(&name);
	uint32_t found = find_file(files, &name, FIND_ANY, NULL);

	if (found == TABLE_NONE) {
		file.is_memory = true;
		return add_file(files, &file, ret_file);
	}
	files_hold(files, found);
	*ret_file = found;
	return 0;
}

/*
 * A file that a process left unopened may be available to the next one, as @opened, which is taken
 * over.
 */
static void open_again(struct files *files, uint32_t index, struct opened opened, uint32_t pid)
{
	struct file *file = &files->files[index];

	if (opened.fd < 0 || !may_stay_open(files, file, &opened, pid)) {
		close_opened(files, &opened);
		return;
	}
	file->fd = opened.fd;
	folders_put(&files->roots, file->root);
	file->root = opened.root;
	identify(file->fd, &file->identity);
	files->n_unopened--;
}

/* An overwritten file is no longer found by its name; the new content is another file. */
static int replace(struct files *files, uint32_t index, const struct file_name *name, uint32_t pid,
		   uint32_t *ret_file)
{
	struct file *file = &files->files[index];
	struct opened same = {fcntl(file->fd, F_DUPFD_CLOEXEC, 0), file->root, file->is_ambiguous};

	table_remove(&files->by_name, file_hash(file), index);
	file->is_replaced = true;
	folders_hold(&files->roots, same.root);
	return add_opened(files, name, same, pid, file->version + 1, ret_file);
}

/* No single one of the processes that have it mapped may choose the debug files for the others. */
static void belong_to_none(struct files *files, struct file *file)
{
	folders_put(&files->roots, file->root);
	file->root = UINT32_MAX;
}

/* The same name, but only @opened, which is taken over, shows which file it is. */
static int get_ambiguous(struct files *files, const struct file_name *name, struct opened opened,
			 uint32_t pid, uint32_t *ret_file)
{
	struct file_identity identity;
	uint32_t found = identify(opened.fd, &identity) == 0
				 ? find_file(files, name, FIND_SAME, &identity)
				 : find_file(files, name, FIND_UNOPENED, NULL);

	if (found == TABLE_NONE)
		return add_opened(files, name, opened, pid, 0, ret_file);
	if (files->files[found].root != opened.root)
		belong_to_none(files, &files->files[found]);
	close_opened(files, &opened);
	files_hold(files, found);
	*ret_file = found;
	return 0;
}

/* Notes that process @pid has @file mapped, too. */
static void note_root(struct files *files, struct file *file, uint32_t pid)
{
	uint32_t thread;
	int root;

	if (file->root == UINT32_MAX)
		return;
	root = find_process_root(files, pid, &thread);
	if (root >= 0 && !folder_is(&files->roots.items[file->root], root))
		belong_to_none(files, file);
}

/* A file that is open already; its content may have changed. */
static int get_open(struct files *files, uint32_t found, const struct file_name *name, uint32_t pid,
		    uint64_t time, uint32_t *ret_file)
{
	note_root(files, &files->files[found], pid);
	if (!look_again(&files->files[found], time))
		return replace(files, found, name, pid, ret_file);
	files_hold(files, found);
	*ret_file = found;
	return 0;
}

/* A file that could not be opened before. */
static int get_unopened(struct files *files, uint32_t found, const struct file_name *name,
			struct opened opened, uint32_t pid, uint32_t *ret_file)
{
	if (opened.fd >= 0 && opened.is_ambiguous)
		return get_ambiguous(files, name, opened, pid, ret_file);
	open_again(files, found, opened, pid);
	files_hold(files, found);
	*ret_file = found;
	return 0;
}

int files_get(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
	      uint64_t end, uint32_t *ret_file)
{
	return files_get_at(files, name, pid, start, end, monotonic_ns(), ret_file);
}

int files_get_at(struct files *files, const struct file_name *name, uint32_t pid, uint64_t start,
		 uint64_t end, uint64_t time, uint32_t *ret_file)
{
	const struct file *file;
	uint32_t found;

	if (!name->inode)
		return get_memory(files, name->path, ret_file);
	found = find_file(files, name, FIND_ANY, NULL);
	file = found == TABLE_NONE ? NULL : &files->files[found];
	if (file && !file->is_ambiguous && file->fd >= 0)
		return get_open(files, found, name, pid, time, ret_file);
	if (file && (file->is_memory || (file->fd < 0 && !may_open(files, pid)))) {
		files_hold(files, found);
		*ret_file = found;
		return 0;
	}
	if (!file)
		return add_opened(files, name,
				  may_open(files, pid) ? open_mapped(files, name, pid, start, end)
						       : NOT_OPENED,
				  pid, 0, ret_file);
	if (file->is_ambiguous)
		return get_ambiguous(files, name, open_mapped(files, name, pid, start, end), pid,
				     ret_file);
	return get_unopened(files, found, name, open_of_process(files, name, pid, start, end), pid,
			    ret_file);
}

bool files_is_plain_memory(const struct files *files, uint32_t index)
{
	const struct file *file = &files->files[index];

	return file->is_memory && !file->is_made && !*file->path;
}

int files_add_made(struct files *files, int fd, uint32_t pid, uint32_t *ret_file)
{
	struct file file = file_of_name(&(struct file_name){.path = ""});
	uint32_t budget = budgets_of_process(&files->budgets, pid);

	file.is_memory = file.is_made = true;
	if (fd >= 0 && budgets_open(&files->budgets, budget)) {
		file.fd = fd;
		file.budget = file.opener = budget;
	} else {
		closep(&fd);
	}
	return add_file(files, &file, ret_file);
}

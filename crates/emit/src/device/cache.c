
/* Kernels that were built are kept on disk: in the folder that ALMACH_KERNELS names (nowhere where it is empty), else in that of ALMACH_CACHE,
 * else in the user's folder for such files. Where it cannot be read or written, kernels are built each time. */
enum { KEPT_FILES = 256, PATH_ROOM = 4096 };

/* What a file starts with. A file with anything else is not used. */
struct kept_head {
  char magic[16];
  uint64_t key[2], size, sum;
};

static const char kept_magic[16] = "almach kernels\n";

static void digest(uint64_t key[2], const void *from, size_t bytes) {
  const unsigned char *const cells = from;
  for (size_t i = 0; i < bytes; i++) {
    key[0] = (key[0] ^ cells[i]) * UINT64_C(0x100000001B3);
    key[1] = (key[1] + cells[i]) * UINT64_C(0x9E3779B97F4A7C15);
    key[1] ^= key[1] >> 29;
  }
}

/* The key of the kernels for a device, as they are built with these options. */
static void kept_key(uint64_t key[2], const char *const *texts, size_t count) {
  key[0] = UINT64_C(0xCBF29CE484222325);
  key[1] = sizeof kernel_source;
  for (size_t i = 0; i < count; i++) digest(key, texts[i], strlen(texts[i]) + 1);
  for (size_t i = 0; i < sizeof kernel_source / sizeof *kernel_source; i++) digest(key, kernel_source[i], strlen(kernel_source[i]));
}

/* The folder, which is made where it is not there; false where there is none. */
static bool kept_folder(char *to) {
  const char *const wanted = getenv("ALMACH_KERNELS"), *const cache = getenv("ALMACH_CACHE");
  const char *const caches = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
  int length = -1;
  if (wanted != NULL) {
    length = wanted[0] == 0 ? -1 : snprintf(to, PATH_ROOM, "%s", wanted);
  } else if (cache != NULL && cache[0] != 0) {
    length = snprintf(to, PATH_ROOM, "%s", cache);
  } else if (caches != NULL && caches[0] == '/') {
    length = snprintf(to, PATH_ROOM, "%s/almach", caches);
  } else if (home != NULL && home[0] == '/') {
    length = snprintf(to, PATH_ROOM, "%s/.cache", home);
    if (length > 0 && length < PATH_ROOM) (void)mkdir(to, 0777);
    length = snprintf(to, PATH_ROOM, "%s/.cache/almach", home);
  }
  if (length < 0 || length >= PATH_ROOM - 100) return false;
  (void)mkdir(to, 0777);
  return true;
}

static bool kept_path(char *to, const uint64_t key[2]) {
  if (!kept_folder(to)) return false;
  const size_t length = strlen(to);
  snprintf(to + length, PATH_ROOM - length, "/%016" PRIx64 "%016" PRIx64 ".kernels", key[0], key[1]);
  return true;
}

static uint64_t sum_of(const char *cells, size_t size) {
  uint64_t sum[2] = {1, 2};
  digest(sum, cells, size);
  return sum[0] ^ sum[1];
}

/* What was kept; NULL where nothing was. */
static char *kept_read(const uint64_t key[2], size_t *size) {
  char path[PATH_ROOM];
  if (!kept_path(path, key)) return NULL;
  FILE *const file = fopen(path, "rb");
  if (file == NULL) return NULL;
  struct kept_head head;
  char *cells = NULL;
  if (fread(&head, sizeof head, 1, file) == 1 && memcmp(head.magic, kept_magic, sizeof kept_magic) == 0 &&
      memcmp(head.key, key, sizeof head.key) == 0 && head.size > 0 && head.size < ((uint64_t)1 << 30)) {
    cells = malloc((size_t)head.size);
    if (cells != NULL && (fread(cells, 1, (size_t)head.size, file) != head.size || sum_of(cells, (size_t)head.size) != head.sum)) {
      free(cells);
      cells = NULL;
    }
  }
  fclose(file);
  *size = cells == NULL ? 0 : (size_t)head.size;
  return cells;
}

/* Removes the oldest file where there are many. */
static void kept_prune(const char *folder) {
  DIR *const files = opendir(folder);
  if (files == NULL) return;
  char path[2 * PATH_ROOM], oldest[2 * PATH_ROOM] = "";
  time_t least = 0;
  int count = 0;
  for (const struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
    const size_t length = strlen(entry->d_name);
    struct stat status;
    if (length < 8 || strcmp(entry->d_name + length - 8, ".kernels") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (stat(path, &status) != 0) continue;
    if (count == 0 || status.st_mtime < least) {
      least = status.st_mtime;
      memcpy(oldest, path, sizeof oldest);
    }
    count++;
  }
  closedir(files);
  if (count >= KEPT_FILES) (void)remove(oldest);
}

/* Keeps something. Others may be doing the same: a file appears as a whole. */
static void kept_write(const uint64_t key[2], const char *cells, size_t size) {
  char path[PATH_ROOM], part[PATH_ROOM + 64];
  if (!kept_folder(path)) return;
  kept_prune(path);
  if (!kept_path(path, key)) return;
  snprintf(part, sizeof part, "%s.%ld.%p", path, (long)getpid(), (void *)part);
  FILE *const file = fopen(part, "wb");
  if (file == NULL) return;
  struct kept_head head = {.key = {key[0], key[1]}, .size = size, .sum = sum_of(cells, size)};
  memcpy(head.magic, kept_magic, sizeof kept_magic);
  const bool is_whole = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(cells, 1, size, file) == size;
  if (fclose(file) != 0 || !is_whole || rename(part, path) != 0) (void)remove(part);
}

